/* Tests of modes/scan.c: every NaN and Inf is found, wherever it lies, and nothing else is. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>

#include "modes/scan.h"
#include "ops/cpu/bounds.h"
#include "ops/element.h"
#include "tests/against_ref.h"

static const sh_dtype floats[] = {SH_F32, SH_F64, SH_F16, SH_BF16};

static int64_t row_major_number(const sh_tensor *t, const int64_t *index) {
    int64_t number = 0;
    for (int i = 0; i < t->ndim; i++) number = number * t->sizes[i] + index[i];
    return number;
}

static void expect(const sh_tensor *t, bool inf, int64_t bad, int64_t where, const char *what) {
    int64_t first = -1;
    cr_assert(eq(i64, sh_scan_bad(t, inf, &first), bad), "%s in %s", what, sh_dtype_name((sh_dtype)t->dtype));
    if (bad) cr_assert(eq(i64, first, where), "%s in %s", what, sh_dtype_name((sh_dtype)t->dtype));
}

/* Plants a value and takes it away again. */
static void plant(sh_tensor *t, double value, const int64_t *index, bool is_nan) {
    char *at = sh_element(t, index, t->ndim);
    const double before = sh_load_f64((sh_dtype)t->dtype, at);
    sh_store_f64((sh_dtype)t->dtype, at, value);
    expect(t, true, 1, row_major_number(t, index), "a planted value, Inf asked for");
    expect(t, false, is_nan, row_major_number(t, index), "a planted value");
    sh_store_f64((sh_dtype)t->dtype, at, before);
}

static void plant_somewhere(sh_tensor *t) {
    int64_t index[SH_MAX_DIMS] = {0};
    for (int i = 0; i < t->ndim; i++) index[i] = ar_pick(t->sizes[i]);
    plant(t, NAN, index, true);
    plant(t, -NAN, index, true);
    plant(t, INFINITY, index, false);
    plant(t, -INFINITY, index, false);
}

static void check_lengths(void) {
    for (size_t k = 0; k < sizeof floats / sizeof *floats; k++)
        for (int64_t n = 1; n < 120000; n += n < 150 ? 1 : n / 3) {
            sh_tensor *t = ar_contiguous(floats[k], SH_SIZES(n));
            for (int i = 0; i < 3; i++) plant_somewhere(t);
            plant(t, NAN, (int64_t[]){n - 1}, true);
            expect(t, true, 0, 0, "numbers");
        }
}

Test(scan, finds_a_bad_value_at_any_place_of_an_array) {
    ar_begin();
    ar_at_every_level(check_lengths);
}

Test(scan, finds_a_bad_value_in_any_layout_and_none_in_the_gaps) {
    ar_begin();
    for (int i = 0; i < 300; i++) {
        const int64_t sizes[] = {1 + ar_pick(5), 1 + ar_pick(40), 1 + ar_pick(30)};
        int64_t strides[] = {2 * sizes[1] * sizes[2], 1, sizes[1]};
        const int64_t step = 1 + ar_pick(2), reach = strides[0] * sizes[0] * step;
        sh_tensor *all = sh_tensor_new(floats[i % 4], SH_SIZES(reach));
        for (int64_t e = 0; e < reach; e++) sh_store_f64(floats[i % 4], sh_element(all, &e, 1), NAN);
        for (int d = 0; d < 3; d++) strides[d] *= step;
        sh_tensor *t = sh_tensor_as_strided(all, (sh_ints){sizes, 3}, (sh_ints){strides, 3}, 0);
        SH_EACH_ELEMENT(t, index) sh_store_f64(floats[i % 4], sh_element(t, index, 3), -1.5);
        expect(t, true, 0, 0, "numbers among gaps of NaN");
        plant_somewhere(t);
    }
}

Test(scan, counts_a_repeated_value_as_often_as_it_is_seen) {
    sh_tensor *row = ar_contiguous(SH_F32, SH_SIZES(3));
    sh_store_f64(SH_F32, sh_element(row, (int64_t[]){1}, 1), NAN);
    expect(sh_tensor_as_strided(row, SH_SIZES(4, 3), SH_SIZES(0, 1), 0), false, 4, 1, "a repeated NaN");
}

static const uint64_t largest[] = {
    [SH_F32] = 0x7f7fffff, [SH_F64] = 0x7fefffffffffffff, [SH_F16] = 0x7bff, [SH_BF16] = 0x7f7f};

Test(scan, takes_the_largest_numbers_and_subnormals_for_numbers) {
    for (size_t k = 0; k < sizeof floats / sizeof *floats; k++) {
        sh_tensor *t = ar_contiguous(floats[k], SH_SIZES(100));
        const uint64_t sign = UINT64_C(1) << (8 * t->element - 1),
                       values[] = {largest[floats[k]], 1, sign, 0};
        for (int64_t i = 0; i < 100; i++) {
            const uint64_t bits = values[i % 4] | (i % 8 < 4 ? sign : 0);
            memcpy(sh_element(t, &i, 1), &bits, t->element);
        }
        expect(t, true, 0, 0, "extremes");
    }
}
