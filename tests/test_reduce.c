/* Reductions, softmax and running sums: the fast loops against the plain ones over random shapes, layouts and dtypes, at
 * every level that this CPU has; and what golden cases of a few elements can't show. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/scope.h"
#include "ops/cpu/vmath.h"
#include "ops/ops.h"
#include "tests/golden.h"

/* ---- random tensors ---- */

static uint64_t state = 1;
static int64_t pick(int64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)below);
}

/* Where each axis stands in memory, and how many elements it skips; once in a while one repeats. */
static int64_t choose_strides(int ndim, const int64_t *sizes, int64_t *strides) {
    int order[SH_MAX_DIMS];
    int64_t reach = 1;
    for (int i = 0; i < ndim; i++) {
        const int at = (int)pick(i + 1);
        memmove(order + at + 1, order + at, (size_t)(i - at) * sizeof *order);
        order[at] = i;
    }
    for (int i = 0; i < ndim; i++) {
        const int64_t step = pick(4) ? 1 : 2, size = sizes[order[i]];
        strides[order[i]] = pick(12) ? reach * step : 0;
        if (strides[order[i]]) reach *= step * (size > 0 ? size : 1);
    }
    return reach;
}

static sh_tensor *random_tensor(sh_dtype dtype, int ndim, const int64_t *sizes) {
    int64_t strides[SH_MAX_DIMS];
    const int64_t reach = choose_strides(ndim, sizes, strides);
    char fill[64];
    sh_tensor *storage = sh_tensor_new(dtype, SH_SIZES(reach));
    snprintf(fill, sizeof fill, "u(%d,%d,3)", (int)pick(1 << 20), dtype == SH_U8 ? 0 : -3);
    golden_fill(storage, fill);
    return sh_tensor_as_strided(storage, (sh_ints){sizes, (size_t)ndim}, (sh_ints){strides, (size_t)ndim}, 0);
}

/* Mostly small, sometimes longer than a group of results or a piece of a line. */
static int choose_sizes(int64_t *sizes) {
    const int ndim = (int)pick(5);
    const int64_t most = ndim == 1 ? 9000 : ndim == 2 ? 1200 : 40;
    for (int i = 0; i < ndim; i++)
        sizes[i] = pick(30) == 0 ? 0 : pick(3) == 0 && i < 3 ? 1 + pick(most) : 1 + pick(7);
    return ndim;
}

/* ---- comparison ---- */

typedef struct example {
    const char *op;
    sh_argument arguments[4];
    size_t n;
    int64_t terms; /* in each result, for the tolerance */
    char text[200];
} example;

static double epsilon(sh_dtype dtype) {
    return dtype == SH_F64 ? 0x1p-52 : dtype == SH_F16 ? 0x1p-10 : dtype == SH_BF16 ? 0x1p-7 : 0x1p-23;
}

static void compare(const example *e, const sh_tensor *got, const sh_tensor *expected) {
    cr_assert(eq(int, (int)sh_tensor_dtype(got), (int)sh_tensor_dtype(expected)), "%s", e->text);
    cr_assert(eq(i64, sh_tensor_numel(got), sh_tensor_numel(expected)), "%s", e->text);
    const bool is_float = sh_dtype_kind_of(sh_tensor_dtype(got)) == SH_KIND_FLOAT;
    const double ulps = strcmp(e->op, "prod") == 0 ? 4 + 2 * sqrt((double)e->terms) : 8;
    for (int64_t i = 0; i < sh_tensor_numel(got); i++) {
        if (!is_float) {
            cr_assert(eq(i64, golden_int_at(got, i), golden_int_at(expected, i)), "%s at %lld", e->text,
                      (long long)i);
            continue;
        }
        const double a = golden_float_at(got, i), b = golden_float_at(expected, i);
        const double terms = (double)e->terms,
                     slack = sh_tensor_dtype(got) == SH_F64 ? 3 * terms * 0x1p-52 : 3 * sqrt(terms) * 0x1p-23;
        const double allowed = ulps * epsilon(sh_tensor_dtype(got)) * fabs(b) + slack;
        const bool close = (isnan(a) && isnan(b)) || a == b || fabs(a - b) <= allowed;
        cr_assert(close, "%s at %lld: %.9g, not %.9g", e->text, (long long)i, a, b);
    }
}

static sh_status call_on(const char *backend, const example *e, sh_value *results) {
    sh_status status = SH_OK;
    SH_WITH_BACKEND(backend) status = sh_call_by_name(e->op, e->arguments, e->n, results);
    sh_clear_error();
    return status;
}

/* The plain loops know no level: they run once for all of the fast ones'. */
static void run(const example *e) {
    sh_value expected[SH_MAX_RESULTS] = {{0, 0, {0}}};
    const sh_status plain = call_on("ref", e, expected);
    const sh_vmath_level before = sh_vmath_level_now();
    for (int level = 0; level < SH_VMATH_LEVEL_COUNT; level++) {
        if (!sh_vmath_force_level((sh_vmath_level)level)) continue;
        sh_value got[SH_MAX_RESULTS] = {{0, 0, {0}}};
        const sh_status status = call_on("cpu", e, got);
        cr_assert(eq(int, status, plain), "%s", e->text);
        for (int k = 0; status >= 0 && k < SH_MAX_RESULTS && got[k].tag == SH_TAG_TENSOR; k++)
            compare(e, got[k].as.tensor, expected[k].as.tensor);
    }
    sh_vmath_force_level(before);
}

static void describe(example *e, const sh_tensor *t) {
    size_t n =
        (size_t)snprintf(e->text, sizeof e->text, "%s of %s", e->op, sh_dtype_name(sh_tensor_dtype(t)));
    for (int i = 0; i < sh_tensor_ndim(t); i++)
        n += (size_t)snprintf(e->text + n, sizeof e->text - n, " %lld{%lld}", (long long)sh_tensor_size(t, i),
                              (long long)sh_tensor_stride(t, i));
    for (size_t i = 1; i < e->n; i++)
        n += (size_t)snprintf(e->text + n, sizeof e->text - n, " %s=%g", e->arguments[i].name,
                              sh_value_as_double(e->arguments[i].value));
}

static void at_every_level(void (*check)(void)) {
    const sh_vmath_level before = sh_vmath_level_now();
    for (int level = 0; level < SH_VMATH_LEVEL_COUNT; level++)
        if (sh_vmath_force_level((sh_vmath_level)level)) check();
    sh_vmath_force_level(before);
}

/* ---- the fast loops are the plain ones ---- */

static const sh_dtype ALL[] = {SH_F32, SH_F64, SH_F16, SH_BF16, SH_I64, SH_I32, SH_I16, SH_I8, SH_U8, SH_B8};
static const struct {
    const char *op;
    bool needs_dim, dims, dtype, keepdim;
} OPS[] = {
    {"sum", false, true, true, true},          {"mean", false, true, true, true},
    {"prod", false, false, true, true},        {"amax", false, true, false, true},
    {"amin", false, true, false, true},        {"max.dim", true, false, false, true},
    {"min.dim", true, false, false, true},     {"argmax", false, false, false, true},
    {"argmin", false, false, false, true},     {"any", false, true, false, true},
    {"all", false, true, false, true},         {"var", false, true, false, true},
    {"std", false, true, false, true},         {"norm", false, true, false, true},
    {"logsumexp", true, true, false, true},    {"softmax", true, false, true, false},
    {"log_softmax", true, false, true, false}, {"cumsum", true, false, true, false},
};

static void random_example(void) {
    static const double powers[] = {0, 1, 2, 3, -1, 0.5, INFINITY, -INFINITY};
    int64_t sizes[SH_MAX_DIMS], dims[2];
    const size_t k = (size_t)pick(sizeof OPS / sizeof *OPS);
    const int ndim = choose_sizes(sizes);
    sh_tensor *t = random_tensor(ALL[pick(sizeof ALL / sizeof *ALL)], ndim, sizes);
    example e = {.op = OPS[k].op, .n = 1, .terms = sh_tensor_numel(t)};
    e.arguments[0] = (sh_argument){NULL, sh_value_tensor(t)};
    dims[0] = pick(ndim ? ndim : 1);
    dims[1] = ndim > 1 ? (dims[0] + 1) % ndim - ndim : 0;
    const bool two = OPS[k].dims && ndim > 1 && pick(3) == 0;
    if (OPS[k].needs_dim || pick(4))
        e.arguments[e.n++] =
            (sh_argument){"dim", two ? sh_value_ints((sh_ints){dims, 2}) : sh_value_int(dims[0])};
    if (OPS[k].keepdim && pick(2)) e.arguments[e.n++] = (sh_argument){"keepdim", sh_value_flag(true)};
    if (OPS[k].dtype && pick(3) == 0)
        e.arguments[e.n++] = (sh_argument){"dtype", sh_value_dtype(ALL[pick(sizeof ALL / sizeof *ALL)])};
    if (strcmp(e.op, "norm") == 0) e.arguments[e.n++] = (sh_argument){"p", sh_value_float(powers[pick(8)])};
    describe(&e, t);
    run(&e);
}

Test(reduce, cpu_equals_ref_over_random_shapes_layouts_and_dtypes) {
    for (int i = 0; i < 6000; i++) SH_SCOPE random_example();
}

/* ---- long ones ---- */

static double largest_difference(const sh_tensor *a, const sh_tensor *b) {
    double most = 0;
    for (int64_t i = 0; i < sh_tensor_numel(a); i++)
        most = fmax(most, fabs(golden_float_at(a, i) - golden_float_at(b, i)));
    return most;
}

static sh_tensor *filled(int64_t n, const char *fill) {
    sh_tensor *t = sh_tensor_new(SH_F32, SH_SIZES(n));
    golden_fill(t, fill);
    return t;
}

static void check_long_sum(void) {
    SH_SCOPE {
        sh_tensor *t = filled(3000001, "lin(0.1,0)");
        cr_expect(epsilon_eq(dbl, sh_item(sh_sum(t)), 3000001 * (double)0.1f, 0.08));
        cr_expect(epsilon_eq(dbl, sh_item(sh_mean(t)), 0.1, 4e-8));
        cr_expect(lt(dbl, sh_item(sh_var(t)), 1e-16));
        sh_tensor *columns = sh_tensor_as_strided(t, SH_SIZES(300000, 10), SH_SIZES(10, 1), 0);
        cr_expect(epsilon_eq(dbl, sh_item(sh_amax(sh_sum(columns, .dim = 0))), 30000.0, 0.008));
    }
}
Test(reduce, long_sums_keep_their_digits) { at_every_level(check_long_sum); }

/* Var by the textbook's difference of two large numbers would have no digit left. */
static void check_var_far_from_zero(void) {
    SH_SCOPE {
        sh_tensor *t = filled(4096, "lin(100000,1)"),
                  *columns = sh_tensor_as_strided(t, SH_SIZES(1024, 4), SH_SIZES(4, 1), 0);
        const double expected = (4096.0 * 4096 - 1) / 12;
        cr_expect(epsilon_eq(dbl, sh_item(sh_var(t, .unbiased = false)), expected, expected * 1e-7));
        sh_tensor *v = sh_var(columns, .dim = 0, .unbiased = false);
        cr_expect(epsilon_eq(dbl, sh_tensor_at(v, SH_SIZES(3).at), (1024.0 * 1024 - 1) / 12 * 16, 0.2));
    }
}
Test(reduce, var_far_from_zero_keeps_its_digits) { at_every_level(check_var_far_from_zero); }

static void check_places(void) {
    for (int64_t at = 0; at < 5000; at += 313) {
        SH_SCOPE {
            sh_tensor *t = filled(5000, "lin(0,0)");
            float *x = sh_tensor_data(t);
            x[at] = x[4999] = 1;
            cr_expect(eq(i64, sh_item_int(sh_argmax(t)), at));
            x[at] = -1;
            cr_expect(eq(i64, sh_item_int(sh_argmin(t)), at));
            x[(at + 2500) % 5000] = NAN;
            x[(at + 2600) % 5000] = NAN;
            const int64_t first =
                (at + 2500) % 5000 < (at + 2600) % 5000 ? (at + 2500) % 5000 : (at + 2600) % 5000;
            cr_expect(eq(i64, sh_item_int(sh_argmax(t)), first));
            cr_expect(eq(i64, sh_item_int(sh_argmin(t)), first));
            cr_expect(isnan(sh_item(sh_max(t))) && isnan(sh_item(sh_amin(t))));
        }
    }
}
Test(reduce, first_place_and_first_nan_win_wherever_they_are) { at_every_level(check_places); }

static void check_long_softmax(void) {
    SH_SCOPE {
        sh_tensor *t = filled(20000, "u(7,-20,20)"), *y = sh_softmax(t, 0);
        cr_expect(epsilon_eq(dbl, sh_item(sh_sum(y)), 1.0, 1e-6));
        sh_tensor *logarithms = sh_log_softmax(t, 0);
        for (int64_t i = 0; i < 20000; i += 37)
            cr_expect(epsilon_eq(dbl, log(golden_float_at(y, i)), golden_float_at(logarithms, i), 1e-5));
    }
}
Test(reduce, softmax_of_a_long_line_sums_to_one) { at_every_level(check_long_softmax); }

/* ---- targets ---- */

Test(reduce, out_gives_sums_their_dtype) {
    SH_SCOPE {
        sh_tensor *t = SH_FLOATS(1.75f, 2.5f, -1.25f), *whole = sh_tensor_new(SH_I64, SH_SCALAR_SHAPE);
        cr_assert(eq(ptr, sh_sum(t, .out = whole), whole));
        cr_expect(eq(i64, sh_item_int(whole), 2), "1 + 2 - 1, not trunc(3)");
        sh_tensor *line = sh_tensor_copy_of((const int8_t[]){100, 100}, SH_I8, SH_SIZES(2));
        sh_cumsum_(line, 0);
        cr_expect(eq(i64, golden_int_at(line, 1), -56));
        cr_expect(sh_any(t, .out = whole) == NULL, "any gives bool and nothing else");
        sh_clear_error();
    }
}

Test(reduce, softmax_and_cumsum_may_write_their_argument) {
    SH_SCOPE {
        sh_tensor *t = filled(3000, "u(3,-4,4)"),
                  *m = sh_tensor_as_strided(t, SH_SIZES(30, 40), SH_SIZES(2, 70), 5);
        for (int dim = 0; dim < 2; dim++) {
            sh_tensor *expected = sh_softmax(m, dim),
                      *copy = sh_tensor_copy_of(sh_tensor_data(t), SH_F32, SH_SIZES(3000));
            sh_tensor *strided = sh_tensor_as_strided(copy, SH_SIZES(30, 40), SH_SIZES(2, 70), 5);
            cr_assert(eq(ptr, sh_softmax(strided, dim, .out = strided), strided));
            cr_expect(lt(dbl, largest_difference(strided, expected), 1e-6));
        }
    }
}

/* ---- errors ---- */

static void expect_error(const sh_tensor *result, sh_status code, const char *part) {
    cr_assert(result == NULL && sh_error(), "expected an error with %s", part);
    cr_expect(eq(int, sh_error()->code, code));
    cr_expect(strstr(sh_error()->message, part) != NULL, "%s is not in: %s", part, sh_error()->message);
    sh_clear_error();
}

Test(reduce, errors_name_dim_and_dtype) {
    SH_SCOPE {
        sh_tensor *none = sh_tensor_new(SH_F32, SH_SIZES(2, 0)), *whole = SH_INT64S(1, 2),
                  *m = filled(6, "lin(0,1)");
        expect_error(sh_amax(none, .dim = 1), SH_ERROR_SHAPE, "amax: dim 1 of self, f32[2, 0], has size 0");
        expect_error(sh_argmin(none), SH_ERROR_SHAPE, "argmin: self is f32[2, 0] and has no elements");
        expect_error(sh_max_dim(none, -1).values, SH_ERROR_SHAPE, "max: dim 1");
        expect_error(sh_mean(whole), SH_ERROR_DTYPE, "mean: self is i64[2], expected a tensor of floats");
        expect_error(sh_mean(m, .dtype = SH_I32), SH_ERROR_DTYPE, "mean: dtype is i32");
        expect_error(sh_std(whole), SH_ERROR_DTYPE, "std: self is i64[2]");
        expect_error(sh_softmax(whole, 0), SH_ERROR_DTYPE, "softmax: self is i64[2]");
        expect_error(sh_sum(m, .dim = SH_DIMS(0, -1)), SH_ERROR_VALUE, "sum: dim 0 is given twice");
        expect_error(sh_cumsum(m, 1), SH_ERROR_INDEX, "cumsum: dim is 1");
        expect_error(sh_cumsum(m, 0, .dtype = SH_B8), SH_ERROR_DTYPE, "cumsum: dtype is bool");
    }
}
