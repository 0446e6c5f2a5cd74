/* Reads one line of a golden file by recursive descent: the grammar is in golden.py. A reader returns
 * false where the line is not in the language and leaves c->at there. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tests/golden.h"

static bool accept(golden_case *c, const char *text) {
    const size_t length = strlen(text);
    if (strncmp(c->at, text, length) != 0) return false;
    c->at += length;
    return true;
}

/* The length of the name at `text`: letters, digits, _ and . */
static size_t name_length(const char *text) {
    size_t n = 0;
    while (isalnum((unsigned char)text[n]) || text[n] == '_' || text[n] == '.') n++;
    return n;
}

/* A copy of `length` characters that lives as long as the case; NULL when there is no room. */
static const char *keep_text(golden_case *c, const char *text, size_t length) {
    if (c->nchars + length + 1 > GOLDEN_CHARS) return NULL;
    char *copy = c->chars + c->nchars;
    memcpy(copy, text, length);
    copy[length] = '\0';
    c->nchars += length + 1;
    return copy;
}

/* Integers up to `closing`; the opening bracket is behind us. */
static bool read_ints(golden_case *c, char closing, sh_ints *list) {
    list->at = c->ints + c->nints;
    list->n = 0;
    while (*c->at != closing) {
        char *end;
        if (c->nints == GOLDEN_INTS) return false;
        c->ints[c->nints] = strtoll(c->at, &end, 10);
        if (end == c->at) return false;
        c->at = end + (*end == ',');
        c->nints++, list->n++;
    }
    c->at++;
    return true;
}

/* ---- tensors ---- */

typedef struct layout {
    sh_ints sizes, strides; /* strides.at is NULL for row-major */
    int64_t offset;
} layout;

/* "[2,3]{1,2}+4" */
static bool read_layout(golden_case *c, layout *l) {
    *l = (layout){{NULL, 0}, {NULL, 0}, 0};
    if (!accept(c, "[") || !read_ints(c, ']', &l->sizes)) return false;
    if (accept(c, "{") && (!read_ints(c, '}', &l->strides) || l->strides.n != l->sizes.n)) return false;
    if (*c->at == '+') l->offset = strtoll(c->at, (char **)&c->at, 10);
    return l->sizes.n <= SH_MAX_DIMS;
}

static void set_row_major(golden_case *c, layout *l) {
    int64_t *strides = c->ints + c->nints, step = 1;
    for (size_t d = l->sizes.n; d-- > 0;) {
        strides[d] = step;
        step *= l->sizes.at[d] > 1 ? l->sizes.at[d] : 1;
    }
    c->nints += l->sizes.n;
    l->strides = (sh_ints){strides, l->sizes.n};
}

/* Elements that a storage needs for this view. */
static int64_t storage_length(const layout *l) {
    int64_t last = l->offset;
    for (size_t d = 0; d < l->sizes.n; d++) {
        if (l->sizes.at[d] == 0) return l->offset;
        last += (l->sizes.at[d] - 1) * l->strides.at[d];
    }
    return last + 1;
}

static bool add_view(golden_case *c, sh_tensor *storage, const layout *l, sh_tensor **view) {
    if (c->ninputs == GOLDEN_TENSORS) return false;
    *view = sh_tensor_as_strided(storage, l->sizes, l->strides, l->offset);
    c->inputs[c->ninputs++] = (golden_input){storage, *view, NULL};
    return *view != NULL;
}

/* "[2,3]{1,2}+4:u(1,-2,2)" after a dtype. */
static bool read_tensor(golden_case *c, sh_dtype dtype, sh_tensor **t) {
    layout l;
    if (!read_layout(c, &l) || !accept(c, ":")) return false;
    if (c->nints + l.sizes.n > GOLDEN_INTS) return false;
    if (!l.strides.at) set_row_major(c, &l);
    const int64_t length = storage_length(&l);
    sh_tensor *storage = sh_tensor_new_on(c->device, dtype, (sh_ints){&length, 1});
    const char *end = storage ? golden_fill(storage, c->at) : NULL;
    if (!end) return false;
    c->at = end;
    return add_view(c, storage, &l, t);
}

/* "2" or "2[3]{1}+1" after an @. */
static bool read_again(golden_case *c, sh_tensor **t) {
    const size_t k = strtoul(c->at, (char **)&c->at, 10);
    if (k >= c->ninputs || c->ninputs == GOLDEN_TENSORS) return false;
    layout l;
    if (*c->at == '[') return read_layout(c, &l) && add_view(c, c->inputs[k].storage, &l, t);
    *t = c->inputs[k].view;
    c->inputs[c->ninputs++] = c->inputs[k];
    return true;
}

/* ---- arguments ---- */

static bool read_number(golden_case *c, sh_value *value) {
    char *end, *float_end;
    const long long i = strtoll(c->at, &end, 10);
    const double f = strtod(c->at, &float_end);
    if (float_end == c->at) return false;
    *value = float_end > end ? sh_value_float(f) : sh_value_int(i);
    c->at = float_end;
    return true;
}

static bool read_string(golden_case *c, sh_value *value) {
    const char *end = strchr(c->at, '\'');
    const char *copy = end ? keep_text(c, c->at, (size_t)(end - c->at)) : NULL;
    if (!copy) return false;
    *value = sh_value_string(copy);
    c->at = end + 1;
    return true;
}

static bool read_tensor_argument(golden_case *c, sh_tensor **t);

/* Tensors up to a closing brace. */
static bool read_tensors(golden_case *c, sh_value *value) {
    sh_tensors list = {c->lists + c->nlists, 0};
    while (!accept(c, "}")) {
        if (c->nlists == GOLDEN_TENSORS || !read_tensor_argument(c, &c->lists[c->nlists])) return false;
        c->nlists++, list.n++;
        accept(c, ", ");
    }
    *value = sh_value_tensors(list);
    return true;
}

/* The dtype at the reader, if one is there. */
static sh_dtype read_dtype(golden_case *c) {
    char name[8] = "";
    const size_t length = name_length(c->at);
    if (length == 0 || length >= sizeof name) return SH_NO_DTYPE;
    memcpy(name, c->at, length);
    const sh_dtype dtype = sh_dtype_parse(name);
    if (dtype) c->at += length;
    return dtype;
}

static bool read_tensor_argument(golden_case *c, sh_tensor **t) {
    if (accept(c, "@")) return read_again(c, t);
    const sh_dtype dtype = read_dtype(c);
    return dtype && read_tensor(c, dtype, t);
}

static bool read_dtype_or_tensor(golden_case *c, sh_value *value) {
    const sh_dtype dtype = read_dtype(c);
    sh_tensor *t;
    *value = sh_value_dtype(dtype);
    if (!dtype || *c->at != '[') return dtype != SH_NO_DTYPE;
    if (!read_tensor(c, dtype, &t)) return false;
    *value = sh_value_tensor(t);
    return true;
}

static bool read_list(golden_case *c, sh_value *value) {
    sh_ints list;
    if (!read_ints(c, ']', &list)) return false;
    *value = sh_value_ints(list);
    return true;
}

static bool read_value(golden_case *c, sh_value *value) {
    sh_tensor *t;
    if (accept(c, "[")) return read_list(c, value);
    if (accept(c, "{")) return read_tensors(c, value);
    if (accept(c, "'")) return read_string(c, value);
    if (accept(c, "None")) return *value = sh_none(), true;
    if (accept(c, "True")) return *value = sh_value_flag(true), true;
    if (accept(c, "False")) return *value = sh_value_flag(false), true;
    if (*c->at == '@') {
        if (!read_tensor_argument(c, &t)) return false;
        return *value = sh_value_tensor(t), true;
    }
    return read_dtype_or_tensor(c, value) || read_number(c, value);
}

static bool read_argument(golden_case *c) {
    const size_t length = name_length(c->at);
    sh_argument *argument = &c->arguments[c->narguments];
    argument->name = NULL;
    if (length && c->at[length] == '=') {
        argument->name = keep_text(c, c->at, length);
        if (!argument->name) return false;
        c->at += length + 1;
    }
    c->narguments++;
    return read_value(c, &argument->value);
}

static bool read_call(golden_case *c) {
    const size_t length = name_length(c->at);
    if (length == 0 || length >= sizeof c->op) return false;
    memcpy(c->op, c->at, length);
    c->at += length;
    if (!accept(c, "(")) return false;
    while (!accept(c, ")")) {
        if (c->narguments == SH_MAX_ARGS || !read_argument(c)) return false;
        accept(c, ", ");
    }
    return accept(c, " -> ");
}

/* ---- results ---- */

static bool read_result(golden_case *c) {
    if (c->nresults == GOLDEN_RESULTS) return false;
    golden_result *r = &c->results[c->nresults++];
    layout l;
    r->after = accept(c, "after ") ? (int)strtol(c->at, (char **)&c->at, 10) : -1;
    accept(c, " ");
    r->spec.dtype = read_dtype(c);
    if (!r->spec.dtype || !read_layout(c, &l)) return false;
    r->spec.ndim = (int32_t)l.sizes.n;
    memcpy(r->spec.sizes, l.sizes.at, l.sizes.n * sizeof *l.sizes.at);
    r->is_view = l.strides.at != NULL;
    if (r->is_view) memcpy(r->strides, l.strides.at, l.sizes.n * sizeof *l.sizes.at);
    r->is_defined = !accept(c, " ?");
    r->values = c->at;
    c->at += strcspn(c->at, "|}\n");
    return true;
}

static bool read_results(golden_case *c) {
    if (accept(c, "error # ")) {
        c->refusal = c->at;
        return true;
    }
    c->by_reference = accept(c, "ref");
    if (c->by_reference) return true;
    accept(c, "via f32 ");
    c->is_list = accept(c, "{ ");
    if (c->is_list && accept(c, "}")) return true;
    do {
        if (!read_result(c)) return false;
    } while (accept(c, "| "));
    return *c->at == '\0' || *c->at == '\n' || *c->at == '}';
}

bool golden_parse(golden_case *c, const char *line, sh_device device) {
    memset(c, 0, sizeof *c);
    c->line = c->at = line;
    c->device = device;
    return read_call(c) && read_results(c);
}
