/* What the ops that make tensors promise, beyond the golden files: cpu gives ref's bits into results of any layout,
 * dtypes follow torch's rules, and what can't be made is refused by name. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>

#include "tests/against_ref.h"
#include "tests/sample.h"

/* ---- cpu and ref ---- */

static double sample_number(void) {
    return sample_int(0, 1) ? (double)sample_int(-50, 50) : (double)sample_int(-500, 500) / 16;
}

static sh_tensor *ranged(sh_dtype dtype, int64_t n) {
    const double start = sample_number(), step = sample_int(0, 1) ? 1 + (double)sample_int(0, 9) : -1.5;
    return sample_int(0, 1) ? sh_linspace(start, sample_number(), n, .dtype = dtype)
                            : sh_arange_start(start, start + step * (double)n, .step = step, .dtype = dtype);
}

static sh_tensor *made(int what, sh_dtype dtype, sh_ints sizes) {
    switch (what) {
    case 0: return sh_zeros(sizes, .dtype = dtype);
    case 1: return sh_full(sizes, (double)sample_int(0, 1), .dtype = dtype);
    case 2:
        return sh_full_like(sample_tensor(SH_F32, (int)sizes.n, sizes.at), (int)sample_int(0, 100),
                            .dtype = dtype);
    case 3: return sh_eye_m(sizes.at[0], sample_int(0, 9), .dtype = dtype);
    case 4: return sh_ones(sizes, .out = sample_tensor(dtype, (int)sizes.n, sizes.at));
    default: return ranged(dtype == SH_B8 || dtype == SH_U8 ? SH_I32 : dtype, sizes.at[0] * 7);
    }
}

Test(factory, cpu_makes_every_bit_as_ref_does) {
    for (int round = 0; round < 5000; round++) {
        SH_SCOPE {
            int64_t sizes[SH_MAX_DIMS];
            const int ndim = (int)sample_int(1, 4);
            sample_sizes(ndim, 7, sizes);
            const sh_dtype dtype = sample_dtype();
            const uint64_t state = sample_state;
            sh_tensor *fast = made(round % 6, dtype, sh_ints_of(sizes, (size_t)ndim)), *plain = NULL;
            cr_assert(fast != NULL, "op %d: %s", round % 6, sh_error() ? sh_error()->message : "");
            sample_state = state;
            SH_WITH_BACKEND("ref") plain = made(round % 6, dtype, sh_ints_of(sizes, (size_t)ndim));
            cr_assert(sample_same(fast, plain), "op %d of %s", round % 6, sh_dtype_name(dtype));
        }
    }
}

/* Ranges are made by pieces too, and by vectors: lengths around their edges. */
static void check_long_ranges(void) {
    static const int64_t lengths[] = {511, 512, 513, 1024, 1025, 1031, 2600};
    for (int i = 0; i < 7 * (SH_U8 - SH_F32); i++) {
        const sh_dtype dtype = (sh_dtype)(SH_F32 + i / 7);
        SH_SCOPE {
            const uint64_t state = sample_state;
            sh_tensor *fast = ranged(dtype, lengths[i % 7]), *plain = NULL;
            sample_state = state;
            SH_WITH_BACKEND("ref") plain = ranged(dtype, lengths[i % 7]);
            cr_assert(sample_same(fast, plain), "%lld of %s", (long long)lengths[i % 7],
                      sh_dtype_name(dtype));
        }
    }
}

Test(factory, long_ranges_have_every_bit_of_ref_at_every_level) {
    for (int i = 0; i < 10; i++) ar_at_every_level(check_long_ranges);
}

/* Fills grow by pieces: every length around their edges, every width. */
Test(factory, a_fill_reaches_every_element_and_no_further) {
    static const sh_dtype dtypes[] = {SH_I8, SH_I16, SH_I32, SH_I64};
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++) {
        for (int64_t n = 0; n < 9000; n += n < 40 ? 1 : 509) {
            SH_SCOPE {
                sh_tensor *t = sh_full(SH_SIZES(n + 2), 7, .dtype = dtypes[k]);
                sh_full(SH_SIZES(n), 99, .dtype = dtypes[k], .out = sh_narrow(t, 0, 1, n));
                for (int64_t i = 0; i < n + 2; i++)
                    cr_assert(eq(dbl, sh_tensor_at(t, &i), i > 0 && i <= n ? 99 : 7));
            }
        }
    }
}

/* ---- dtypes ---- */

Test(factory, dtypes_follow_the_numbers_where_none_is_given) {
    cr_expect(eq(int, sh_tensor_dtype(sh_full(SH_SIZES(1), 1)), SH_I64));
    cr_expect(eq(int, sh_tensor_dtype(sh_full(SH_SIZES(1), 1.0)), SH_F32));
    cr_expect(eq(int, sh_tensor_dtype(sh_full(SH_SIZES(1), (bool)true)), SH_B8));
    cr_expect(eq(int, sh_tensor_dtype(sh_arange(3)), SH_I64));
    cr_expect(eq(int, sh_tensor_dtype(sh_arange(3.0)), SH_F32));
    cr_expect(eq(int, sh_tensor_dtype(sh_arange_start(0, 3, .step = 0.5)), SH_F32));
    cr_expect(eq(int, sh_tensor_dtype(sh_linspace(0, 3, 4)), SH_F32));
    cr_expect(eq(int, sh_tensor_dtype(sh_zeros_like(sh_arange(3))), SH_I64));
    cr_expect(eq(int, sh_tensor_dtype(sh_randint(3, SH_SIZES(3))), SH_I64));
}

Test(factory, out_decides_the_dtype_and_a_given_one_must_agree) {
    sh_tensor *out = sh_zeros(SH_SIZES(4), .dtype = SH_I32);
    cr_expect(eq(ptr, sh_arange(4.0, .out = out), out));
    cr_expect(eq(dbl, sh_tensor_at(out, (const int64_t[]){3}), 3));
    cr_expect(eq(ptr, sh_arange(4, .dtype = SH_I64, .out = out), NULL));
    cr_expect(eq(int, sh_error()->code, SH_ERROR_DTYPE));
}

Test(factory, like_takes_shape_dtype_and_device_and_is_row_major) {
    sh_tensor *x = sh_transpose(sh_zeros(SH_SIZES(2, 3), .dtype = SH_F16), 0, 1), *y = sh_ones_like(x);
    cr_expect(sample_same_shape(x, y));
    cr_expect(eq(int, sh_tensor_dtype(y), SH_F16));
    cr_expect(sh_tensor_is_contiguous(y));
    sh_tensor *meta = sh_rand_like(sh_tensor_new_on(SH_META, SH_F32, SH_SIZES(5)), .dtype = SH_F64);
    cr_expect(eq(int, sh_tensor_device(meta), SH_META));
    cr_expect(eq(int, sh_tensor_dtype(meta), SH_F64));
}

/* ---- ranges ---- */

Test(factory, a_range_meets_both_ends_exactly) {
    for (int64_t n = 2; n < 300; n++) {
        SH_SCOPE {
            sh_tensor *t = sh_linspace(-0.1, 0.7, n);
            cr_assert(eq(flt, ((float *)sh_tensor_data(t))[0], -0.1f));
            cr_assert(eq(flt, ((float *)sh_tensor_data(t))[n - 1], 0.7f));
        }
    }
}

Test(factory, a_range_of_integers_is_exact_beyond_2_to_the_53) {
    const int64_t start = (INT64_C(1) << 53) + 1;
    sh_tensor *t = sh_arange_start(start, start + 3);
    cr_assert(eq(i64, sh_tensor_numel(t), 3));
    for (int64_t i = 0; i < 3; i++) cr_expect(eq(i64, ((int64_t *)sh_tensor_data(t))[i], start + i));
}

/* ---- refusals ---- */

static void refused(const sh_tensor *result, sh_status code, const char *part) {
    cr_expect(result == NULL, "%s", part);
    cr_assert(sh_error() != NULL, "%s", part);
    cr_expect(eq(int, sh_error()->code, code), "%s", sh_error()->message);
    cr_expect(strstr(sh_error()->message, part) != NULL, "'%s' is not in '%s'", part, sh_error()->message);
    sh_clear_error();
}

Test(factory, a_refusal_names_the_op_and_what_was_wrong) {
    const int64_t huge = INT64_C(1) << 40;
    refused(sh_zeros(SH_SIZES(2, -3)), SH_ERROR_SHAPE, "zeros: size[1] is negative: -3");
    refused(sh_rand(SH_SIZES(1, 1, 1, 1, 1, 1, 1, 1, 1)), SH_ERROR_SHAPE,
            "rand: size has 9 dimensions, the most is 8");
    refused(sh_ones(SH_SIZES(huge, huge)), SH_ERROR_SHAPE, "more bytes than there are");
    refused(sh_empty(SH_SIZES(huge, 1 << 10)), SH_ERROR_MEMORY, "memory");
    refused(sh_full(SH_SIZES(1), 300, .dtype = SH_U8), SH_ERROR_VALUE,
            "full: fill_value is 300, which u8 can't hold");
    refused(sh_full(SH_SIZES(1), NAN, .dtype = SH_I32), SH_ERROR_VALUE, "fill_value is");
    refused(sh_full(SH_SIZES(1), 1e39, .dtype = SH_F32), SH_ERROR_VALUE, "f32 can't hold");
    refused(sh_arange(5, .dtype = SH_B8), SH_ERROR_DTYPE, "arange: there is no range of bool");
    refused(sh_arange_start(0, 5, .step = 0), SH_ERROR_VALUE, "arange: step is 0");
    refused(sh_arange_start(0, 5, .step = 0.5, .dtype = SH_I64), SH_ERROR_VALUE,
            "arange: step is 0.5, expected another than 0 in integers");
    refused(sh_arange_start(5, 0), SH_ERROR_VALUE, "arange: step 1 does not lead from start 5 to end 0");
    refused(sh_arange(INFINITY), SH_ERROR_VALUE, "arange: from start 0 to end inf");
    refused(sh_arange(1e300), SH_ERROR_VALUE, "too many");
    refused(sh_linspace(0, 1, -1), SH_ERROR_VALUE, "linspace: steps is -1");
    refused(sh_eye_m(2, -1), SH_ERROR_VALUE, "eye: m is -1");
    refused(sh_randn(SH_SIZES(1), .dtype = SH_I64), SH_ERROR_DTYPE,
            "randn: dtype is i64, expected f32, f64, f16 or bf16");
    refused(sh_randint_low(3, 3, SH_SIZES(1)), SH_ERROR_VALUE, "randint: low is 3 and high 3");
    refused(sh_randint(300, SH_SIZES(1), .dtype = SH_I8), SH_ERROR_VALUE,
            "randint: high - 1 is 299, which i8 can't hold");
}
