/* Quantised ops: exact sums, the ends of grids, what is refused, and that a chain of them comes as near to float as its
 * grid allows. The answers themselves are in tests/golden/quantized.txt. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <string.h>

#include "ops/flops.h"
#include "ops/quantize.h"
#include "shunt.h"
#include "tests/against_ref.h"
#include "tests/golden.h"

/* ---- sums that would saturate in i16 or round in f32 ---- */

static void check_extremes(void) {
    SH_SCOPE {
        sh_tensor *x = sh_full(SH_SIZES(1, 64, 4, 4), 255, .dtype = SH_U8), *scale = sh_ones(SH_SIZES(1));
        sh_tensor *w = sh_full(SH_SIZES(3, 64, 3, 3), -128, .dtype = SH_I8);
        const double all = -128.0 * 255 * 64;
        sh_tensor *r = sh_quantized_conv2d(x, 1, 0, w, scale);
        cr_assert(r != NULL, "%s", sh_error() ? sh_error()->message : "");
        cr_expect(eq(dbl, golden_float_at(r, 5), all * 9));
        r = sh_quantized_linear(sh_flatten(x, .start_dim = 1), 1, 0,
                                sh_full(SH_SIZES(2, 1024), -128, .dtype = SH_I8), scale);
        cr_expect(eq(dbl, golden_float_at(r, 1), -128.0 * 255 * 1024));
    }
}
Test(quantize, products_of_the_largest_integers_are_exact) { ar_at_every_level(check_extremes); }

static void check_many_terms(void) {
    SH_SCOPE {
        const int64_t n = SH_QUANTIZED_TERMS;
        sh_tensor *x = sh_full(SH_SIZES(1, n), 255, .dtype = SH_U8), *scale = sh_ones(SH_SIZES(1));
        sh_tensor *w = sh_full(SH_SIZES(1, n), -128, .dtype = SH_I8);
        cr_expect(eq(dbl, golden_float_at(sh_quantized_linear(x, 1, 0, w, scale), 0),
                     (double)(float)(-128.0 * 255 * (double)n)));
        x = sh_full(SH_SIZES(1, n + 1), 0, .dtype = SH_U8);
        w = sh_full(SH_SIZES(1, n + 1), 0, .dtype = SH_I8);
        cr_expect(sh_quantized_linear(x, 1, 0, w, scale) == NULL);
        cr_expect(eq(int, sh_error()->code, SH_ERROR_UNSUPPORTED));
        sh_clear_error();
    }
}
Test(quantize, the_longest_sums_are_exact_and_longer_ones_refused) { ar_at_every_level(check_many_terms); }

/* ---- the ends of grids ---- */

static void check_ends(void) {
    SH_SCOPE {
        const float values[] = {INFINITY, -INFINITY, NAN, 1e30f, -1e30f, 3e38f, -0.0f, 1e-40f};
        const int64_t u8[] = {255, 0, 0, 255, 0, 255, 9, 9}, i8[] = {127, -128, -128, 127, -128, 127, 9, 9};
        sh_tensor *x = sh_tensor_new(SH_F32, SH_SIZES(8));
        memcpy(sh_tensor_data(x), values, sizeof values);
        sh_tensor *a = sh_quantize_per_tensor(x, 0.1, 9, SH_U8),
                  *b = sh_quantize_per_tensor(x, 0.1, 9, SH_I8);
        for (int64_t i = 0; i < 8; i++) {
            cr_expect(eq(i64, golden_int_at(a, i), u8[i]), "entry %d", (int)i);
            cr_expect(eq(i64, golden_int_at(b, i), i8[i]), "entry %d", (int)i);
        }
    }
}
Test(quantize, infinities_go_to_the_ends_and_nan_to_the_low_one) { ar_at_every_level(check_ends); }

Test(quantize, padding_counts_as_the_real_zero) {
    SH_SCOPE {
        sh_tensor *x = sh_full(SH_SIZES(1, 2, 3, 3), 77, .dtype = SH_U8),
                  *w = sh_ones(SH_SIZES(4, 2, 3, 3), .dtype = SH_I8);
        sh_tensor *r = sh_quantized_conv2d(x, 1, 77, w, sh_ones(SH_SIZES(1)), .padding = {2, 2});
        for (int64_t i = 0; i < sh_tensor_numel(r); i++) cr_expect(eq(dbl, golden_float_at(r, i), 0));
    }
}

Test(quantize, relu_cuts_at_the_zero_point) {
    SH_SCOPE {
        sh_tensor *x = sh_full(SH_SIZES(1, 4), 1, .dtype = SH_I8),
                  *w = sh_full(SH_SIZES(2, 4), -5, .dtype = SH_I8), *s = sh_ones(SH_SIZES(1));
        sh_tensor *r = sh_quantized_linear(x, 1, 0, w, s, .output_scale = 1, .output_zero_point = 30,
                                           .output_dtype = SH_U8, .relu = true);
        cr_expect(eq(i64, golden_int_at(r, 0), 30));
        r = sh_quantized_linear(x, 1, 0, w, s, .output_scale = 1, .output_zero_point = 30,
                                .output_dtype = SH_U8);
        cr_expect(eq(i64, golden_int_at(r, 0), 10));
        cr_expect(eq(dbl, golden_float_at(sh_quantized_linear(x, 1, 0, w, s, .relu = true), 0), 0));
    }
}

/* ---- near to float ---- */

static double signal_to_noise(const sh_tensor *exact, const sh_tensor *got) {
    double signal = 0, noise = 0;
    for (int64_t i = 0; i < sh_tensor_numel(exact); i++) {
        const double x = golden_float_at(exact, i), d = x - golden_float_at(got, i);
        signal += x * x;
        noise += d * d;
    }
    return 10 * log10(signal / noise);
}

/* Per-channel scales of a weight, and the weight on them. */
static sh_tensor *quantize_weight(sh_tensor *w, sh_tensor **scales) {
    *scales = sh_div(sh_amax(sh_abs(sh_flatten(w, .start_dim = 1)), .dim = 1), 127);
    return sh_quantize_per_channel(w, *scales, sh_zeros(SH_SIZES(sh_tensor_size(w, 0)), .dtype = SH_I64), 0,
                                   SH_I8);
}

Test(quantize, two_convolutions_and_a_sum_on_grids_come_near_to_float) {
    SH_SCOPE {
        sh_manual_seed(3);
        sh_tensor *x = sh_rand(SH_SIZES(1, 8, 14, 14)), *w = sh_randn(SH_SIZES(8, 8, 3, 3)),
                  *b = sh_randn(SH_SIZES(8)), *s;
        sh_tensor *y = sh_relu(sh_conv2d(x, w, .bias = b, .padding = {1, 1})),
                  *z = sh_add(sh_conv2d(y, w, .padding = {1, 1}), y);
        const double ys = sh_item(sh_max(y)) / 255, zs = 2 * sh_item(sh_max(sh_abs(z))) / 255;
        sh_tensor *q = sh_quantize_per_tensor(x, 1.0 / 255, 0, SH_U8), *wq = quantize_weight(w, &s);
        sh_tensor *yq = sh_quantized_conv2d(q, 1.0 / 255, 0, wq, s, .bias = b, .padding = {1, 1},
                                            .output_scale = ys, .output_dtype = SH_U8, .relu = true);
        sh_tensor *zq = sh_quantized_conv2d(yq, ys, 0, wq, s, .padding = {1, 1}, .output_scale = zs,
                                            .output_zero_point = 128, .output_dtype = SH_U8);
        sh_tensor *sum = sh_quantized_add(zq, zs, 128, yq, ys, 0, .output_scale = zs,
                                          .output_zero_point = 128, .output_dtype = SH_U8);
        cr_assert(sum != NULL, "%s", sh_error() ? sh_error()->message : "");
        const double decibel = signal_to_noise(z, sh_dequantize_per_tensor(sum, zs, 128));
        cr_expect(decibel > 30, "%g dB", decibel);
    }
}

Test(quantize, largest_elements_and_joined_ones_stay_on_their_grid) {
    SH_SCOPE {
        sh_tensor *q = sh_randint(256, SH_SIZES(1, 3, 6, 6), .dtype = SH_U8),
                  *x = sh_dequantize_per_tensor(q, 0.1, 90);
        sh_tensor *pooled = sh_max_pool2d(q, SH_SIZES(2)), *joined = sh_cat(SH_LIST(q, q), .dim = 1);
        cr_expect(sh_equal(sh_dequantize_per_tensor(pooled, 0.1, 90), sh_max_pool2d(x, SH_SIZES(2))));
        cr_expect(sh_equal(sh_dequantize_per_tensor(joined, 0.1, 90), sh_cat(SH_LIST(x, x), .dim = 1)));
        cr_expect(sh_equal(sh_dequantize_per_tensor(sh_clamp(q, .min = 90), 0.1, 90), sh_relu(x)));
    }
}

/* ---- work ---- */

static double counted;

static sh_status count(sh_mode *mode, sh_call *call) {
    (void)mode;
    SH_TRY(sh_next(call));
    counted += sh_call_flops(call);
    return SH_PASS;
}

Test(quantize, products_count_as_many_operations_as_those_of_floats) {
    SH_SCOPE {
        sh_tensor *x = sh_ones(SH_SIZES(1, 4, 5, 5)), *w = sh_ones(SH_SIZES(6, 4, 3, 3)),
                  *s = sh_ones(SH_SIZES(1));
        sh_tensor *q = sh_to(x, SH_U8), *v = sh_to(w, SH_I8), *m = sh_ones(SH_SIZES(7, 5)),
                  *n = sh_to(m, SH_I8);
        SH_WITH_MODE(count) {
            (void)sh_conv2d(x, w);
            (void)sh_linear(x, m);
        }
        const double floats = counted;
        counted = 0;
        SH_WITH_MODE(count) {
            (void)sh_quantized_conv2d(q, 1, 0, v, s);
            (void)sh_quantized_linear(q, 1, 0, n, s);
        }
        cr_expect(floats > 0);
        cr_expect(eq(dbl, counted, floats));
    }
}

/* ---- what is refused ---- */

static void expect_refusal(const sh_tensor *result, sh_status code, const char *part) {
    cr_assert(result == NULL, "%s was not refused", part);
    cr_expect(eq(int, sh_error()->code, code), "%s", sh_error()->message);
    cr_expect(strstr(sh_error()->message, part) != NULL, "'%s' lacks '%s'", sh_error()->message, part);
    sh_clear_error();
}

Test(quantize, refusals_name_the_argument_and_what_was_expected) {
    SH_SCOPE {
        sh_tensor *f = sh_ones(SH_SIZES(2, 3)), *q = sh_ones(SH_SIZES(2, 3), .dtype = SH_U8),
                  *w = sh_ones(SH_SIZES(4, 3), .dtype = SH_I8), *one = sh_ones(SH_SIZES(1)),
                  *zeros = sh_zeros(SH_SIZES(3)), *points = sh_zeros(SH_SIZES(3), .dtype = SH_I64);
        expect_refusal(sh_quantize_per_tensor(f, 0.1, 0, SH_I32), SH_ERROR_DTYPE,
                       "dtype is i32, expected i8 or u8");
        expect_refusal(sh_quantize_per_tensor(f, NAN, 0, SH_I8), SH_ERROR_VALUE,
                       "scale is nan, expected a positive number");
        expect_refusal(sh_quantize_per_tensor(f, 1e-60, 0, SH_I8), SH_ERROR_VALUE,
                       "expected a positive number");
        expect_refusal(sh_quantize_per_tensor(f, 1, 5, SH_I8, .quant_max = 4), SH_ERROR_VALUE,
                       "zero_point is 5, expected -128 to 4");
        expect_refusal(sh_quantize_per_channel(f, zeros, points, 1, SH_I8), SH_ERROR_VALUE,
                       "entry 0 of scales is 0");
        expect_refusal(sh_quantize_per_channel(f, zeros, points, 0, SH_I8), SH_ERROR_SHAPE,
                       "scales is f32[3], expected 1 dimension of 2, as axis 0");
        expect_refusal(sh_quantize_per_channel(f, zeros, zeros, 1, SH_I8), SH_ERROR_DTYPE,
                       "zero_points is of f32, expected i32 or i64");
        expect_refusal(sh_dequantize_per_tensor(f, 1, 0), SH_ERROR_DTYPE, "input is f32, expected i8 or u8");
        expect_refusal(sh_fake_quantize_per_tensor_affine(f, 1, 0, 0, 1 << 30), SH_ERROR_VALUE, "quant_max");
        expect_refusal(sh_quantized_linear(q, 1, 0, q, one), SH_ERROR_DTYPE, "weight is of u8, expected i8");
        expect_refusal(sh_quantized_linear(q, 1, 0, w, zeros), SH_ERROR_SHAPE,
                       "weight_scales is f32[3], expected 1 entry or one for each output");
        expect_refusal(sh_quantized_linear(q, 1, 0, w, sh_neg(one)), SH_ERROR_VALUE,
                       "entry 0 of weight_scales is -1");
        expect_refusal(sh_quantized_linear(q, 1, 0, w, one, .output_dtype = SH_I64), SH_ERROR_DTYPE,
                       "output_dtype is i64, expected i8, u8 or f32");
        expect_refusal(sh_quantized_linear(q, 1, 0, w, one, .bias = zeros), SH_ERROR_SHAPE,
                       "bias is f32[3], expected 1 dimension of 4");
        expect_refusal(sh_quantized_conv2d(q, 1, 0, w, one), SH_ERROR_SHAPE,
                       "quantized_conv2d: input is u8[2, 3]");
        expect_refusal(sh_quantized_add(q, 1, 0, f, 1, 0), SH_ERROR_DTYPE, "other is f32, expected i8 or u8");
        expect_refusal(sh_quantized_add(q, 1, 0, q, 1, 0, .output_scale = 0, .output_dtype = SH_U8),
                       SH_ERROR_VALUE, "output_scale is 0");
    }
}

/* ---- memory ---- */

static sh_tensor *image, *filters, *turned, *scales, *reals, *channel_scales, *channel_points;
static sh_tensor *negative, *many_filters, *rows;

static bool convolve(void) {
    return sh_quantized_conv2d(image, 1, 3, filters, scales, .padding = {1, 1}) != NULL;
}
static bool convolve_turned(void) { return sh_quantized_conv2d(image, 1, 3, turned, scales) != NULL; }
static bool convolve_many(void) {
    return sh_quantized_conv2d(negative, 1, -3, many_filters, scales, .padding = {1, 1}) != NULL;
}
static bool multiply_many(void) { return sh_quantized_linear(rows, 1, -3, rows, scales) != NULL; }
static bool quantize_channels(void) {
    return sh_quantize_per_channel(reals, channel_scales, channel_points, 1, SH_I8) != NULL;
}
static bool add(void) { return sh_quantized_add(image, 1, 3, sh_transpose(image, 2, 3), 1, 3) != NULL; }

static bool multiply_turned(void) {
    return sh_quantized_linear(sh_transpose(image, 1, 3), 1, 3, sh_select(sh_select(turned, 3, 0), 2, 0),
                               scales) != NULL;
}

Test(quantize, each_allocation_may_fail) {
    SH_SCOPE {
        image = sh_ones(SH_SIZES(1, 4, 9, 9), .dtype = SH_U8);
        filters = sh_ones(SH_SIZES(4, 4, 3, 3), .dtype = SH_I8);
        turned = sh_transpose(filters, 0, 1);
        scales = sh_ones(SH_SIZES(1));
        reals = sh_rand(SH_SIZES(1, 4, 9, 9));
        channel_scales = sh_ones(SH_SIZES(4));
        negative = sh_full(SH_SIZES(1, 8, 9, 9), -5, .dtype = SH_I8);
        many_filters = sh_ones(SH_SIZES(120, 8, 3, 3), .dtype = SH_I8);
        rows = sh_full(SH_SIZES(40, 8), -5, .dtype = SH_I8);
        channel_points = sh_zeros(SH_SIZES(4), .dtype = SH_I64);
        ar_fail_each("quantized_conv2d", convolve);
        ar_fail_each("quantized_conv2d of a turned weight", convolve_turned);
        ar_fail_each("quantized_linear", multiply_turned);
        ar_fail_each("quantized_conv2d of many outputs", convolve_many);
        ar_fail_each("quantized_linear of many rows", multiply_many);
        ar_fail_each("quantize_per_channel", quantize_channels);
        ar_fail_each("quantized_add", add);
    }
}
