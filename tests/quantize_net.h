/* quantize_net.h - the small conv net that quantisation is tested on: tests/golden/make_quantize_golden.py has the same. */
#ifndef SH_TESTS_QUANTIZE_NET_H
#define SH_TESTS_QUANTIZE_NET_H

#include "tests/resnet.h"

static inline sh_tensor *quantize_net_forward(sh_module *self, sh_tensor *x) {
    sh_tensor *a = resnet_run(self, "relu", resnet_run(self, "bn1", resnet_run(self, "conv1", x)));
    sh_tensor *b = resnet_run(self, "relu", resnet_run(self, "bn2", resnet_run(self, "conv2", a)));
    sh_tensor *c = sh_relu(sh_add(a, b));
    sh_tensor *d = sh_cat(SH_LIST(resnet_run(self, "pool", c), resnet_run(self, "conv3", c)), .dim = 1);
    sh_tensor *e = sh_flatten(resnet_run(self, "mean", d), .start_dim = 1);
    return resnet_run(self, "fc2", resnet_run(self, "relu", resnet_run(self, "fc1", e)));
}

/* In eval mode, with weights by the counter. NULL and an error if memory is out. */
static inline sh_module *quantize_net(void) {
    static const sh_module_type type = {.name = "Net", .forward = quantize_net_forward};
    sh_module *m = sh_module_new(&type);
    sh_module_give(m, "conv1", sh_nn_conv2d(3, 8, 3, .padding = 1, .bias = false));
    sh_module_give(m, "bn1", sh_nn_batch_norm2d(8));
    sh_module_give(m, "relu", sh_nn_relu());
    sh_module_give(m, "conv2", sh_nn_conv2d(8, 8, 3, .padding = 1));
    sh_module_give(m, "bn2", sh_nn_batch_norm2d(8));
    sh_module_give(m, "conv3", sh_nn_conv2d(8, 8, 3, .stride = 2, .padding = 1, .groups = 2));
    sh_module_give(m, "pool", sh_nn_max_pool2d(2));
    sh_module_give(m, "mean", sh_nn_adaptive_avg_pool2d({1, 1}));
    sh_module_give(m, "fc1", sh_nn_linear(16, 12));
    sh_module_give(m, "fc2", sh_nn_linear(12, 10));
    if (sh_error()) {
        sh_module_release(m);
        return NULL;
    }
    resnet_fill_all(m);
    sh_module_eval(m);
    return m;
}

/* Two images, scope-owned. */
static inline sh_tensor *quantize_net_images(uint64_t number) {
    sh_tensor *t = sh_tensor_new(SH_F32, SH_SIZES(2, 3, 16, 16));
    if (t) resnet_fill(t, 2000 + number, -2, 2);
    return t;
}

#endif
