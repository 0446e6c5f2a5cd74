#include "ops/flops.h"

#include <string.h>

/* Sources: a matrix product of [m, k] and [k, n] is 2 m n k; a convolution 2 times the outputs times the weights that
 * each output meets, which is numel(weight) / out_channels. */

static double result_numel(const sh_call *call) {
    const sh_tensor *t = sh_value_as_tensor(sh_call_result(call, 0));
    return t ? (double)sh_tensor_numel(t) : 0;
}

/* The length that is summed over is the last dimension of this argument. */
static double product(const sh_call *call, uint32_t argument) {
    const sh_tensor *t = sh_call_tensor(call, argument);
    if (!t || !sh_tensor_ndim(t)) return 0;
    return 2 * result_numel(call) * (double)sh_tensor_sizes(t)[sh_tensor_ndim(t) - 1];
}

static double convolution(const sh_call *call, uint32_t argument) {
    const sh_tensor *weight = sh_call_tensor(call, argument);
    if (!weight || !sh_tensor_ndim(weight) || !sh_tensor_sizes(weight)[0]) return 0;
    return 2 * result_numel(call) * (double)sh_tensor_numel(weight) / (double)sh_tensor_sizes(weight)[0];
}

double sh_call_flops(const sh_call *call) {
    static const struct {
        const char *op;
        double (*count)(const sh_call *call, uint32_t argument);
        uint32_t argument; /* whose last dimension is summed over; of a convolution, the weight */
    } counted[] = {{"matmul", product, 0},
                   {"mm", product, 0},
                   {"bmm", product, 0},
                   {"mv", product, 0},
                   {"dot", product, 0},
                   {"addmm", product, 1},
                   {"linear", product, 0},
                   {"conv1d", convolution, 1},
                   {"conv2d", convolution, 1},
                   {"quantized_linear", product, 0},
                   {"quantized_conv1d", convolution, 3},
                   {"quantized_conv2d", convolution, 3}};
    const char *name = sh_op_name(sh_call_op_of(call));
    double flops, bytes;
    if (!sh_call_has_result(call)) return 0;
    if (sh_call_cost(call, &flops, &bytes)) return flops;
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        if (strcmp(counted[i].op, name) == 0) return counted[i].count(call, counted[i].argument);
    return 0;
}
