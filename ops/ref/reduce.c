/* reduce.c - reductions of the ref backend: one result after the other, plain loops in double.
 *
 * Where PyTorch's answer shows that it computes in f32 (an infinite product, a mean whose sum overflows), the
 * loops round to f32 at that place. */
#include <math.h>

#include "ops/infer.h"
#include "ops/kernels.h"
#include "ops/ref/line.h"

/* Makes the result at `to` from the elements of `line`. */
typedef void fold(sh_dtype dtype, void *to, sh_line line, double parameter);

static sh_status each_result(sh_tensor *r, const sh_tensor *self, sh_ints dims, fold *make,
                             double parameter) {
    uint32_t mask;
    SH_TRY(sh_axes_mask("reduction", self, dims, &mask));
    SH_EACH_ELEMENT(r, at)
    make((sh_dtype)r->dtype, sh_element(r, at, r->ndim), sh_line_of(self, mask, r, at), parameter);
    return SH_OK;
}

static bool is_float(sh_dtype dtype) { return sh_dtype_kind_of(dtype) == SH_KIND_FLOAT; }

/* ---- sums ---- */

static void sum(sh_dtype dtype, void *to, sh_line line, double unused) {
    (void)unused;
    uint64_t integers = 0;
    double floats = 0;
    SH_EACH_OF_LINE(line) {
        if (is_float(dtype))
            floats += sh_line_f64(&line, dtype);
        else
            integers += (uint64_t)sh_line_i64(&line, dtype);
    }
    if (is_float(dtype))
        sh_store_f64(dtype, to, floats);
    else
        sh_store_i64(dtype, to, (int64_t)integers);
}

/* PyTorch rounds the sum to the result's dtype and then divides. */
static void mean(sh_dtype dtype, void *to, sh_line line, double unused) {
    sum(dtype, to, line, unused);
    sh_store_f64(dtype, to, sh_load_f64(dtype, to) / (double)line.count);
}

/* What is infinite in the dtype's arithmetic stays so. */
static double overflowed(sh_dtype dtype, double v) {
    return isinf(sh_line_round(dtype, v)) ? sh_line_round(dtype, v) : v;
}

static void product(sh_dtype dtype, void *to, sh_line line, double unused) {
    (void)unused;
    uint64_t integers = 1;
    double floats = 1;
    SH_EACH_OF_LINE(line) {
        if (is_float(dtype))
            floats = overflowed(dtype, floats * sh_line_f64(&line, dtype));
        else
            integers *= (uint64_t)sh_line_i64(&line, dtype);
    }
    if (is_float(dtype))
        sh_store_f64(dtype, to, floats);
    else
        sh_store_i64(dtype, to, (int64_t)integers);
}

sh_status sh_ref_sum(sh_tensor *r, sh_tensor *self, sh_ints dim, bool keepdim, sh_dtype dtype) {
    (void)keepdim, (void)dtype;
    return each_result(r, self, dim, sum, 0);
}
sh_status sh_ref_mean(sh_tensor *r, sh_tensor *self, sh_ints dim, bool keepdim, sh_dtype dtype) {
    (void)keepdim, (void)dtype;
    return each_result(r, self, dim, mean, 0);
}
sh_status sh_ref_prod(sh_tensor *r, sh_tensor *self, int64_t dim, bool keepdim, sh_dtype dtype) {
    (void)keepdim, (void)dtype;
    return each_result(r, self, sh_axes_of(&dim), product, 0);
}

/* ---- largest and smallest ---- */

/* Does the current element of the line come before the best so far? sign is 1 for the largest, -1 for the smallest. */
static bool is_better(const sh_line *line, const sh_line *best, double sign) {
    const sh_dtype dtype = (sh_dtype)line->t->dtype;
    if (!is_float(dtype)) {
        const int64_t v = sh_line_i64(line, dtype), b = sh_line_i64(best, dtype);
        return sign > 0 ? v > b : v < b;
    }
    const double v = sh_line_f64(line, dtype), b = sh_line_f64(best, dtype);
    return isnan(v) ? !isnan(b) : sign > 0 ? v > b : v < b;
}

/* The line standing at its best element; *place is how many came before. */
static sh_line best_of(sh_line line, double sign, int64_t *place) {
    sh_line best = line;
    int64_t at = 0;
    *place = 0;
    SH_EACH_OF_LINE(line) {
        if (is_better(&line, &best, sign)) {
            best = line;
            *place = at;
        }
        at++;
    }
    return best;
}

static void extreme(sh_dtype dtype, void *to, sh_line line, double sign) {
    int64_t place;
    const sh_line best = best_of(line, sign, &place);
    sh_line_cast(&best, dtype, to);
}

static void place_of_extreme(sh_dtype dtype, void *to, sh_line line, double sign) {
    int64_t place;
    best_of(line, sign, &place);
    sh_store_i64(dtype, to, place);
}

#define EXTREME(name, max, arg, sign)                                                                 \
    sh_status sh_ref_##name(sh_tensor *r, sh_tensor *self, sh_ints dim, bool keepdim) {               \
        (void)keepdim;                                                                                \
        return each_result(r, self, dim, extreme, sign);                                              \
    }                                                                                                 \
    sh_status sh_ref_##max(sh_tensor *r, sh_tensor *self) {                                           \
        return each_result(r, self, (sh_ints){NULL, 0}, extreme, sign);                               \
    }                                                                                                 \
    sh_status sh_ref_##max##_dim(sh_tensor *values, sh_tensor *indices, sh_tensor *self, int64_t dim, \
                                 bool keepdim) {                                                      \
        (void)keepdim;                                                                                \
        SH_TRY(each_result(values, self, (sh_ints){&dim, 1}, extreme, sign));                         \
        return each_result(indices, self, (sh_ints){&dim, 1}, place_of_extreme, sign);                \
    }                                                                                                 \
    sh_status sh_ref_##arg(sh_tensor *r, sh_tensor *self, int64_t dim, bool keepdim) {                \
        (void)keepdim;                                                                                \
        return each_result(r, self, sh_axes_of(&dim), place_of_extreme, sign);                        \
    }
EXTREME(amax, max, argmax, 1)
EXTREME(amin, min, argmin, -1)

/* ---- truth ---- */

/* Is there an element that is zero (looking for 0) or not (looking for 1)? */
static bool has(sh_line line, bool nonzero) {
    SH_EACH_OF_LINE(line) if ((sh_line_i64(&line, SH_B8) != 0) == nonzero) return true;
    return false;
}
static void any_of(sh_dtype dtype, void *to, sh_line line, double unused) {
    (void)unused;
    sh_store_i64(dtype, to, has(line, true));
}
static void all_of(sh_dtype dtype, void *to, sh_line line, double unused) {
    (void)unused;
    sh_store_i64(dtype, to, !has(line, false));
}

sh_status sh_ref_any(sh_tensor *r, sh_tensor *self, sh_ints dim, bool keepdim) {
    (void)keepdim;
    return each_result(r, self, dim, any_of, 0);
}
sh_status sh_ref_all(sh_tensor *r, sh_tensor *self, sh_ints dim, bool keepdim) {
    (void)keepdim;
    return each_result(r, self, dim, all_of, 0);
}

/* ---- var, std, norm ---- */

static double variance(sh_dtype dtype, sh_line line, double unbiased) {
    double total = 0, squares = 0;
    SH_EACH_OF_LINE(line) total += sh_line_f64(&line, dtype);
    const double center = total / (double)line.count;
    SH_EACH_OF_LINE(line) {
        const double d = sh_line_f64(&line, dtype) - center;
        squares += d * d;
    }
    return squares / fmax((double)line.count - unbiased, 0);
}

static void var(sh_dtype dtype, void *to, sh_line line, double unbiased) {
    sh_store_f64(dtype, to, variance(dtype, line, unbiased));
}
static void standard_deviation(sh_dtype dtype, void *to, sh_line line, double unbiased) {
    sh_store_f64(dtype, to, sqrt(variance(dtype, line, unbiased)));
}

sh_status sh_ref_var(sh_tensor *r, sh_tensor *self, sh_ints dim, bool unbiased, bool keepdim) {
    (void)keepdim;
    return each_result(r, self, dim, var, unbiased);
}
sh_status sh_ref_std(sh_tensor *r, sh_tensor *self, sh_ints dim, bool unbiased, bool keepdim) {
    (void)keepdim;
    return each_result(r, self, dim, standard_deviation, unbiased);
}

/* |x|^p; a power of 0 counts what is not 0. */
static double term(double x, double p) {
    if (p == 0) return x != 0;
    return p == 1 ? fabs(x) : p == 2 ? x * x : pow(fabs(x), p);
}

static double worse_or_nan(double best, double x, double p) {
    if (isnan(best) || isnan(x)) return NAN;
    return p > 0 ? fmax(best, x) : fmin(best, x);
}

/* Of nothing it is 0 for every p. */
static void norm(sh_dtype dtype, void *to, sh_line line, double p) {
    double total = 0, extreme_of = p > 0 ? 0 : INFINITY;
    SH_EACH_OF_LINE(line) {
        const double x = sh_line_f64(&line, dtype);
        if (isinf(p))
            extreme_of = worse_or_nan(extreme_of, fabs(x), p);
        else
            total += sh_line_round(dtype, term(x, p));
    }
    total = sh_line_round(dtype, total);
    const double root = p == 0 || p == 1 ? total : p == 2 ? sqrt(total) : pow(total, 1 / p);
    sh_store_f64(dtype, to, line.count == 0 ? 0 : isinf(p) ? extreme_of : root);
}

sh_status sh_ref_norm(sh_tensor *r, sh_tensor *self, sh_scalar p, sh_ints dim, bool keepdim, sh_dtype dtype) {
    (void)keepdim, (void)dtype;
    return each_result(r, self, dim, norm, p.tag == SH_TAG_NONE ? 2 : sh_value_as_double(p));
}
