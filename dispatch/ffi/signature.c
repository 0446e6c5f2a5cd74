/* signature.c - a parser by recursive descent, one function a rule of the grammar:
 *
 *     signature = type {"*"} [word | "(" "*" [word] ")"] "(" [params] ")" [";"]
 *     params    = "void" | param {"," param}
 *     param     = type declarator
 *     declarator = {"*" ["const" | "restrict"]} [word] {"[" ["static"] [word | number] "]"}
 *     type      = ["const"] (base | "struct" (word | fields) | word) ["const"]
 *     fields    = "{" type declarator {"," declarator} ";" {...} "}"
 *
 * Line ends count as spaces. A struct that was named is read from its own text, where it stands, as if it were written out. */
#include "dispatch/ffi/signature.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/memory_impl.h"

enum { DEEPEST_STRUCT = 6 };

typedef struct parser {
    sh_reader r;
    sh_signature *s;
    int depth;
} parser;

bool sh__cword_is(sh_cword word, const char *text) { return word.n && sh__word_is(word.at, word.n, text); }
bool sh__cword_equal(sh_cword a, sh_cword b) { return a.n == b.n && a.n && !memcmp(a.at, b.at, a.n); }

int sh__signature_dim(const sh_signature *s, sh_cword name) {
    for (uint32_t i = 0; i < s->ndims; i++)
        if (sh__cword_equal(s->dims[i], name)) return (int)i;
    return -1;
}

/* ---- words ---- */

static bool accept_qualifier(parser *p, bool *constant) {
    if (sh__accept_word(&p->r, "const")) return *constant = true;
    return sh__accept_word(&p->r, "volatile");
}

static bool accept_restrict(parser *p) {
    return sh__accept_word(&p->r, "restrict") || sh__accept_word(&p->r, "__restrict") ||
           sh__accept_word(&p->r, "__restrict__") || sh__accept_word(&p->r, "const");
}

static sh_status read_name(parser *p, sh_cword *name) {
    const size_t n = sh__word_length(sh__skip_space(&p->r));
    if (n > 63) return sh__wanted(&p->r, "a name of at most 63 letters");
    *name = (sh_cword){p->r.at, (uint32_t)n};
    p->r.at += n;
    return SH_OK;
}

/* ---- structs ---- */

static size_t padded(size_t at, size_t align) { return (at + align - 1) / align * align; }

static void set_size(sh_citem *item) {
    if (item->pointers)
        item->size = item->align = sizeof(void *);
    else if (item->type != SH_C_STRUCT)
        item->size = item->align = (uint16_t)sh__ctype_size(item->type);
}

/* Offsets as the C ABI has them: each field at the next place that its alignment allows. */
static void lay_out(sh_signature *s, sh_citem *item) {
    size_t at = 0, align = 1;
    for (uint16_t f = item->fields; f; f = s->items[f].next) {
        sh_citem *field = &s->items[f];
        at = padded(at, field->align);
        field->offset = (uint16_t)at;
        at += field->size;
        if (field->align > align) align = field->align;
    }
    item->size = (uint16_t)padded(at, align);
    item->align = (uint16_t)align;
}

static sh_status parse_type(parser *p, sh_citem *item);
static sh_status parse_declarator(parser *p, sh_citem *item);

static sh_status new_field(parser *p, const sh_citem *like, sh_citem *owner, uint16_t *last) {
    if (SH_C_PARAMS + p->s->nfields == SH_C_ITEMS) return sh__wanted(&p->r, "fewer fields");
    const uint16_t index = (uint16_t)(SH_C_PARAMS + p->s->nfields++);
    sh_citem *field = &p->s->items[index];
    *field = *like;
    SH_TRY(parse_declarator(p, field));
    if (field->brackets) return sh__wanted(&p->r, "a field that is no array");
    if (!field->name.n) return sh__wanted(&p->r, "the name of a field");
    if (field->type == SH_C_VOID && !field->pointers) return sh__wanted(&p->r, "a field that is not void");
    *(*last ? &p->s->items[*last].next : &owner->fields) = index;
    *last = index;
    return SH_OK;
}

static sh_status parse_fields(parser *p, sh_citem *owner) {
    uint16_t last = 0;
    if (++p->depth > DEEPEST_STRUCT) return sh__wanted(&p->r, "structs that nest less deep");
    SH_TRY(sh__expect(&p->r, "{", "'{'"));
    while (!sh__accept(&p->r, "}")) {
        sh_citem like = {0};
        SH_TRY(parse_type(p, &like));
        do SH_TRY(new_field(p, &like, owner, &last));
        while (sh__accept(&p->r, ","));
        SH_TRY(sh__expect(&p->r, ";", "';'"));
    }
    if (!last) return sh__wanted(&p->r, "a struct with fields");
    p->depth--;
    owner->type = SH_C_STRUCT;
    lay_out(p->s, owner);
    return SH_OK;
}

/* The text of a named struct stands in for the name. */
static sh_status parse_named(parser *p, sh_citem *item) {
    sh_cword name = {NULL, 0};
    SH_TRY(read_name(p, &name));
    const char *text = name.n ? sh__struct_text(name.at, name.n) : NULL;
    if (!text) {
        p->r.at = name.at;
        return sh__wanted(&p->r, "a type of C or a struct that was named");
    }
    const sh_reader outer = p->r;
    p->r.text = p->r.at = text;
    const sh_status status = parse_fields(p, item);
    p->r.text = outer.text;
    p->r.at = outer.at;
    return status;
}

static sh_status parse_struct(parser *p, sh_citem *item) {
    if (*sh__skip_space(&p->r) == '{') return parse_fields(p, item);
    return parse_named(p, item);
}

/* ---- types and declarators ---- */

static sh_status parse_type(parser *p, sh_citem *item) {
    bool constant = false;
    while (accept_qualifier(p, &constant)) {}
    item->column = (uint16_t)(sh__skip_space(&p->r) - p->r.text + 1);
    if (sh__accept_word(&p->r, "struct"))
        SH_TRY(parse_struct(p, item));
    else if (!sh__ctype_read(&p->r, &item->type))
        SH_TRY(parse_named(p, item));
    while (accept_qualifier(p, &constant)) {}
    item->constant = constant;
    return SH_OK;
}

static sh_status named_dim(parser *p, sh_cdim *dim) {
    sh_cword name = {NULL, 0};
    SH_TRY(read_name(p, &name));
    dim->name = sh__signature_dim(p->s, name);
    if (dim->name >= 0) return SH_OK;
    if (p->s->ndims == SH_C_DIMS) return sh__wanted_at(&p->r, name.at, "fewer names of dimensions");
    dim->name = (int32_t)p->s->ndims;
    p->s->dims[p->s->ndims++] = name;
    return SH_OK;
}

static sh_status parse_dim(parser *p, sh_cdim *dim) {
    while (sh__accept_word(&p->r, "static") || accept_restrict(p)) {}
    const char *at = sh__skip_space(&p->r), *end = sh__skip_digits(at);
    dim->name = SH_DIM_ANY;
    if (end - at > 18) return sh__wanted(&p->r, "a smaller number");
    if (end > at) {
        *dim = (sh_cdim){SH_DIM_FIXED, strtoll(at, NULL, 10)};
        p->r.at = end;
    } else if (sh__word_length(at)) {
        SH_TRY(named_dim(p, dim));
    }
    return sh__expect(&p->r, "]", "a name, a number or ']'");
}

static sh_status parse_brackets(parser *p, sh_citem *item) {
    while (sh__accept(&p->r, "[")) {
        if (item->rank == SH_MAX_DIMS) return sh__wanted(&p->r, "at most 8 dimensions");
        SH_TRY(parse_dim(p, &item->dims[item->rank++]));
        item->brackets = 1;
    }
    if (item->brackets) item->pointers++;
    return SH_OK;
}

static sh_status parse_declarator(parser *p, sh_citem *item) {
    while (sh__accept(&p->r, "*")) {
        if (item->pointers == 2) return sh__wanted(&p->r, "at most two levels of pointer");
        item->pointers++;
        while (accept_restrict(p)) {}
    }
    SH_TRY(read_name(p, &item->name));
    SH_TRY(parse_brackets(p, item));
    if (item->type == SH_C_STRUCT && item->pointers) return sh__wanted(&p->r, "a struct by value");
    if (item->pointers > 1 && item->type != SH_C_TENSOR) return sh__wanted(&p->r, "one level of pointer");
    if (item->type == SH_C_TENSOR && !item->pointers) return sh__wanted(&p->r, "'*': a tensor has no value");
    set_size(item);
    return SH_OK;
}

/* ---- the function ---- */

static sh_status parse_param(parser *p) {
    if (p->s->nparams == SH_C_PARAMS) return sh__wanted(&p->r, "at most 24 parameters");
    sh_citem *item = &p->s->items[p->s->nparams++];
    SH_TRY(parse_type(p, item));
    SH_TRY(parse_declarator(p, item));
    if (item->type == SH_C_VOID && !item->pointers) return sh__wanted(&p->r, "a parameter that is not void");
    for (uint32_t i = 0; i + 1 < p->s->nparams; i++)
        if (sh__cword_equal(p->s->items[i].name, item->name))
            return sh__wanted_at(&p->r, item->name.at, "a name that no other parameter has");
    return SH_OK;
}

static sh_status parse_params(parser *p) {
    SH_TRY(sh__expect(&p->r, "(", "'('"));
    if (sh__accept(&p->r, ")")) return SH_OK;
    const char *const first = p->r.at;
    if (sh__accept_word(&p->r, "void") && sh__accept(&p->r, ")")) return SH_OK;
    p->r.at = first;
    do SH_TRY(parse_param(p));
    while (sh__accept(&p->r, ","));
    return sh__expect(&p->r, ")", "',' or ')'");
}

static sh_status parse_returns(parser *p) {
    sh_citem *item = &p->s->returns;
    SH_TRY(parse_type(p, item));
    item->name = (sh_cword){"return", 6};
    while (sh__accept(&p->r, "*")) item->pointers++;
    if (item->type == SH_C_STRUCT) return sh__wanted(&p->r, "no struct to be returned");
    if (item->pointers > (item->type == SH_C_TENSOR)) return sh__wanted(&p->r, "a number to be returned");
    if (item->type == SH_C_TENSOR && !item->pointers) return sh__wanted(&p->r, "'*'");
    const bool by_value = sh__ctype_class(item->type) != SH_CLASS_NONE || item->type == SH_C_VOID;
    if (!by_value && !item->pointers) return sh__wanted(&p->r, "a real number to be returned");
    set_size(item);
    return SH_OK;
}

static sh_status parse_function(parser *p) {
    sh_cword name = {NULL, 0};
    SH_TRY(parse_returns(p));
    SH_TRY(read_name(p, &name));
    const char *const at = p->r.at;
    if (!name.n && sh__accept(&p->r, "(") && sh__accept(&p->r, "*")) {
        SH_TRY(read_name(p, &name));
        SH_TRY(sh__expect(&p->r, ")", "')'"));
    } else {
        p->r.at = at;
    }
    SH_TRY(parse_params(p));
    sh__accept(&p->r, ";");
    return *sh__skip_space(&p->r) ? sh__wanted(&p->r, "the end") : SH_OK;
}

static void spaces_for_line_ends(char *text) {
    for (; *text; text++)
        if (*text == '\n' || *text == '\r') *text = ' ';
}

sh_signature *sh__signature_parse(const char *text) {
    if (!text) {
        sh_fail(SH_ERROR_NULL, "C signature: the text is NULL");
        return NULL;
    }
    if (strlen(text) > 4000) {
        sh_fail(SH_ERROR_SIGNATURE, "C signature: %zu letters, the most is 4000", strlen(text));
        return NULL;
    }
    sh_signature *s = sh__calloc(1, sizeof *s);
    if (!s) return NULL;
    s->text = sh__strdup(text);
    if (s->text) spaces_for_line_ends(s->text);
    parser p = {.r = {.text = s->text, .at = s->text, .is_c = true}, .s = s};
    if (s->text && parse_function(&p) >= 0) return s;
    sh__signature_free(s);
    return NULL;
}

void sh__signature_free(sh_signature *s) {
    if (!s) return;
    sh__free(s->text);
    sh__free(s);
}
