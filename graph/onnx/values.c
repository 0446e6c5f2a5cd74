/* values.c - the reader's values by name, the errors at a node, the attributes of a node, the calls it becomes. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/text.h"
#include "graph/onnx/reader.h"

const char *sh__onnx_node_name(const sh_onnx_reader *r) {
    const char *name = sh__onnx_text(r->node->name);
    return !*name && r->node->n_output ? r->node->output[0] : name;
}

sh_status sh__onnx_fail(const sh_onnx_reader *r, sh_status code, const char *format, ...) {
    char message[512];
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    return sh_fail(code, "%s: node %.200s (%.80s): %s", r->file, sh__onnx_node_name(r),
                   sh__onnx_text(r->node->op_type), message);
}

/* ---- values ---- */

static sh_onnx_value *add_value(sh_onnx_reader *r) {
    if (r->nvalues == r->capacity) {
        const size_t capacity = r->capacity ? r->capacity * 2 : 64;
        sh_onnx_value *values = sh__realloc(r->values, capacity * sizeof *values);
        if (!values) return NULL;
        r->values = values;
        r->capacity = capacity;
    }
    r->values[r->nvalues] = (sh_onnx_value){0};
    return &r->values[r->nvalues++];
}

sh_status sh__onnx_define(sh_onnx_reader *r, const char *name, sh_node *node, sh_tensor *constant) {
    if (!*name) return sh_fail(SH_ERROR_FORMAT, "%s: a value has no name", r->file);
    if (!sh__is_text(name))
        return sh_fail(SH_ERROR_FORMAT, "%s: the name of the value %.200s is no text in UTF-8", r->file,
                       name);
    SH_TRY(sh__budget_take(r->budget, strlen(name) + 160));
    sh_symbol *symbol = sh__symbol(&r->names, name, strlen(name));
    if (!symbol) return SH_ERROR_MEMORY;
    if (symbol->count) return sh_fail(SH_ERROR_FORMAT, "%s: the value %.200s is made twice", r->file, name);
    sh_onnx_value *value = add_value(r);
    if (!value) return SH_ERROR_MEMORY;
    *value = (sh_onnx_value){symbol->text, node, sh_keep(constant)};
    symbol->count = (int64_t)r->nvalues;
    return SH_OK;
}

sh_onnx_value *sh__onnx_find(const sh_onnx_reader *r, const char *name) {
    const sh_symbol *symbol = sh__symbol_find(&r->names, name, strlen(name));
    return symbol && symbol->count ? &r->values[symbol->count - 1] : NULL;
}

sh_node *sh__onnx_constant_value(sh_onnx_reader *r, const sh_onnx_value *value) {
    const sh_tensor *t = value->constant;
    sh_spec spec = {.dtype = sh_tensor_dtype(t), .ndim = sh_tensor_ndim(t)};
    memcpy(spec.sizes, sh_tensor_sizes(t), (size_t)spec.ndim * sizeof *spec.sizes);
    if (sh__budget_take(r->budget, NODE_BYTES + 4 * strlen(value->name) + 256) < 0) return NULL;
    if (sh_graph_set_attr(r->graph, value->name, value->constant) < 0) return NULL;
    sh_node *node = sh_graph_get_attr(r->graph, value->name);
    if (node) sh_node_set_spec(node, &spec);
    return node;
}

bool sh__onnx_has_input(const sh_onnx_reader *r, size_t i) {
    return i < r->node->n_input && *r->node->input[i];
}

/* Says why nothing of this name is there. */
static sh_status no_value(const sh_onnx_reader *r, const char *name) {
    return sh__onnx_fail(
        r, SH_ERROR_FORMAT,
        "its input %.200s is made by nothing before it: no input, initializer or earlier node "
        "(a cycle, or nodes out of order)",
        name);
}

sh_node *sh__onnx_input(sh_onnx_reader *r, size_t i) {
    if (!sh__onnx_has_input(r, i)) {
        sh__onnx_fail(r, SH_ERROR_FORMAT, "input %zu is missing", i);
        return NULL;
    }
    sh_onnx_value *value = sh__onnx_find(r, r->node->input[i]);
    if (!value)
        no_value(r, r->node->input[i]);
    else if (!value->node)
        value->node = sh__onnx_constant_value(r, value);
    return value ? value->node : NULL;
}

sh_tensor *sh__onnx_constant(const sh_onnx_reader *r, size_t i) {
    const sh_onnx_value *value = sh__onnx_has_input(r, i) ? sh__onnx_find(r, r->node->input[i]) : NULL;
    return value ? value->constant : NULL;
}

sh_status sh__onnx_constant_ints(const sh_onnx_reader *r, size_t i, sh_ints *list) {
    const sh_tensor *t = sh__onnx_constant(r, i);
    if (!sh__onnx_has_input(r, i))
        return sh__onnx_fail(r, SH_ERROR_FORMAT, "input %zu, a shape, is missing", i);
    if (!sh__onnx_find(r, r->node->input[i])) return no_value(r, r->node->input[i]);
    if (!t)
        return sh__onnx_fail(
            r, SH_ERROR_UNSUPPORTED,
            "its shape %.200s is computed while the model runs; only constant shapes are read",
            r->node->input[i]);
    if (sh_tensor_dtype(t) != SH_I64 || sh_tensor_ndim(t) != 1)
        return sh__onnx_fail(r, SH_ERROR_FORMAT,
                             "its shape %.200s is %s with %d dimensions, expected i64 with 1",
                             r->node->input[i], sh_dtype_name(sh_tensor_dtype(t)), sh_tensor_ndim(t));
    if (sh_tensor_numel(t) > SH_MAX_DIMS)
        return sh__onnx_fail(r, SH_ERROR_UNSUPPORTED,
                             "its shape has %" PRId64 " dimensions, %d are supported", sh_tensor_numel(t),
                             SH_MAX_DIMS);
    *list = (sh_ints){sh_tensor_data(t), (size_t)sh_tensor_numel(t)};
    return SH_OK;
}

sh_status sh__onnx_output(sh_onnx_reader *r, sh_node *node) {
    return node ? sh__onnx_define(r, r->node->output[0], node, NULL) : sh_error()->code;
}

/* ---- calls ---- */

sh_node *sh__onnx_call(sh_onnx_reader *r, const char *suffix, const char *target, sh_args args,
                       sh_kwargs kwargs) {
    const char *base = sh__onnx_node_name(r);
    const size_t length = strlen(base) + strlen(suffix) + 1;
    if (sh__budget_take(r->budget, NODE_BYTES + 2 * length + 256 + 64 * r->node->n_input) < 0) return NULL;
    char *wish = sh__alloc(length);
    if (!wish) return NULL;
    snprintf(wish, length, "%s%s", base, suffix);
    sh_node *node = sh_graph_create_node(r->graph, SH_CALL_FUNCTION, target, args, kwargs, wish);
    sh__free(wish);
    if (!node || sh__node_infer(node, &r->scratch) >= 0) return node;
    char message[512];
    const sh_status code = sh_error()->code;
    snprintf(message, sizeof message, "%s", sh_error()->message);
    sh_clear_error();
    sh__onnx_fail(r, code, "%s", message);
    return NULL;
}

/* ---- attributes ---- */

const Onnx__AttributeProto *sh__onnx_attribute(const sh_onnx_reader *r, const char *name, int type) {
    for (size_t i = 0; i < r->node->n_attribute; i++) {
        const Onnx__AttributeProto *a = r->node->attribute[i];
        if (strcmp(sh__onnx_text(a->name), name) != 0) continue;
        if ((int)a->type == type) return a;
        sh__onnx_fail(r, SH_ERROR_FORMAT, "attribute %s has type %d, expected %d", name, (int)a->type, type);
        return NULL;
    }
    return NULL;
}

int64_t sh__onnx_int(const sh_onnx_reader *r, const char *name, int64_t otherwise) {
    const Onnx__AttributeProto *a = sh__onnx_attribute(r, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    return a ? a->i : otherwise;
}

sh_ints sh__onnx_ints(const sh_onnx_reader *r, const char *name) {
    static const int64_t none[1];
    const Onnx__AttributeProto *a = sh__onnx_attribute(r, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    if (!a) return (sh_ints){NULL, 0};
    return (sh_ints){a->n_ints ? a->ints : none, a->n_ints};
}

bool sh__onnx_string_is(const sh_onnx_reader *r, const char *name, const char *text) {
    const Onnx__AttributeProto *a =
        sh__onnx_attribute(r, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
    return a && a->s.len == strlen(text) && memcmp(a->s.data, text, a->s.len) == 0;
}
