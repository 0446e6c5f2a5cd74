/* resnet.h - ResNet18 as torchvision builds it, under its names, with weights from a counter.
 *
 * He, Zhang, Ren and Sun, "Deep Residual Learning for Image Recognition", 2015; torchvision/models/resnet.py. */
#ifndef SH_TESTS_RESNET_H
#define SH_TESTS_RESNET_H

#include <math.h>
#include <string.h>

#include "shunt.h"

/* ---- the architecture ---- */

static inline sh_tensor *resnet_run(sh_module *self, const char *path, sh_tensor *x) {
    return sh_forward(sh_module_child(self, path), x);
}

static inline sh_tensor *resnet_block_forward(sh_module *self, sh_tensor *x) {
    sh_tensor *y = resnet_run(self, "relu", resnet_run(self, "bn1", resnet_run(self, "conv1", x)));
    y = resnet_run(self, "bn2", resnet_run(self, "conv2", y));
    if (sh_module_child(self, "downsample")) x = resnet_run(self, "downsample", x);
    return resnet_run(self, "relu", sh_add(y, x));
}

static inline sh_module *resnet_block(int64_t in, int64_t out, int64_t stride) {
    static const sh_module_type type = {.name = "BasicBlock", .forward = resnet_block_forward};
    sh_module *m = sh_module_new(&type);
    sh_module_give(m, "conv1", sh_nn_conv2d(in, out, 3, .stride = stride, .padding = 1, .bias = false));
    sh_module_give(m, "bn1", sh_nn_batch_norm2d(out));
    sh_module_give(m, "relu", sh_nn_relu(.inplace = true));
    sh_module_give(m, "conv2", sh_nn_conv2d(out, out, 3, .padding = 1, .bias = false));
    sh_module_give(m, "bn2", sh_nn_batch_norm2d(out));
    if (stride != 1)
        sh_module_give(m, "downsample",
                       sh_nn_sequential(sh_nn_conv2d(in, out, 1, .stride = stride, .bias = false),
                                        sh_nn_batch_norm2d(out)));
    return m;
}

static inline sh_tensor *resnet_forward(sh_module *self, sh_tensor *x) {
    static const char *const stages[] = {"conv1",  "bn1",    "relu",   "maxpool", "layer1",
                                         "layer2", "layer3", "layer4", "avgpool"};
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) x = resnet_run(self, stages[i], x);
    return resnet_run(self, "fc", sh_flatten(x, .start_dim = 1));
}

/* In training mode, with PyTorch's initial distributions. NULL and an error if memory is out. */
static inline sh_module *resnet18(void) {
    static const sh_module_type type = {.name = "ResNet", .forward = resnet_forward};
    static const int64_t widths[] = {64, 64, 128, 256, 512};
    sh_module *m = sh_module_new(&type);
    sh_module_give(m, "conv1", sh_nn_conv2d(3, 64, 7, .stride = 2, .padding = 3, .bias = false));
    sh_module_give(m, "bn1", sh_nn_batch_norm2d(64));
    sh_module_give(m, "relu", sh_nn_relu(.inplace = true));
    sh_module_give(m, "maxpool", sh_nn_max_pool2d(3, .stride = 2, .padding = 1));
    for (int i = 1; i < 5; i++) {
        const char name[] = {'l', 'a', 'y', 'e', 'r', (char)('0' + i), 0};
        sh_module_give(m, name,
                       sh_nn_sequential(resnet_block(widths[i - 1], widths[i], i == 1 ? 1 : 2),
                                        resnet_block(widths[i], widths[i], 1)));
    }
    sh_module_give(m, "avgpool", sh_nn_adaptive_avg_pool2d({1, 1}));
    sh_module_give(m, "fc", sh_nn_linear(512, 1000));
    if (!sh_error()) return m;
    sh_module_release(m);
    return NULL;
}

/* ---- weights by a counter ---- as tests/golden/counter.py */

/* Element i of tensor `seed`: from low to high, by Steele, Lea and Flood's splitmix64. */
static inline double resnet_uniform(uint64_t seed, uint64_t i, double low, double high) {
    uint64_t z = (seed << 32) + i + 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return low + (high - low) * ((double)((z ^ (z >> 31)) >> 11) * 0x1p-53);
}

static inline void resnet_fill(sh_tensor *t, uint64_t seed, double low, double high) {
    float *to = sh_tensor_data(t);
    for (int64_t i = 0; i < sh_tensor_numel(t); i++)
        to[i] = (float)resnet_uniform(seed, (uint64_t)i, low, high);
}

/* Weights of products keep the size of what passes (He), scales are near 1, shifts and means near 0. */
static inline sh_status resnet_fill_one(const char *path, sh_tensor *t, void *user) {
    const uint64_t seed = ++*(uint64_t *)user;
    if (sh_tensor_dtype(t) != SH_F32) return SH_OK;
    if (sh_tensor_ndim(t) > 1) {
        const double bound = sqrt(6.0 / (double)(sh_tensor_numel(t) / sh_tensor_size(t, 0)));
        resnet_fill(t, seed, -bound, bound);
    } else if (strstr(path, "running_var")) {
        resnet_fill(t, seed, 0.5, 1.5);
    } else if (strstr(path, "weight")) {
        resnet_fill(t, seed, 0.8, 1.2);
    } else {
        resnet_fill(t, seed, -0.1, 0.1);
    }
    return SH_OK;
}

/* Fills all parameters and buffers, numbered from 1 in the order of the state dict. */
static inline void resnet_fill_all(sh_module *module) {
    uint64_t seed = 0;
    sh_module_walk_tensors(module, SH_PARAMETERS | SH_BUFFERS, resnet_fill_one, &seed);
}

/* Image `number` of the golden file, 1 x 3 x 224 x 224, scope-owned. */
static inline sh_tensor *resnet_image(uint64_t number) {
    sh_tensor *image = sh_tensor_new(SH_F32, SH_SIZES(1, 3, 224, 224));
    if (image) resnet_fill(image, 1000 + number, -2, 2);
    return image;
}

#endif
