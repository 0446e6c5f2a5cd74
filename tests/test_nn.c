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

/* ---- pooling ---- */

static void random_pooling(void) {
    static const char *const ops[] = {"max_pool2d", "avg_pool2d"};
    const size_t op = (size_t)ar_pick(2);
    int64_t kernel[2], stride[2], padding[2], dilation[2];
    sh_tensor *x =
        ar_tensor(pick_dtype(), SH_SIZES(1 + ar_pick(2), 1 + ar_pick(3), 1 + ar_pick(14), 1 + ar_pick(40)));
    ar_call call = {ops[op],
                    {{NULL, sh_value_tensor(x)},
                     {NULL, pair(kernel, 1 + ar_pick(5), 1 + ar_pick(5), 2)},
                     {NULL, pair(stride, 1 + ar_pick(4), 1 + ar_pick(4), 2)},
                     {NULL, pair(padding, ar_pick(3), ar_pick(3), 2)},
                     {"ceil_mode", sh_value_flag(ar_pick(2))}},
                    5,
                    25};
    if (op == 0)
        call.arguments[call.n++] =
            (sh_argument){"dilation", pair(dilation, 1 + ar_pick(3), 1 + ar_pick(3), 2)};
    if (op == 1) call.arguments[call.n++] = (sh_argument){"count_include_pad", sh_value_flag(ar_pick(2))};
    if (op == 1 && ar_pick(4) == 0)
        call.arguments[call.n++] = (sh_argument){"divisor_override", sh_value_int(-3)};
    ar_check(call);
}

static void random_adaptive_pooling(void) {
    int64_t size[2];
    sh_tensor *x = ar_tensor(pick_dtype(), SH_SIZES(2, 1 + ar_pick(3), 1 + ar_pick(14), 1 + ar_pick(20)));
    const sh_value out = pair(size, ar_pick(3) ? ar_pick(16) : 1, ar_pick(3) ? ar_pick(24) : 1, 2);
    ar_check((ar_call){"adaptive_avg_pool2d", {{NULL, sh_value_tensor(x)}, {NULL, out}}, 2, 280});
}

static void check_poolings(void) {
    ar_begin();
    for (int i = 0; i < 1500; i++) SH_SCOPE {
            random_pooling();
            random_adaptive_pooling();
        }
}

Test(nn, pooling_on_cpu_equals_ref) { ar_at_every_level(check_poolings); }

/* ---- normalisation ---- */

/* A parameter of the input's dtype or, now and then, f32 beside a half type; or none. */
static sh_argument parameter(const char *name, sh_dtype dtype, sh_ints sizes) {
    return (sh_argument){name, sh_value_tensor(ar_pick(3) ? ar_tensor(dtype, sizes) : NULL)};
}

static sh_dtype parameter_dtype(sh_dtype dtype) {
    return (dtype == SH_F16 || dtype == SH_BF16) && ar_pick(2) ? SH_F32 : dtype;
}

static void random_layer_norm(void) {
    const int64_t sizes[] = {1 + ar_pick(4), 1 + ar_pick(5), 1 + ar_pick(60)};
    const size_t n = 1 + (size_t)ar_pick(2);
    const sh_ints normalized = {sizes + 3 - n, n};
    const sh_dtype dtype = pick_dtype(), other = parameter_dtype(dtype);
    ar_check((ar_call){"layer_norm",
                       {{NULL, sh_value_tensor(ar_tensor(dtype, (sh_ints){sizes, 3}))},
                        {NULL, sh_value_ints(normalized)},
                        parameter("weight", other, normalized),
                        parameter("bias", other, normalized),
                        {"eps", sh_value_float(0.1)}},
                       5,
                       900});
}

static void random_batch_norm(void) {
    const int64_t sizes[] = {1 + ar_pick(4), 1 + ar_pick(6), 1 + ar_pick(9), 1 + ar_pick(9)};
    const sh_ints channels = {sizes + 1, 1};
    const sh_dtype dtype = pick_dtype(), other = parameter_dtype(dtype);
    sh_tensor *mean = ar_tensor(other, channels), *variance = sh_square(ar_tensor(other, channels));
    ar_check((ar_call){"batch_norm",
                       {{NULL, sh_value_tensor(ar_tensor(dtype, (sh_ints){sizes, 2 + (size_t)ar_pick(3)}))},
                        {NULL, sh_value_tensor(mean)},
                        {NULL, sh_value_tensor(variance)},
                        parameter("weight", other, channels),
                        parameter("bias", other, channels),
                        {"training", sh_value_flag(false)},
                        {"eps", sh_value_float(0.1)}},
                       7,
                       900});
}

static void check_normalisations(void) {
    ar_begin();
    for (int i = 0; i < 1500; i++) SH_SCOPE {
            random_layer_norm();
            random_batch_norm();
        }
}

Test(nn, normalisation_on_cpu_equals_ref) { ar_at_every_level(check_normalisations); }

/* ---- moving ---- */

static void random_pad(void) {
    static const char *const modes[] = {"constant", "reflect", "replicate", "circular"};
    const int64_t sizes[] = {1 + ar_pick(3), 1 + ar_pick(4), 1 + ar_pick(8), 1 + ar_pick(8)};
    const size_t ndim = 1 + (size_t)ar_pick(4), pairs = (size_t)ar_pick((int64_t)ndim + 1);
    int64_t pads[8];
    for (size_t i = 0; i < 2 * pairs; i++) pads[i] = ar_pick(8) - 3;
    sh_tensor *x = ar_tensor(pick_dtype(), (sh_ints){sizes + 4 - ndim, ndim});
    const sh_value value = ar_pick(2) ? sh_value_float(2) : sh_none();
    ar_check((ar_call){"pad",
                       {{NULL, sh_value_tensor(x)},
                        {NULL, sh_value_ints((sh_ints){pads, 2 * pairs})},
                        {NULL, sh_value_string(modes[ar_pick(4)])},
                        {NULL, value}},
                       4,
                       0});
}

static void random_embedding(void) {
    const int64_t rows = 1 + ar_pick(9);
    sh_tensor *indices =
        sh_randint(rows + (ar_pick(9) == 0), SH_SIZES(3, 5), .dtype = ar_pick(2) ? SH_I64 : SH_I32);
    if (ar_pick(2)) indices = sh_transpose(indices, 0, 1);
    sh_tensor *weight = ar_tensor(pick_dtype(), SH_SIZES(rows, ar_pick(20)));
    ar_check(
        (ar_call){"embedding", {{NULL, sh_value_tensor(weight)}, {NULL, sh_value_tensor(indices)}}, 2, 0});
}

Test(nn, pad_and_embedding_on_cpu_equal_ref) {
    ar_begin();
    for (int i = 0; i < 4000; i++) SH_SCOPE {
            random_pad();
            random_embedding();
        }
}

/* ---- shared among threads ---- */

static void check_large(const char *op, sh_ints x, sh_ints w, sh_value list) {
    sh_tensor *input = ar_contiguous(SH_F32, x), *weight = w.n ? ar_contiguous(SH_F32, w) : NULL;
    ar_call call = {op, {{NULL, sh_value_tensor(input)}}, 1, 2000};
    if (weight) call.arguments[call.n++] = (sh_argument){"weight", sh_value_tensor(weight)};
    if (list.tag != SH_TAG_NONE) call.arguments[call.n++] = (sh_argument){NULL, list};
    if (op[0] == 'b') call.arguments[call.n++] = (sh_argument){"training", sh_value_flag(true)};
    ar_check(call);
}

Test(nn, large_ones_on_cpu_equal_ref) {
    const sh_ints none = {NULL, 0};
    ar_begin();
    SH_SCOPE {
        check_large("conv2d", SH_SIZES(2, 24, 41, 43), SH_SIZES(40, 24, 3, 3), sh_none());
        check_large("conv2d", SH_SIZES(1, 120, 50, 50), SH_SIZES(40, 120, 1, 1), sh_none());
        check_large("max_pool2d", SH_SIZES(3, 20, 61, 63), none, sh_value_ints(SH_SIZES(3, 2)));
        check_large("avg_pool2d", SH_SIZES(3, 20, 61, 63), none, sh_value_ints(SH_SIZES(2, 3)));
        check_large("layer_norm", SH_SIZES(300, 700), none, sh_value_ints(SH_SIZES(700)));
        check_large("batch_norm", SH_SIZES(3, 5, 80, 90), none, sh_none());
    }
}

/* ---- promises ---- */

static double at(const sh_tensor *t, int64_t i) { return sh_tensor_at(t, &i); }

Test(nn, batch_norm_in_training_moves_the_running_statistics) {
    static const char *const backends[] = {"cpu", "ref"};
    for (size_t i = 0; i < 2; i++)
        SH_WITH_BACKEND(backends[i]) SH_SCOPE {
                float data[] = {1, 3, 5, 7};
                sh_tensor *x = sh_from_data(data, SH_F32, SH_SIZES(4, 1), (sh_ints){NULL, 0}, NULL, NULL);
                sh_tensor *mean = sh_zeros(SH_SIZES(1)), *variance = sh_ones(SH_SIZES(1));
                const uint64_t before = sh_tensor_version(mean);
                cr_assert(sh_batch_norm(x, .running_mean = mean, .running_var = variance, .training = true,
                                        .momentum = 0.5) != NULL);
                cr_expect(epsilon_eq(dbl, at(mean, 0), 2, 1e-6));
                cr_expect(epsilon_eq(dbl, at(variance, 0), 0.5 + 0.5 * 20 / 3, 1e-5));
                cr_expect(gt(u64, sh_tensor_version(mean), before));
            }
}

/* One that scales first and shifts after has a digit or two left here. */
Test(nn, normalisation_far_from_zero_keeps_its_digits) {
    SH_SCOPE {
        float data[] = {100000, 100001, 100002, 100003};
        sh_tensor *x = sh_from_data(data, SH_F32, SH_SIZES(1, 4), (sh_ints){NULL, 0}, NULL, NULL);
        sh_tensor *y = sh_flatten(sh_layer_norm(x, SH_SIZES(4), .eps = 0));
        cr_expect(epsilon_eq(dbl, at(y, 0), -1.5 / sqrt(1.25), 1e-6));
        cr_expect(epsilon_eq(dbl, at(y, 3), 1.5 / sqrt(1.25), 1e-6));
    }
}

/* Winograd's method, which is faster, would spread it. */
Test(nn, a_nan_reaches_its_windows_only) {
    SH_SCOPE {
        sh_tensor *x = sh_zeros(SH_SIZES(1, 16, 20, 20)), *w = sh_ones(SH_SIZES(16, 16, 3, 3));
        ((float *)sh_tensor_data(x))[10 * 20 + 10] = NAN;
        sh_tensor *bad = sh_sum(sh_isnan(sh_conv2d(x, w, .padding = {1})));
        cr_expect(eq(i64, sh_item_int(bad), 16 * 9));
    }
}

Test(nn, dropout_returns_its_input_where_nothing_is_dropped) {
    SH_SCOPE {
        sh_tensor *x = sh_ones(SH_SIZES(3));
        cr_expect(eq(ptr, sh_dropout(x, .training = false), x));
        cr_expect(eq(ptr, sh_dropout(x, .p = 0), x));
    }
}

/* ---- memory ---- */

static sh_tensor *image, *filter, *turned, *half_image, *half_filter;

static bool convolve(void) { return sh_conv2d(image, turned, .padding = {1}) != NULL; }
static bool convolve_half(void) { return sh_conv2d(half_image, half_filter) != NULL; }
static bool pool_largest(void) { return sh_max_pool2d(half_image, SH_SIZES(2)) != NULL; }
static bool pool_mean(void) { return sh_avg_pool2d(half_image, SH_SIZES(2)) != NULL; }
static bool pool_adaptively(void) { return sh_adaptive_avg_pool2d(half_image, SH_SIZES(2)) != NULL; }
static bool normalise_batch(void) { return sh_batch_norm(half_image, .training = true) != NULL; }
static bool normalise_columns(void) {
    return sh_batch_norm(sh_flatten(image, .start_dim = 1), .training = true) != NULL;
}
static bool normalise_layer(void) { return sh_layer_norm(half_image, SH_SIZES(9)) != NULL; }
static bool pad_turned(void) { return sh_pad(turned, SH_SIZES(1, 1)) != NULL; }
static bool drop_out(void) { return sh_dropout(image) != NULL; }

Test(nn, each_allocation_may_fail) {
    SH_SCOPE {
        image = sh_rand(SH_SIZES(1, 4, 9, 9));
        filter = sh_rand(SH_SIZES(4, 6, 3, 3));
        turned = sh_transpose(filter, 0, 1);
        half_image = sh_to(image, SH_BF16);
        half_filter = sh_to(turned, SH_BF16);
        ar_fail_each("conv2d", convolve);
        ar_fail_each("conv2d of bf16", convolve_half);
        ar_fail_each("max_pool2d", pool_largest);
        ar_fail_each("avg_pool2d", pool_mean);
        ar_fail_each("adaptive_avg_pool2d", pool_adaptively);
        ar_fail_each("batch_norm", normalise_batch);
        ar_fail_each("batch_norm of columns", normalise_columns);
        ar_fail_each("layer_norm", normalise_layer);
        ar_fail_each("pad", pad_turned);
        ar_fail_each("dropout", drop_out);
    }
}
