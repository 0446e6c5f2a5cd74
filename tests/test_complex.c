/* Complex numbers and parts of a matrix: what only ops defined at run time take, and what all that look at tensors honour. */
#include <complex.h>
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <string.h>

#include "modes/scan.h"
#include "shunt.h"

static float _Complex values[4] = {1 + 2 * I, -0.5f, 3 * I, 2 - 1 * I};

static sh_tensor *wrapped(void) {
    return sh_from_data(values, SH_C64, SH_SIZES(2, 2), SH_SIZES(1, 2), NULL, NULL);
}

static bool refused(sh_tensor *result, const char *words) {
    const bool right = !result && sh_error() && strstr(sh_error()->message, words);
    cr_expect(right, "%s", sh_error() ? sh_error()->message : "no error");
    sh_clear_error();
    return right;
}

Test(complex_numbers, memory_is_wrapped_viewed_and_printed_as_it_is) {
    sh_tensor *t = wrapped(), *row = sh_tensor_as_strided(t, SH_SIZES(2), SH_SIZES(2), 1);
    char *text = sh_tensor_text(row);
    cr_assert(eq(int, (int)sh_tensor_dtype(row), SH_C64));
    cr_assert(eq(ptr, sh_tensor_data(row), &values[1]));
    cr_assert(strstr(text, "-0.5+0j") != NULL, "%s", text);
    cr_assert(strstr(text, "2-1j") != NULL, "%s", text);
    free(text);
}

Test(complex_numbers, built_in_ops_refuse_it_by_name) {
    sh_tensor *t = wrapped(), *x = sh_ones(SH_SIZES(2, 2));
    cr_expect(refused(sh_add(t, x), "add: an argument is c64[2, 2]"));
    cr_expect(refused(sh_add(x, t), "complex"));
    cr_expect(refused(sh_relu_(t), "relu"));
    cr_expect(refused(sh_linear(t, t), "complex"));
    cr_expect(refused(sh_zeros(SH_SIZES(2), .dtype = SH_C64), "c64"));
    cr_expect(refused(sh_to(x, SH_C128), "c128"));
    cr_expect(refused(sh_cat(SH_LIST(x, t)), "complex"));
    cr_expect(isnan(sh_tensor_at(t, (const int64_t[]){0, 0})));
    cr_expect(sh_error() != NULL);
    sh_clear_error();
}

Test(complex_numbers, equality_and_scans_look_at_both_parts) {
    float _Complex other[4];
    memcpy(other, values, sizeof other);
    sh_tensor *a = wrapped(), *b = sh_from_data(other, SH_C64, SH_SIZES(2, 2), SH_SIZES(1, 2), NULL, NULL);
    int64_t first = -1;
    cr_expect(sh_equal(a, b));
    other[2] = 3.5f * I;
    cr_expect(not(sh_equal(a, b)));
    cr_expect(eq(i64, sh_scan_bad(b, true, &first), 0));
    ((float *)&other[1])[1] = NAN;
    cr_expect(eq(i64, sh_scan_bad(b, false, &first), 1));
    cr_expect(eq(i64, first, 2)); /* [1, 0] of a column-major matrix */
}

static sh_status conjugate(sh_call *call, void *user) {
    (void)user;
    const float _Complex *from = sh_tensor_data(sh_call_tensor(call, 0));
    float _Complex *to = sh_tensor_data(sh_value_as_tensor(sh_call_result(call, 0)));
    for (int64_t i = 0; i < sh_tensor_numel(sh_call_tensor(call, 0)); i++) to[i] = conjf(from[i]);
    return SH_OK;
}

static sh_status as_self(const sh_value *args, sh_spec *results, void *user) {
    const sh_tensor *t = args[0].as.tensor;
    (void)user;
    results->dtype = sh_tensor_dtype(t);
    results->ndim = sh_tensor_ndim(t);
    memcpy(results->sizes, sh_tensor_sizes(t), (size_t)results->ndim * sizeof *results->sizes);
    return SH_OK;
}

Test(complex_numbers, ops_defined_at_run_time_take_and_give_it) {
    cr_assert(eq(int,
                 sh_op_define("mine::conj(Tensor self) -> Tensor", &(sh_op_options){.infer = as_self}, NULL),
                 SH_OK));
    cr_assert(eq(int, sh_kernel_register("mine::conj", "cpu", conjugate, NULL, "test", NULL), SH_OK));
    sh_tensor *t = sh_tensor_copy_of(values, SH_C64, SH_SIZES(4)), *r = sh_call_op("mine::conj", t);
    cr_assert(r != NULL, "%s", sh_error() ? sh_error()->message : "");
    cr_expect(eq(flt, crealf(((float _Complex *)sh_tensor_data(r))[0]), 1));
    cr_expect(eq(flt, cimagf(((float _Complex *)sh_tensor_data(r))[0]), -2));
}

/* ---- parts ---- */

static int64_t bad_in(unsigned part, sh_ints strides, double *data) {
    sh_tensor *t = sh_from_data(data, SH_F64, SH_SIZES(3, 3), strides, NULL, NULL);
    int64_t first;
    cr_assert(eq(int, sh_tensor_set_part(t, part), SH_OK));
    return sh_scan_bad(t, false, &first);
}

Test(part, what_is_outside_does_not_count) {
    const sh_ints rows = {(const int64_t[]){3, 1}, 2}, columns = {(const int64_t[]){1, 3}, 2};
    for (int i = 0; i < 9; i++) {
        double data[9] = {0};
        const int row = i / 3, column = i % 3;
        data[i] = NAN;
        for (unsigned unit = 0; unit < 2; unit++) {
            const bool diagonal = row == column;
            const int lower = diagonal ? !unit : row > column, upper = diagonal ? !unit : row < column;
            cr_expect(eq(int, (int)bad_in(SH_PART_LOWER | unit * SH_PART_UNIT, rows, data), lower));
            cr_expect(eq(int, (int)bad_in(SH_PART_UPPER | unit * SH_PART_UNIT, rows, data), upper));
            cr_expect(eq(int, (int)bad_in(SH_PART_LOWER | unit * SH_PART_UNIT, columns, data), upper));
            cr_expect(eq(int, (int)bad_in(SH_PART_UPPER | unit * SH_PART_UNIT, columns, data), lower));
        }
    }
}

Test(part, it_is_shown_compared_and_refused_by_built_in_ops) {
    sh_tensor *a = sh_ones(SH_SIZES(2, 2)), *b = sh_ones(SH_SIZES(2, 2));
    char text[64];
    ((float *)sh_tensor_data(b))[1] = 5;
    cr_expect(not(sh_equal(a, b)));
    cr_expect(eq(int, sh_tensor_set_part(a, SH_PART_LOWER), SH_OK));
    cr_expect(sh_equal(a, b));
    sh_value_print(sh_value_tensor(a), text, sizeof text);
    cr_expect(eq(str, text, "f32[2, 2]:lower"));
    cr_expect(refused(sh_add(a, b), "built-in ops take no part of a matrix"));
    cr_expect(eq(int, sh_tensor_set_part(a, 3), SH_ERROR_VALUE));
    sh_clear_error();
    cr_expect(eq(int, sh_tensor_set_part(sh_ones(SH_SIZES(2)), SH_PART_LOWER), SH_ERROR_SHAPE));
    sh_clear_error();
}
