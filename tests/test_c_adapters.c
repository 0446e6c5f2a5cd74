/* test_c_adapters.c - C functions led over larger tensors: element by element, row by row, as BLAS's gemm. */
#include <math.h>

#include "tests/fail_each.h"
#include "tests/modes.h"

TestSuite(c_adapters, .timeout = 60);

static sh_kernel hook(const char *op, const char *signature, sh_c_function f, sh_c_adapter adapter,
                      uint32_t flags) {
    sh_kernel k = {0};
    sh_set_warning_sink(sh_warnings_off, NULL);
    const sh_status status = sh_kernel_register_c(
        op, "cpu", signature, f, &(const sh_c_options){.adapter = adapter, .flags = flags}, &k);
    cr_assert(eq(int, status, SH_OK), "%s", sh_error() ? sh_error()->message : "");
    return k;
}
#define HOOK(op, signature, f, adapter) hook(op, signature, (sh_c_function)(f), adapter, 0)

static sh_tensor *matrix(int64_t rows, int64_t columns) {
    return sh_reshape(sh_arange(rows * columns, .dtype = SH_F32), SH_SIZES(rows, columns));
}

/* ---- elements ---- */

static float twice(float x) { return 2 * x; }
static double twice_d(double x) { return 2 * x; }
static float hypotenuse(float x, float y) { return sqrtf(x * x + y * y); }
static double fused(double a, double b, double c) { return a * b + c; }

Test(c_adapters, functions_of_numbers_run_for_each_element) {
    sh_kernel k;
    sh_set_warning_sink(sh_warnings_off, NULL);
    cr_assert(eq(int, sh_kernel_register_elementwise("relu", "cpu", twice, &k), SH_OK));
    sh_tensor *x = sh_transpose(matrix(2, 3), 0, 1);
    cr_assert(sh_allclose(sh_relu(x), sh_mul(x, 2.0)));
    cr_assert(eq(int, sh_kernel_remove(k), SH_OK));
    cr_assert(eq(int, sh_kernel_register_elementwise("atan2", "cpu", hypotenuse, NULL), SH_OK));
    sh_tensor *z = sh_atan2(matrix(2, 3), SH_FLOATS(3, 4, 0));
    cr_assert(eq(i64, sh_tensor_numel(z), 6));
    cr_assert(eq(dbl, first(z), 3));
    cr_assert(lt(dbl, fabs(sh_tensor_at(z, (const int64_t[]){1, 1}) - sqrt(32)), 1e-6));
    cr_assert(eq(int, sh_kernel_register_elementwise("lerp", "cpu", fused, NULL), SH_OK));
    cr_assert(eq(dbl, first(sh_lerp(SH_DOUBLES(3), SH_DOUBLES(4), SH_DOUBLES(5))), 17));
    sh_relu(SH_DOUBLES(1));
    cr_assert(eq(ptr, (void *)(uintptr_t)sh_error(), NULL));
}

static float scaled(float x, float negative_slope) { return x * negative_slope; }
static int32_t next_number(int32_t x) { return x + 1; }
static bool is_big(float x, int limit) { return x > (float)limit; }

Test(c_adapters, numbers_named_for_an_argument_are_that_argument) {
    HOOK("leaky_relu", "float(float x, float negative_slope)", scaled, SH_C_ELEMENTWISE);
    cr_assert(eq(dbl, first(sh_leaky_relu(SH_FLOATS(3), .negative_slope = 5)), 15));
    HOOK("neg", "int32_t(int32_t)", next_number, SH_C_ELEMENTWISE);
    cr_assert(eq(dbl, first(sh_neg(sh_full(SH_SIZES(2, 2), 4, .dtype = SH_I32))), 5));
    cr_assert(eq(int, sh_op_define("t::big(Tensor x, int limit) -> Tensor", NULL, NULL), SH_OK));
    HOOK("t::big", "bool(float x, int limit)", is_big, SH_C_ELEMENTWISE);
    sh_tensor *b = sh_call_op("t::big", SH_FLOATS(1, 7), 3);
    cr_assert(eq(int, sh_tensor_dtype(b), SH_B8));
    cr_assert(eq(dbl, sh_tensor_at(b, (const int64_t[]){0}), 0));
    cr_assert(eq(dbl, sh_tensor_at(b, (const int64_t[]){1}), 1));
}

static void add_arrays(const float *a, const float *b, float *c, size_t n) {
    for (size_t i = 0; i < n; i++) c[i] = a[i] + b[i];
}

Test(c_adapters, flat_arrays_get_arguments_that_were_broadcast) {
    HOOK("add", "void(const float a[n], const float b[n], float c[n], size_t n)", add_arrays,
         SH_C_ELEMENTWISE);
    sh_tensor *z = sh_add(matrix(2, 3), SH_FLOATS(10, 20, 30));
    cr_assert(eq(dbl, sh_tensor_at(z, (const int64_t[]){1, 2}), 35));
    cr_assert(eq(dbl, first(sh_add(matrix(2, 3), sh_full(SH_SCALAR_SHAPE, 5.0, .dtype = SH_F32))), 5));
    sh_tensor *wide = sh_zeros(SH_SIZES(6)), *strided = sh_slice(wide, .step = 2);
    sh_add_(strided, SH_FLOATS(1, 2, 3));
    cr_assert(eq(dbl, sh_item(sh_sum(wide)), 6));
    cr_assert(eq(dbl, sh_tensor_at(wide, (const int64_t[]){4}), 3));
}

Test(c_adapters, elements_of_another_dtype_are_converted_when_asked_for) {
    sh_kernel k = HOOK("relu", "double(double)", twice_d, SH_C_ELEMENTWISE);
    sh_relu(SH_FLOATS(1));
    cr_assert(failed_with(SH_ERROR_DTYPE, "self is f32[1]"));
    sh_kernel_remove(k);
    hook("relu", "double(double)", (sh_c_function)twice_d, SH_C_ELEMENTWISE, SH_C_CONVERT);
    sh_tensor *y = sh_relu(SH_FLOATS(1.5));
    cr_assert(eq(int, sh_tensor_dtype(y), SH_F32));
    cr_assert(eq(dbl, first(y), 3));
    y = sh_relu(sh_to(SH_FLOATS(1.5), SH_BF16));
    cr_assert(eq(dbl, first(y), 3));
}

/* ---- rows ---- */

static void normalise(const float *row, float *out, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += exp((double)row[i]);
    for (size_t i = 0; i < n; i++) out[i] = (float)(exp((double)row[i]) / sum);
}
static float largest(const float *row, int n) {
    float m = row[0];
    for (int i = 1; i < n; i++) m = row[i] > m ? row[i] : m;
    return m;
}

Test(c_adapters, rows_are_the_last_dimension_or_the_one_that_dim_names) {
    sh_tensor *x = sh_rand(SH_SIZES(2, 3, 4)), *expected[3];
    for (int d = 0; d < 3; d++) expected[d] = sh_softmax(x, d);
    HOOK("softmax", "void(const float row[n], float out[n], size_t n)", normalise, SH_C_ROWS);
    for (int d = 0; d < 3; d++) {
        cr_assert(sh_allclose(sh_softmax(x, d), expected[d], .rtol = 1e-5), "dim %d", d);
        cr_assert(sh_allclose(sh_softmax(x, d - 3), expected[d], .rtol = 1e-5), "dim %d", d - 3);
    }
}

Test(c_adapters, a_number_for_each_row_is_a_reduction) {
    sh_tensor *x = sh_rand(SH_SIZES(3, 4, 5)), *kept = sh_amax(x, .dim = 1, .keepdim = true),
              *last = sh_amax(x, .dim = -1), *all = sh_amax(x);
    HOOK("amax", "float(const float row[n], int n)", largest, SH_C_ROWS);
    cr_assert(sh_equal(sh_amax(x, .dim = 1, .keepdim = true), kept));
    cr_assert(sh_equal(sh_amax(x, .dim = -1), last));
    cr_assert(sh_equal(sh_amax(x), all));
    sh_amax(x, .dim = SH_DIMS(0, 1));
    cr_assert(failed_with(SH_ERROR_VALUE, "works along one dimension, dim has 2"));
}

static void weigh(const float *row, const float *weight, float *out, int n) {
    for (int i = 0; i < n; i++) out[i] = row[i] * weight[i];
}

Test(c_adapters, a_tensor_without_a_batch_is_passed_whole_each_time) {
    HOOK("mul", "void(const float self[n], const float other[n], float out[n], int n)", weigh, SH_C_ROWS);
    cr_assert(
        eq(dbl, sh_tensor_at(sh_mul(matrix(2, 3), SH_FLOATS(1, 10, 100)), (const int64_t[]){1, 2}), 500));
    cr_assert(eq(dbl, sh_item(sh_sum(sh_mul(sh_ones(SH_SIZES(4, 1, 3)), sh_ones(SH_SIZES(5, 3))))), 60));
}

static void product(const float *a, const float *b, float *c, int m, int k, int n) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int l = 0; l < k; l++) sum += a[i * k + l] * b[l * n + j];
            c[i * n + j] = sum;
        }
}

Test(c_adapters, arrays_of_two_sizes_run_for_each_matrix) {
    sh_tensor *a = sh_rand(SH_SIZES(2, 5, 3, 4)), *b = sh_rand(SH_SIZES(5, 4, 2)),
              *expected = sh_matmul(a, b);
    HOOK("matmul", "void(const float a[m][k], const float b[k][n], float c[m][n], int m, int k, int n)",
         product, SH_C_ROWS);
    cr_assert(sh_allclose(sh_matmul(a, b), expected, .rtol = 1e-5));
    cr_assert(sh_allclose(sh_matmul(a, sh_transpose(sh_transpose(b, 1, 2), 1, 2)), expected, .rtol = 1e-5));
}

/* ---- gemm ---- */

static int calls, turned;

static void gemm(bool ta, bool tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b,
                 int ldb, float beta, float *c, int ldc) {
    calls++;
    turned += ta + tb;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int l = 0; l < k; l++)
                sum += (double)(ta ? a[l * lda + i] : a[i * lda + l]) *
                       (double)(tb ? b[j * ldb + l] : b[l * ldb + j]);
            c[i * ldc + j] = (float)((double)alpha * sum + (beta != 0 ? (double)(beta * c[i * ldc + j]) : 0));
        }
}
static void cblas_like(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                       const float *b, int ldb, float beta, float *c, int ldc) {
    cr_assert(eq(int, order, 101));
    gemm(ta == 112, tb == 112, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
/* Columns first: the transposed product, rows first. */
static void fortran_like(const char *ta, const char *tb, const int *m, const int *n, const int *k,
                         const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
                         const float *beta, float *c, const int *ldc) {
    gemm(*tb == 'T', *ta == 'T', *n, *m, *k, *alpha, b, *ldb, a, *lda, *beta, c, *ldc);
}

static void products_are_right(const char *signature, sh_c_function f) {
    sh_tensor *a = sh_rand(SH_SIZES(3, 4)), *b = sh_rand(SH_SIZES(4, 5)),
              *at = sh_transpose(sh_rand(SH_SIZES(4, 3)), 0, 1),
              *bt = sh_transpose(sh_rand(SH_SIZES(5, 4)), 0, 1), *s = sh_rand(SH_SIZES(5)),
              *batch = sh_rand(SH_SIZES(2, 1, 3, 4)), *other = sh_rand(SH_SIZES(6, 4, 5)),
              *v = sh_rand(SH_SIZES(4)), *odd = sh_slice(sh_rand(SH_SIZES(4, 10)), .dim = 1, .step = 2);
    sh_tensor *expected[] = {sh_mm(a, b),
                             sh_mm(at, bt),
                             sh_matmul(batch, other),
                             sh_matmul(v, b),
                             sh_matmul(a, v),
                             sh_matmul(v, v),
                             sh_addmm(s, a, b, .beta = 2, .alpha = 3),
                             sh_mm(a, odd),
                             sh_matmul(v, other),
                             sh_addmm(s, a, b, .beta = 0)};
    sh_kernel k[3];
    k[0] = hook("mm", signature, f, SH_C_GEMM, 0), k[1] = hook("matmul", signature, f, SH_C_GEMM, 0),
    k[2] = hook("addmm", signature, f, SH_C_GEMM, 0);
    calls = turned = 0;
    sh_tensor *got[] = {sh_mm(a, b),
                        sh_mm(at, bt),
                        sh_matmul(batch, other),
                        sh_matmul(v, b),
                        sh_matmul(a, v),
                        sh_matmul(v, v),
                        sh_addmm(s, a, b, .beta = 2, .alpha = 3),
                        sh_mm(a, odd),
                        sh_matmul(v, other),
                        sh_addmm(s, a, b, .beta = 0)};
    for (int i = 0; i < 10; i++)
        cr_assert(got[i] && sh_allclose(got[i], expected[i], .rtol = 1e-5), "%s, product %d: %s", signature,
                  i, sh_error() ? sh_error()->message : "wrong");
    cr_assert(eq(int, calls, 8 + 12 + 6));
    cr_assert(ge(int, turned, 2));
    sh_tensor *acc = sh_ones(SH_SIZES(3, 5));
    sh_addmm_(acc, a, b);
    cr_assert(sh_allclose(acc, sh_add(expected[0], 1.0), .rtol = 1e-5));
    sh_mm(sh_zeros(SH_SIZES(3, 0)), sh_zeros(SH_SIZES(0, 5)));
    cr_assert(eq(ptr, (void *)(uintptr_t)sh_error(), NULL));
    sh_mm(sh_to(a, SH_F64), sh_to(b, SH_F64));
    cr_assert(failed_with(SH_ERROR_DTYPE, "self is f64[3, 4]"));
    for (int i = 0; i < 3; i++) sh_kernel_remove(k[i]);
}

Test(c_adapters, gemm_of_cblas_serves_matrix_products) {
    products_are_right(SH_CBLAS_GEMM(float), (sh_c_function)cblas_like);
}
Test(c_adapters, gemm_of_fortran_serves_matrix_products) {
    products_are_right(SH_BLAS_GEMM(float), (sh_c_function)fortran_like);
}

static bool gemm_refused(const char *op, const char *signature, const char *part) {
    const sh_c_options options = {.adapter = SH_C_GEMM};
    sh_kernel_register_c(op, "cpu", signature, (sh_c_function)cblas_like, &options, NULL);
    return failed_with(SH_ERROR_SIGNATURE, part);
}

Test(c_adapters, what_is_no_gemm_is_refused) {
    cr_assert(gemm_refused("mm", "void(int order, int q)", "q is no parameter of BLAS's gemm"));
    cr_assert(gemm_refused("mm", "void(int m, int n, int k)", "gemm needs a parameter a"));
    cr_assert(gemm_refused("mm", "void(int m, const float a)", "a of gemm is float * or double *"));
    cr_assert(gemm_refused("relu", SH_CBLAS_GEMM(float), "ops with two matrices"));
    const sh_c_options unknown = {.adapter = (sh_c_adapter)9};
    cr_assert(
        eq(int,
           sh_kernel_register_c("mm", "cpu", SH_CBLAS_GEMM(float), (sh_c_function)cblas_like, &unknown, NULL),
           SH_ERROR_VALUE));
    cr_assert(failed_with(SH_ERROR_VALUE, "9 is no adapter"));
}

/* ---- memory ---- */

static bool multiplies(void) {
    sh_tensor *x = sh_rand(SH_SIZES(3, 3)), *y = x ? sh_transpose(x, 0, 1) : NULL;
    return y && sh_mm(sh_slice(y, .step = 2), y) && sh_add(y, SH_FLOATS(1, 2, 3)) && sh_softmax(y, 0);
}

Test(c_adapters, every_allocation_may_fail) {
    HOOK("mm", SH_CBLAS_GEMM(float), cblas_like, SH_C_GEMM);
    HOOK("add", "void(const float a[n], const float b[n], float c[n], size_t n)", add_arrays,
         SH_C_ELEMENTWISE);
    HOOK("softmax", "void(const float row[n], float out[n], size_t n)", normalise, SH_C_ROWS);
    fail_each("adapters", multiplies);
}
