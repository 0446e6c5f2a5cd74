/* make_nets NAME FILE: writes as ONNX what tests/peers compares and no package brings: resnet18 (tests/resnet.h), adds, gelu.
 *
 * ResNet18 keeps its batch norms: to fold them is the runtime's work, as it is ours. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/onnx_builder.h"
#include "tests/resnet.h"

enum { OPSET = 17 };

/* ---- ResNet18 ---- what flows is a value's name; each node names its result after itself */

typedef struct net {
    onnx_builder *b;
    sh_module *module;
} net;

static const char *text(const net *n, const char *format, const char *a, const char *b) {
    char name[256];
    snprintf(name, sizeof name, format, a, b);
    return onnx_text(n->b, name);
}

static sh_status add_weight(const char *path, sh_tensor *t, void *user) {
    const sh_ints sizes = {sh_tensor_sizes(t), (size_t)sh_tensor_ndim(t)};
    if (sh_tensor_dtype(t) == SH_F32) onnx_floats(user, path, sizes, sh_tensor_data(t));
    return SH_OK;
}

/* A node on a value and the weights at `path`. */
static Onnx__NodeProto *layer(const net *n, const char *op, const char *path, const char *x,
                              const char *const *weights) {
    const char *inputs = x;
    for (; *weights; weights++) inputs = text(n, "%s %s", inputs, text(n, "%s.%s", path, *weights));
    return onnx_node(n->b, op, path, inputs, path);
}

static const char *conv_bn(const net *n, const char *conv, const char *bn, const char *x, int64_t stride,
                           int64_t padding) {
    Onnx__NodeProto *node = layer(n, "Conv", conv, x, (const char *const[]){"weight", NULL});
    onnx_set_ints(n->b, node, "strides", SH_SIZES(stride, stride));
    onnx_set_ints(n->b, node, "pads", SH_SIZES(padding, padding, padding, padding));
    layer(n, "BatchNormalization", bn, conv,
          (const char *const[]){"weight", "bias", "running_mean", "running_var", NULL});
    return bn;
}

static const char *plain(const net *n, const char *op, const char *name, const char *inputs) {
    onnx_node(n->b, op, name, inputs, name);
    return name;
}

static const char *block(const net *n, const char *path, const char *x) {
    const char *conv1 = text(n, "%s.%s", path, "conv1"), *down = text(n, "%s.%s", path, "downsample.0");
    const int64_t stride = sh_module_child(n->module, down) ? 2 : 1;
    const char *y = conv_bn(n, conv1, text(n, "%s.%s", path, "bn1"), x, stride, 1);
    y = plain(n, "Relu", text(n, "%s.%s", path, "relu1"), y);
    y = conv_bn(n, text(n, "%s.%s", path, "conv2"), text(n, "%s.%s", path, "bn2"), y, 1, 1);
    if (stride == 2) x = conv_bn(n, down, text(n, "%s.%s", path, "downsample.1"), x, 2, 0);
    y = plain(n, "Add", text(n, "%s.%s", path, "add"), text(n, "%s %s", y, x));
    return plain(n, "Relu", text(n, "%s.%s", path, "relu2"), y);
}

static const char *stem(const net *n) {
    const char *x = plain(n, "Relu", "relu", conv_bn(n, "conv1", "bn1", "x", 2, 3));
    Onnx__NodeProto *pool = onnx_node(n->b, "MaxPool", "maxpool", x, "maxpool");
    onnx_set_ints(n->b, pool, "kernel_shape", SH_SIZES(3, 3));
    onnx_set_ints(n->b, pool, "strides", SH_SIZES(2, 2));
    onnx_set_ints(n->b, pool, "pads", SH_SIZES(1, 1, 1, 1));
    return "maxpool";
}

static void build_resnet18(onnx_builder *b) {
    static const char *const blocks[] = {"layer1.0", "layer1.1", "layer2.0", "layer2.1",
                                         "layer3.0", "layer3.1", "layer4.0", "layer4.1"};
    const net n = {b, resnet18()};
    resnet_fill_all(n.module);
    onnx_input(b, "x", ONNX_FLOAT, SH_SIZES(1, 3, 224, 224));
    sh_module_walk_tensors(n.module, SH_PARAMETERS | SH_BUFFERS, add_weight, b);
    const char *x = stem(&n);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) x = block(&n, blocks[i], x);
    plain(&n, "Flatten", "flat", plain(&n, "GlobalAveragePool", "avgpool", x));
    onnx_set_int(b, layer(&n, "Gemm", "fc", "flat", (const char *const[]){"weight", "bias", NULL}), "transB",
                 1);
    onnx_result(b, "fc");
    sh_module_release(n.module);
}

/* ---- chains ---- */

static void build_adds(onnx_builder *b) {
    char from[16] = "x", to[16], inputs[32];
    onnx_input(b, "x", ONNX_FLOAT, SH_SIZES(2, 2));
    for (int i = 0; i < 64; i++) {
        snprintf(inputs, sizeof inputs, "%s x", from);
        snprintf(to, sizeof to, "y%d", i);
        onnx_node(b, "Add", to, inputs, to);
        memcpy(from, to, sizeof from);
    }
    onnx_result(b, from);
}

static void number(onnx_builder *b, const char *name, float value) {
    onnx_floats(b, name, SH_SCALAR_SHAPE, &value);
}

/* x * 0.5 * (1 + tanh(0.79788456 * (x + 0.044715 * x^3))) */
static void build_gelu(onnx_builder *b) {
    static const char *const nodes[][3] = {
        {"Pow", "x three", "cube"},  {"Mul", "cube c3", "part"},   {"Add", "x part", "sum"},
        {"Mul", "sum c1", "inner"},  {"Tanh", "inner", "tanh"},    {"Add", "tanh one", "outer"},
        {"Mul", "x half", "halved"}, {"Mul", "halved outer", "y"},
    };
    onnx_input(b, "x", ONNX_FLOAT, SH_SIZES(1000000));
    number(b, "three", 3);
    number(b, "c3", 0.044715f);
    number(b, "c1", 0.79788456f);
    number(b, "one", 1);
    number(b, "half", 0.5f);
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        onnx_node(b, nodes[i][0], nodes[i][2], nodes[i][1], nodes[i][2]);
    onnx_result(b, "y");
}

static const struct {
    const char *name;
    void (*build)(onnx_builder *b);
} nets[] = {{"resnet18", build_resnet18}, {"adds", build_adds}, {"gelu", build_gelu}};

static int write_bytes(const char *path, const uint8_t *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    const bool written = file && fwrite(bytes, 1, size, file) == size;
    if (file && fclose(file) == 0 && written) return 0;
    fprintf(stderr, "can't write %s\n", path);
    return 1;
}

int main(int count, char **words) {
    for (size_t i = 0; count == 3 && i < sizeof nets / sizeof *nets; i++) {
        if (strcmp(words[1], nets[i].name) != 0) continue;
        size_t size;
        onnx_builder *b = onnx_new(OPSET);
        nets[i].build(b);
        uint8_t *bytes = onnx_pack(b, &size);
        const int code = write_bytes(words[2], bytes, size);
        free(bytes);
        return code;
    }
    fprintf(stderr, "usage: make_nets resnet18|adds|gelu FILE\n");
    return 2;
}
