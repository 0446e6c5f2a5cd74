/* schema.c - a parser by recursive descent, one function a rule of the grammar:
 *
 *     schema  = [word "::"] word ["." word] "(" [params] ")" "->" results
 *     params  = param {"," param} ["," "*" "," param {"," param}] | "*" "," param {"," param}
 *     param   = type word ["=" default]
 *     type    = word [alias] ["?"] ["[" [N] "]" ["?"]]
 *     alias   = "(" letter ["!"] ["->" "*"] ")"
 *     results = result | "(" [result {"," result}] ")"
 *     result  = type [word]
 *
 * A schema is one block: the struct, its parameters, the integers of list defaults, all strings. The length of
 * the text bounds what it can need, so there is one allocation and one free.
 *
 * Numbers are read in the C locale, whatever the program's is. Nothing here knows which ops exist. The build's
 * generator compiles this file too, so it needs nothing but schema_reader.c, sh_fail and the allocator. */
#include "dispatch/schema.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/memory_impl.h"
#include "dispatch/schema_reader.h"

#define TEXT_(limit) #limit
#define TEXT(limit) TEXT_(limit)

struct sh_schema_block {
    sh_schema schema; /* first: the block is freed through it */
    sh_param params[SH_MAX_ARGS];
    sh_param returns[SH_MAX_RESULTS];
    int64_t ints[]; /* the strings follow */
};

/* The word of a list type is that of its entries, which come before it. */
static const char *const type_words[SH_TYPE_COUNT] = {
    [SH_TYPE_TENSOR] = "Tensor", [SH_TYPE_TENSORS] = "Tensor", [SH_TYPE_SCALAR] = "Scalar",
    [SH_TYPE_INT] = "int",       [SH_TYPE_INTS] = "int",       [SH_TYPE_FLOAT] = "float",
    [SH_TYPE_FLAG] = "bool",     [SH_TYPE_STRING] = "str",     [SH_TYPE_DTYPE] = "ScalarType",
};

enum {
    DTYPE_none,
#define SH_DTYPE(name, torch, ctype, kind) DTYPE_##name,
#include "dispatch/dtypes.def"
#undef SH_DTYPE
};

static const struct dtype_word {
    const char *word;
    sh_dtype dtype;
} dtype_words[] = {
#define SH_DTYPE(name, torch, ctype, kind) {#name, (sh_dtype)DTYPE_##name}, {#torch, (sh_dtype)DTYPE_##name},
#define SH_DTYPE_ALIAS(alias, name) {#alias, (sh_dtype)DTYPE_##name},
#include "dispatch/dtypes.def"
#undef SH_DTYPE
};

/* ---- defaults ---- */

static sh_status read_whole(const sh_reader *p, sh_value *value) {
    errno = 0;
    *value = sh_value_int(strtoll(p->at, NULL, 10));
    return errno == ERANGE ? sh__wanted_at(p, p->at, "an integer of 64 bits") : SH_OK;
}

static sh_status read_fraction(const sh_reader *p, sh_value *value) {
    const locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale) return sh_fail(SH_ERROR_MEMORY, "no memory for the C locale");
    *value = sh_value_float(strtod_l(p->at, NULL, c_locale));
    freelocale(c_locale);
    return isinf(value->as.f) ? sh__wanted_at(p, p->at, "a number that a double holds, or inf") : SH_OK;
}

static sh_status parse_number(sh_reader *p, sh_value *value) {
    const char *word = sh__skip_space(p) + (*p->at == '-');
    const size_t length = sh__word_length(word);
    const bool inf = sh__word_is(word, length, "inf");
    if (inf || sh__word_is(word, length, "nan")) {
        const double magnitude = inf ? HUGE_VAL : (double)NAN;
        *value = sh_value_float(*p->at == '-' ? -magnitude : magnitude);
        p->at = word + length;
        return SH_OK;
    }
    bool whole = true;
    const size_t digits = sh__number_length(p->at, &whole);
    if (!digits) return sh__wanted(p, "a number");
    SH_TRY(whole ? read_whole(p, value) : read_fraction(p, value));
    p->at += digits;
    return SH_OK;
}

static bool accept_flag(sh_reader *p, sh_value *value) {
    const bool yes = sh__accept_word(p, "True");
    if (!yes && !sh__accept_word(p, "False")) return false;
    *value = sh_value_flag(yes);
    return true;
}

static sh_status parse_int(sh_reader *p, sh_value *value) {
    const char *at = sh__skip_space(p);
    bool whole = true;
    if (!sh__number_length(at, &whole) || !whole) return sh__wanted(p, "an integer");
    return parse_number(p, value);
}

static sh_status parse_float(sh_reader *p, sh_value *value) {
    SH_TRY(parse_number(p, value));
    *value = sh_value_float(sh_value_as_double(*value));
    return SH_OK;
}

/* One integer stands for N equal ones where the type is int[N]. */
static sh_status parse_ints(sh_reader *p, sh_param *param) {
    int64_t *const first = p->ints;
    sh_value entry = sh_none();
    if (param->length && *sh__skip_space(p) != '[') {
        SH_TRY(parse_int(p, &entry));
        for (int i = 0; i < param->length; i++) *p->ints++ = entry.as.i;
    } else {
        SH_TRY(sh__expect(p, "[", param->length ? "an integer or '['" : "'['"));
        if (!sh__accept(p, "]")) {
            do {
                SH_TRY(parse_int(p, &entry));
                *p->ints++ = entry.as.i;
            } while (sh__accept(p, ","));
            SH_TRY(sh__expect(p, "]", "',' or ']'"));
        }
    }
    param->value = sh_value_ints((sh_ints){first, (size_t)(p->ints - first)});
    return SH_OK;
}

static sh_status parse_tensors(sh_reader *p, sh_value *value) {
    static sh_tensor *const nothing[1] = {NULL};
    SH_TRY(sh__expect(p, "[", "'[]'"));
    SH_TRY(sh__expect(p, "]", "']': a list of tensors can default to the empty one only"));
    *value = sh_value_tensors((sh_tensors){nothing, 0});
    return SH_OK;
}

static const char *keep(sh_reader *p, const char *at, size_t length) {
    char *const kept = p->strings;
    memcpy(kept, at, length);
    kept[length] = '\0';
    p->strings += length + 1;
    return kept;
}

static sh_status parse_string(sh_reader *p, sh_value *value) {
    const char quote = *sh__skip_space(p);
    if (quote != '\'' && quote != '"') return sh__wanted(p, "a string in quotes");
    const char *const first = ++p->at;
    while (*p->at != quote) {
        if (!sh__is_printable(*p->at) || *p->at == '\\') return sh__wanted_at(p, p->at, "the string to end");
        p->at++;
    }
    *value = sh_value_string(keep(p, first, (size_t)(p->at++ - first)));
    return SH_OK;
}

static sh_status parse_dtype(sh_reader *p, sh_value *value) {
    const size_t length = sh__word_length(sh__skip_space(p));
    for (size_t i = 0; i < sizeof dtype_words / sizeof *dtype_words; i++) {
        if (!sh__word_is(p->at, length, dtype_words[i].word)) continue;
        *value = sh_value_dtype(dtype_words[i].dtype);
        p->at += length;
        return SH_OK;
    }
    return sh__wanted(p, "a dtype such as float32 or int64");
}

static sh_status parse_default(sh_reader *p, sh_param *param) {
    sh_value *const value = &param->value;
    if (param->optional && sh__accept_word(p, "None")) return SH_OK;
    switch (param->type) {
    case SH_TYPE_TENSOR:
        return sh__wanted(p, param->optional ? "None" : "no default unless None for a Tensor?");
    case SH_TYPE_TENSORS: return parse_tensors(p, value);
    case SH_TYPE_SCALAR: return accept_flag(p, value) ? SH_OK : parse_number(p, value);
    case SH_TYPE_INT: return parse_int(p, value);
    case SH_TYPE_INTS: return parse_ints(p, param);
    case SH_TYPE_FLOAT: return parse_float(p, value);
    case SH_TYPE_FLAG: return accept_flag(p, value) ? SH_OK : sh__wanted(p, "True or False");
    case SH_TYPE_STRING: return parse_string(p, value);
    case SH_TYPE_DTYPE: return parse_dtype(p, value);
    case SH_TYPE_COUNT: break;
    }
    return sh__wanted(p, "a type that can have a default");
}

/* ---- types ---- */

/* (a), (a!) or (a -> *); the last is PyTorch's mark for a view that goes into a list, here a plain alias. */
static sh_status parse_alias(sh_reader *p, sh_param *param) {
    if (!sh__accept(p, "(")) return SH_OK;
    if (sh__word_length(sh__skip_space(p)) != 1) return sh__wanted(p, "the letter of an alias");
    param->alias = *p->at++;
    param->written = sh__accept(p, "!");
    if (sh__accept(p, "->")) SH_TRY(sh__expect(p, "*", "'*'"));
    return sh__expect(p, ")", param->written ? "')'" : "'!' or ')'");
}

static sh_status parse_length(sh_reader *p, sh_param *param) {
    const long length = strtol(p->at, NULL, 10);
    if (length < 1 || length > SH_MAX_DIMS) return sh__wanted(p, "a length from 1 to " TEXT(SH_MAX_DIMS));
    param->length = (uint8_t)length;
    p->at = sh__skip_digits(p->at);
    return SH_OK;
}

/* What follows the '[' that makes a list of the type. */
static sh_status parse_list(sh_reader *p, sh_param *param) {
    param->type++;
    param->holes = param->optional;
    if (param->type == SH_TYPE_INTS && sh__skip_digits(sh__skip_space(p)) > p->at)
        SH_TRY(parse_length(p, param));
    SH_TRY(sh__expect(p, "]", "']'"));
    param->optional = sh__accept(p, "?");
    return SH_OK;
}

static int type_named(const char *at, size_t length) {
    int type = 0;
    if (sh__word_is(at, length, "SymInt"))
        return SH_TYPE_INT; /* later PyTorch's word for the int of a size */
    while (type < SH_TYPE_COUNT && !sh__word_is(at, length, type_words[type])) type++;
    return type;
}

static sh_status parse_type(sh_reader *p, sh_param *param) {
    const size_t length = sh__word_length(sh__skip_space(p));
    const int type = type_named(p->at, length);
    if (type == SH_TYPE_COUNT)
        return sh__wanted(p, "a type (Tensor, Scalar, int, float, bool, str or ScalarType)");
    param->type = (sh_type)type;
    p->at += length;
    if (type == SH_TYPE_TENSOR) SH_TRY(parse_alias(p, param));
    param->optional = sh__accept(p, "?");
    if (type == SH_TYPE_TENSOR || (type == SH_TYPE_INT && !param->optional))
        return sh__accept(p, "[") ? parse_list(p, param) : SH_OK;
    return *sh__skip_space(p) == '[' ? sh__wanted(p, "no list but Tensor[], Tensor?[], int[] or int[N]")
                                     : SH_OK;
}

/* ---- arguments, results, the whole ---- */

static int find(const sh_param *params, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (!strcmp(params[i].name, name)) return i;
    return -1;
}

/* A name that none of the n parameters in `others` has. */
static sh_status parse_name(sh_reader *p, const sh_param *others, int n, sh_param *param) {
    const char *const at = sh__skip_space(p);
    const size_t length = sh__word_length(at);
    if (!length) return sh__wanted(p, "a name");
    param->name = keep(p, at, length);
    p->at += length;
    return find(others, n, param->name) < 0 ? SH_OK : sh__wanted_at(p, at, "a name that is not taken");
}

static sh_status parse_param(sh_reader *p, bool keyword_only) {
    sh_schema_block *const out = p->out;
    const int n = out->schema.nparams;
    const char *const at = sh__skip_space(p);
    if (n == SH_MAX_ARGS) return sh__wanted(p, "at most " TEXT(SH_MAX_ARGS) " arguments");
    sh_param *const param = &out->params[n];
    SH_TRY(parse_type(p, param));
    SH_TRY(parse_name(p, out->params, n, param));
    param->keyword_only = keyword_only;
    param->has_default = sh__accept(p, "=");
    if (param->has_default) SH_TRY(parse_default(p, param));
    if (!param->has_default && !keyword_only && n > 0 && out->params[n - 1].has_default)
        return sh__wanted_at(p, at, "an argument with a default, since the one before it has one");
    out->schema.nparams++;
    return SH_OK;
}

static sh_status parse_params(sh_reader *p) {
    bool keyword_only = false;
    SH_TRY(sh__expect(p, "(", "'('"));
    if (sh__accept(p, ")")) return SH_OK;
    do {
        if (!keyword_only && sh__accept(p, "*")) {
            keyword_only = true;
            SH_TRY(sh__expect(p, ",", "',' and a keyword argument"));
        }
        SH_TRY(parse_param(p, keyword_only));
    } while (sh__accept(p, ","));
    return sh__expect(p, ")", "',' or ')'");
}

/* A result's alias mark says which argument it shares memory with. */
static sh_status check_alias(const sh_reader *p, const char *at, const sh_param *result) {
    const sh_schema_block *const out = p->out;
    bool known = !result->alias;
    for (int i = 0; i < out->schema.nparams; i++) known |= out->params[i].alias == result->alias;
    return known ? SH_OK : sh__wanted_at(p, at, "a result whose alias letter stands at an argument");
}

static sh_status parse_result(sh_reader *p) {
    sh_schema_block *const out = p->out;
    const int n = out->schema.nreturns;
    const char *const at = sh__skip_space(p);
    if (n == SH_MAX_RESULTS) return sh__wanted(p, "at most " TEXT(SH_MAX_RESULTS) " results");
    sh_param *const result = &out->returns[n];
    result->name = "";
    SH_TRY(parse_type(p, result));
    SH_TRY(check_alias(p, at, result));
    if (sh__word_length(sh__skip_space(p))) SH_TRY(parse_name(p, out->returns, n, result));
    out->schema.nreturns++;
    return SH_OK;
}

static sh_status parse_results(sh_reader *p) {
    SH_TRY(sh__expect(p, "->", "'->'"));
    if (!sh__accept(p, "(")) return parse_result(p);
    if (sh__accept(p, ")")) return SH_OK;
    do { SH_TRY(parse_result(p)); } while (sh__accept(p, ","));
    return sh__expect(p, ")", "',' or ')'");
}

static sh_status skip_word(sh_reader *p, const char *what) {
    const size_t length = sh__word_length(p->at);
    p->at += length;
    return length ? SH_OK : sh__wanted_at(p, p->at, what);
}

/* [namespace::]family[.overload], no spaces inside. */
static sh_status parse_op_name(sh_reader *p) {
    sh_schema *const schema = &p->out->schema;
    const char *const first = sh__skip_space(p);
    SH_TRY(skip_word(p, "the name of an op"));
    if (!strncmp(p->at, "::", 2)) {
        p->at += 2;
        SH_TRY(skip_word(p, "the name of an op"));
    }
    schema->family = keep(p, first, (size_t)(p->at - first));
    if (*p->at == '.') {
        p->at++;
        SH_TRY(skip_word(p, "the name of an overload"));
    }
    schema->name = keep(p, first, (size_t)(p->at - first));
    return SH_OK;
}

static sh_status parse_schema(sh_reader *p) {
    p->out->schema.params = p->out->params;
    p->out->schema.returns = p->out->returns;
    p->out->schema.text = keep(p, p->text, strlen(p->text));
    SH_TRY(parse_op_name(p));
    SH_TRY(parse_params(p));
    SH_TRY(parse_results(p));
    return *sh__skip_space(p) ? sh__wanted(p, "the end") : SH_OK;
}

sh_status sh_schema_parse(const char *text, sh_schema **schema) {
    if (!text) return sh_fail(SH_ERROR_NULL, "schema: text is NULL");
    /* An integer of a list takes two characters, or is one of N equal ones. A name is followed by a character
     * that is no part of it, which makes room for its NUL; the family is kept twice, the text once. */
    const size_t length = strlen(text), nints = length / 2 + SH_MAX_ARGS * SH_MAX_DIMS;
    sh_schema_block *const out =
        sh__calloc(1, sizeof(sh_schema_block) + nints * sizeof(int64_t) + 3 * (length + 1));
    if (!out) return SH_ERROR_MEMORY;
    sh_reader p = {text, text, out, out->ints, (char *)(out->ints + nints), false};
    const sh_status status = parse_schema(&p);
    if (status < 0)
        sh__free(out);
    else
        *schema = &out->schema;
    return status;
}

void sh_schema_free(sh_schema *schema) { sh__free(schema); }

int sh_schema_find(const sh_schema *schema, const char *name) {
    return find(schema->params, schema->nparams, name);
}

void sh_type_print(const sh_param *param, char *text, size_t size) {
    char alias[8] = "", list[8] = "";
    const bool is_list = param->type == SH_TYPE_TENSORS || param->type == SH_TYPE_INTS;
    if (param->alias) snprintf(alias, sizeof alias, "(%c%s)", param->alias, param->written ? "!" : "");
    if (param->length)
        snprintf(list, sizeof list, "[%d]", param->length);
    else if (is_list)
        snprintf(list, sizeof list, "[]");
    snprintf(text, size, "%s%s%s%s%s", type_words[param->type], alias, param->holes ? "?" : "", list,
             param->optional ? "?" : "");
}
