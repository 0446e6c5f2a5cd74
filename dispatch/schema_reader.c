/* schema_reader.c - characters, words, numbers and marks, without the C library's ideas of a locale. */
#include "dispatch/schema_reader.h"

#include <stdio.h>
#include <string.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool sh__is_printable(char c) { return c >= ' ' && c <= '~'; }

size_t sh__word_length(const char *at) {
    size_t n = 0;
    if (!is_letter(*at)) return 0;
    while (is_letter(at[n]) || is_digit(at[n])) n++;
    return n;
}

bool sh__word_is(const char *at, size_t length, const char *word) {
    return strlen(word) == length && !memcmp(at, word, length);
}

const char *sh__skip_digits(const char *at) {
    while (is_digit(*at)) at++;
    return at;
}

size_t sh__number_length(const char *at, bool *whole) {
    const char *start = at + (*at == '-'), *end = sh__skip_digits(start);
    if (end == start) return 0;
    *whole = *end != '.' && *end != 'e';
    if (*end == '.') end = sh__skip_digits(end + 1);
    if (*end == 'e') {
        start = end + 1 + (end[1] == '-' || end[1] == '+');
        end = sh__skip_digits(start);
        if (end == start) return 0;
    }
    return (size_t)(end - at);
}

const char *sh__skip_space(sh_reader *p) {
    while (*p->at == ' ' || *p->at == '\t') p->at++;
    return p->at;
}

bool sh__accept(sh_reader *p, const char *mark) {
    const size_t length = strlen(mark);
    if (strncmp(sh__skip_space(p), mark, length) != 0) return false;
    p->at += length;
    return true;
}

bool sh__accept_word(sh_reader *p, const char *word) {
    const size_t length = sh__word_length(sh__skip_space(p));
    if (!sh__word_is(p->at, length, word)) return false;
    p->at += length;
    return true;
}

/* What stands at `at`, fit for a message. */
static void show(const char *at, char *shown, size_t size) {
    bool whole = true;
    const size_t length = is_letter(*at) ? sh__word_length(at) : sh__number_length(at, &whole);
    if (!*at)
        snprintf(shown, size, "the end");
    else if (length)
        snprintf(shown, size, "'%.*s'", length > 40 ? 40 : (int)length, at);
    else if (sh__is_printable(*at))
        snprintf(shown, size, "'%c'", *at);
    else
        snprintf(shown, size, "byte 0x%02x", (unsigned char)*at);
}

sh_status sh__wanted_at(const sh_reader *p, const char *at, const char *what) {
    char shown[48];
    int head = 0;
    show(at, shown, sizeof shown);
    while (head < 60 && sh__is_printable(p->text[head])) head++;
    return sh_fail(p->is_c ? SH_ERROR_SIGNATURE : SH_ERROR_SCHEMA,
                   "%s \"%.*s%s\", column %zu: expected %s, got %s", p->is_c ? "C signature" : "schema", head,
                   p->text, p->text[head] ? "..." : "", (size_t)(at - p->text) + 1, what, shown);
}

sh_status sh__wanted(sh_reader *p, const char *what) { return sh__wanted_at(p, sh__skip_space(p), what); }

sh_status sh__expect(sh_reader *p, const char *mark, const char *what) {
    return sh__accept(p, mark) ? SH_OK : sh__wanted(p, what);
}
