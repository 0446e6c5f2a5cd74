/* read_arg.c - arguments: nodes, literals, lists of these; shapes.
 *
 * The entries of open lists stand in one growing row; when a list closes its own are copied to a block of their size. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph_impl.h"
#include "graph/ir/impl.h"

enum { LONGEST_NUMBER = 400, MOST_KEYWORDS = 1024 };

/* ---- literals ---- */

/* Nothing but what Python may write a number with. False: it is none. */
static bool read_number(const char *word, sh_arg *arg) {
    const char *const digits = word + (*word == '-');
    char *end;
    if (!isdigit((unsigned char)*digits) || word[strspn(word, "+-.0123456789eE")]) return false;
    errno = 0;
    if (!word[strcspn(word, ".eE")]) {
        *arg = sh_arg_int(strtoll(word, &end, 10));
        return !*end && !errno;
    }
    *arg = sh_arg_float(strtod(word, &end));
    return !*end && isfinite(arg->as.f);
}

/* nan(0x7ff8000000000001), with the bits. */
static sh_status read_nan(sh_ir_reader *r, sh_arg *arg) {
    *arg = sh_arg_float((double)NAN);
    SH_TRY(sh__ir_next(r));
    if (!sh__ir_is(r, '(')) return SH_OK;
    SH_TRY(sh__ir_next(r));
    const sh_ir_token token = r->token;
    const char *text;
    SH_TRY(sh__ir_take_text(r, "the bits of a NaN", &text));
    char *end;
    const uint64_t bits = strtoull(text, &end, 16);
    memcpy(&arg->as.f, &bits, sizeof bits);
    if (*end || strncmp(text, "0x", 2) != 0 || strlen(text) > 18 || !isnan(arg->as.f))
        return sh__ir_bad(r, &token, "expected the bits of a NaN such as 0x7ff8000000000001, got %.40s",
                          text);
    return sh__ir_take(r, ')', "a ) behind the bits");
}

static sh_status read_node(const sh_ir_reader *r, const sh_ir_token *token, sh_arg *arg) {
    const sh_symbol *symbol = r->graph ? sh__symbol_find(&r->graph->names, token->at, token->length) : NULL;
    const int length = token->length < 200 ? (int)token->length : 200;
    if (!symbol || !symbol->object)
        return sh__ir_bad(r, token, "%%%.*s is not defined above", length, token->at);
    *arg = sh_arg_node(symbol->object);
    return sh__ir_charge((sh_ir_reader *)(uintptr_t)r, sizeof(sh_use));
}

static bool is_plain_word(const char *word, sh_arg *arg) {
    const struct {
        const char *word;
        sh_arg arg;
    } known[] = {{"None", sh_arg_none()},
                 {"True", sh_arg_flag(true)},
                 {"False", sh_arg_flag(false)},
                 {"inf", sh_arg_float(INFINITY)},
                 {"-inf", sh_arg_float(-INFINITY)}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(word, known[i].word) == 0) {
            *arg = known[i].arg;
            return true;
        }
    const sh_dtype dtype = strncmp(word, "torch.", 6) == 0 ? sh_dtype_parse(word + 6) : SH_NO_DTYPE;
    *arg = sh_arg_dtype(dtype);
    return dtype != SH_NO_DTYPE;
}

static sh_status read_word(sh_ir_reader *r, sh_ir_names names, sh_arg *arg) {
    static const char expected[] =
        "an argument (%node, a number, 'string', True, False, None, torch.float32, a list)";
    const sh_ir_token token = r->token;
    char word[LONGEST_NUMBER];
    if (sh__ir_is_word(r, "nan")) return read_nan(r, arg);
    const size_t n = token.length < sizeof word ? token.length : sizeof word - 1;
    memcpy(word, token.at, n);
    word[n] = 0;
    if (n == token.length && (is_plain_word(word, arg) || read_number(word, arg))) return sh__ir_next(r);
    if (names == SH_IR_MARKED || isdigit((unsigned char)*word) || *word == '-')
        return sh__ir_expected(r, expected);
    SH_TRY(read_node(r, &token, arg));
    return sh__ir_next(r);
}

/* ---- lists ---- */

static sh_status push(sh_ir_reader *r, sh_arg entry) {
    if (r->nentries == r->capacity) {
        const size_t capacity = r->capacity ? r->capacity * 2 : 64;
        sh_arg *entries = sh__realloc(r->entries, capacity * sizeof *entries);
        if (!entries) return SH_ERROR_MEMORY;
        r->entries = entries;
        r->capacity = capacity;
    }
    r->entries[r->nentries++] = entry;
    return sh__ir_charge(r, 3 * sizeof entry);
}

static sh_status read_any(sh_ir_reader *r, sh_ir_names names, int depth, sh_arg *arg);

/* The list at hand begins with one mark and ends with the other. */
static sh_status read_list(sh_ir_reader *r, sh_ir_names names, int depth, char close, sh_args *list) {
    const size_t first = r->nentries;
    SH_TRY(sh__ir_next(r));
    while (!sh__ir_is(r, close)) {
        sh_arg entry;
        SH_TRY(read_any(r, names, depth + 1, &entry));
        SH_TRY(push(r, entry));
        if (!sh__ir_is(r, ',')) break;
        SH_TRY(sh__ir_next(r));
    }
    SH_TRY(sh__ir_take(r, close, close == ')' ? ", or ) in the list" : ", or ] in the list"));
    const size_t n = r->nentries - first;
    sh_arg *const at = n ? sh__ir_keep(r, n * sizeof *at) : NULL;
    if (n && !at) return sh_error()->code;
    if (n) memcpy(at, r->entries + first, n * sizeof *at);
    r->nentries = first;
    *list = (sh_args){at, n};
    return SH_OK;
}

static sh_status read_any(sh_ir_reader *r, sh_ir_names names, int depth, sh_arg *arg) {
    if (r->token.kind == SH_IR_WORD) return read_word(r, names, arg);
    if (r->token.kind == SH_IR_STRING) {
        *arg = sh_arg_string(NULL);
        return sh__ir_take_text(r, "a string", &arg->as.string);
    }
    if (sh__ir_is(r, '%')) {
        SH_TRY(sh__ir_next(r));
        if (r->token.kind != SH_IR_WORD) return sh__ir_expected(r, "the name of a node");
        SH_TRY(read_node(r, &r->token, arg));
        return sh__ir_next(r);
    }
    const bool tuple = sh__ir_is(r, '(');
    if (!tuple && !sh__ir_is(r, '[')) return sh__ir_expected(r, "an argument");
    if (depth == SH_IR_DEEPEST) return sh__ir_bad(r, &r->token, "lists nest deeper than %d", SH_IR_DEEPEST);
    sh_args list;
    SH_TRY(read_list(r, names, depth, tuple ? ')' : ']', &list));
    *arg = tuple ? sh_arg_tuple(list) : sh_arg_list(list);
    return SH_OK;
}

sh_status sh__ir_read_arg(sh_ir_reader *r, sh_ir_names names, sh_arg *arg) {
    return read_any(r, names, 0, arg);
}

sh_status sh__ir_read_args(sh_ir_reader *r, sh_args *args) {
    if (!sh__ir_is(r, '(')) return sh__ir_expected(r, "a ( before the arguments");
    return read_list(r, SH_IR_MARKED, -1, ')', args);
}

/* ---- keywords ---- */

/* Names and values stand in turn among the open entries. */
static sh_status read_kwarg(sh_ir_reader *r, size_t first) {
    const sh_ir_token token = r->token;
    sh_arg name = sh_arg_string(NULL), value;
    if (r->nentries - first == 2 * MOST_KEYWORDS)
        return sh__ir_bad(r, &token, "more than %d keyword arguments", MOST_KEYWORDS);
    SH_TRY(sh__ir_take_text(r, "the name of a keyword argument", &name.as.string));
    for (size_t i = first; i < r->nentries; i += 2)
        if (strcmp(r->entries[i].as.string, name.as.string) == 0)
            return sh__ir_bad(r, &token, "the keyword argument %.200s is given twice", name.as.string);
    SH_TRY(sh__ir_take(r, ':', "a : behind the keyword"));
    SH_TRY(sh__ir_read_arg(r, SH_IR_MARKED, &value));
    SH_TRY(push(r, name));
    return push(r, value);
}

sh_status sh__ir_read_kwargs(sh_ir_reader *r, sh_kwargs *kwargs) {
    const size_t first = r->nentries;
    SH_TRY(sh__ir_take(r, '{', "a { before the keyword arguments"));
    while (!sh__ir_is(r, '}')) {
        SH_TRY(read_kwarg(r, first));
        if (!sh__ir_is(r, ',')) break;
        SH_TRY(sh__ir_next(r));
    }
    SH_TRY(sh__ir_take(r, '}', ", or } in the keyword arguments"));
    const size_t n = (r->nentries - first) / 2;
    sh_kwarg *const at = n ? sh__ir_keep(r, n * sizeof *at) : NULL;
    if (n && !at) return sh_error()->code;
    for (size_t i = 0; i < n; i++)
        at[i] = (sh_kwarg){r->entries[first + 2 * i].as.string, r->entries[first + 2 * i + 1]};
    r->nentries = first;
    *kwargs = (sh_kwargs){at, n};
    return SH_OK;
}

/* ---- shapes ---- */

static sh_status read_size(sh_ir_reader *r, bool open, int64_t *size) {
    const sh_ir_token token = r->token;
    sh_arg arg;
    *size = -1;
    if (open && sh__ir_is(r, '?')) return sh__ir_next(r);
    SH_TRY(sh__ir_read_arg(r, SH_IR_MARKED, &arg));
    if (arg.tag != SH_ARG_INT || arg.as.i < 0)
        return sh__ir_bad(r, &token, open ? "expected a size or ?" : "expected a size");
    *size = arg.as.i;
    return SH_OK;
}

sh_status sh__ir_read_spec(sh_ir_reader *r, bool open, sh_spec *spec) {
    const sh_ir_token token = r->token;
    const char *dtype;
    SH_TRY(sh__ir_take_text(r, "a dtype", &dtype));
    *spec = (sh_spec){.dtype = sh_dtype_parse(dtype)};
    if (!spec->dtype) return sh__ir_bad(r, &token, "there is no dtype %.60s", dtype);
    SH_TRY(sh__ir_take(r, '[', "a [ before the sizes"));
    while (!sh__ir_is(r, ']')) {
        if (spec->ndim == SH_MAX_DIMS)
            return sh__ir_bad(r, &r->token, "more than %d dimensions", SH_MAX_DIMS);
        SH_TRY(read_size(r, open, &spec->sizes[spec->ndim++]));
        if (!sh__ir_is(r, ',')) break;
        SH_TRY(sh__ir_next(r));
    }
    return sh__ir_take(r, ']', ", or ] in the sizes");
}
