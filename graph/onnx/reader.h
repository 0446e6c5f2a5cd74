/* reader.h - what the parts of the ONNX reader share: the graph in the making, the values by name, the node at hand. */
#ifndef SH_GRAPH_ONNX_READER_H
#define SH_GRAPH_ONNX_READER_H

#include "dispatch/memory_impl.h"
#include "dispatch/symbols.h"
#include "graph/invoke.h"
#include "graph/onnx/tensor.h"
#include "graph/onnx/wire.h"

enum { NODE_BYTES = 400 }; /* what a node of the graph takes, beside its names and uses */

/* A string that a message may lack. */
static inline const char *sh__onnx_text(const char *text) { return text ? text : ""; }

/* A value of the model. A constant gets its get_attr node at its first use. */
typedef struct sh_onnx_value {
    const char *name;
    sh_node *node;
    sh_tensor *constant; /* one reference held; NULL: computed */
} sh_onnx_value;

typedef struct sh_onnx_reader {
    const char *file;
    sh_budget *budget;
    sh_graph *graph;
    int64_t opset;
    sh_symbols names; /* of values; count: place in `values` + 1 */
    sh_onnx_value *values;
    size_t nvalues, capacity;
    const Onnx__NodeProto *node; /* at hand */
    sh_scratch scratch;
} sh_onnx_reader;

/* What the node at hand is called: its name, or that of its first output. */
const char *sh__onnx_node_name(const sh_onnx_reader *r);
/* An error at the node at hand: "FILE: node NAME (Conv): ...". */
sh_status sh__onnx_fail(const sh_onnx_reader *r, sh_status code, const char *format, ...) SH_PRINTF(3, 4);

/* ---- values ---- */
sh_status sh__onnx_define(sh_onnx_reader *r, const char *name, sh_node *node, sh_tensor *constant);
sh_onnx_value *sh__onnx_find(const sh_onnx_reader *r, const char *name);
/* The get_attr node of a constant that has none yet. */
sh_node *sh__onnx_constant_value(sh_onnx_reader *r, const sh_onnx_value *value);
/* Input i of the node at hand as a node; NULL and an error if it is not there. */
sh_node *sh__onnx_input(sh_onnx_reader *r, size_t i);
/* Is an optional input given? */
bool sh__onnx_has_input(const sh_onnx_reader *r, size_t i);
/* Input i if it is known without running, else NULL; no error. */
sh_tensor *sh__onnx_constant(const sh_onnx_reader *r, size_t i);
/* The integers of a constant i64 input, for shapes; an error if it is computed. */
sh_status sh__onnx_constant_ints(const sh_onnx_reader *r, size_t i, sh_ints *list);
/* Output 0 of the node at hand is this. */
sh_status sh__onnx_output(sh_onnx_reader *r, sh_node *node);

/* A call named after the node at hand (and `suffix`), with its dtype and shape where they can be known. */
sh_node *sh__onnx_call(sh_onnx_reader *r, const char *suffix, const char *target, sh_args args,
                       sh_kwargs kwargs);

/* ---- attributes of the node at hand ---- a wrong type is a pending error */
const Onnx__AttributeProto *sh__onnx_attribute(const sh_onnx_reader *r, const char *name, int type);
int64_t sh__onnx_int(const sh_onnx_reader *r, const char *name, int64_t otherwise);
/* `at` is NULL if it is not given. */
sh_ints sh__onnx_ints(const sh_onnx_reader *r, const char *name);
bool sh__onnx_string_is(const sh_onnx_reader *r, const char *name, const char *text);

/* ---- ops of other domains ---- */
/* The op that the node at hand means; NULL and an error that says what its domain has. */
const sh_op *sh__onnx_custom_op(const sh_onnx_reader *r);
sh_status sh__onnx_custom(sh_onnx_reader *r, const sh_op *op);

/* ---- ops ---- one reader each, by ops.def */
#define ONNX_OP(name, reader, since, fewest, most, attributes) sh_status sh__onnx_##reader(sh_onnx_reader *r);
#include "graph/onnx/ops.def"
#undef ONNX_OP

#endif
