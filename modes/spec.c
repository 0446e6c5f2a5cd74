/* spec.c - reading mode specifications.
 *
 *     spec   = mode { ";" mode }        mode = name [ ":" option { "," option } ]
 *     option = key [ "=" value ]        value = text | "[" text "]" | quoted
 *
 * One reader keeps its place; every error is made by one function that shows the text with a caret. */
#include "modes/spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/memory_impl.h"
#include "dispatch/suggest.h"
#include "dispatch/thread.h"
#include "modes/options.h"

static const sh_mode_type types[] = {
#define SH_MODE_TYPE(name, help) {#name, help, sh__##name##_options},
#include "modes/modes.def"
#undef SH_MODE_TYPE
};
static const sh_mode_maker makers[] = {
#define SH_MODE_TYPE(name, help) sh__##name##_make,
#include "modes/modes.def"
#undef SH_MODE_TYPE
};
enum { TYPES = sizeof types / sizeof *types, LONGEST_SPEC = 1 << 16, MOST_MODES = 64 };

const sh_mode_type *sh_mode_type_at(size_t i) { return i < TYPES ? &types[i] : NULL; }

typedef struct reader {
    const char *text, *at;
} reader;

static bool continues(char c) { return (c & 0xc0) == 0x80; /* a character of UTF-8 */ }

/* The text around the place on one line, and how many characters of it stand before the place. */
static int show(const reader *r, const char *place, char *line, size_t size) {
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
static sh_status bad(const reader *r, const char *place, const char *what, const char *word,
                     const char *near) {
    char line[101];
    const int column = show(r, place, line, sizeof line);
    return sh_fail(SH_ERROR_SPEC, "%.500s%s%.80s%s%s%s%s\n  %s\n  %*s^", what, word ? " '" : "",
                   word ? word : "", word && strlen(word) > 80 ? "..." : "", word ? "'" : "",
                   near ? "; did you mean " : "", near ? near : "", line, column, "");
}

static void skip_blanks(reader *r) {
    while (*r->at == ' ') r->at++;
}

/* A copy of what stands before one of the stops; blanks around it dropped. */
static char *read_word(reader *r, const char *stops) {
    skip_blanks(r);
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

static sh_status read_quoted(reader *r, char **value) {
    const char open = *r->at;
    const char *start = r->at++;
    const char *end = closing(r->at, open);
    if (!end) return bad(r, start, open == '[' ? "no ] closes this" : "no quote closes this", NULL, NULL);
    *value = sh__alloc((size_t)(end - r->at) + 1);
    if (!*value) return SH_ERROR_MEMORY;
    memcpy(*value, r->at, (size_t)(end - r->at));
    (*value)[end - r->at] = 0;
    r->at = end + 1;
    skip_blanks(r);
    if (*r->at && !strchr(",;", *r->at)) return bad(r, r->at, "expected , or ; here", NULL, NULL);
    return SH_OK;
}

static sh_status read_value(reader *r, char **value) {
    skip_blanks(r);
    if (*r->at && strchr("['\"", *r->at)) return read_quoted(r, value);
    *value = read_word(r, ",;");
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

static const char *expected(const sh_option *option) {
    static const char *const texts[] = {
        "text", "1 or 0", "an integer", "a number", "", "a range A..B", "a range A..B, counted from 1",
        "an op"};
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
    default: return true;
    }
}

/* ---- one mode ---- */

static void free_options(sh_options *o) {
    for (size_t i = 0; i < SH_MAX_OPTIONS; i++) sh__free(o->text[i]);
}

static sh_status find_key(const reader *r, const char *place, const sh_mode_type *type, const char *key,
                          size_t *found) {
    const char *names[SH_MAX_OPTIONS];
    size_t n = 0;
    for (; type->options[n].name; n++) {
        names[n] = type->options[n].name;
        if (strcmp(names[n], key) != 0) continue;
        *found = n;
        return SH_OK;
    }
    return bad(r, place, *key ? "this mode has no option" : "an option is missing here", *key ? key : NULL,
               sh_suggest(key, names, n));
}

static sh_status check_op(const reader *r, const char *place, const char *name) {
    const sh_op *op = sh_op_find(name);
    if (!*name) return bad(r, place, "an op's name is missing here", NULL, NULL);
    if ((op && sh_op_schema(op)) || strstr(name, "::")) return SH_OK;
    return bad(r, place, "there is no op", name, sh_op_suggest(name));
}

static sh_status read_option(reader *r, sh_options *o) {
    skip_blanks(r);
    const char *place = r->at;
    size_t i = 0;
    char *key = read_word(r, "=,;");
    if (!key) return SH_ERROR_MEMORY;
    sh_status status = find_key(r, place, o->type, key, &i);
    if (status >= 0 && o->text[i]) status = bad(r, place, "given twice:", key, NULL);
    sh__free(key);
    SH_TRY(status);
    const sh_option *option = &o->type->options[i];
    if (*r->at != '=' && option->type != SH_OPTION_FLAG)
        return bad(r, r->at, "expected = and a value here", NULL, NULL);
    if (*r->at != '=') return (o->text[i] = sh__strdup("1")) ? SH_OK : SH_ERROR_MEMORY;
    place = ++r->at;
    SH_TRY(read_value(r, &o->text[i]));
    if (option->type == SH_OPTION_OP) return check_op(r, place, o->text[i]);
    return fits(option, o->text[i]) ? SH_OK : bad(r, place, "this value is not", expected(option), NULL);
}

static sh_status read_type(reader *r, const sh_mode_type **type) {
    skip_blanks(r);
    const char *place = r->at, *names[TYPES];
    char *name = read_word(r, ":;,=");
    if (!name) return SH_ERROR_MEMORY;
    *type = NULL;
    for (size_t i = 0; i < TYPES; i++) {
        names[i] = types[i].name;
        if (strcmp(name, types[i].name) == 0) *type = &types[i];
    }
    sh_status status = SH_OK;
    if (!*type)
        status = bad(r, place, *name ? "there is no mode" : "a mode's name is missing here",
                     *name ? name : NULL, sh_suggest(name, names, TYPES));
    else if (*r->at && !strchr(":;", *r->at))
        status = bad(r, r->at, "expected : or ; here", NULL, NULL);
    sh__free(name);
    return status;
}

static sh_status read_options(reader *r, sh_options *o) {
    memset(o, 0, sizeof *o);
    SH_TRY(read_type(r, &o->type));
    if (*r->at != ':') return SH_OK;
    do {
        r->at++;
        SH_TRY(read_option(r, o));
    } while (*r->at == ',');
    return SH_OK;
}

/* What a maker finds wrong with values points at its mode. */
static sh_status make(const reader *r, const char *place, const sh_options *o, sh_mode **mode) {
    const sh_status status = makers[o->type - types](o, mode);
    if (status != SH_ERROR_SPEC && status != SH_ERROR_VALUE) return status;
    char message[512];
    snprintf(message, sizeof message, "%s", sh_error()->message);
    sh_clear_error();
    return bad(r, place, message, NULL, NULL);
}

static sh_status reader_open(reader *r, const char *spec) {
    if (sh__error_pending()) return sh_error()->code;
    if (!spec) return sh_fail(SH_ERROR_NULL, "the mode specification is NULL");
    if (strlen(spec) > LONGEST_SPEC)
        return sh_fail(SH_ERROR_SPEC, "a mode specification of %zu characters is too long", strlen(spec));
    *r = (reader){spec, spec};
    return SH_OK;
}

sh_status sh_mode_from_spec(const char *spec, sh_mode **mode) {
    reader r;
    sh_options o;
    SH_TRY(reader_open(&r, spec));
    sh_status status = read_options(&r, &o);
    if (status >= 0 && *r.at) status = bad(&r, r.at, "only one mode is expected here", NULL, NULL);
    if (status >= 0) status = make(&r, r.text, &o, mode);
    free_options(&o);
    return status;
}

/* ---- several ---- */

static sh_status too_many(const reader *r) { return bad(r, r->at, "too many modes", NULL, NULL); }

static sh_status read_and_push(reader *r, sh_status (*push)(sh_mode *), sh_mode **pushed) {
    sh_options o;
    sh_mode *mode = NULL;
    const char *place = r->at + strspn(r->at, " ");
    sh_status status = read_options(r, &o);
    if (status >= 0) status = make(r, place, &o, &mode);
    if (status >= 0) status = push(mode);
    free_options(&o);
    if (status < 0)
        sh_mode_release(mode);
    else
        *pushed = mode;
    return status;
}

static sh_status push_all(const char *spec, sh_status (*push)(sh_mode *), sh_status (*pop)(sh_mode *)) {
    sh_mode *modes[MOST_MODES];
    size_t n = 0;
    reader r;
    SH_TRY(reader_open(&r, spec));
    sh_status status = SH_OK;
    for (bool more = true; more && status >= 0;) {
        status = n == MOST_MODES ? too_many(&r) : read_and_push(&r, push, &modes[n]);
        if (status < 0) break;
        n++;
        more = *r.at == ';' && r.at[1];
        if (*r.at == ';') r.at++;
    }
    for (size_t i = n; i-- > 0;) {
        if (status < 0) pop(modes[i]);
        sh_mode_release(modes[i]);
    }
    return status;
}

sh_status sh_mode_push_spec(const char *spec) { return push_all(spec, sh_push_mode, sh_pop_mode); }
sh_status sh_mode_push_spec_global(const char *spec) {
    return push_all(spec, sh_push_mode_global, sh_pop_mode_global);
}

/* ---- explaining ---- */

static void explain_one(FILE *out, const sh_options *o) {
    fprintf(out, "%s: %s\n", o->type->name, o->type->help);
    for (size_t i = 0; o->type->options[i].name; i++) {
        const sh_option *option = &o->type->options[i];
        const char *value = o->text[i] ? o->text[i] : option->standard;
        fprintf(out, "  %-10s = %-16s %s %s\n", option->name, value ? value : "-",
                o->text[i] ? "given;  " : "default;", option->help);
    }
}

static sh_status explain_all(reader *r, FILE *out) {
    size_t n = 0;
    for (bool more = true; more;) {
        sh_options o;
        if (n++ == MOST_MODES) return too_many(r);
        const sh_status status = read_options(r, &o);
        if (status >= 0) explain_one(out, &o);
        free_options(&o);
        SH_TRY(status);
        more = *r->at == ';' && r->at[1];
        if (*r->at == ';') r->at++;
    }
    return SH_OK;
}

sh_status sh_mode_explain(const char *spec, char **text) {
    reader r;
    size_t size;
    SH_TRY(reader_open(&r, spec));
    FILE *out = open_memstream(text, &size);
    if (!out) return sh_fail(SH_ERROR_MEMORY, "out of memory");
    sh_status status = explain_all(&r, out);
    const bool incomplete = ferror(out) != 0;
    if ((fclose(out) != 0 || incomplete) && status >= 0) status = sh_fail(SH_ERROR_MEMORY, "out of memory");
    if (status >= 0) return SH_OK;
    free(*text);
    *text = NULL;
    return status;
}
