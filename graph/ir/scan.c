/* scan.c - the text as tokens, one at hand; a statement is a line.
 *
 * Nothing is copied but what a statement needs, in blocks that end with it. What the graph will take is counted
 * before it is made: a short text can't ask for much. */
#include "graph/ir/impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- errors ---- */

sh_status sh__ir_bad(const sh_ir_reader *r, const sh_ir_token *token, const char *format, ...) {
    char text[600];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return sh_fail(SH_ERROR_FORMAT, "%s:%zu:%zu: %s", r->what, token->line, token->column, text);
}

sh_status sh__ir_expected(const sh_ir_reader *r, const char *what) {
    const sh_ir_token *token = &r->token;
    if (token->kind == SH_IR_END || token->kind == SH_IR_LINE)
        return sh__ir_bad(r, token, "expected %s, got the end of the %s", what,
                          token->kind == SH_IR_END ? "text" : "line");
    const int length = token->length < 60 ? (int)token->length : 60;
    return sh__ir_bad(r, token, "expected %s, got %.*s", what, length, token->at);
}

sh_status sh__ir_at(const sh_ir_reader *r, const sh_ir_token *token) {
    const sh_error_info error = *sh_error();
    if (error.code == SH_ERROR_MEMORY) return error.code;
    char text[600];
    snprintf(text, sizeof text, "%s", error.message);
    sh_clear_error();
    return sh_fail(error.code, "%s:%zu:%zu: %s", r->what, token->line, token->column, text);
}

/* ---- memory ---- */

struct sh_ir_kept {
    struct sh_ir_kept *next;
    _Alignas(16) char bytes[];
};

sh_status sh__ir_charge(sh_ir_reader *r, size_t bytes) {
    if (bytes <= r->room) {
        r->room -= bytes;
        return SH_OK;
    }
    return sh__ir_bad(r, &r->token,
                      "it would take more than %zu MiB of memory, out of proportion to its size",
                      r->limit >> 20);
}

void *sh__ir_keep(sh_ir_reader *r, size_t size) {
    enum { AS_STRING = 80 };
    struct sh_ir_kept *kept = sh__ir_charge(r, size + AS_STRING) < 0 ? NULL : sh__alloc(sizeof *kept + size);
    if (!kept) return NULL;
    kept->next = r->kept;
    r->kept = kept;
    return kept->bytes;
}

void sh__ir_drop_kept(sh_ir_reader *r) {
    for (struct sh_ir_kept *kept = r->kept, *next; kept; kept = next) {
        next = kept->next;
        sh__free(kept);
    }
    r->kept = NULL;
}

/* ---- tokens ---- */

static void skip_blanks(sh_ir_reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r')) r->at++;
    if (r->at < r->end && *r->at == '#')
        while (r->at < r->end && *r->at != '\n') r->at++;
}

static sh_status scan_string(sh_ir_reader *r) {
    sh_ir_token *token = &r->token;
    const char quote = *r->at;
    for (r->at++; r->at < r->end && *r->at != quote; r->at++) {
        if (*r->at == '\\' && r->at + 1 < r->end) r->at++;
        if ((unsigned char)*r->at < 32 || *r->at == 127) break;
    }
    token->kind = SH_IR_STRING;
    token->length = (size_t)(r->at - token->at) + 1;
    if (r->at == r->end || *r->at != quote)
        return sh__ir_bad(r, token, "the string has no end on its line, or a control character in it");
    r->at++;
    return SH_OK;
}

/* All the ends of lines in a row are one. */
static void scan_lines(sh_ir_reader *r) {
    r->token.kind = SH_IR_LINE;
    for (; r->at < r->end && *r->at == '\n'; skip_blanks(r)) {
        r->line_start = ++r->at;
        r->line++;
    }
}

sh_status sh__ir_next(sh_ir_reader *r) {
    skip_blanks(r);
    const char *const start = r->at;
    r->token = (sh_ir_token){SH_IR_END, start, 0, r->line, (size_t)(start - r->line_start) + 1};
    if (start == r->end) return SH_OK;
    if (*start == '\n') {
        scan_lines(r);
        return SH_OK;
    }
    if (*start == '\'' || *start == '"') return scan_string(r);
    for (size_t n; (n = sh__word_bytes(r->at, r->end)) != 0;) r->at += n;
    r->token.kind = SH_IR_WORD;
    if (r->at == start) {
        r->token.kind = SH_IR_MARK;
        r->at++;
    }
    r->token.length = (size_t)(r->at - start);
    if (r->token.kind == SH_IR_WORD || (*start && strchr("%:[](){}=,?", *start))) return SH_OK;
    return sh__ir_bad(r, &r->token, "the byte 0x%02x can't stand here", (unsigned char)*start);
}

bool sh__ir_is(const sh_ir_reader *r, char mark) {
    return r->token.kind == SH_IR_MARK && *r->token.at == mark;
}

bool sh__ir_token_is(const sh_ir_token *token, const char *word) {
    return token->kind == SH_IR_WORD && token->length == strlen(word) &&
           memcmp(token->at, word, token->length) == 0;
}

bool sh__ir_is_word(const sh_ir_reader *r, const char *word) { return sh__ir_token_is(&r->token, word); }

sh_status sh__ir_take(sh_ir_reader *r, char mark, const char *expected) {
    return sh__ir_is(r, mark) ? sh__ir_next(r) : sh__ir_expected(r, expected);
}

sh_status sh__ir_take_word(sh_ir_reader *r, const char *word) {
    return sh__ir_is_word(r, word) ? sh__ir_next(r) : sh__ir_expected(r, word);
}

/* ---- strings ---- */

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that the escape behind a backslash stands for, 0 if it is none; `*at` goes to its last byte. */
static char escaped(const char **at, const char *end) {
    static const char letters[] = "n\nt\tr\r\\\\''\"\"";
    for (const char *l = letters; *l; l += 2)
        if (**at == *l) return l[1];
    if (**at != 'x' || end - *at < 3) return 0;
    const int high = hex_digit((*at)[1]), low = hex_digit((*at)[2]);
    *at += 2;
    return high < 0 || low < 0 ? 0 : (char)(high * 16 + low);
}

static sh_status decode(sh_ir_reader *r, char *to) {
    const char *at = r->token.at + 1, *const end = r->token.at + r->token.length - 1;
    for (; at < end; at++) {
        *to = *at;
        if (*at == '\\') {
            at++;
            *to = escaped(&at, end);
            if (!*to) return sh__ir_bad(r, &r->token, "the string has an unknown escape");
        }
        to++;
    }
    *to = 0;
    return SH_OK;
}

sh_status sh__ir_take_text(sh_ir_reader *r, const char *expected, const char **text) {
    if (r->token.kind != SH_IR_WORD && r->token.kind != SH_IR_STRING) return sh__ir_expected(r, expected);
    char *const copy = sh__ir_keep(r, r->token.length + 1);
    if (!copy) return sh_error()->code;
    if (r->token.kind == SH_IR_STRING) {
        SH_TRY(decode(r, copy));
    } else {
        memcpy(copy, r->token.at, r->token.length);
        copy[r->token.length] = 0;
    }
    *text = copy;
    return sh__ir_next(r);
}
