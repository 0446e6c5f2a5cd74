#include "onnx_builder.h"

#include <stdlib.h>
#include <string.h>

static void *sure(void *block) {
    if (!block) abort();
    return block;
}

void *onnx_memory(onnx_builder *b, size_t size) {
    b->blocks = sure(realloc(b->blocks, (b->nblocks + 1) * sizeof *b->blocks));
    return b->blocks[b->nblocks++] = sure(calloc(1, size ? size : 1));
}

char *onnx_text(onnx_builder *b, const char *text) { return strcpy(onnx_memory(b, strlen(text) + 1), text); }

/* Adds `item` to a repeated field. */
static void append(onnx_builder *b, void *list, size_t *n, void *item) {
    void **grown = onnx_memory(b, (*n + 1) * sizeof item);
    if (*n) memcpy(grown, *(void **)list, *n * sizeof item);
    grown[(*n)++] = item;
    *(void ***)list = grown;
}
#define APPEND(b, message, field, item) append(b, &(message)->field, &(message)->n_##field, item)

/* A message of a generated type, initialised. */
#define MESSAGE(b, type, init) ((type *)memcpy(onnx_memory(b, sizeof(type)), &(type)init, sizeof(type)))

onnx_builder *onnx_new(int64_t opset) {
    onnx_builder *b = sure(calloc(1, sizeof *b));
    b->model = (Onnx__ModelProto)ONNX__MODEL_PROTO__INIT;
    b->graph = (Onnx__GraphProto)ONNX__GRAPH_PROTO__INIT;
    b->opset = (Onnx__OperatorSetIdProto)ONNX__OPERATOR_SET_ID_PROTO__INIT;
    b->opset.has_version = true;
    b->opset.version = opset;
    b->model.has_ir_version = true;
    b->model.ir_version = 8;
    b->model.graph = &b->graph;
    b->graph.name = onnx_text(b, "g");
    if (opset) APPEND(b, &b->model, opset_import, &b->opset);
    return b;
}

void onnx_free(onnx_builder *b) {
    for (size_t i = 0; i < b->nblocks; i++) free(b->blocks[i]);
    free(b->blocks);
    free(b);
}

/* ---- inputs and outputs ---- */

static Onnx__TensorShapeProto *make_shape(onnx_builder *b, sh_ints sizes) {
    Onnx__TensorShapeProto *shape = MESSAGE(b, Onnx__TensorShapeProto, ONNX__TENSOR_SHAPE_PROTO__INIT);
    for (size_t i = 0; i < sizes.n; i++) {
        Onnx__TensorShapeProto__Dimension *dim =
            MESSAGE(b, Onnx__TensorShapeProto__Dimension, ONNX__TENSOR_SHAPE_PROTO__DIMENSION__INIT);
        const bool open = sizes.at[i] == -1;
        dim->value_case = open ? ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM
                               : ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        if (open)
            dim->dim_param = onnx_text(b, "N");
        else
            dim->dim_value = sizes.at[i];
        APPEND(b, shape, dim, dim);
    }
    return shape;
}

static Onnx__ValueInfoProto *make_info(onnx_builder *b, const char *name) {
    Onnx__ValueInfoProto *info = MESSAGE(b, Onnx__ValueInfoProto, ONNX__VALUE_INFO_PROTO__INIT);
    info->name = onnx_text(b, name);
    return info;
}

Onnx__ValueInfoProto *onnx_input(onnx_builder *b, const char *name, int type, sh_ints sizes) {
    Onnx__ValueInfoProto *info = make_info(b, name);
    info->type = MESSAGE(b, Onnx__TypeProto, ONNX__TYPE_PROTO__INIT);
    info->type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    info->type->tensor_type = MESSAGE(b, Onnx__TypeProto__Tensor, ONNX__TYPE_PROTO__TENSOR__INIT);
    info->type->tensor_type->has_elem_type = true;
    info->type->tensor_type->elem_type = type;
    info->type->tensor_type->shape = make_shape(b, sizes);
    APPEND(b, &b->graph, input, info);
    return info;
}

void onnx_result(onnx_builder *b, const char *name) { APPEND(b, &b->graph, output, make_info(b, name)); }

/* ---- nodes ---- */

static void append_names(onnx_builder *b, char ***list, size_t *n, const char *names) {
    char *copy = onnx_text(b, names), *rest = NULL;
    for (char *name = strtok_r(copy, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
        append(b, list, n, strcmp(name, "-") == 0 ? onnx_text(b, "") : name);
}

Onnx__NodeProto *onnx_node(onnx_builder *b, const char *op, const char *name, const char *inputs,
                           const char *outputs) {
    Onnx__NodeProto *node = MESSAGE(b, Onnx__NodeProto, ONNX__NODE_PROTO__INIT);
    node->op_type = onnx_text(b, op);
    node->name = onnx_text(b, name);
    append_names(b, &node->input, &node->n_input, inputs);
    append_names(b, &node->output, &node->n_output, outputs);
    APPEND(b, &b->graph, node, node);
    return node;
}

/* ---- tensors ---- */

Onnx__TensorProto *onnx_tensor(onnx_builder *b, const char *name, int type, sh_ints sizes) {
    Onnx__TensorProto *t = MESSAGE(b, Onnx__TensorProto, ONNX__TENSOR_PROTO__INIT);
    t->name = onnx_text(b, name);
    t->has_data_type = true;
    t->data_type = type;
    t->n_dims = sizes.n;
    t->dims = onnx_memory(b, sizes.n * sizeof *t->dims);
    memcpy(t->dims, sizes.at, sizes.n * sizeof *t->dims);
    return t;
}

Onnx__TensorProto *onnx_initializer(onnx_builder *b, const char *name, int type, sh_ints sizes) {
    Onnx__TensorProto *t = onnx_tensor(b, name, type, sizes);
    APPEND(b, &b->graph, initializer, t);
    return t;
}

void onnx_raw(onnx_builder *b, Onnx__TensorProto *t, const void *data, size_t size) {
    t->has_raw_data = true;
    t->raw_data.len = size;
    t->raw_data.data = onnx_memory(b, size);
    memcpy(t->raw_data.data, data, size);
}

static size_t count(sh_ints sizes) {
    size_t n = 1;
    for (size_t i = 0; i < sizes.n; i++) n *= (size_t)sizes.at[i];
    return n;
}

void onnx_floats(onnx_builder *b, const char *name, sh_ints sizes, const float *values) {
    onnx_raw(b, onnx_initializer(b, name, ONNX_FLOAT, sizes), values, count(sizes) * sizeof *values);
}

void onnx_int64s(onnx_builder *b, const char *name, sh_ints sizes, const int64_t *values) {
    Onnx__TensorProto *t = onnx_initializer(b, name, ONNX_INT64, sizes);
    t->n_int64_data = count(sizes);
    t->int64_data = onnx_memory(b, t->n_int64_data * sizeof *values);
    memcpy(t->int64_data, values, t->n_int64_data * sizeof *values);
}

/* ---- attributes ---- */

Onnx__AttributeProto *onnx_attribute(onnx_builder *b, Onnx__NodeProto *node, const char *name, int type) {
    Onnx__AttributeProto *a = MESSAGE(b, Onnx__AttributeProto, ONNX__ATTRIBUTE_PROTO__INIT);
    a->name = onnx_text(b, name);
    a->has_type = true;
    a->type = (Onnx__AttributeProto__AttributeType)type;
    APPEND(b, node, attribute, a);
    return a;
}

void onnx_set_int(onnx_builder *b, Onnx__NodeProto *node, const char *name, int64_t value) {
    Onnx__AttributeProto *a = onnx_attribute(b, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    a->has_i = true;
    a->i = value;
}

void onnx_set_ints(onnx_builder *b, Onnx__NodeProto *node, const char *name, sh_ints values) {
    Onnx__AttributeProto *a = onnx_attribute(b, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    a->n_ints = values.n;
    a->ints = onnx_memory(b, values.n * sizeof *a->ints);
    memcpy(a->ints, values.at, values.n * sizeof *a->ints);
}

void onnx_set_string(onnx_builder *b, Onnx__NodeProto *node, const char *name, const char *value) {
    Onnx__AttributeProto *a = onnx_attribute(b, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
    a->has_s = true;
    a->s.len = strlen(value);
    a->s.data = (uint8_t *)onnx_text(b, value);
}

/* ---- bytes ---- */

static uint8_t *pack(onnx_builder *b, const ProtobufCMessage *message, size_t *size) {
    uint8_t *bytes = sure(malloc(protobuf_c_message_get_packed_size(message) + 1));
    *size = protobuf_c_message_pack(message, bytes);
    onnx_free(b);
    return bytes;
}

uint8_t *onnx_pack(onnx_builder *b, size_t *size) { return pack(b, &b->model.base, size); }
uint8_t *onnx_pack_tensor(onnx_builder *b, const Onnx__TensorProto *t, size_t *size) {
    return pack(b, &t->base, size);
}
