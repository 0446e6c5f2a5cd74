/* options.c - reading options, and the values as they are asked for. */
#include "dispatch/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/memory_impl.h"
#include "dispatch/op.h"
#include "dispatch/suggest.h"

enum { MOST_GROUPS = 64 };

static bool continues(char c) { return (c & 0xc0) == 0x80; /* a character of UTF-8 */ }

/* The text around the place on one line, and how many characters of it stand before the place. */
static int show(const sh_spec_reader *r, const char *place, char *line, size_t size) {
    const char *from = place - r->text > 60 ? place - 60 : r->text;
    int column = 0;
    while (continues(*from)) from++;
    for (const char *at = from; at < place; at++) column += !continues(*at);
    snprintf(line, size, "%s", from);
    for (char *at = line; *at; at++)
        if (*at == '\n' || *at == '\t') *at = ' ';
    return column;
}

/* The message, the text and a caret under the place. Words are cut so that the caret is always there. */
sh_status sh__reader_bad(const sh_spec_reader *r, const char *place, const char *what, const char *word,
                         const char *near) {
    char line[101];
    const int column = show(r, place, line, sizeof line);
    return sh_fail(SH_ERROR_SPEC, "%.500s%s%.80s%s%s%s%s\n  %s\n  %*s^", what, word ? " '" : "",
                   word ? word : "", word && strlen(word) > 80 ? "..." : "", word ? "'" : "",
                   near ? "; did you mean " : "", near ? near : "", line, column, "");
}

sh_status sh__reader_point(const sh_spec_reader *r, const char *place, sh_status status) {
    if (status != SH_ERROR_SPEC && status != SH_ERROR_VALUE) return status;
    char message[512];
    snprintf(message, sizeof message, "%s", sh_error()->message);
    sh_clear_error();
    return sh__reader_bad(r, place, message, NULL, NULL);
}

void sh__reader_blanks(sh_spec_reader *r) {
    while (*r->at == ' ') r->at++;
}

/* A copy of what stands before one of the stops; blanks around it dropped. */
char *sh__reader_word(sh_spec_reader *r, const char *stops) {
    sh__reader_blanks(r);
    size_t n = strcspn(r->at, stops);
    char *word = sh__alloc(n + 1);
    if (!word) return NULL;
    memcpy(word, r->at, n);
    r->at += n;
    while (n && word[n - 1] == ' ') n--;
    word[n] = 0;
    return word;
}

/* Where what `open` began ends: the next such quote, or the bracket that balances; NULL if there is none. */
static const char *closing(const char *at, char open) {
    if (open != '[') return strchr(at, open);
    for (int depth = 1; *at; at++) {
        depth += (*at == '[') - (*at == ']');
        if (!depth) return at;
    }
    return NULL;
}

const char *sh__options_end(const char *at, const char *stops) {
    for (; *at && !strchr(stops, *at); at++) {
        if (*at != '=') continue;
        const char *value = at + 1 + strspn(at + 1, " ");
        const char *end = *value && strchr("['\"", *value) ? closing(value + 1, *value) : NULL;
        if (end) at = end;
    }
    return at;
}

static sh_status read_quoted(sh_spec_reader *r, char **value) {
    const char open = *r->at;
    const char *start = r->at++;
    const char *end = closing(r->at, open);
    if (!end)
        return sh__reader_bad(r, start, open == '[' ? "no ] closes this" : "no quote closes this", NULL,
                              NULL);
    *value = sh__alloc((size_t)(end - r->at) + 1);
    if (!*value) return SH_ERROR_MEMORY;
    memcpy(*value, r->at, (size_t)(end - r->at));
    (*value)[end - r->at] = 0;
    r->at = end + 1;
    sh__reader_blanks(r);
    if (*r->at && !strchr(",;", *r->at)) return sh__reader_bad(r, r->at, "expected , or ; here", NULL, NULL);
    return SH_OK;
}

static sh_status read_value(sh_spec_reader *r, char **value) {
    sh__reader_blanks(r);
    if (*r->at && strchr("['\"", *r->at)) return read_quoted(r, value);
    *value = sh__reader_word(r, ",;");
    return *value ? SH_OK : SH_ERROR_MEMORY;
}

/* ---- checking values ---- */

static bool is_choice(const char *choices, const char *value) {
    const size_t n = strchr(value, '|') ? 0 : strlen(value);
    for (const char *at = choices; n && (at = strstr(at, value)); at += n)
        if ((at == choices || at[-1] == '|') && (at[n] == '|' || !at[n])) return true;
    return false;
}

static bool is_number(const char *value, bool integer) {
    char *end;
    errno = 0;
    if (integer)
        strtoll(value, &end, 10);
    else
        strtod(value, &end);
    return *value && !*end && errno == 0;
}

/* M of "1/M"; "1" is 1/1, "0" none. */
static bool read_share(const char *value, int64_t *m) {
    int64_t high;
    const bool part = strncmp(value, "1/", 2) == 0;
    if (!part && strcmp(value, "0") != 0 && strcmp(value, "1") != 0) return false;
    return sh__range_parse(part ? value + 2 : value, m, &high) && *m == high && (*m > 0 || !part);
}

static const char *expected(const sh_option *option) {
    static const char *const texts[] = {
        "text",        "1 or 0", "an integer", "a number", "", "a range A..B", "a range A..B, counted from 1",
        "1/M, 1 or 0", "an op"};
    return option->type == SH_OPTION_CHOICE ? option->choices : texts[option->type];
}

static bool fits(const sh_option *option, const char *value) {
    int64_t low, high;
    switch (option->type) {
    case SH_OPTION_FLAG: return is_choice("1|0|true|false|yes|no|on|off", value);
    case SH_OPTION_INT: return is_number(value, true);
    case SH_OPTION_NUMBER: return is_number(value, false);
    case SH_OPTION_CHOICE: return is_choice(option->choices, value);
    case SH_OPTION_RANGE: return sh__range_parse(value, &low, &high);
    case SH_OPTION_NUMBERS:
        return sh__range_parse(value, &low, &high) && high > 0 && (low > 0 || *value == '.');
    case SH_OPTION_SHARE: return read_share(value, &low);
    default: return true;
    }
}

/* ---- groups and their options ---- */

void sh_options_free(sh_options *o) {
    for (size_t i = 0; i < SH_MAX_OPTIONS; i++) sh__free(o->text[i]);
}

static sh_status find_key(const sh_spec_reader *r, const char *place, const sh_option_group *type,
                          const char *key, size_t *found) {
    const char *names[SH_MAX_OPTIONS];
    size_t n = 0;
    for (; type->options[n].name; n++) {
        names[n] = type->options[n].name;
        if (strcmp(names[n], key) != 0) continue;
        *found = n;
        return SH_OK;
    }
    return sh__reader_bad(r, place, *key ? "there is no option" : "an option is missing here",
                          *key ? key : NULL, sh_suggest(key, names, n));
}

static sh_status check_op(const sh_spec_reader *r, const char *place, const char *name) {
    const sh_op *op = sh_op_find(name);
    if (!*name) return sh__reader_bad(r, place, "an op's name is missing here", NULL, NULL);
    if ((op && sh_op_schema(op)) || strstr(name, "::")) return SH_OK;
    return sh__reader_bad(r, place, "there is no op", name, sh_op_suggest(name));
}

static sh_status read_option(sh_spec_reader *r, sh_options *o) {
    sh__reader_blanks(r);
    const char *place = r->at;
    size_t i = 0;
    char *key = sh__reader_word(r, "=,;");
    if (!key) return SH_ERROR_MEMORY;
    sh_status status = find_key(r, place, o->type, key, &i);
    if (status >= 0 && o->text[i]) status = sh__reader_bad(r, place, "given twice:", key, NULL);
    sh__free(key);
    SH_TRY(status);
    const sh_option *option = &o->type->options[i];
    if (*r->at != '=' && option->type != SH_OPTION_FLAG)
        return sh__reader_bad(r, r->at, "expected = and a value here", NULL, NULL);
    if (*r->at != '=') return (o->text[i] = sh__strdup("1")) ? SH_OK : SH_ERROR_MEMORY;
    place = ++r->at;
    SH_TRY(read_value(r, &o->text[i]));
    if (option->type == SH_OPTION_OP) return check_op(r, place, o->text[i]);
    return fits(option, o->text[i]) ? SH_OK
                                    : sh__reader_bad(r, place, "this value is not", expected(option), NULL);
}

sh_status sh__reader_options(sh_spec_reader *r, sh_options *o) {
    for (;; r->at++) {
        SH_TRY(read_option(r, o));
        if (*r->at != ',') return SH_OK;
    }
}

sh_status sh__reader_group(sh_spec_reader *r, const char *kind, const sh_option_group *groups, size_t n,
                           const sh_option_group **group) {
    sh__reader_blanks(r);
    const char *place = r->at, *names[MOST_GROUPS];
    char what[96], *name = sh__reader_word(r, ":;,=");
    if (!name) return SH_ERROR_MEMORY;
    *group = NULL;
    for (size_t i = 0; i < n && i < MOST_GROUPS; i++) {
        names[i] = groups[i].name;
        if (strcmp(name, names[i]) == 0) *group = &groups[i];
    }
    sh_status status = SH_OK;
    snprintf(what, sizeof what, *name ? "there is no %s" : "a %s's name is missing here", kind);
    if (!*group)
        status = sh__reader_bad(r, place, what, *name ? name : NULL, sh_suggest(name, names, n));
    else if (*r->at && !strchr(":;", *r->at))
        status = sh__reader_bad(r, r->at, "expected : or ; here", NULL, NULL);
    sh__free(name);
    return status;
}

/* ---- values ---- */

const char *sh_option_text(const sh_options *o, const char *name) {
    for (size_t i = 0; o->type->options[i].name; i++)
        if (strcmp(o->type->options[i].name, name) == 0)
            return o->text[i] ? o->text[i] : o->type->options[i].standard;
    return NULL;
}

bool sh_option_flag(const sh_options *o, const char *name) {
    const char *text = sh_option_text(o, name);
    return text && strchr("1tyTY", *text) != NULL && *text ? true : text && strcmp(text, "on") == 0;
}

int64_t sh_option_int(const sh_options *o, const char *name) {
    const char *text = sh_option_text(o, name);
    return text ? strtoll(text, NULL, 10) : 0;
}

double sh_option_number(const sh_options *o, const char *name) {
    const char *text = sh_option_text(o, name);
    return text ? strtod(text, NULL) : 0;
}

int64_t sh_option_share(const sh_options *o, const char *name) {
    const char *text = sh_option_text(o, name);
    int64_t m = 0;
    return text && read_share(text, &m) ? m : 0;
}

static bool read_bound(const char **at, int64_t *bound) {
    char *end;
    if (**at < '0' || **at > '9') return true;
    errno = 0;
    *bound = strtoll(*at, &end, 10);
    *at = end;
    return errno == 0;
}

bool sh__range_parse(const char *text, int64_t *low, int64_t *high) {
    const char *at = text;
    *low = 0;
    *high = INT64_MAX;
    if (!read_bound(&at, low)) return false;
    if (at != text && !*at) {
        *high = *low;
        return true;
    }
    if (strncmp(at, "..", 2) != 0) return false;
    at += 2;
    return read_bound(&at, high) && !*at && strlen(text) > 2 && *high >= *low;
}

void sh_option_range(const sh_options *o, const char *name, int64_t *low, int64_t *high) {
    const char *text = sh_option_text(o, name);
    *low = 0;
    *high = INT64_MAX;
    if (text) sh__range_parse(text, low, high);
}
