/* Matrix products: the fast kernels against the plain loops over random shapes, layouts and dtypes, results that are
 * operands too, and numbers that must not be looked at. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <string.h>

#include "dispatch/scope.h"
#include "ops/compare.h"
#include "ops/ops.h"
#include "tests/against_ref.h"

static const sh_dtype DTYPES[] = {SH_F32, SH_F32, SH_F32, SH_F64, SH_F64, SH_BF16,
                                  SH_F16, SH_I64, SH_I32, SH_I16, SH_I8,  SH_U8};

static sh_dtype pick_dtype(void) { return DTYPES[ar_pick(sizeof DTYPES / sizeof *DTYPES)]; }
/* Small ones for the tile, now and then one for oneDNN. */
static int64_t pick_size(void) { return ar_pick(6) ? ar_pick(12) : ar_pick(90); }

static sh_ints batched(int64_t *at, size_t batch, const int64_t *sizes, int64_t rows, int64_t columns) {
    for (size_t i = 0; i < batch; i++) at[i] = ar_pick(4) ? sizes[i] : 1;
    at[batch] = rows;
    at[batch + 1] = columns;
    return (sh_ints){at, batch + 2};
}

static void random_matmul(void) {
    const int64_t m = pick_size(), n = pick_size(), k = pick_size(),
                  batch[] = {1 + ar_pick(3), 1 + ar_pick(3)};
    int64_t a[4], b[4];
    const sh_dtype dtype = pick_dtype();
    const size_t na = (size_t)ar_pick(3), nb = (size_t)ar_pick(3);
    const sh_ints left = ar_pick(6) ? batched(a, na, batch + 2 - na, m, k) : SH_SIZES(k);
    const sh_ints right = ar_pick(6) ? batched(b, nb, batch + 2 - nb, k, n) : SH_SIZES(k);
    ar_check((ar_call){
        "matmul",
        {{NULL, sh_value_tensor(ar_tensor(dtype, left))}, {NULL, sh_value_tensor(ar_tensor(dtype, right))}},
        2,
        k});
}

static void random_linear(void) {
    const int64_t m = pick_size(), n = pick_size(), k = pick_size();
    const sh_dtype dtype = pick_dtype();
    const sh_ints input = ar_pick(3) == 0 ? SH_SIZES(k) : ar_pick(2) ? SH_SIZES(m, k) : SH_SIZES(3, m, k);
    sh_tensor *bias = ar_pick(3) ? ar_tensor(dtype, SH_SIZES(ar_pick(4) ? n : 1)) : NULL;
    ar_check((ar_call){"linear",
                       {{NULL, sh_value_tensor(ar_tensor(dtype, input))},
                        {NULL, sh_value_tensor(ar_tensor(dtype, SH_SIZES(n, k)))},
                        {NULL, sh_value_tensor(bias)}},
                       3,
                       k});
}

static void random_addmm(void) {
    static const double factors[] = {0, 1, 1, 2, -3};
    const int64_t m = pick_size(), n = pick_size(), k = pick_size();
    const sh_dtype dtype = pick_dtype();
    const sh_ints self = ar_pick(2) ? SH_SIZES(m, n) : ar_pick(2) ? SH_SIZES(n) : SH_SIZES(m, 1);
    ar_check((ar_call){"addmm",
                       {{NULL, sh_value_tensor(ar_tensor(dtype, self))},
                        {NULL, sh_value_tensor(ar_tensor(dtype, SH_SIZES(m, k)))},
                        {NULL, sh_value_tensor(ar_tensor(dtype, SH_SIZES(k, n)))},
                        {"beta", sh_value_float(factors[ar_pick(5)])},
                        {"alpha", sh_value_float(factors[ar_pick(5)])}},
                       5,
                       9 * k});
}

static void check_products(void) {
    ar_begin();
    for (int i = 0; i < 2000; i++) SH_SCOPE {
            random_matmul();
            random_linear();
            random_addmm();
        }
}

Test(linalg, products_on_cpu_equal_ref) { ar_at_every_level(check_products); }

/* So large that threads share them. */
Test(linalg, large_products_on_cpu_equal_ref) {
    static const sh_dtype dtypes[] = {SH_F32, SH_F64, SH_BF16, SH_I32};
    ar_begin();
    for (size_t i = 0; i < 4; i++) SH_SCOPE {
            sh_tensor *a = ar_contiguous(dtypes[i], SH_SIZES(210, 170)),
                      *b = ar_contiguous(dtypes[i], SH_SIZES(170, 230));
            ar_check((ar_call){"mm", {{NULL, sh_value_tensor(a)}, {NULL, sh_value_tensor(b)}}, 2, 170});
        }
}

static double at(const sh_tensor *t, int64_t i, int64_t j) {
    return sh_tensor_at(t, (const int64_t[]){i, j});
}

Test(linalg, a_result_may_be_an_operand) {
    static const char *const backends[] = {"cpu", "ref"};
    for (size_t i = 0; i < 2; i++)
        SH_WITH_BACKEND(backends[i]) SH_SCOPE {
                float data[] = {1, 2, 3, 4};
                sh_tensor *x = sh_from_data(data, SH_F32, SH_SIZES(2, 2), (sh_ints){NULL, 0}, NULL, NULL);
                cr_assert(eq(ptr, sh_matmul(x, x, .out = x), x));
                cr_expect(eq(dbl, at(x, 0, 0), 7));
                cr_expect(eq(dbl, at(x, 0, 1), 10));
                cr_expect(eq(dbl, at(x, 1, 1), 22));
                cr_assert(eq(ptr, sh_addmm_(x, x, x, .beta = 2, .alpha = 1), x));
                cr_expect(eq(dbl, at(x, 0, 0), 2 * 7 + 7 * 7 + 10 * 15));
            }
}

Test(linalg, what_is_times_zero_is_not_looked_at) {
    SH_SCOPE {
        sh_tensor *bad = sh_full(SH_SIZES(2, 2), NAN), *good = sh_ones(SH_SIZES(2, 2));
        cr_expect(eq(dbl, at(sh_addmm(bad, good, good, .beta = 0), 0, 0), 2));
        cr_expect(eq(dbl, at(sh_addmm(good, bad, good, .alpha = 0), 0, 0), 1));
    }
}

/* A mode at the dispatch level sees what linear is made of; the result is the same. */
static sh_status count(sh_mode *mode, sh_call *call) {
    (void)call;
    ++*(int *)sh_mode_user(mode);
    return SH_PASS;
}

static sh_tensor *under_a_dispatch_mode(sh_tensor *x, sh_tensor *w, sh_tensor *b, int *seen) {
    sh_mode *mode = sh_mode_new(count, &(sh_mode_options){.level = SH_LEVEL_DISPATCH, .user = seen});
    sh_tensor *y = NULL;
    SH_WITH_MODE(mode) { y = sh_linear(x, w, .bias = b); }
    sh_mode_release(mode);
    return y;
}

Test(linalg, linear_is_made_of_products_for_who_looks) {
    SH_SCOPE {
        int seen = 0;
        sh_tensor *x = sh_rand(SH_SIZES(3, 5)), *w = sh_rand(SH_SIZES(4, 5)), *b = sh_rand(SH_SIZES(4));
        sh_tensor *y = under_a_dispatch_mode(x, w, b, &seen);
        cr_expect(eq(int, seen, 3)); /* transpose, matmul, add */
        cr_expect(sh_allclose(y, sh_linear(x, w, .bias = b)));
    }
}

/* ---- memory ---- */

static sh_tensor *square, *steps, *half;

static bool multiply(void) { return sh_matmul(square, square) != NULL; }
static bool multiply_itself(void) { return sh_addmm_(square, square, square, .alpha = 2) != NULL; }
static bool multiply_steps(void) { return sh_matmul(steps, steps) != NULL; }
static bool multiply_f64(void) { return sh_matmul(sh_to(steps, SH_F64), sh_to(steps, SH_F64)) != NULL; }
static bool multiply_half(void) { return sh_matmul(half, half) != NULL; }
static bool add_half(void) { return sh_addmm(half, half, half, .beta = 2) != NULL; }

Test(linalg, each_allocation_may_fail) {
    SH_SCOPE {
        square = sh_rand(SH_SIZES(40, 40));
        steps = sh_tensor_as_strided(sh_rand(SH_SIZES(80 * 80)), SH_SIZES(40, 40), SH_SIZES(160, 2), 0);
        half = sh_to(square, SH_BF16);
        ar_fail_each("matmul", multiply);
        ar_fail_each("addmm_ of itself", multiply_itself);
        ar_fail_each("matmul of a strided tensor", multiply_steps);
        ar_fail_each("matmul of f64", multiply_f64);
        ar_fail_each("matmul of bf16", multiply_half);
        ar_fail_each("addmm of bf16", add_half);
    }
}
