/* Ops of neural nets: the fast kernels against the plain loops over random shapes, layouts and dtypes. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>

#include "dispatch/scope.h"
#include "ops/ops.h"
#include "tests/against_ref.h"

static const sh_dtype DTYPES[] = {SH_F32, SH_F32, SH_F32, SH_F64, SH_F64, SH_BF16, SH_F16, SH_I64, SH_I8};

static sh_dtype pick_dtype(void) { return DTYPES[ar_pick(sizeof DTYPES / sizeof *DTYPES)]; }

static sh_value pair(int64_t *at, int64_t a, int64_t b, size_t n) {
    at[0] = a;
    at[1] = b;
    return sh_value_ints((sh_ints){at + 2 - n, n});
}

/* ---- convolution ---- */

/* Sizes that meet each way of staging: narrow and wide, one output channel and many, with and without a rest. */
static void random_convolution(void) {
    const size_t axes = (size_t)ar_pick(4) ? 2 : 1;
    const int64_t groups = ar_pick(3) ? 1 : 1 + ar_pick(4),
                  depth = ar_pick(8) ? 1 + ar_pick(7) : 1 + ar_pick(70);
    const int64_t width = ar_pick(4) ? 1 + ar_pick(6) : 1 + ar_pick(20),
                  wide = ar_pick(5) ? 1 + ar_pick(20) : 1 + ar_pick(80);
    const int64_t input[] = {1 + ar_pick(2), groups * depth, 1 + ar_pick(14), wide};
    const int64_t weight[] = {groups * width, depth, 1 + ar_pick(4), 1 + ar_pick(5)};
    const int64_t sizes1[] = {input[0], input[1], wide}, sizes2[] = {weight[0], depth, weight[3]};
    const sh_dtype dtype = pick_dtype();
    int64_t stride[2], padding[2], dilation[2];
    sh_tensor *x = ar_tensor(dtype, axes == 2 ? (sh_ints){input, 4} : (sh_ints){sizes1, 3});
    sh_tensor *w = ar_tensor(dtype, axes == 2 ? (sh_ints){weight, 4} : (sh_ints){sizes2, 3});
    sh_tensor *b = ar_pick(2) ? ar_tensor(dtype, SH_SIZES(weight[0])) : NULL;
    ar_check((ar_call){axes == 2 ? "conv2d" : "conv1d",
                       {{NULL, sh_value_tensor(x)},
                        {NULL, sh_value_tensor(w)},
                        {NULL, sh_value_tensor(b)},
                        {NULL, pair(stride, 1 + ar_pick(3), 1 + ar_pick(3), axes)},
                        {NULL, pair(padding, ar_pick(4), ar_pick(4), axes)},
                        {NULL, pair(dilation, 1 + ar_pick(2), 1 + ar_pick(3), axes)},
                        {NULL, sh_value_int(groups)}},
                       7,
                       depth * weight[2] * weight[3]});
}

static void check_convolutions(void) {
    ar_begin();
    for (int i = 0; i < 1500; i++) SH_SCOPE random_convolution();
}

Test(nn, convolution_on_cpu_equals_ref) { ar_at_every_level(check_convolutions); }
