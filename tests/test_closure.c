/* test_closure.c - ops as plain C functions: what goes in and comes back, what modes see, the end of them. */
#include <math.h>
#include <pthread.h>

#include "tests/fail_each.h"
#include "tests/modes.h"

TestSuite(closure, .timeout = 60);

static sh_c_function code(const char *op, const char *signature, const sh_c_options *options) {
    sh_closure *c = sh_closure_new(op, signature, options);
    cr_assert(ne(ptr, c, NULL), "%s", sh_error() ? sh_error()->message : "");
    return sh_closure_code(c);
}

static bool refused(const char *op, const char *signature, sh_status status, const char *part) {
    cr_assert(eq(ptr, sh_closure_new(op, signature, NULL), NULL), "%s", signature);
    return failed_with(status, part);
}

typedef float (*of_two)(float, float);

Test(closure, a_function_of_numbers_goes_through_the_chain) {
    const of_two add = (of_two)code("add", "float(float, float)", NULL);
    cr_assert(eq(dbl, (double)add(3, 4), 7));
    SH_WITH_MODE(add_to_mul) { cr_assert(eq(dbl, (double)add(3, 4), 12)); }
    cr_assert(eq(dbl, (double)add(3, 4), 7));
    cr_assert(eq(int, sh_scope_held(), 0));
}

static sh_tensor *first_argument;
static const float *first_data;
static sh_variant variant;
static sh_status looks(sh_mode *mode, sh_call *call) {
    (void)mode;
    first_argument = sh_call_tensor(call, 0);
    first_data = sh_tensor_data(first_argument);
    variant = sh_call_variant(call);
    note("", call);
    return SH_PASS;
}

typedef void (*of_arrays)(const float *, float *, size_t);

Test(closure, arrays_are_views_and_results_are_written_in_place) {
    const of_arrays sqrt_all = (of_arrays)code("sqrt", "void(const float x[n], float y[n], size_t n)", NULL);
    const float x[] = {1, 4, 9};
    float y[3] = {0};
    SH_WITH_MODE(looks) { sqrt_all(x, y, 3); }
    cr_assert(eq(dbl, (double)y[2], 3));
    cr_assert(eq(ptr, (void *)(uintptr_t)first_data, (void *)(uintptr_t)x));
    cr_assert(eq(int, variant, SH_OUT));
    sqrt_all(x, y, 0);
    cr_assert(eq(ptr, (void *)(uintptr_t)sh_error(), NULL));
}

static void relu_twice(float *x, int n, void (*f)(float *, int)) {
    f(x, n);
    f(x, n);
}

Test(closure, an_array_that_is_self_and_result_is_changed_in_place) {
    float x[] = {-1, 2, -3};
    SH_WITH_MODE(looks) {
        relu_twice(x, 3, (void (*)(float *, int))code("relu", "void(float x[n], int n)", NULL));
    }
    cr_assert(eq(dbl, (double)x[0], 0));
    cr_assert(eq(dbl, (double)x[1], 2));
    cr_assert(eq(int, variant, SH_INPLACE));
    void (*add)(float *, const float *, int) = (void (*)(float *, const float *, int))code(
        "add", "void(float self[n], const float other[n], int n)", NULL);
    add(x, (const float[]){1, 1, 1}, 3);
    cr_assert(eq(dbl, (double)x[1], 3));
}

Test(closure, what_has_no_out_form_is_computed_and_copied) {
    of_arrays clone = (of_arrays)code("clone", "void(const float x[n], float y[n], size_t n)", NULL);
    float y[2] = {0};
    clone((const float[]){5, 6}, y, 2);
    cr_assert(eq(dbl, (double)y[1], 6));
    void (*top)(const float *, int, int64_t, float *, int64_t *) =
        (void (*)(const float *, int, int64_t, float *, int64_t *))code(
            "max.dim", "void(const float x[n], int n, int64_t dim, float values[1], int64_t indices[1])",
            &(const sh_c_options){.given = SH_ARGUMENTS(SH_NAMED("keepdim", true))});
    float value[1];
    int64_t index[1];
    top((const float[]){3, 9, 4}, 3, 0, value, index);
    cr_assert(eq(dbl, (double)value[0], 9));
    cr_assert(eq(i64, index[0], 1));
}

typedef void (*strided)(const double *, const int64_t *, const int64_t *, double *, int);

Test(closure, sizes_and_strides_say_how_an_array_lies) {
    const strided sum = (strided)code(
        "sum",
        "void(const double *x, const int64_t x_sizes[2], const int64_t x_strides[2], double y[n], int n)",
        &(const sh_c_options){.given = SH_ARGUMENTS(SH_NAMED("dim", SH_SIZES(1)))});
    const double x[] = {1, 2, 3, 4, 5, 6};
    double y[3];
    sum(x, (const int64_t[]){3, 2}, (const int64_t[]){1, 3}, y, 3);
    cr_assert(eq(dbl, y[0], 5));
    cr_assert(eq(dbl, y[2], 9));
}

Test(closure, arguments_come_from_parameters_of_their_names_or_are_given) {
    double (*lerp)(double, double, double) = (double (*)(double, double, double))code(
        "lerp", "double(double self, double weight, double end)", NULL);
    cr_assert(eq(dbl, lerp(0, 0.25, 8), 2));
    float (*leaky)(float, double) =
        (float (*)(float, double))code("leaky_relu", "float(float, double negative_slope)", NULL);
    cr_assert(eq(dbl, (double)leaky(-4, 0.5), -2));
    const sh_c_options fixed = {.given = SH_ARGUMENTS(SH_NAMED("dim", 0))};
    float (*biggest)(const float *, int) =
        (float (*)(const float *, int))code("amax", "float(const float x[n], int n)", &fixed);
    cr_assert(eq(dbl, (double)biggest((const float[]){1, 9, 3}, 3), 9));
    int64_t (*where)(const float *, int) =
        (int64_t(*)(const float *, int))code("argmax", "int64_t(const float x[n], int n)", NULL);
    cr_assert(eq(i64, where((const float[]){1, 9, 3}, 3), 1));
    const sh_c_options keeps = {.given = SH_ARGUMENTS(SH_NAMED("other", sh_full(SH_SIZES(1), 100.0)))};
    float (*plus)(float) = NULL;
    SH_SCOPE { plus = (float (*)(float))code("add", "float(float self)", &keeps); }
    cr_assert(eq(dbl, (double)plus(1), 101));
}

#define KIND(T, text, value)                                       \
    do {                                                           \
        T (*f)(T) = (T(*)(T))code("neg", text "(" text ")", NULL); \
        cr_assert(f(value) == (T) - (value), "%s", text);          \
    } while (0)

Test(closure, every_kind_of_number_goes_in_and_comes_back) {
    KIND(int8_t, "int8_t", 100);
    KIND(int16_t, "short", 1000);
    KIND(int32_t, "int", 100000);
    KIND(int64_t, "long", INT64_C(1) << 40);
    KIND(float, "float", 1.5F);
    KIND(double, "double", 2.5);
    uint8_t (*u8)(uint8_t) = (uint8_t(*)(uint8_t))code("relu", "uint8_t(unsigned char)", NULL);
    cr_assert(eq(int, u8(200), 200));
    bool (*negate)(bool) = (bool (*)(bool))code("logical_not", "bool(bool)", NULL);
    cr_assert(negate(false) && !negate(true));
    bool (*is_nan)(double) = (bool (*)(double))code("isnan", "bool(double)", NULL);
    cr_assert(is_nan(NAN) && !is_nan(1));
}

/* ---- BLAS ---- */

typedef void (*fortran_gemm)(const char *, const char *, const int *, const int *, const int *, const float *,
                             const float *, const int *, const float *, const int *, const float *, float *,
                             const int *);
typedef void (*c_gemm)(int, int, int, int, int, int, float, const float *, int, const float *, int, float,
                       float *, int);

Test(closure, a_function_of_blas_is_an_op_on_views) {
    const fortran_gemm f =
        (fortran_gemm)code("addmm", SH_BLAS_GEMM(float), &(const sh_c_options){.adapter = SH_C_GEMM});
    const c_gemm g = (c_gemm)code("addmm", SH_CBLAS_GEMM(float), &(const sh_c_options){.adapter = SH_C_GEMM});
    const int m = 2, n = 2, k = 3, lda = 2, ldb = 3, ldc = 4;
    const float one = 1, two = 2, a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 0, 0, 1, 0};
    float c[8] = {10, 10, -1, -1, 10, 10, -1, -1};
    *seen = 0;
    SH_WITH_MODE(looks) { f("N", "N", &m, &n, &k, &two, a, &lda, b, &ldb, &one, c, &ldc); }
    cr_assert(eq(str, seen, (char *)":addmm_ "));
    cr_assert(eq(dbl, (double)c[0], 12));
    cr_assert(eq(dbl, (double)c[1], 14));
    cr_assert(eq(dbl, (double)c[4], 16));
    cr_assert(eq(dbl, (double)c[5], 18));
    cr_assert(eq(dbl, (double)c[2], -1));
    float d[4] = {NAN, NAN, NAN, NAN};
    g(101, 112, 111, 2, 2, 3, 1, a, 2, (const float[]){1, 0, 0, 1, 0, 0}, 2, 0, d, 2);
    cr_assert(eq(dbl, (double)d[0], 1));
    cr_assert(eq(dbl, (double)d[1], 3));
    cr_assert(eq(dbl, (double)d[3], 4));
    g(101, 111, 111, 2, 2, 3, 1, a, 2, b, 2, 0, d, 2);
    cr_assert(failed_with(SH_ERROR_VALUE, "gemm was called with lda = 2"));
    g(7, 111, 111, 2, 2, 3, 1, a, 3, b, 2, 0, d, 2);
    cr_assert(failed_with(SH_ERROR_VALUE, "order = 7"));
    const c_gemm plain =
        (c_gemm)code("mm", SH_CBLAS_GEMM(float), &(const sh_c_options){.adapter = SH_C_GEMM});
    plain(101, 111, 111, 2, 2, 3, 1, a, 3, b, 2, 0, d, 2);
    cr_assert(eq(dbl, (double)d[0], 4));
    plain(101, 111, 111, 2, 2, 3, 1, a, 3, b, 2, 5, d, 2);
    cr_assert(failed_with(SH_ERROR_VALUE, "beta = 5"));
}

/* ---- errors ---- */

static sh_status refuses(sh_mode *mode, sh_call *call) {
    (void)mode;
    return sh_fail(SH_ERROR_VALUE, "not %s", sh_call_name(call));
}

Test(closure, an_error_stays_pending_and_the_function_gives_nan) {
    const of_two add = (of_two)code("add", "float(float, float)", NULL);
    const of_arrays sqrt_all = (of_arrays)code("sqrt", "void(const float x[n], float y[n], size_t n)", NULL);
    int (*status)(const float *, float *, size_t) = (int (*)(const float *, float *, size_t))code(
        "sqrt", "int(const float x[n], float y[n], size_t n)", NULL);
    float y[1] = {5};
    SH_WITH_MODE(refuses) {
        cr_assert(isnan(add(1, 2)));
        sqrt_all(y, y, 1);
    }
    cr_assert(eq(dbl, (double)y[0], 5));
    cr_assert(eq(int, status(y, y, 1), SH_ERROR_VALUE));
    cr_assert(failed_with(SH_ERROR_VALUE, "not add"));
    cr_assert(eq(int, status(y, y, 1), 0));
    sqrt_all(NULL, y, 1);
    cr_assert(failed_with(SH_ERROR_NULL, "NULL"));
    void (*with_int)(const float *, float *, int) = (void (*)(const float *, float *, int))code(
        "sqrt", "void(const float x[n], float y[n], int n)", NULL);
    with_int(y, y, -1);
    cr_assert(failed_with(SH_ERROR_SHAPE, "n of the closure is -1"));
}

Test(closure, what_can_not_be_a_closure_is_refused) {
    cr_assert(refused("ad", "float(float)", SH_ERROR_OP, "there is no op ad; did you mean add"));
    cr_assert(refused(NULL, "float(float)", SH_ERROR_OP, "no op NULL"));
    cr_assert(refused("add", "float(float)", SH_ERROR_SIGNATURE, "argument other of add"));
    cr_assert(refused("sqrt", "void(const float x[n], float y[n])", SH_ERROR_SIGNATURE,
                      "no parameter says what n is"));
    cr_assert(refused("sqrt", "void(const float *x, float y[n], int n)", SH_ERROR_SIGNATURE,
                      "nothing says how large"));
    cr_assert(refused("sqrt", "void(const void x[n], float y[n], int n)", SH_ERROR_SIGNATURE,
                      "which dtype void is"));
    cr_assert(refused("sqrt", "unsigned(unsigned)", SH_ERROR_SIGNATURE, "no dtype"));
    const sh_c_options rows = {.adapter = SH_C_ROWS};
    cr_assert(eq(ptr, sh_closure_new("sqrt", "float(float)", &rows), NULL));
    cr_assert(failed_with(SH_ERROR_VALUE, "plain or SH_C_GEMM"));
    const sh_c_options unknown = {.given = SH_ARGUMENTS(SH_NAMED("dmi", 0))};
    cr_assert(eq(ptr, sh_closure_new("amax", "float(const float x[n], int n)", &unknown), NULL));
    cr_assert(failed_with(SH_ERROR_ARGUMENT, "no argument dmi"));
}

/* ---- the end ---- */

Test(closure, one_that_ended_is_an_error_not_a_crash) {
    sh_closure *c = sh_closure_new("add", "float(float, float)", NULL);
    const of_two add = (of_two)sh_closure_code(c);
    cr_assert(eq(int, sh_closure_free(c), SH_OK));
    cr_assert(eq(int, sh_closure_free(c), SH_ERROR_HANDLE));
    cr_assert(failed_with(SH_ERROR_HANDLE, "ended before"));
    cr_assert(eq(ptr, (void *)sh_closure_code(c), NULL));
    cr_assert(failed_with(SH_ERROR_HANDLE, "ended before"));
    cr_assert(isnan(add(1, 2)));
    cr_assert(failed_with(SH_ERROR_HANDLE, "called after its end"));
    cr_assert(eq(int, sh_closure_free(NULL), SH_ERROR_NULL));
    sh_clear_error();
}

Test(closure, a_thousand_come_and_go) {
    for (int i = 0; i < 1000; i++) {
        sh_closure *c = sh_closure_new("neg", "float(float)", NULL);
        cr_assert(eq(dbl, (double)((float (*)(float))sh_closure_code(c))((float)i), -i));
        cr_assert(eq(int, sh_closure_free(c), SH_OK));
    }
}

static sh_closure *itself;
static sh_status ends_it(sh_mode *mode, sh_call *call) {
    (void)mode;
    (void)call;
    return sh_closure_free(itself) < 0 ? SH_ERROR_HANDLE : SH_PASS;
}

Test(closure, one_that_ends_while_it_runs_ends_well) {
    itself = sh_closure_new("neg", "float(float)", NULL);
    float (*neg)(float) = (float (*)(float))sh_closure_code(itself);
    SH_WITH_MODE(ends_it) { cr_assert(eq(dbl, (double)neg(3), -3)); }
    cr_assert(isnan(neg(3)));
    sh_clear_error();
}

Test(closure, an_op_that_is_gone_is_an_error) {
    cr_assert(eq(int, sh_op_define("t::gone(Tensor x) -> Tensor", NULL, NULL), SH_OK));
    float (*f)(float) = (float (*)(float))code("t::gone", "float(float)", NULL);
    cr_assert(eq(int, sh_op_undefine("t::gone"), SH_OK));
    cr_assert(isnan(f(1)));
    cr_assert(failed_with(SH_ERROR_OP, "not defined any more"));
}

static bool makes_and_calls(void) {
    sh_closure *c = sh_closure_new("add", "float(float self, float other)",
                                   &(const sh_c_options){.given = SH_ARGUMENTS(SH_NAMED("alpha", 2))});
    if (!c) return false;
    const float z = ((of_two)sh_closure_code(c))(1, 2);
    const bool worked = !sh_error();
    sh_closure_free(c);
    return worked && z == 5;
}

Test(closure, every_allocation_may_fail) { fail_each("a closure", makes_and_calls); }

/* ---- who called ---- */

static char site[256];
static sh_status where_from(sh_mode *mode, sh_call *call) {
    (void)mode;
    snprintf(site, sizeof site, "%p", sh_call_site(call));
    return SH_PASS;
}

static __attribute__((noinline)) float calls_it(of_two f) {
    volatile float z = f(1, 2);
    return z;
}

Test(closure, the_site_of_a_call_is_in_the_program) {
    const of_two add = (of_two)code("add", "float(float, float)", NULL);
    SH_WITH_MODE(where_from) { calls_it(add); }
    const uintptr_t at = (uintptr_t)strtoull(site, NULL, 16), start = (uintptr_t)calls_it;
    cr_assert(at > start && at < start + 400, "%s, %p", site, (void *)start);
}
