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

static double convolution(const sh_call *call) {
    const sh_tensor *weight = sh_call_tensor(call, 1);
    if (!weight || !sh_tensor_ndim(weight) || !sh_tensor_sizes(weight)[0]) return 0;
    return 2 * result_numel(call) * (double)sh_tensor_numel(weight) / (double)sh_tensor_sizes(weight)[0];
}

double sh_call_flops(const sh_call *call) {
    static const struct {
        const char *op;
        int argument; /* of the summed dimension; -1: a convolution */
    } counted[] = {{"matmul", 0}, {"mm", 0},     {"bmm", 0},     {"mv", 0},     {"dot", 0},
                   {"addmm", 1},  {"linear", 0}, {"conv1d", -1}, {"conv2d", -1}};
    const char *name = sh_op_name(sh_call_op_of(call));
    if (!sh_call_has_result(call)) return 0;
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
        if (strcmp(counted[i].op, name) != 0) continue;
        return counted[i].argument < 0 ? convolution(call) : product(call, (uint32_t)counted[i].argument);
    }
    return 0;
}
