/* The cpu kernels of quantised ops against those of ref, to the bit, in every level: random sizes and layouts, large
 * ones that are shared out, and ones that cannot be staged. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

#include "shunt.h"
#include "tests/against_ref.h"
#include "tests/golden.h"

/* Values from low to high over a random layout. */
static sh_tensor *bytes_within(sh_dtype dtype, sh_ints sizes, int low, int high) {
    char fill[64];
    sh_tensor *t = ar_tensor(dtype, sizes);
    int64_t reach = 1;
    for (size_t i = 0; i < sizes.n; i++) reach += sizes.at[i] * sh_tensor_stride(t, (int)i);
    sh_tensor *all = sh_tensor_new(dtype, SH_SIZES(reach));
    snprintf(fill, sizeof fill, "u(%d,%d,%d)", (int)ar_pick(1 << 20), low, high);
    golden_fill(all, fill);
    return sh_tensor_as_strided(all, sizes, sh_ints_of(sh_tensor_strides(t), sizes.n), 0);
}

/* All values of the dtype. */
static sh_tensor *bytes(sh_dtype dtype, sh_ints sizes) {
    return dtype == SH_U8 ? bytes_within(dtype, sizes, 0, 255) : bytes_within(dtype, sizes, -128, 127);
}

/* Every other time only those that oneDNN multiplies exactly without VNNI. */
static sh_tensor *inputs(sh_dtype dtype, sh_ints sizes) {
    if (ar_pick(2)) return bytes(dtype, sizes);
    return dtype == SH_U8 ? bytes_within(dtype, sizes, 0, 127) : bytes_within(dtype, sizes, -128, -1);
}

static sh_dtype pick_integer(void) { return ar_pick(2) ? SH_U8 : SH_I8; }
static int64_t pick_point(sh_dtype dtype) { return ar_pick(256) - (dtype == SH_U8 ? 0 : 128); }

static sh_tensor *pick_scales(int64_t n) {
    sh_tensor *scales = sh_mul(sh_abs(ar_tensor(SH_F32, SH_SIZES(ar_pick(3) ? n : 1))), 0.01);
    return sh_add(scales, 0.001);
}

/* The keywords of an output, from `at` on. Returns how many there are. */
static size_t pick_output(sh_argument *at) {
    static const sh_dtype dtypes[] = {SH_F32, SH_U8, SH_I8};
    const sh_dtype dtype = dtypes[ar_pick(3)];
    at[0] = (sh_argument){"output_scale", sh_value_float(0.01 * (double)(1 + ar_pick(400)))};
    at[1] = (sh_argument){"output_zero_point", sh_value_int(pick_point(dtype))};
    at[2] = (sh_argument){"output_dtype", sh_value_dtype(dtype)};
    at[3] = (sh_argument){"relu", sh_value_flag(ar_pick(2))};
    return 4;
}

static void check_on_grid(ar_call call) {
    call.n += pick_output(call.arguments + call.n);
    ar_check(call);
}

static sh_value pair(int64_t *at, int64_t a, int64_t b, size_t n) {
    at[0] = a;
    at[1] = b;
    return sh_value_ints((sh_ints){at + 2 - n, n});
}

static void random_convolution(void) {
    const size_t axes = (size_t)ar_pick(4) ? 2 : 1;
    const bool many = !ar_pick(8); /* weights, so that oneDNN is worth it */
    const int64_t groups = ar_pick(3) ? 1 : 1 + ar_pick(4), depth = many ? 30 + ar_pick(50) : 1 + ar_pick(9),
                  width = many ? 16 + ar_pick(24) : 1 + ar_pick(9),
                  wide = ar_pick(5) ? 1 + ar_pick(20) : 1 + ar_pick(80);
    const int64_t input[] = {1 + ar_pick(2), groups * depth, 1 + ar_pick(9), wide};
    const int64_t weight[] = {groups * width, depth, 1 + ar_pick(4), 1 + ar_pick(5)};
    const int64_t sizes1[] = {input[0], input[1], wide}, sizes2[] = {weight[0], depth, weight[3]};
    const sh_dtype dtype = pick_integer();
    int64_t stride[2], padding[2], dilation[2];
    sh_tensor *x = inputs(dtype, axes == 2 ? (sh_ints){input, 4} : (sh_ints){sizes1, 3});
    sh_tensor *w = bytes(SH_I8, axes == 2 ? (sh_ints){weight, 4} : (sh_ints){sizes2, 3});
    check_on_grid(
        (ar_call){axes == 2 ? "quantized_conv2d" : "quantized_conv1d",
                  {{NULL, sh_value_tensor(x)},
                   {NULL, sh_value_float(0.01)},
                   {NULL, sh_value_int(pick_point(dtype))},
                   {NULL, sh_value_tensor(w)},
                   {NULL, sh_value_tensor(pick_scales(weight[0]))},
                   {NULL, sh_value_tensor(ar_pick(2) ? ar_tensor(SH_F32, SH_SIZES(weight[0])) : NULL)},
                   {NULL, pair(stride, 1 + ar_pick(3), 1 + ar_pick(3), axes)},
                   {NULL, pair(padding, ar_pick(4), ar_pick(4), axes)},
                   {NULL, pair(dilation, 1 + ar_pick(2), 1 + ar_pick(3), axes)},
                   {NULL, sh_value_int(groups)}},
                  10,
                  0});
}

static void check_convolutions(void) {
    ar_begin();
    for (int i = 0; i < 600; i++) SH_SCOPE random_convolution();
}
Test(quantized_kernels, convolution_on_cpu_equals_ref) { ar_at_every_level(check_convolutions); }

static void random_linear(void) {
    const int64_t depth = ar_pick(9) ? ar_pick(90) : 0, outputs = 1 + ar_pick(70);
    const sh_dtype dtype = pick_integer();
    sh_tensor *x = inputs(dtype, SH_SIZES(1 + ar_pick(2), ar_pick(50), depth)),
              *w = bytes(SH_I8, SH_SIZES(outputs, depth));
    check_on_grid(
        (ar_call){"quantized_linear",
                  {{NULL, sh_value_tensor(x)},
                   {NULL, sh_value_float(0.02)},
                   {NULL, sh_value_int(pick_point(dtype))},
                   {NULL, sh_value_tensor(w)},
                   {NULL, sh_value_tensor(pick_scales(outputs))},
                   {NULL, sh_value_tensor(ar_pick(2) ? ar_tensor(SH_F32, SH_SIZES(outputs)) : NULL)}},
                  6,
                  0});
}

static void random_sum(void) {
    const int64_t a[] = {1 + ar_pick(4), 1 + ar_pick(5), 1 + ar_pick(30)};
    const int64_t b[] = {ar_pick(2) ? a[0] : 1, ar_pick(2) ? a[1] : 1, a[2]};
    const sh_dtype first = pick_integer(), second = pick_integer();
    check_on_grid((ar_call){"quantized_add",
                            {{NULL, sh_value_tensor(bytes(first, (sh_ints){a, 3}))},
                             {NULL, sh_value_float(0.01 * (double)(1 + ar_pick(90)))},
                             {NULL, sh_value_int(pick_point(first))},
                             {NULL, sh_value_tensor(bytes(second, (sh_ints){b, 3}))},
                             {NULL, sh_value_float(0.01 * (double)(1 + ar_pick(90)))},
                             {NULL, sh_value_int(pick_point(second))}},
                            6,
                            0});
}

static void check_products(void) {
    ar_begin();
    for (int i = 0; i < 300; i++) SH_SCOPE {
            random_linear();
            random_sum();
        }
}
Test(quantized_kernels, products_and_sums_on_cpu_equal_ref) { ar_at_every_level(check_products); }

/* Onto a grid and back, of one and of many. */
static void random_quantizing(void) {
    const int64_t sizes[] = {1 + ar_pick(3), 1 + ar_pick(4), 1 + ar_pick(40)}, axis = ar_pick(3),
                  n = sizes[axis];
    const sh_dtype dtype = pick_integer();
    const sh_value x = sh_value_tensor(ar_tensor(SH_F32, (sh_ints){sizes, 3})),
                   q = sh_value_tensor(bytes(dtype, (sh_ints){sizes, 3})),
                   point = sh_value_int(pick_point(dtype)),
                   scale = sh_value_float(0.002 * (double)(1 + ar_pick(30)));
    const sh_value scales =
                       sh_value_tensor(sh_add(sh_mul(sh_abs(ar_tensor(SH_F32, SH_SIZES(n))), 0.01), 0.001)),
                   points = sh_value_tensor(sh_to(bytes(dtype, SH_SIZES(n)), ar_pick(2) ? SH_I32 : SH_I64)),
                   along = sh_value_int(axis), low = sh_value_int(-200), high = sh_value_int(300);
    ar_check((ar_call){"quantize_per_tensor",
                       {{NULL, x}, {NULL, scale}, {NULL, point}, {NULL, sh_value_dtype(dtype)}},
                       4,
                       0});
    ar_check(
        (ar_call){"quantize_per_channel",
                  {{NULL, x}, {NULL, scales}, {NULL, points}, {NULL, along}, {NULL, sh_value_dtype(dtype)}},
                  5,
                  0});
    ar_check((ar_call){"dequantize_per_tensor", {{NULL, q}, {NULL, scale}, {NULL, point}}, 3, 0});
    ar_check((ar_call){
        "dequantize_per_channel", {{NULL, q}, {NULL, scales}, {NULL, points}, {NULL, along}}, 4, 0});
    ar_check((ar_call){"fake_quantize_per_tensor_affine",
                       {{NULL, x}, {NULL, scale}, {NULL, point}, {NULL, low}, {NULL, high}},
                       5,
                       0});
    ar_check((ar_call){"fake_quantize_per_channel_affine",
                       {{NULL, x}, {NULL, scales}, {NULL, points}, {NULL, along}, {NULL, low}, {NULL, high}},
                       6,
                       0});
}

static void check_quantizing(void) {
    ar_begin();
    for (int i = 0; i < 200; i++) SH_SCOPE random_quantizing();
}
Test(quantized_kernels, onto_grids_and_back_on_cpu_equals_ref) { ar_at_every_level(check_quantizing); }

/* ---- sizes ---- */

static void check_values(sh_tensor *x, sh_tensor *w, int64_t step, int64_t groups, int64_t padding,
                         int64_t dilation) {
    int64_t at[3][2];
    check_on_grid((ar_call){"quantized_conv2d",
                            {{NULL, sh_value_tensor(x)},
                             {NULL, sh_value_float(0.01)},
                             {NULL, sh_value_int(sh_tensor_dtype(x) == SH_U8 ? 77 : -50)},
                             {NULL, sh_value_tensor(w)},
                             {NULL, sh_value_tensor(pick_scales(sh_tensor_size(w, 0)))},
                             {NULL, sh_value_tensor(NULL)},
                             {NULL, pair(at[0], step, step, 2)},
                             {NULL, pair(at[1], padding, padding, 2)},
                             {NULL, pair(at[2], dilation, dilation, 2)},
                             {NULL, sh_value_int(groups)}},
                            10,
                            0});
}

/* Of all bytes, and of those of 7 bits, u8 and i8. */
static void check_convolution(sh_ints input, sh_ints weight, int64_t step, int64_t groups, int64_t padding,
                              int64_t dilation) {
    sh_tensor *w = bytes(SH_I8, weight);
    check_values(bytes(SH_U8, input), w, step, groups, padding, dilation);
    check_values(bytes_within(SH_U8, input, 0, 127), w, step, groups, padding, dilation);
    check_values(bytes_within(SH_I8, input, -128, -1), w, step, groups, padding, dilation);
}

static void check_linear(sh_tensor *x) {
    check_on_grid((ar_call){"quantized_linear",
                            {{NULL, sh_value_tensor(x)},
                             {NULL, sh_value_float(0.02)},
                             {NULL, sh_value_int(sh_tensor_dtype(x) == SH_U8 ? 60 : -57)},
                             {NULL, sh_value_tensor(bytes(SH_I8, SH_SIZES(250, 300)))},
                             {NULL, sh_value_tensor(pick_scales(250))}},
                            5,
                            0});
}

/* So much work that it is shared out, in several pieces along each axis. */
Test(quantized_kernels, large_convolutions_and_products_on_cpu_equal_ref) {
    SH_SCOPE {
        ar_begin();
        check_convolution(SH_SIZES(2, 24, 31, 43), SH_SIZES(30, 24, 3, 3), 1, 1, 1, 1);
        check_convolution(SH_SIZES(1, 70, 50, 50), SH_SIZES(60, 70, 1, 1), 1, 1, 0, 1);
        check_convolution(SH_SIZES(1, 96, 50, 50), SH_SIZES(96, 1, 3, 3), 1, 96, 1, 1);
        check_convolution(SH_SIZES(1, 70, 9, 600), SH_SIZES(9, 70, 3, 3), 1, 1, 1, 1);
        check_convolution(SH_SIZES(1, 5, 9, 1300), SH_SIZES(9, 5, 3, 3), 2, 1, 1, 1);
        check_convolution(SH_SIZES(1, 260, 7, 7), SH_SIZES(130, 260, 3, 3), 1, 1, 1, 1);
        check_convolution(SH_SIZES(2, 60, 40, 50), SH_SIZES(64, 30, 3, 3), 1, 2, 2, 2);
        check_convolution(SH_SIZES(1, 3, 90, 90), SH_SIZES(64, 3, 7, 7), 2, 1, 3, 1);
        check_convolution(SH_SIZES(1, 20, 3, 5), SH_SIZES(18, 20, 5, 5), 1, 1, 8, 4);
        check_convolution(SH_SIZES(1, 20, 4, 4), SH_SIZES(60, 20, 3, 3), 3, 1, 0, 1);
        check_linear(bytes(SH_I8, SH_SIZES(50, 300)));
        check_linear(bytes_within(SH_U8, SH_SIZES(800, 300), 0, 127));
        check_linear(bytes_within(SH_I8, SH_SIZES(50, 300), -128, -1));
    }
}

/* The largest products that two of are added up in i16, the longest sums, and the zero point that makes most of them. */
Test(quantized_kernels, bytes_at_their_ends_are_exact) {
    SH_SCOPE {
        sh_tensor *low = sh_full(SH_SIZES(40, 65536), -128, .dtype = SH_I8),
                  *high = sh_full(SH_SIZES(40, 65536), 127, .dtype = SH_U8),
                  *w = sh_full(SH_SIZES(20, 65536), -128, .dtype = SH_I8), *ones = sh_ones(SH_SIZES(1));
        sh_tensor *sums = sh_quantized_linear(high, 1, 0, w, ones);
        cr_assert(eq(flt, (float)sh_item(sh_select(sh_select(sums, 0, 39), 0, 19)), -127.0f * 128 * 65536));
        sums = sh_quantized_linear(low, 1, 127, w, ones);
        cr_assert(eq(flt, (float)sh_item(sh_select(sh_select(sums, 0, 39), 0, 19)), 255.0f * 128 * 65536));
        sums = sh_quantized_linear(low, 1, -1, w, ones);
        cr_assert(eq(flt, (float)sh_item(sh_select(sh_select(sums, 0, 39), 0, 19)), 127.0f * 128 * 65536));
    }
}

Test(quantized_kernels, windows_too_wide_to_be_staged_equal_ref) {
    const int64_t billion = 1000000000;
    SH_SCOPE {
        ar_begin();
        check_convolution(SH_SIZES(1, 2, 4, 4), SH_SIZES(2, 2, 2, 2), 1, 1, billion / 2, billion);
        check_convolution(SH_SIZES(1, 2, 4, 4), SH_SIZES(2, 2, 2, 2), billion, 1, billion / 2, billion);
        check_convolution(SH_SIZES(1, 2, 4, 4), SH_SIZES(2, 2, 2, 2), INT64_MAX, 1, 1, 1);
        check_convolution(SH_SIZES(1, 2, 4, 4), SH_SIZES(2, 2, 2, 2), 1 << 20, 1, 0, 3);
        check_convolution(SH_SIZES(1, 2, 4, 4), SH_SIZES(2, 2, 2, 2), (int64_t)1 << 61, 1, (int64_t)1 << 61,
                          1);
        check_convolution(SH_SIZES(1, 20, 4, 4), SH_SIZES(128, 20, 2, 2), INT64_MAX, 1, 1, 1);
        check_convolution(SH_SIZES(1, 20, 4, 4), SH_SIZES(128, 20, 2, 2), 1 << 20, 1, 0, 3);
        check_convolution(SH_SIZES(1, 80, 4, 4), SH_SIZES(110, 80, 1, 1), (int64_t)1 << 61, 1,
                          (int64_t)1 << 61, 1);
    }
}
