/* onnx_builder.h - small ONNX models made in C, for tests, seeds and `make run`.
 *
 *     onnx_builder *b = onnx_new(13);
 *     onnx_input(b, "x", ONNX_FLOAT, SH_SIZES(1, 3));
 *     onnx_node(b, "Relu", "relu_1", "x", "y");
 *     onnx_result(b, "y");
 *     uint8_t *bytes = onnx_pack(b, &size);   // free() it; ends the builder
 *
 * Where memory is out it aborts: it serves tests. */
#ifndef TESTS_ONNX_BUILDER_H
#define TESTS_ONNX_BUILDER_H

#include "dispatch/value.h"
#include "graph/onnx/onnx.pb-c.h"

enum {
    ONNX_FLOAT = 1,
    ONNX_UINT8,
    ONNX_INT8,
    ONNX_UINT16,
    ONNX_INT16,
    ONNX_INT32,
    ONNX_INT64,
    ONNX_STRING,
    ONNX_BOOL,
    ONNX_FLOAT16,
    ONNX_DOUBLE,
    ONNX_UINT32,
    ONNX_UINT64,
    ONNX_COMPLEX64,
    ONNX_COMPLEX128,
    ONNX_BFLOAT16
};

typedef struct onnx_builder {
    Onnx__ModelProto model;
    Onnx__GraphProto graph;
    Onnx__OperatorSetIdProto opset;
    void **blocks; /* all that the messages point to */
    size_t nblocks;
} onnx_builder;

onnx_builder *onnx_new(int64_t opset);
void onnx_free(onnx_builder *b);
/* Zeroed memory that lives as long as the builder. */
void *onnx_memory(onnx_builder *b, size_t size);
char *onnx_text(onnx_builder *b, const char *text);

/* A size of -1 is left open. */
Onnx__ValueInfoProto *onnx_input(onnx_builder *b, const char *name, int type, sh_ints sizes);
void onnx_result(onnx_builder *b, const char *name);
/* Names of inputs and outputs are separated by blanks; "-" is an optional one left out. */
Onnx__NodeProto *onnx_node(onnx_builder *b, const char *op, const char *name, const char *inputs,
                           const char *outputs);

/* A tensor without values; the caller fills in one of the data fields. */
Onnx__TensorProto *onnx_tensor(onnx_builder *b, const char *name, int type, sh_ints sizes);
Onnx__TensorProto *onnx_initializer(onnx_builder *b, const char *name, int type, sh_ints sizes);
void onnx_raw(onnx_builder *b, Onnx__TensorProto *t, const void *data, size_t size);
void onnx_floats(onnx_builder *b, const char *name, sh_ints sizes,
                 const float *values); /* an initializer, raw */
void onnx_int64s(onnx_builder *b, const char *name, sh_ints sizes,
                 const int64_t *values); /* the same in int64_data */

/* Attributes, added to a node; each returns what it added. */
Onnx__AttributeProto *onnx_attribute(onnx_builder *b, Onnx__NodeProto *node, const char *name, int type);
void onnx_set_int(onnx_builder *b, Onnx__NodeProto *node, const char *name, int64_t value);
void onnx_set_ints(onnx_builder *b, Onnx__NodeProto *node, const char *name, sh_ints values);
void onnx_set_string(onnx_builder *b, Onnx__NodeProto *node, const char *name, const char *value);

/* The model's bytes, for free(). The builder is ended. */
uint8_t *onnx_pack(onnx_builder *b, size_t *size);
uint8_t *onnx_pack_tensor(onnx_builder *b, const Onnx__TensorProto *t, size_t *size);

#endif
