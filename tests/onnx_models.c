/* One model for each op that the reader knows and each way it can be written, and the one that `make run` shows. */
#include "onnx_models.h"

#include <string.h>

/* Values that are small, both signs, and no two alike: k mod 7 - 3, in quarters. */
static void weights(onnx_builder *b, const char *name, sh_ints sizes) {
    float values[4096];
    for (int k = 0; k < 4096; k++) values[k] = (float)(k % 7 - 3) / 4 + (float)(k % 5) / 64;
    onnx_floats(b, name, sizes, values);
}

static void image(onnx_builder *b) { onnx_input(b, "x", ONNX_FLOAT, SH_SIZES(1, 3, 9, 8)); }

/* ---- one op each ---- */

static void relu(onnx_builder *b) {
    onnx_input(b, "x", ONNX_FLOAT, SH_SIZES(2, 3));
    onnx_node(b, "Relu", "", "x", "y");
    onnx_result(b, "y");
}

static void add(onnx_builder *b) {
    onnx_input(b, "x", ONNX_FLOAT, SH_SIZES(2, 3));
    weights(b, "w", SH_SIZES(1, 3));
    onnx_node(b, "Add", "sum", "x w", "y");
    onnx_node(b, "Identity", "same", "y", "z");
    onnx_result(b, "z");
}

static void concat(onnx_builder *b) {
    onnx_input(b, "x", ONNX_FLOAT, SH_SIZES(2, 3));
    weights(b, "w", SH_SIZES(2, 1));
    onnx_set_int(b, onnx_node(b, "Concat", "join", "x w x", "y"), "axis", -1);
    onnx_result(b, "y");
}

static void transpose(onnx_builder *b) {
    onnx_input(b, "x", ONNX_FLOAT, SH_SIZES(2, 3, 4));
    onnx_set_ints(b, onnx_node(b, "Transpose", "turn", "x", "y"), "perm", SH_SIZES(1, 2, 0));
    onnx_node(b, "Transpose", "reverse", "y", "z");
    onnx_result(b, "y");
    onnx_result(b, "z");
}

static void reshape(onnx_builder *b) {
    onnx_input(b, "x", ONNX_FLOAT, SH_SIZES(2, 3, 4));
    onnx_int64s(b, "shape", SH_SIZES(2), (int64_t[]){0, -1});
    onnx_node(b, "Reshape", "flat", "x shape", "y");
    onnx_result(b, "y");
}

/* The batch is left open: 0, -1 is a flatten. */
static void reshape_open(onnx_builder *b) {
    onnx_input(b, "x", ONNX_FLOAT, SH_SIZES(-1, 3, 4));
    onnx_int64s(b, "shape", SH_SIZES(2), (int64_t[]){0, -1});
    onnx_node(b, "Reshape", "flat", "x shape", "y");
    onnx_result(b, "y");
}

static void constant(onnx_builder *b) {
    Onnx__NodeProto *node = onnx_node(b, "Constant", "c", "", "c");
    Onnx__TensorProto *t = onnx_tensor(b, "", ONNX_FLOAT16, SH_SIZES(2));
    t->n_int32_data = 2;
    t->int32_data = onnx_memory(b, 8);
    t->int32_data[0] = 0x3c00;
    t->int32_data[1] = 0xc000;
    onnx_attribute(b, node, "value", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR)->t = t;
    onnx_set_ints(b, onnx_node(b, "Constant", "s", "", "s"), "value_ints", SH_SIZES(1, 2));
    onnx_set_int(b, onnx_node(b, "Constant", "i", "", "i"), "value_int", 7);
    onnx_node(b, "Reshape", "", "c s", "y");
    onnx_result(b, "y");
    onnx_result(b, "i");
}

static void constant_of_shape(onnx_builder *b) {
    onnx_int64s(b, "shape", SH_SIZES(2), (int64_t[]){2, 3});
    Onnx__NodeProto *node = onnx_node(b, "ConstantOfShape", "fill", "shape", "y");
    Onnx__TensorProto *t = onnx_tensor(b, "", ONNX_INT32, SH_SIZES(1));
    t->n_int32_data = 1;
    t->int32_data = onnx_memory(b, 4);
    t->int32_data[0] = -5;
    onnx_attribute(b, node, "value", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR)->t = t;
    onnx_node(b, "ConstantOfShape", "zeros", "shape", "z");
    onnx_result(b, "y");
    onnx_result(b, "z");
}

/* ---- windows ---- */

static Onnx__NodeProto *convolution(onnx_builder *b) {
    image(b);
    weights(b, "w", SH_SIZES(4, 3, 3, 2));
    weights(b, "bias", SH_SIZES(4));
    Onnx__NodeProto *node = onnx_node(b, "Conv", "conv", "x w bias", "y");
    onnx_result(b, "y");
    return node;
}

static void conv(onnx_builder *b) { convolution(b); }

static void conv_pads(onnx_builder *b) {
    Onnx__NodeProto *node = convolution(b);
    onnx_set_ints(b, node, "kernel_shape", SH_SIZES(3, 2));
    onnx_set_ints(b, node, "pads", SH_SIZES(1, 0, 2, 3));
    onnx_set_ints(b, node, "strides", SH_SIZES(2, 1));
    onnx_set_ints(b, node, "dilations", SH_SIZES(1, 2));
}

static void conv_same_upper(onnx_builder *b) {
    Onnx__NodeProto *node = convolution(b);
    onnx_set_string(b, node, "auto_pad", "SAME_UPPER");
    onnx_set_ints(b, node, "strides", SH_SIZES(2, 3));
}

static void conv_same_lower(onnx_builder *b) { onnx_set_string(b, convolution(b), "auto_pad", "SAME_LOWER"); }
static void conv_valid(onnx_builder *b) { onnx_set_string(b, convolution(b), "auto_pad", "VALID"); }

static void conv_group(onnx_builder *b) {
    image(b);
    weights(b, "w", SH_SIZES(6, 1, 3, 3));
    Onnx__NodeProto *node = onnx_node(b, "Conv", "depthwise", "x w", "y");
    onnx_set_int(b, node, "group", 3);
    onnx_set_ints(b, node, "pads", SH_SIZES(1, 1, 1, 1));
    onnx_result(b, "y");
}

static void conv_1d(onnx_builder *b) {
    onnx_input(b, "x", ONNX_FLOAT, SH_SIZES(1, 3, 9));
    weights(b, "w", SH_SIZES(2, 3, 4));
    onnx_set_ints(b, onnx_node(b, "Conv", "conv", "x w", "y"), "pads", SH_SIZES(1, 2));
    onnx_result(b, "y");
}

static Onnx__NodeProto *pool(onnx_builder *b, sh_ints kernel) {
    image(b);
    Onnx__NodeProto *node = onnx_node(b, "MaxPool", "pool", "x", "y");
    onnx_set_ints(b, node, "kernel_shape", kernel);
    onnx_result(b, "y");
    return node;
}

static void max_pool(onnx_builder *b) {
    onnx_set_ints(b, pool(b, SH_SIZES(2, 2)), "strides", SH_SIZES(2, 2));
}

static void max_pool_pads(onnx_builder *b) {
    Onnx__NodeProto *node = pool(b, SH_SIZES(3, 2));
    onnx_set_ints(b, node, "pads", SH_SIZES(0, 1, 2, 1));
    onnx_set_ints(b, node, "dilations", SH_SIZES(2, 1));
    onnx_set_int(b, node, "storage_order", 0);
}

static void max_pool_ceil(onnx_builder *b) {
    Onnx__NodeProto *node = pool(b, SH_SIZES(2, 3));
    onnx_set_ints(b, node, "strides", SH_SIZES(2, 2));
    onnx_set_int(b, node, "ceil_mode", 1);
}

static void max_pool_ceil_pads(onnx_builder *b) {
    Onnx__NodeProto *node = pool(b, SH_SIZES(3, 3));
    onnx_set_ints(b, node, "strides", SH_SIZES(3, 2));
    onnx_set_ints(b, node, "pads", SH_SIZES(0, 0, 2, 1));
    onnx_set_int(b, node, "ceil_mode", 1);
}

static void max_pool_same(onnx_builder *b) {
    Onnx__NodeProto *node = pool(b, SH_SIZES(3, 3));
    onnx_set_ints(b, node, "strides", SH_SIZES(2, 2));
    onnx_set_string(b, node, "auto_pad", "SAME_UPPER");
}

/* ---- the planted fault ---- */

/* A small residual net with a fault in its weights: one weight of the second convolution is 3e38, and one of the third is
 * -3e38. Each of the two alone gives Inf (in f32) where the input is large enough, of opposite signs; the sum of the two
 * branches is then Inf - Inf = NaN. So the first NaN is born in the node `sum`, the first Inf in `conv2`. */
static void planted(onnx_builder *b) {
    float w2[8 * 8 * 9], w3[8 * 8 * 9];
    onnx_input(b, "image", ONNX_FLOAT, SH_SIZES(1, 3, 16, 16));
    weights(b, "conv1.weight", SH_SIZES(8, 3, 3, 3));
    weights(b, "conv1.bias", SH_SIZES(8));
    for (int k = 0; k < 8 * 8 * 9; k++) w2[k] = w3[k] = (float)(k % 11 - 5) / 32;
    w2[3 * 72 + 4] = 3e38f;
    w2[3 * 72 + 13] = 3e38f;
    w3[3 * 72 + 4] = -3e38f;
    w3[3 * 72 + 13] = -3e38f;
    onnx_floats(b, "conv2.weight", SH_SIZES(8, 8, 3, 3), w2);
    onnx_floats(b, "conv3.weight", SH_SIZES(8, 8, 3, 3), w3);
    weights(b, "conv4.weight", SH_SIZES(4, 8, 1, 1));
    onnx_set_ints(b, onnx_node(b, "Conv", "conv1", "image conv1.weight conv1.bias", "c1"), "pads",
                  SH_SIZES(1, 1, 1, 1));
    onnx_node(b, "Relu", "relu1", "c1", "r1");
    onnx_set_ints(b, onnx_node(b, "Conv", "conv2", "r1 conv2.weight", "c2"), "pads", SH_SIZES(1, 1, 1, 1));
    onnx_set_ints(b, onnx_node(b, "Conv", "conv3", "r1 conv3.weight", "c3"), "pads", SH_SIZES(1, 1, 1, 1));
    onnx_node(b, "Add", "sum", "c2 c3", "s");
    onnx_node(b, "Relu", "relu2", "s", "r2");
    onnx_node(b, "Conv", "conv4", "r2 conv4.weight", "c4");
    onnx_int64s(b, "shape", SH_SIZES(2), (int64_t[]){1, -1});
    onnx_node(b, "Reshape", "flat", "c4 shape", "scores");
    onnx_result(b, "scores");
}

const onnx_model onnx_models[] = {
#define MODEL(name, opset) \
    { #name, name, opset }
    MODEL(relu, 6),
    MODEL(add, 7),
    MODEL(concat, 13),
    MODEL(transpose, 13),
    MODEL(reshape, 5),
    MODEL(reshape_open, 14),
    MODEL(constant, 13),
    MODEL(constant_of_shape, 9),
    MODEL(conv, 11),
    MODEL(conv_pads, 11),
    MODEL(conv_same_upper, 11),
    MODEL(conv_same_lower, 1),
    MODEL(conv_valid, 11),
    MODEL(conv_group, 11),
    MODEL(conv_1d, 11),
    MODEL(max_pool, 8),
    MODEL(max_pool_pads, 12),
    MODEL(max_pool_ceil, 12),
    MODEL(max_pool_ceil_pads, 12),
    MODEL(max_pool_same, 12),
    MODEL(planted, 13),
#undef MODEL
};
const size_t onnx_model_count = sizeof onnx_models / sizeof *onnx_models;

uint8_t *onnx_model_bytes(const char *name, size_t *size) {
    for (size_t i = 0; i < onnx_model_count; i++) {
        if (strcmp(onnx_models[i].name, name) != 0) continue;
        onnx_builder *b = onnx_new(onnx_models[i].opset);
        onnx_models[i].build(b);
        return onnx_pack(b, size);
    }
    return NULL;
}
