/* test_c_kernel.c - plain C functions as kernels: what parameters get, what is checked, how long things live. */
#include <complex.h>
#include <string.h>

#include "tests/fail_each.h"
#include "tests/modes.h"

TestSuite(c_kernel, .timeout = 60);

static void quiet(void) { sh_set_warning_sink(sh_warnings_off, NULL); }

/* An op of no family that the library has, until the test's process ends. */
static void define(const char *schema) {
    quiet();
    cr_assert(eq(int, sh_op_define(schema, NULL, NULL), SH_OK), "%s", sh_error() ? sh_error()->message : "");
}

static void add_10_matrix(const float *x, float *y, int m, int n) {
    for (int i = 0; i < m * n; i++) y[i] = x[i] + 10;
}

#define HOOK(op, signature, f) hook(op, signature, (sh_c_function)(f), NULL)
static sh_kernel hook(const char *op, const char *signature, sh_c_function f, const sh_c_options *options) {
    sh_kernel k = {0};
    quiet();
    const sh_status status = sh_kernel_register_c(op, "cpu", signature, f, options, &k);
    cr_assert(eq(int, status, SH_OK), "%s", sh_error() ? sh_error()->message : "");
    return k;
}

static bool refused(const char *op, const char *signature, const char *part) {
    sh_kernel k;
    const sh_status status = sh_kernel_register_c(op, "cpu", signature, (sh_c_function)quiet, NULL, &k);
    cr_assert(eq(int, status, SH_ERROR_SIGNATURE), "%s: %s", signature,
              sh_error() ? sh_error()->message : "taken");
    return failed_with(SH_ERROR_SIGNATURE, part);
}

/* ---- arrays ---- */

static void add_10(const float *x, float *y, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] = x[i] + 10;
}

Test(c_kernel, arrays_and_their_size_come_from_tensors) {
    const sh_kernel k = HOOK("relu", "void(const float x[n], float y[n], size_t n)", add_10);
    sh_tensor *y = sh_relu(SH_FLOATS(1, 2, 3));
    cr_assert(eq(dbl, first(y), 11));
    cr_assert(eq(dbl, sh_tensor_at(y, (const int64_t[]){2}), 13));
    cr_assert(eq(int, sh_kernel_remove(k), SH_OK));
    cr_assert(eq(dbl, first(sh_relu(SH_FLOATS(1, 2, 3))), 1));
    cr_assert(eq(int, sh_table_check(), SH_OK));
}

Test(c_kernel, a_mode_sees_the_call_and_may_swap_to_it) {
    HOOK("relu", "void(const float x[n], float y[n], size_t n)", add_10);
    SH_WITH_MODE(add_to_mul) { cr_assert(eq(dbl, first(sh_relu(sh_add(SH_FLOATS(3), SH_FLOATS(3)))), 19)); }
}

static int product(const double *a, const double *b, double *c, int m, int k, int n, double alpha) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            c[i * n + j] = 0;
            for (int l = 0; l < k; l++) c[i * n + j] += alpha * a[i * k + l] * b[l * n + j];
        }
    return 0;
}

Test(c_kernel, matrices_bind_their_dimensions) {
    define("t::product(Tensor a, Tensor b, *, float alpha=1.0) -> Tensor c");
    HOOK("t::product",
         "int(const double a[m][k], const double b[k][n], double c[m][n], int m, int k, int n, double alpha)",
         product);
    sh_tensor *a = sh_reshape(sh_arange(6, .dtype = SH_F64), SH_SIZES(2, 3)),
              *b = sh_reshape(sh_arange(12, .dtype = SH_F64), SH_SIZES(3, 4));
    sh_tensor *c = sh_call_op("t::product", a, b, SH_NAMED("alpha", 2.0));
    cr_assert(sh_allclose(c, sh_mul(sh_matmul(a, b), 2.0)));
    sh_call_op("t::product", a, a);
    cr_assert(failed_with(SH_ERROR_SHAPE, "parameter b: dimension k is 2, but 3"));
    sh_call_op("t::product", a, sh_to(b, SH_F32));
    cr_assert(failed_with(SH_ERROR_DTYPE, "b is f32[3, 4], parameter b of the C signature is of double"));
    sh_call_op("t::product", a, sh_flatten(b));
    cr_assert(failed_with(SH_ERROR_SHAPE, "has 2 dimensions"));
}

Test(c_kernel, a_strided_tensor_is_copied_first_and_a_strided_result_copied_back) {
    HOOK("relu", "void(const float x[m][n], float y[m][n], int m, int n)", add_10_matrix);
    sh_tensor *x = sh_reshape(sh_arange(6, .dtype = SH_F32), SH_SIZES(2, 3)), *t = sh_transpose(x, 0, 1);
    cr_assert(sh_allclose(sh_relu(t), sh_add(t, 10.0)));
    sh_tensor *wide = sh_zeros(SH_SIZES(2, 6)), *every_other = sh_slice(wide, .dim = 1, .step = 2);
    sh_relu_(every_other);
    cr_assert(eq(dbl, sh_item(sh_sum(wide)), 60));
    cr_assert(eq(dbl, sh_tensor_at(wide, (const int64_t[]){1, 1}), 0));
}

/* ---- strides ---- */

static void strided_add(const float *x, const int64_t *x_sizes, const int64_t *x_strides, float *y,
                        const int64_t *y_strides) {
    for (int64_t i = 0; i < x_sizes[0]; i++)
        for (int64_t j = 0; j < x_sizes[1]; j++)
            y[i * y_strides[0] + j * y_strides[1]] = x[i * x_strides[0] + j * x_strides[1]] + 1;
}
static const float *was_given;
static void notes_address(const float *x, const int64_t *x_strides, float *y, int x_ndim, size_t x_numel) {
    was_given = x;
    for (size_t i = 0; i < x_numel; i++) y[i] = (float)(x_strides[0] * 100 + x_ndim);
}

Test(c_kernel, sizes_and_strides_are_passed_and_nothing_is_copied) {
    const sh_kernel k =
        HOOK("relu",
             "void(const float *x, const int64_t x_sizes[2], const int64_t x_strides[2], float *y, "
             "const int64_t y_strides[2])",
             strided_add);
    sh_tensor *x = sh_transpose(sh_reshape(sh_arange(6, .dtype = SH_F32), SH_SIZES(2, 3)), 0, 1);
    cr_assert(sh_allclose(sh_relu(x), sh_add(x, 1.0)));
    sh_relu(SH_FLOATS(1));
    cr_assert(failed_with(SH_ERROR_SHAPE, "x_sizes: dimension 0 is 1, expected 2"));
    sh_kernel_remove(k);
    HOOK("relu", "void(const float *x, const int64_t x_strides[], float *y, int x_ndim, size_t x_numel)",
         notes_address);
    cr_assert(eq(dbl, first(sh_relu(x)), 102));
    cr_assert(eq(ptr, (void *)(uintptr_t)was_given, sh_tensor_data(x)));
}

/* ---- numbers ---- */

#define KIND(name, ctype, text)                                   \
    static ctype got_##name;                                      \
    static void takes_##name(const float *x, float *y, ctype v) { \
        got_##name = v;                                           \
        y[0] = x[0];                                              \
    }
#define KINDS(K)                           \
    K(i8, int8_t, "int8_t")                \
    K(u8, uint8_t, "unsigned char")        \
    K(i16, int16_t, "short")               \
    K(u16, uint16_t, "unsigned short int") \
    K(i32, int32_t, "int")                 \
    K(u32, uint32_t, "unsigned")           \
    K(i64, int64_t, "long long")           \
    K(u64, uint64_t, "size_t")             \
    K(sc, signed char, "signed char")      \
    K(l, long, "long int")                 \
    K(ul, unsigned long, "unsigned long")  \
    K(pd, ptrdiff_t, "ptrdiff_t")          \
    K(f32, float, "float") K(f64, double, "double") K(ld, long double, "long double")
KINDS(KIND)

static void try_kind(const char *text, sh_c_function f, double good, bool whole) {
    char signature[120];
    snprintf(signature, sizeof signature, "void(const float x[n], float y[n], %s v)", text);
    sh_kernel k = hook("t::kind", signature, f, NULL);
    cr_assert(sh_call_op("t::kind", SH_FLOATS(1), good) != NULL, "%s: %s", text,
              sh_error() ? sh_error()->message : "");
    if (whole) {
        sh_call_op("t::kind", SH_FLOATS(1), 2.5);
        cr_assert(failed_with(SH_ERROR_VALUE, "2.5 is no value of"));
    }
    cr_assert(eq(int, sh_kernel_remove(k), SH_OK));
}

Test(c_kernel, a_number_of_any_kind_is_converted_from_the_argument) {
    define("t::kind(Tensor x, Scalar v) -> Tensor");
#define TRY(name, ctype, text)                                                \
    try_kind(text, (sh_c_function)takes_##name, 100, (ctype)0.5 == (ctype)0); \
    cr_assert(eq(dbl, (double)got_##name, 100));
    KINDS(TRY)
}

static bool got_flag;
static void takes_flag(const float *x, float *y, bool v) {
    got_flag = v;
    y[0] = x[0];
}

Test(c_kernel, a_whole_number_that_does_not_fit_is_an_error_that_names_the_parameter) {
    define("t::kind(Tensor x, Scalar v) -> Tensor");
    sh_kernel k = HOOK("t::kind", "void(const float x[n], float y[n], int8_t v)", takes_i8);
    sh_call_op("t::kind", SH_FLOATS(1), 300);
    cr_assert(failed_with(SH_ERROR_VALUE, "parameter v of the C signature: 300 is no value of int8_t"));
    cr_assert(sh_call_op("t::kind", SH_FLOATS(1), -128) != NULL);
    cr_assert(eq(int, got_i8, -128));
    sh_kernel_remove(k);
    k = HOOK("t::kind", "void(const float x[n], float y[n], uint64_t v)", takes_u64);
    sh_call_op("t::kind", SH_FLOATS(1), -1);
    cr_assert(failed_with(SH_ERROR_VALUE, "-1 is no value of uint64_t"));
    sh_kernel_remove(k);
    HOOK("t::kind", "void(const float x[n], float y[n], bool v)", takes_flag);
    cr_assert(sh_call_op("t::kind", SH_FLOATS(1), true) != NULL);
    cr_assert(got_flag);
    sh_call_op("t::kind", SH_FLOATS(1), 2);
    cr_assert(failed_with(SH_ERROR_VALUE, "2 is no value of bool"));
}

static void by_address(const int *n, const double *v, const float *x, float *y) {
    for (int i = 0; i < *n; i++) y[i] = x[i] * (float)*v;
}

Test(c_kernel, numbers_are_passed_by_address_as_fortran_wants_them) {
    define("t::scale(Tensor x, float v) -> Tensor");
    HOOK("t::scale", "void scale_(const int *n, const double *v, const float x[n], float y[n])", by_address);
    cr_assert(eq(dbl, first(sh_call_op("t::scale", SH_FLOATS(3, 4), 2.0)), 6));
}

static void add_number(const float *x, float y, float *out, size_t n) {
    for (size_t i = 0; i < n; i++) out[i] = x[i] + y;
}

Test(c_kernel, a_tensor_of_one_element_may_be_a_number) {
    HOOK("add", "void(const float self[n], float other, float out[n], size_t n)", add_number);
    cr_assert(eq(dbl, first(sh_add(SH_FLOATS(1, 2), 40)), 41));
    sh_add(SH_FLOATS(1, 2), SH_FLOATS(1, 2));
    cr_assert(failed_with(SH_ERROR_SHAPE, "2 elements"));
    sh_add(SH_FLOATS(1, 2), 40, .alpha = 3);
    cr_assert(failed_with(SH_ERROR_ARGUMENT, "the C kernel takes no alpha, and it is 3"));
}

/* ---- structs ---- */

struct complex_number {
    float re, im;
};
static void rotate(const float *x, float *y, size_t n, struct complex_number by) {
    for (size_t i = 0; i + 1 < n; i += 2) {
        y[i] = x[i] * by.re - x[i + 1] * by.im;
        y[i + 1] = x[i] * by.im + x[i + 1] * by.re;
    }
}
struct mixed {
    int8_t a;
    struct {
        double b;
        int16_t c;
    } inner;
    float d;
    int64_t e;
};
static struct mixed got_mixed;
static void takes_mixed(const float *x, struct mixed m, float *y) {
    got_mixed = m;
    y[0] = x[0];
}

Test(c_kernel, structs_go_by_value_from_arguments_of_their_fields_names) {
    define("t::rotate(Tensor x, float by_re, float by_im) -> Tensor");
    HOOK("t::rotate", "void(const float x[n], float y[n], size_t n, struct {float re, im;} by)", rotate);
    sh_tensor *y = sh_call_op("t::rotate", SH_FLOATS(1, 2), 0.0, 1.0);
    cr_assert(eq(dbl, first(y), -2));
    cr_assert(eq(dbl, sh_tensor_at(y, (const int64_t[]){1}), 1));
    define("t::mixed(Tensor x, int a, float b, int c, float d, int e) -> Tensor");
    HOOK(
        "t::mixed",
        "void(const float x[n], struct {int8_t a; struct {double b; short c;} inner; float d; long e;} m, float y[n])",
        takes_mixed);
    cr_assert(sh_call_op("t::mixed", SH_FLOATS(1), -7, 2.5, 300, 0.5, INT64_C(1) << 40) != NULL, "%s",
              sh_error() ? sh_error()->message : "");
    cr_assert(eq(int, got_mixed.a, -7));
    cr_assert(eq(dbl, got_mixed.inner.b, 2.5));
    cr_assert(eq(int, got_mixed.inner.c, 300));
    cr_assert(eq(dbl, (double)got_mixed.d, 0.5));
    cr_assert(eq(i64, got_mixed.e, INT64_C(1) << 40));
}

Test(c_kernel, a_struct_gets_the_elements_of_a_tensor_and_may_have_a_name) {
    define("t::turn(Tensor x, Tensor by) -> Tensor");
    cr_assert(eq(int, sh_c_struct("c_number", "{float re, im;}"), SH_OK));
    cr_assert(eq(int, sh_c_struct("c_number", "{float re, im;}"), SH_OK));
    cr_assert(eq(int, sh_c_struct("c_number", "{double re;}"), SH_ERROR_SIGNATURE));
    cr_assert(failed_with(SH_ERROR_SIGNATURE, "already"));
    HOOK("t::turn", "void(const float x[n], float y[n], size_t n, c_number by)", rotate);
    cr_assert(eq(dbl, first(sh_call_op("t::turn", SH_FLOATS(1, 2), SH_FLOATS(0, 1))), -2));
    sh_call_op("t::turn", SH_FLOATS(1, 2), SH_FLOATS(0));
    cr_assert(failed_with(SH_ERROR_SHAPE, "field im"));
    cr_assert(ne(int, sh_c_struct("int", "{float re;}"), SH_OK));
    cr_assert(failed_with(SH_ERROR_SIGNATURE, "can't be the name"));
    cr_assert(ne(int, sh_c_struct("odd", "{float re;} x, int"), SH_OK));
    cr_assert(failed_with(SH_ERROR_SIGNATURE, "odd"));
}

/* ---- what is written ---- */

static void count_up(double *state, const float *x, float *y, int n) {
    state[0] += n;
    for (int i = 0; i < n; i++) y[i] = x[i];
}

Test(c_kernel, an_argument_that_the_schema_marks_is_written) {
    define("t::count(Tensor x, Tensor(a!) state) -> Tensor");
    HOOK("t::count", "void(double state[1], const float x[n], float y[n], int n)", count_up);
    sh_tensor *state = SH_DOUBLES(0);
    const uint64_t version = sh_tensor_version(state);
    sh_call_op("t::count", SH_FLOATS(1, 2, 3), state);
    cr_assert(eq(dbl, sh_item(state), 3));
    cr_assert(gt(u64, sh_tensor_version(state), version));
}

static void fill(float *x, int n) {
    for (int i = 0; i < n; i++) x[i] = 7;
}

Test(c_kernel, a_result_with_the_mark_of_an_argument_is_that_argument) {
    define("t::fill(Tensor(a!) x) -> Tensor(a!)");
    HOOK("t::fill", "void(float x[n], int n)", fill);
    sh_tensor *x = SH_FLOATS(1, 2, 3);
    cr_assert(eq(ptr, sh_call_op("t::fill", x), x));
    cr_assert(eq(dbl, first(x), 7));
    sh_tensor *strided = sh_slice(sh_zeros(SH_SIZES(6)), .step = 2);
    sh_call_op("t::fill", strided);
    cr_assert(eq(dbl, sh_item(sh_sum(strided)), 21));
}

static double dot(const double *x, const double *y, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}
static int64_t count(const float *x, size_t n) {
    (void)x;
    return (int64_t)n << 40;
}

Test(c_kernel, what_is_returned_is_a_result) {
    HOOK("dot", "double(const double x[n], const double y[n], int n)", dot);
    cr_assert(eq(dbl, sh_item(sh_dot(SH_DOUBLES(1, 2), SH_DOUBLES(3, 4))), 11));
    sh_dot(SH_FLOATS(1, 2), SH_FLOATS(3, 4));
    cr_assert(failed_with(SH_ERROR_DTYPE, "self is f32[2]"));
    define("t::n(Tensor x) -> Tensor");
    HOOK("t::n", "int64_t(const float x[n], size_t n)", count);
    cr_assert(eq(i64, sh_item_int(sh_call_op("t::n", SH_FLOATS(1, 2, 3))), INT64_C(3) << 40));
}

static int says_3(const float *x, float *y) {
    y[0] = x[0];
    return 3;
}

Test(c_kernel, a_status_other_than_0_is_an_error_that_says_it) {
    HOOK("relu", "int(const float x[n], float y[n])", says_3);
    sh_relu(SH_FLOATS(1));
    cr_assert(failed_with(SH_ERROR_CALLBACK, "the C function returned 3"));
}

/* ---- tensors, lists, strings ---- */

static double total;
static sh_tensor *with_tensors(const sh_tensor *x, sh_tensor *const *list, int n, const int64_t *sizes,
                               size_t m, const char *mode) {
    total = sh_item(x) + n;
    for (int i = 0; i < n; i++) total += sh_item(list[i]);
    for (size_t i = 0; i < m; i++) total += (double)sizes[i];
    if (mode && strcmp(mode, "neg") == 0) total = -total;
    return sh_full(SH_SCALAR_SHAPE, total);
}

Test(c_kernel, tensors_lists_and_strings_are_passed_as_they_are) {
    define("t::all(Tensor x, Tensor[] list, int[] sizes, str? mode=None) -> Tensor");
    HOOK(
        "t::all",
        "sh_tensor *(const sh_tensor *x, sh_tensor *const list[n], int n, const int64_t sizes[m], size_t m, const char *mode)",
        with_tensors);
    sh_tensor *one = SH_FLOATS(1), *two = SH_FLOATS(2);
    cr_assert(eq(dbl, sh_item(sh_call_op("t::all", one, SH_LIST(one, two), SH_SIZES(10, 20))), 36));
    cr_assert(eq(dbl, sh_item(sh_call_op("t::all", one, SH_LIST(one, two), SH_SIZES(10, 20), "neg")), -36));
}

static bool bias_was_null;
static void with_bias(const float *x, const float *bias, float *y, int n) {
    bias_was_null = !bias;
    for (int i = 0; i < n; i++) y[i] = x[i] + (bias ? bias[i] : 0);
}

Test(c_kernel, an_argument_that_is_none_is_a_null_pointer) {
    define("t::bias(Tensor x, Tensor? bias=None) -> Tensor");
    HOOK("t::bias", "void(const float x[n], const float bias[n], float y[n], int n)", with_bias);
    cr_assert(eq(dbl, first(sh_call_op("t::bias", SH_FLOATS(1, 2))), 1));
    cr_assert(bias_was_null);
    cr_assert(eq(dbl, first(sh_call_op("t::bias", SH_FLOATS(1, 2), SH_FLOATS(5, 5))), 6));
}

/* ---- dtypes ---- */

static void conjugate(const float complex *x, float complex *y, int n) {
    for (int i = 0; i < n; i++) y[i] = conjf(x[i]);
}
static int got_dtype;
static void any_dtype(const void *x, int x_dtype, int64_t x_numel, float *y) {
    (void)x;
    got_dtype = x_dtype;
    y[0] = (float)x_numel;
}

Test(c_kernel, dtypes_are_those_of_the_c_types) {
    define("t::conj(Tensor x) -> Tensor");
    HOOK("t::conj", "void(const float complex x[n], float _Complex y[n], int n)", conjugate);
    float complex data[2] = {1 + 2 * I, 3 - 4 * I};
    sh_tensor *y =
        sh_call_op("t::conj", sh_from_data(data, SH_C64, SH_SIZES(2), (sh_ints){NULL, 0}, NULL, NULL));
    cr_assert(ne(ptr, y, NULL), "%s", sh_error() ? sh_error()->message : "");
    cr_assert(eq(dbl, (double)cimagf(((float complex *)sh_tensor_data(y))[1]), 4));
    define("t::any(Tensor x) -> Tensor");
    HOOK("t::any", "void(const void *x, int x_dtype, int64_t x_numel, float y[1])", any_dtype);
    cr_assert(eq(dbl, first(sh_call_op("t::any", sh_zeros(SH_SIZES(2, 3), .dtype = SH_I16))), 6));
    cr_assert(eq(int, got_dtype, SH_I16));
}

Test(c_kernel, another_dtype_is_converted_only_when_asked_for) {
    const sh_c_options converting = {.flags = SH_C_CONVERT};
    sh_kernel k = HOOK("relu", "void(const float x[n], float y[n], size_t n)", add_10);
    sh_relu(SH_DOUBLES(1, 2));
    cr_assert(
        failed_with(SH_ERROR_DTYPE, "relu: self is f64[2], parameter x of the C signature is of float"));
    sh_kernel_remove(k);
    hook("relu", "void(const float x[n], float y[n], size_t n)", (sh_c_function)add_10, &converting);
    sh_tensor *y = sh_relu(SH_DOUBLES(1, 2));
    cr_assert(eq(int, sh_tensor_dtype(y), SH_F64));
    cr_assert(eq(dbl, first(y), 11));
}

/* ---- the same by every way ---- */

static void real_mul(const float *a, const float *b, float *c, size_t n) {
    for (size_t i = 0; i < n; i++) c[i] = a[i] * b[i];
}
static void real_relu(const float *a, float *c, size_t n) {
    for (size_t i = 0; i < n; i++) c[i] = a[i] > 0 ? a[i] : 0;
}
static void real_mm(const float *a, const float *b, float *c, int m, int k, int n) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int l = 0; l < k; l++) sum += (double)a[i * k + l] * (double)b[l * n + j];
            c[i * n + j] = (float)sum;
        }
}

Test(c_kernel, typed_boxed_by_name_and_c_give_the_same) {
    sh_tensor *x = sh_rand(SH_SIZES(5, 5)), *y = sh_sub(sh_rand(SH_SIZES(5, 5)), 0.5);
    sh_tensor *typed[] = {sh_mul(x, y), sh_relu(y), sh_mm(x, y)}, *boxed[3], *named[3];
    hook("mul", "void(const float a[n], const float b[n], float c[n], size_t n)", (sh_c_function)real_mul,
         &(const sh_c_options){.adapter = SH_C_ELEMENTWISE});
    hook("relu", "void(const float a[n], float c[n], size_t n)", (sh_c_function)real_relu,
         &(const sh_c_options){.adapter = SH_C_ELEMENTWISE});
    HOOK("mm", "void(const float a[m][k], const float b[k][n], float c[m][n], int m, int k, int n)", real_mm);
    boxed[0] = sh_mul(x, y), boxed[1] = sh_relu(y), boxed[2] = sh_mm(x, y);
    named[0] = sh_call_op("mul", x, y), named[1] = sh_call_op("relu", y), named[2] = sh_call_op("mm", x, y);
    for (int i = 0; i < 3; i++) {
        cr_assert(sh_allclose(typed[i], boxed[i]), "%d", i);
        cr_assert(sh_equal(boxed[i], named[i]), "%d", i);
    }
}

/* ---- registration ---- */

Test(c_kernel, a_kernel_may_come_before_its_op_and_outlive_it) {
    sh_kernel k = HOOK("t::later", "void(const float x[n], float y[n], size_t n)", add_10);
    for (int round = 0; round < 3; round++) {
        define(round % 2 ? "t::later(Tensor x, int k=0) -> Tensor" : "t::later(Tensor x) -> Tensor");
        cr_assert(eq(dbl, first(sh_call_op("t::later", SH_FLOATS(1))), 11));
        cr_assert(eq(int, sh_op_undefine("t::later"), SH_OK));
    }
    define("t::later(int x) -> Tensor");
    sh_call_op("t::later", 1);
    cr_assert(failed_with(SH_ERROR_SIGNATURE, "argument x of t::later is int, which float * can't be"));
    cr_assert(eq(int, sh_kernel_remove(k), SH_OK));
}

static sh_kernel itself;
static void removes_itself(const float *x, float *y, size_t n) {
    if (sh_kernel_remove(itself) < 0) return;
    for (size_t i = 0; i < n; i++) y[i] = x[i] + 100;
}

Test(c_kernel, one_that_is_removed_while_it_runs_ends_well) {
    itself = HOOK("relu", "void(const float x[n], float y[n], size_t n)", removes_itself);
    cr_assert(eq(dbl, first(sh_relu(SH_FLOATS(1))), 101));
    cr_assert(eq(dbl, first(sh_relu(SH_FLOATS(1))), 1));
    cr_assert(eq(int, sh_kernel_remove(itself), SH_ERROR_HANDLE));
    sh_clear_error();
}

Test(c_kernel, signatures_that_do_not_fit_their_op_are_refused) {
    cr_assert(refused("relu", "void(const float x[n], size_t m, float y[n])",
                      "column 24: m is no size of an array"));
    cr_assert(refused("relu", "void(const float x[n], size_t slef, float y[n])", "did you mean self"));
    cr_assert(refused("relu", "void(const float x[n])", "nothing gives result 0"));
    cr_assert(refused("relu", "void(float x[n])", "argument self of relu"));
    cr_assert(
        refused("relu", "void(const float x[n], const float z[n], float y[n])", "no tensor of relu is left"));
    cr_assert(refused("add", "void(const float x[n], float y[n])", "argument other of add"));
    cr_assert(refused("relu", "double(const float x[n], float y[n])", "returns void, or int"));
    cr_assert(refused("relu", "void(const float x[n], float self[n])", "does not mark it (a!)"));
    cr_assert(refused("relu", "void(const uint32_t x[n], float y[n])", "no dtype has elements of uint32_t"));
    cr_assert(refused("relu", "void(const float x[n], float y[n], int)", "a number without a name"));
    cr_assert(refused("cat", "void(const float tensors[n], float y[n])", "Tensor[]"));
    cr_assert(refused("softmax", "void(const float x[n], float y[n])", "argument dim of softmax"));
    cr_assert(refused("relu", "void(const float x[n], float y[n], float complex s)",
                      "float complex is not passed by value"));
    cr_assert(eq(int, sh_table_check(), SH_OK));
}

Test(c_kernel, bad_arguments_of_the_registration_are_errors) {
    sh_kernel k;
    const char *s = "void(const float x[n], float y[n])";
    cr_assert(eq(int, sh_kernel_register_c(NULL, "cpu", s, (sh_c_function)quiet, NULL, &k), SH_ERROR_NULL));
    sh_clear_error();
    cr_assert(eq(int, sh_kernel_register_c("relu", "cpu", s, NULL, NULL, &k), SH_ERROR_NULL));
    sh_clear_error();
    cr_assert(
        eq(int, sh_kernel_register_c("relu", "cpu", NULL, (sh_c_function)quiet, NULL, &k), SH_ERROR_NULL));
    sh_clear_error();
    cr_assert(
        eq(int, sh_kernel_register_c("relu", "gpu", s, (sh_c_function)quiet, NULL, &k), SH_ERROR_KERNEL));
    cr_assert(failed_with(SH_ERROR_KERNEL, "no backend gpu"));
    cr_assert(
        eq(int, sh_kernel_register_c("relu", "meta", s, (sh_c_function)quiet, NULL, &k), SH_ERROR_KERNEL));
    cr_assert(failed_with(SH_ERROR_KERNEL, "have no data"));
}

Test(c_kernel, empty_tensors_are_passed) {
    HOOK("relu", "void(const float x[n], float y[n], size_t n)", add_10);
    cr_assert(eq(i64, sh_tensor_numel(sh_relu(sh_zeros(SH_SIZES(0)))), 0));
    cr_assert(eq(ptr, (void *)(uintptr_t)sh_error(), NULL));
}

/* ---- memory ---- */

static bool registers_and_calls(void) {
    sh_kernel k;
    if (sh_kernel_register_c("relu", "cpu", "void(const float x[m][n], float y[m][n], int m, int n)",
                             (sh_c_function)add_10_matrix, NULL, &k) < 0)
        return false;
    sh_tensor *x = sh_rand(SH_SIZES(3, 4)), *y = x ? sh_relu(sh_transpose(x, 0, 1)) : NULL;
    const bool worked = y != NULL;
    sh_error_info kept = sh_error() ? *sh_error() : (sh_error_info){.code = SH_OK};
    sh_clear_error();
    sh_kernel_remove(k);
    if (!worked) sh_fail(kept.code, "again");
    return worked;
}

static bool names_a_struct(void) {
    static int n;
    char name[24];
    snprintf(name, sizeof name, "made_%d", n++);
    return sh_c_struct(name, "{int a; float b;}") == SH_OK;
}

Test(c_kernel, every_allocation_may_fail) {
    quiet();
    fail_each("a C kernel", registers_and_calls);
    fail_each("a struct type", names_a_struct);
}
