/* What dispatch/value.h promises: equality of meaning, and axes that one integer carries. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <string.h>

#include "dispatch/status.h"
#include "dispatch/value.h"

static sh_tensor *tensor(uintptr_t identity) { return (sh_tensor *)identity; /* never looked into */ }

Test(value, is_16_bytes) { cr_expect(eq(sz, sizeof(sh_value), 16)); }

Test(value, lists_are_equal_entry_by_entry) {
    sh_tensor *const a[] = {tensor(16), NULL}, *const b[] = {tensor(16), NULL},
                     *const c[] = {tensor(16), tensor(32)};
    cr_expect(sh_value_equal(sh_value_ints(SH_SIZES(1, 2)), sh_value_ints(SH_SIZES(1, 2))));
    cr_expect(not(sh_value_equal(sh_value_ints(SH_SIZES(1, 2)), sh_value_ints(SH_SIZES(1, 3)))));
    cr_expect(not(sh_value_equal(sh_value_ints(SH_SIZES(1, 2)), sh_value_ints(SH_SIZES(1)))));
    cr_expect(sh_value_equal(sh_value_ints(SH_SCALAR_SHAPE), sh_value_ints(SH_SCALAR_SHAPE)));
    cr_expect(sh_value_equal(sh_value_tensors((sh_tensors){a, 2}), sh_value_tensors((sh_tensors){b, 2})));
    cr_expect(
        not(sh_value_equal(sh_value_tensors((sh_tensors){a, 2}), sh_value_tensors((sh_tensors){c, 2}))));
}

Test(value, strings_are_equal_by_content_and_tensors_by_identity) {
    char text[] = "tanh";
    cr_expect(sh_value_equal(sh_value_string(text), sh_value_string("tanh")));
    cr_expect(not(sh_value_equal(sh_value_string(text), sh_value_string("none"))));
    cr_expect(sh_value_equal(sh_value_tensor(tensor(16)), sh_value_tensor(tensor(16))));
    cr_expect(not(sh_value_equal(sh_value_tensor(tensor(16)), sh_value_tensor(tensor(32)))));
}

Test(value, numbers_are_equal_within_their_kind_only) {
    cr_expect(sh_value_equal(sh_value_int(1), sh_value_int(1)));
    cr_expect(not(sh_value_equal(sh_value_int(1), sh_value_int(2))));
    cr_expect(not(sh_value_equal(sh_value_int(1), sh_value_float(1))));
    cr_expect(not(sh_value_equal(sh_value_int(1), sh_value_flag(true))));
    cr_expect(sh_value_equal(sh_value_dtype(SH_F16), sh_value_dtype(SH_F16)));
    cr_expect(not(sh_value_equal(sh_value_dtype(SH_F16), sh_value_dtype(SH_BF16))));
}

Test(value, nan_equals_nan_and_zero_is_not_minus_zero) {
    cr_expect(sh_value_equal(sh_value_float((double)NAN), sh_value_float(SH_NO_NUMBER)));
    cr_expect(not(sh_value_equal(sh_value_float((double)NAN), sh_value_float(1))));
    cr_expect(not(sh_value_equal(sh_value_float(0.0), sh_value_float(-0.0))));
    cr_expect(sh_value_equal(sh_value_float(-0.5), sh_value_float(-0.5)));
}

Test(value, none_equals_none_only) {
    cr_expect(sh_value_equal(sh_none(), sh_value_tensor(NULL)));
    cr_expect(sh_value_equal(sh_none(), sh_value_ints((sh_ints){NULL, 0})));
    cr_expect(not(sh_value_equal(sh_none(), sh_value_int(0))));
    cr_expect(not(sh_value_equal(sh_none(), sh_value_ints(SH_SCALAR_SHAPE))));
}

Test(value, packed_axes_come_back) {
    int64_t axes[SH_MAX_DIMS];
    size_t n;
    cr_expect(sh__dims_unpack(SH_DIMS(0, -1, 15, -16, 3, 3, 7, 1), axes, &n));
    cr_assert(eq(sz, n, 8));
    static const int64_t expected[] = {0, -1, 15, -16, 3, 3, 7, 1};
    for (size_t i = 0; i < n; i++) cr_expect(eq(i64, axes[i], expected[i]));
    cr_expect(sh__dims_unpack(sh__dims(expected, 0), axes, &n));
    cr_expect(eq(sz, n, 0));
    cr_expect(eq(ptr, (void *)sh_error(), NULL));
}

Test(value, every_single_axis_is_itself) {
    int64_t axes[SH_MAX_DIMS];
    size_t n;
    static const int64_t plain[] = {0, 1, -1, 15, -16, 1000, INT64_MAX, INT64_MIN + 1, -(INT64_C(1) << 61)};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        cr_expect(sh__dims_unpack(plain[i], axes, &n));
        cr_expect(eq(sz, n, 1));
        cr_expect(eq(i64, axes[0], plain[i]));
    }
}

Test(value, no_axis_given_is_told_from_no_axes) {
    int64_t axes[SH_MAX_DIMS];
    size_t n = 7;
    cr_expect(not(sh__dims_unpack(SH_NO_INT, axes, &n)));
    cr_expect(eq(sz, n, 0));
}

Test(value, axes_that_do_not_fit_are_an_error_that_names_them) {
    sh__dims((const int64_t[]){2, 16}, 2);
    cr_assert(sh_error() != NULL);
    cr_expect(eq(int, (int)sh_error()->code, SH_ERROR_INDEX));
    cr_expect(strstr(sh_error()->message, "axis 16") != NULL, "%s", sh_error()->message);
    sh_clear_error();
    sh__dims((const int64_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8}, 9);
    cr_assert(sh_error() != NULL);
    cr_expect(strstr(sh_error()->message, "got 9") != NULL, "%s", sh_error()->message);
    sh_clear_error();
}

Test(value, a_forged_list_of_axes_stays_in_bounds) {
    int64_t axes[SH_MAX_DIMS + 1] = {[SH_MAX_DIMS] = 99};
    size_t n;
    cr_expect(sh__dims_unpack((INT64_C(1) << 62) - 1, axes, &n));
    cr_expect(eq(sz, n, SH_MAX_DIMS));
    cr_expect(eq(i64, axes[SH_MAX_DIMS], 99));
}
