/* model.c - a model's messages become a graph: initializers, inputs, nodes in order, outputs.
 *
 * ONNX wants its nodes in an order in which they can run, so a value that no earlier node made is an error, which
 * refuses cycles too. Every name is given once. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "graph/onnx/onnx.h"
#include "graph/onnx/reader.h"
#include "ops/io/file.h"

enum { NEWEST_OPSET = 24 };

/* ---- the model ---- */

static bool is_default_domain(const char *domain) {
    return !domain || !*domain || strcmp(domain, "ai.onnx") == 0;
}

static sh_status read_opset(sh_onnx_reader *r, const Onnx__ModelProto *model) {
    for (size_t i = 0; i < model->n_opset_import; i++)
        if (is_default_domain(model->opset_import[i]->domain) && model->opset_import[i]->version > r->opset)
            r->opset = model->opset_import[i]->version;
    if (!r->opset)
        return sh_fail(SH_ERROR_FORMAT, "%s: it does not say which opset of ONNX its ops are of", r->file);
    if (r->opset > NEWEST_OPSET)
        return sh_fail(SH_ERROR_UNSUPPORTED,
                       "%s: it is of opset %" PRId64 ", the newest that is known here is %d", r->file,
                       r->opset, NEWEST_OPSET);
    return SH_OK;
}

/* The bytes of raw_data go back at once: a model is mostly these. */
static void drop_raw(Onnx__TensorProto *proto, ProtobufCAllocator *allocator) {
    allocator->free(allocator->allocator_data, proto->raw_data.data);
    proto->raw_data = (ProtobufCBinaryData){0, NULL};
}

static sh_status read_initializers(sh_onnx_reader *r, const Onnx__GraphProto *graph,
                                   ProtobufCAllocator *allocator) {
    char what[300];
    if (graph->n_sparse_initializer)
        return sh_fail(SH_ERROR_UNSUPPORTED, "%s: sparse initializers are not read", r->file);
    for (size_t i = 0; i < graph->n_initializer; i++) {
        Onnx__TensorProto *proto = graph->initializer[i];
        snprintf(what, sizeof what, "%.140s: initializer %.140s", r->file, sh__onnx_text(proto->name));
        sh_status status = SH_OK;
        SH_SCOPE {
            sh_tensor *t = sh__onnx_tensor(proto, r->budget, what);
            drop_raw(proto, allocator);
            status = t ? sh__onnx_define(r, sh__onnx_text(proto->name), NULL, t) : sh_error()->code;
        }
        SH_TRY(status);
    }
    return SH_OK;
}

/* ---- inputs ---- */

static sh_status read_size(const sh_onnx_reader *r, const char *name,
                           const Onnx__TensorShapeProto__Dimension *dim, int64_t *size) {
    *size = -1;
    if (dim->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) return SH_OK;
    *size = dim->dim_value;
    if (*size < 0)
        return sh_fail(SH_ERROR_FORMAT, "%s: input %.200s has a dimension of %" PRId64, r->file, name, *size);
    return SH_OK;
}

/* Fills the spec; `*known` is false where the model gives no shape. */
static sh_status read_type(const sh_onnx_reader *r, const Onnx__ValueInfoProto *info, sh_spec *spec,
                           bool *known) {
    const Onnx__TypeProto *type = info->type;
    const char *name = sh__onnx_text(info->name);
    *known = false;
    if (!type || type->value_case == ONNX__TYPE_PROTO__VALUE__NOT_SET) return SH_OK;
    if (type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE || !type->tensor_type)
        return sh_fail(SH_ERROR_UNSUPPORTED, "%s: input %.200s is no tensor", r->file, name);
    const Onnx__TensorShapeProto *shape = type->tensor_type->shape;
    spec->dtype = sh__onnx_dtype(type->tensor_type->elem_type);
    if (!spec->dtype)
        return sh_fail(SH_ERROR_UNSUPPORTED, "%s: input %.200s has elements of %s, which is not supported",
                       r->file, name, sh__onnx_dtype_name(type->tensor_type->elem_type));
    if (!shape) return SH_OK;
    if (shape->n_dim > SH_MAX_DIMS)
        return sh_fail(SH_ERROR_UNSUPPORTED, "%s: input %.200s has %zu dimensions, %d are supported", r->file,
                       name, shape->n_dim, SH_MAX_DIMS);
    spec->ndim = (int32_t)shape->n_dim;
    for (size_t i = 0; i < shape->n_dim; i++) SH_TRY(read_size(r, name, shape->dim[i], &spec->sizes[i]));
    *known = true;
    return SH_OK;
}

/* An input that has an initializer is a constant (ONNX before IR 4 lists all initializers as inputs). */
static sh_status read_inputs(sh_onnx_reader *r, const Onnx__GraphProto *graph) {
    for (size_t i = 0; i < graph->n_input; i++) {
        const Onnx__ValueInfoProto *info = graph->input[i];
        const char *name = sh__onnx_text(info->name);
        const sh_onnx_value *value = sh__onnx_find(r, name);
        if (value && value->constant) continue;
        sh_spec spec = {0};
        bool known;
        SH_TRY(read_type(r, info, &spec, &known));
        SH_TRY(sh__budget_take(r->budget, NODE_BYTES + 2 * strlen(name) + 256));
        sh_node *node = sh_graph_placeholder(r->graph, name);
        if (!node) return sh_error()->code;
        if (known) sh_node_set_spec(node, &spec);
        SH_TRY(sh__onnx_define(r, name, node, NULL));
    }
    return SH_OK;
}

/* ---- nodes ---- */

typedef struct onnx_op {
    const char *name;
    sh_status (*read)(sh_onnx_reader *r);
    int since;
    size_t fewest, most;
    const char *attributes;
} onnx_op;

static const onnx_op ops[] = {
#define ONNX_OP(name, reader, since, fewest, most, attributes) \
    {#name, sh__onnx_##reader, since, fewest, most, attributes},
#include "graph/onnx/ops.def"
#undef ONNX_OP
};

static const onnx_op *find_op(const sh_onnx_reader *r) {
    const char *name = sh__onnx_text(r->node->op_type);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strcmp(ops[i].name, name) == 0) return &ops[i];
    sh__onnx_fail(r, SH_ERROR_UNSUPPORTED, "the op %.80s of opset %" PRId64 " is not known", name, r->opset);
    return NULL;
}

static bool lists(const char *words, const char *word) {
    const size_t n = strchr(word, ' ') ? 0 : strlen(word);
    for (const char *at = words; n && (at = strstr(at, word)); at += n)
        if ((at == words || at[-1] == ' ') && (at[n] == ' ' || !at[n])) return true;
    return false;
}

static sh_status check_attributes(const sh_onnx_reader *r, const onnx_op *op) {
    for (size_t i = 0; i < r->node->n_attribute; i++) {
        const char *name = sh__onnx_text(r->node->attribute[i]->name);
        if (!lists(op->attributes, name))
            return sh__onnx_fail(r, SH_ERROR_UNSUPPORTED, "its attribute %.80s is not known", name);
        for (size_t k = 0; k < i; k++)
            if (strcmp(name, sh__onnx_text(r->node->attribute[k]->name)) == 0)
                return sh__onnx_fail(r, SH_ERROR_FORMAT, "its attribute %.80s is given twice", name);
    }
    return SH_OK;
}

static sh_status read_custom_node(sh_onnx_reader *r) {
    const sh_op *op = sh__onnx_custom_op(r);
    if (!op) return sh_error()->code;
    if (!r->node->n_output || !*r->node->output[0])
        return sh__onnx_fail(r, SH_ERROR_FORMAT, "it has no output");
    return sh__onnx_custom(r, op);
}

static sh_status read_node(sh_onnx_reader *r, const Onnx__NodeProto *node) {
    r->node = node;
    if (!is_default_domain(node->domain)) return read_custom_node(r);
    const onnx_op *op = find_op(r);
    if (!op) return SH_ERROR_UNSUPPORTED;
    if (r->opset < op->since)
        return sh__onnx_fail(r, SH_ERROR_UNSUPPORTED,
                             "%s of opset %" PRId64 " means something else; it is read from opset %d on",
                             op->name, r->opset, op->since);
    if (node->n_input < op->fewest || node->n_input > op->most)
        return sh__onnx_fail(r, SH_ERROR_FORMAT, "it has %zu inputs", node->n_input);
    if (!node->n_output || !*node->output[0]) return sh__onnx_fail(r, SH_ERROR_FORMAT, "it has no output");
    SH_TRY(check_attributes(r, op));
    sh_status status = SH_OK;
    SH_SCOPE status = op->read(r);
    return status;
}

/* ---- outputs ---- */

/* One value, or a tuple; the model's names for them are the keyword `names` of the output node. */
static sh_status read_outputs(sh_onnx_reader *r, const Onnx__GraphProto *graph) {
    const size_t n = graph->n_output;
    if (!n) return sh_fail(SH_ERROR_FORMAT, "%s: the model has no output", r->file);
    SH_TRY(sh__budget_take(r->budget, 6 * n * sizeof(sh_arg)));
    sh_arg *args = sh__alloc(2 * n * sizeof *args), *const names = args + n;
    if (!args) return SH_ERROR_MEMORY;
    for (size_t i = 0; i < n && !sh_error(); i++) {
        const char *name = sh__onnx_text(graph->output[i]->name);
        sh_onnx_value *value = sh__onnx_find(r, name);
        if (!value)
            sh_fail(SH_ERROR_FORMAT, "%s: nothing makes the output %.200s", r->file, name);
        else if (!value->node)
            value->node = sh__onnx_constant_value(r, value);
        args[i] = sh_arg_node(value ? value->node : NULL);
        names[i] = sh_arg_string(name);
    }
    const sh_kwarg named = {"names", sh_arg_list((sh_args){names, n})};
    const sh_arg value = n == 1 ? args[0] : sh_arg_tuple((sh_args){args, n});
    if (!sh_error())
        sh_graph_create_node(r->graph, SH_OUTPUT, "output", (sh_args){&value, 1}, (sh_kwargs){&named, 1},
                             NULL);
    sh__free(args);
    return sh_error() ? sh_error()->code : SH_OK;
}

/* ---- reading ---- */

static sh_status read_graph(sh_onnx_reader *r, const Onnx__ModelProto *model, ProtobufCAllocator *allocator) {
    const Onnx__GraphProto *graph = model->graph;
    if (!graph) return sh_fail(SH_ERROR_FORMAT, "%s: it holds no graph; it is no ONNX model", r->file);
    SH_TRY(read_opset(r, model));
    SH_TRY(read_initializers(r, graph, allocator));
    SH_TRY(read_inputs(r, graph));
    for (size_t i = 0; i < graph->n_node; i++) SH_TRY(read_node(r, graph->node[i]));
    return read_outputs(r, graph);
}

static void reader_free(sh_onnx_reader *r) {
    for (size_t i = 0; i < r->nvalues; i++) sh_release(r->values[i].constant);
    sh__free(r->values);
    sh__free(r->scratch.at);
    sh__symbols_free(&r->names);
}

static sh_graph *read_model(sh_onnx_reader *r, const Onnx__ModelProto *model, ProtobufCAllocator *allocator) {
    r->graph = sh_graph_new();
    const sh_status status = r->graph ? read_graph(r, model, allocator) : SH_ERROR_MEMORY;
    reader_free(r);
    if (status >= 0) return r->graph;
    sh_graph_free(r->graph);
    return NULL;
}

/* Frees `owned`, the same bytes or NULL, as soon as they are unpacked. */
static ProtobufCMessage *unpack(const ProtobufCMessageDescriptor *type, const void *data, size_t size,
                                void *owned, ProtobufCAllocator *allocator, const char *name) {
    ProtobufCMessage *message = sh__wire_unpack(type, data, size, allocator, name);
    sh__free(owned);
    return message;
}

static sh_graph *read_bytes(const void *data, size_t size, void *owned, const char *name) {
    sh_budget budget = sh__budget_for(size, name);
    ProtobufCAllocator allocator = sh__budget_allocator(&budget);
    Onnx__ModelProto *model =
        (Onnx__ModelProto *)unpack(&onnx__model_proto__descriptor, data, size, owned, &allocator, name);
    if (!model) return NULL;
    sh_onnx_reader r = {.file = name, .budget = &budget};
    sh_graph *graph = read_model(&r, model, &allocator);
    onnx__model_proto__free_unpacked(model, &allocator);
    return graph;
}

static sh_tensor *read_tensor_bytes(const void *data, size_t size, void *owned, const char *name) {
    sh_budget budget = sh__budget_for(size, name);
    ProtobufCAllocator allocator = sh__budget_allocator(&budget);
    Onnx__TensorProto *proto =
        (Onnx__TensorProto *)unpack(&onnx__tensor_proto__descriptor, data, size, owned, &allocator, name);
    if (!proto) return NULL;
    sh_tensor *t = sh__onnx_tensor(proto, &budget, name);
    onnx__tensor_proto__free_unpacked(proto, &allocator);
    return t;
}

static bool may_read(const void *data, const char *function) {
    if (sh_error()) return false;
    if (!data) sh_fail(SH_ERROR_NULL, "%s: an argument is NULL", function);
    return data != NULL;
}

sh_graph *sh_parse_onnx(const void *data, size_t size, const char *name) {
    return may_read(data, "sh_parse_onnx") ? read_bytes(data, size, NULL, name ? name : "the model") : NULL;
}

sh_tensor *sh_parse_onnx_tensor(const void *data, size_t size, const char *name) {
    return may_read(data, "sh_parse_onnx_tensor")
               ? read_tensor_bytes(data, size, NULL, name ? name : "the tensor")
               : NULL;
}

sh_graph *sh_load_onnx(const char *path) {
    void *data;
    size_t size;
    if (!may_read(path, "sh_load_onnx") || sh_file_read(path, &data, &size) < 0) return NULL;
    return read_bytes(data, size, data, path);
}

sh_tensor *sh_load_onnx_tensor(const char *path) {
    void *data;
    size_t size;
    if (!may_read(path, "sh_load_onnx_tensor") || sh_file_read(path, &data, &size) < 0) return NULL;
    return read_tensor_bytes(data, size, data, path);
}
