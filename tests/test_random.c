/* Random ops have no golden values. What holds instead: their range, their mean and spread, that a seed fixes what
 * follows, and that dropout keeps the mean. Bounds are more than six standard errors wide. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>

#include "dispatch/byname.h"
#include "ops/random.h"
#include "tests/golden.h"

enum { N = 20000 };

typedef struct moments {
    double low, high, mean, variance;
} moments;

static double value_at(const sh_tensor *t, int64_t i) {
    const bool is_float = sh_dtype_kind_of(sh_tensor_dtype(t)) == SH_KIND_FLOAT;
    return is_float ? golden_float_at(t, i) : (double)golden_int_at(t, i);
}

static moments moments_of(const sh_tensor *t) {
    moments m = {INFINITY, -INFINITY, 0, 0};
    cr_assert(t != NULL, "%s", sh_error() ? sh_error()->message : "no error");
    const int64_t n = sh_tensor_numel(t);
    for (int64_t i = 0; i < n; i++) {
        m.low = fmin(m.low, value_at(t, i));
        m.high = fmax(m.high, value_at(t, i));
        m.mean += value_at(t, i) / (double)n;
    }
    for (int64_t i = 0; i < n; i++) m.variance += pow(value_at(t, i) - m.mean, 2) / (double)n;
    return m;
}

static bool same_values(const sh_tensor *a, const sh_tensor *b) {
    for (int64_t i = 0; i < sh_tensor_numel(a); i++)
        if (value_at(a, i) != value_at(b, i)) return false;
    return true;
}

static const char *const BACKENDS[] = {"cpu", "ref"};
static const sh_dtype FLOATS[] = {SH_F32, SH_F64, SH_F16, SH_BF16};

/* The last place that a dtype has below 1, where rounding may move a mean. */
static double grain(sh_dtype dtype) { return dtype == SH_BF16 ? 0x1p-8 : 0x1p-11; }

static void check_rand(sh_dtype dtype) {
    const sh_ints size = SH_SIZES(N);
    const moments m = moments_of(sh_call_op("rand", size, SH_NAMED("dtype", sh_value_dtype(dtype))));
    cr_expect(m.low >= 0 && m.high < 1, "%s: [%g, %g]", sh_dtype_name(dtype), m.low, m.high);
    cr_expect(m.low < 0.01 && m.high > 0.98, "%s: [%g, %g]", sh_dtype_name(dtype), m.low, m.high);
    cr_expect(fabs(m.mean - 0.5) < 0.014 + grain(dtype), "%s: mean %g", sh_dtype_name(dtype), m.mean);
    cr_expect(fabs(m.variance - 1 / 12.0) < 0.005, "%s: variance %g", sh_dtype_name(dtype), m.variance);
}

Test(random, rand_is_uniform_below_one) {
    for (size_t b = 0; b < 2; b++)
        SH_WITH_BACKEND(BACKENDS[b])
            for (size_t i = 0; i < 4; i++) SH_SCOPE {
                    check_rand(FLOATS[i]);
                }
}

static double share_within(const sh_tensor *t, double bound) {
    double count = 0;
    for (int64_t i = 0; i < sh_tensor_numel(t); i++) count += fabs(value_at(t, i)) < bound;
    return count / (double)sh_tensor_numel(t);
}

static void check_randn(sh_dtype dtype) {
    const sh_ints size = SH_SIZES(N + 1);
    sh_tensor *t = sh_call_op("randn", size, SH_NAMED("dtype", sh_value_dtype(dtype)));
    const moments m = moments_of(t);
    cr_expect(fabs(m.mean) < 0.045, "%s: mean %g", sh_dtype_name(dtype), m.mean);
    cr_expect(fabs(m.variance - 1) < 0.06, "%s: variance %g", sh_dtype_name(dtype), m.variance);
    cr_expect(fabs(share_within(t, 1) - 0.6827) < 0.02, "%s: within 1: %g", sh_dtype_name(dtype),
              share_within(t, 1));
    cr_expect(fabs(share_within(t, 2) - 0.9545) < 0.01, "%s: within 2: %g", sh_dtype_name(dtype),
              share_within(t, 2));
    cr_expect(m.low < -3 && m.high > 3 && m.low > -7 && m.high < 7, "%s: [%g, %g]", sh_dtype_name(dtype),
              m.low, m.high);
}

Test(random, randn_is_normal) {
    for (size_t b = 0; b < 2; b++)
        SH_WITH_BACKEND(BACKENDS[b])
            for (size_t i = 0; i < 4; i++) SH_SCOPE {
                    check_randn(FLOATS[i]);
                }
}

static void check_randint(int64_t low, int64_t high) {
    const sh_ints size = SH_SIZES(N);
    const moments m = moments_of(sh_call_op("randint.low", low, high, size));
    const double width = (double)(high - low);
    cr_expect(m.low == (double)low && m.high == (double)(high - 1), "[%g, %g]", m.low, m.high);
    cr_expect(fabs(m.mean - (double)(low + high - 1) / 2) < 0.013 * width, "mean %g", m.mean);
    cr_expect(fabs(m.variance - (width * width - 1) / 12) < 0.006 * width * width, "variance %g", m.variance);
}

Test(random, randint_reaches_both_ends) {
    for (size_t b = 0; b < 2; b++)
        SH_WITH_BACKEND(BACKENDS[b]) SH_SCOPE {
                check_randint(0, 2);
                check_randint(-3, 4);
                check_randint(5, 6);
                check_randint(-100, 101);
            }
}

/* One after another, what each random op gives from here on. */
static void draw(sh_tensor *drawn[4]) {
    const sh_ints size = SH_SIZES(99);
    sh_tensor *ones = sh_call_op("full", size, 1.0);
    drawn[0] = sh_call_op("rand", size);
    drawn[1] = sh_call_op("randn", size);
    drawn[2] = sh_call_op("randint", 1000, size);
    drawn[3] = sh_call_op("dropout", ones, 0.5, (bool)true);
}

Test(random, a_seed_fixes_what_follows) {
    sh_tensor *first[4], *second[4], *other[4], *later[4];
    for (size_t b = 0; b < 2; b++)
        SH_WITH_BACKEND(BACKENDS[b]) SH_SCOPE {
                sh_manual_seed(7);
                draw(first);
                draw(later);
                sh_manual_seed(7);
                draw(second);
                sh_manual_seed(8);
                draw(other);
                cr_assert(sh_error() == NULL, "%s", sh_error()->message);
                for (size_t i = 0; i < 4; i++) {
                    cr_expect(same_values(first[i], second[i]), "draw %zu is not repeated", i);
                    cr_expect(same_values(first[i], other[i]) == false,
                              "draw %zu does not depend on the seed", i);
                    cr_expect(same_values(first[i], later[i]) == false, "draw %zu repeats itself", i);
                }
            }
}

static void check_dropout(double p) {
    const sh_ints size = SH_SIZES(N);
    sh_tensor *x = sh_call_op("full", size, 3.0), *y = sh_call_op("dropout", x, p, (bool)true);
    double dropped = 0;
    cr_assert(y != NULL, "%s", sh_error() ? sh_error()->message : "no error");
    for (int64_t i = 0; i < N; i++) {
        const double value = value_at(y, i);
        dropped += value == 0;
        cr_expect(value == 0 || fabs(value - 3 / (1 - p)) < 1e-5, "element %lld is %g", (long long)i, value);
    }
    cr_expect(fabs(dropped / N - p) < 0.025, "p=%g dropped %g", p, dropped / N);
}

Test(random, dropout_drops_its_share_and_scales_the_rest) {
    for (size_t b = 0; b < 2; b++)
        SH_WITH_BACKEND(BACKENDS[b]) SH_SCOPE {
                check_dropout(0.5);
                check_dropout(0.1);
                check_dropout(0.9);
            }
}
