/* unary.c - elementwise kernels of one operand of the ref backend: unary ops, activations, copy. */
#include <math.h>
#include <string.h>

#include "ops/element.h"
#include "ops/kernels.h"

typedef double real(double x);
typedef int64_t whole(int64_t x);

static sh_dtype dtype_of(const sh_tensor *t) { return (sh_dtype)t->dtype; }
static bool is_float(sh_dtype dtype) { return sh_dtype_kind_of(dtype) == SH_KIND_FLOAT; }

static double get(const sh_tensor *t, const int64_t *index) {
    return sh_load_f64(dtype_of(t), sh_element(t, index, t->ndim));
}
static void put(sh_tensor *t, const int64_t *index, double v) {
    sh_store_f64(dtype_of(t), sh_element(t, index, t->ndim), v);
}

/* Floats, and integers that became floats: f32, as the default dtype is. */
static sh_status map(sh_tensor *r, const sh_tensor *self, real *function) {
    const bool becomes = !is_float(dtype_of(self));
    SH_EACH_ELEMENT(r, i) {
        const double x = get(self, i);
        put(r, i, function(becomes ? (double)(float)x : x));
    }
    return SH_OK;
}

/* Ops that keep integers. */
static sh_status map_whole(sh_tensor *r, const sh_tensor *self, real *function, whole *integer) {
    if (is_float(dtype_of(r))) return map(r, self, function);
    SH_EACH_ELEMENT(r, i) {
        const int64_t x = sh_load_i64(dtype_of(self), sh_element(self, i, r->ndim));
        sh_store_i64(dtype_of(r), sh_element(r, i, r->ndim), integer(x));
    }
    return SH_OK;
}

#define REAL(name, value) \
    static double name(double x) { return value; }
#define WHOLE(name, value) \
    static int64_t name(int64_t x) { return value; }
#define KERNEL(name, function) \
    sh_status sh_ref_##name(sh_tensor *r, sh_tensor *self) { return map(r, self, function); }
#define KERNEL_WHOLE(name, function, integer) \
    sh_status sh_ref_##name(sh_tensor *r, sh_tensor *self) { return map_whole(r, self, function, integer); }

/* ---- functions of floats ---- */

REAL(reciprocal_root, 1 / sqrt(x))
REAL(inverse, 1 / x)
REAL(logistic, x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)))
KERNEL(exp, exp)
KERNEL(expm1, expm1)
KERNEL(exp2, exp2)
KERNEL(log, log)
KERNEL(log1p, log1p)
KERNEL(log2, log2)
KERNEL(log10, log10)
KERNEL(sqrt, sqrt)
KERNEL(rsqrt, reciprocal_root)
KERNEL(reciprocal, inverse)
KERNEL(sin, sin)
KERNEL(cos, cos)
KERNEL(tan, tan)
KERNEL(asin, asin)
KERNEL(acos, acos)
KERNEL(atan, atan)
KERNEL(sinh, sinh)
KERNEL(cosh, cosh)
KERNEL(tanh, tanh)
KERNEL(erf, erf)
KERNEL(erfc, erfc)
KERNEL(sigmoid, logistic)

/* ---- functions that keep the dtype ---- */

REAL(negative, -x)
REAL(sign, (x > 0) - (x < 0))
REAL(squared, x *x)
WHOLE(itself, x)
WHOLE(int_negative, (int64_t)(0 - (uint64_t)x))
WHOLE(int_absolute, x < 0 ? int_negative(x) : x)
WHOLE(int_sign, (x > 0) - (x < 0))
WHOLE(int_squared, (int64_t)((uint64_t)x *(uint64_t)x))
WHOLE(flipped, ~x)
KERNEL_WHOLE(neg, negative, int_negative)
KERNEL_WHOLE(abs, fabs, int_absolute)
KERNEL_WHOLE(sign, sign, int_sign)
KERNEL_WHOLE(square, squared, int_squared)
KERNEL_WHOLE(floor, floor, itself)
KERNEL_WHOLE(ceil, ceil, itself)
KERNEL_WHOLE(trunc, trunc, itself)

sh_status sh_ref_bitwise_not(sh_tensor *r, sh_tensor *self) {
    return r->dtype == SH_B8 ? sh_ref_logical_not(r, self) : map_whole(r, self, NULL, flipped);
}

/* What is rounded is the product as the dtype has it: whether that is a tie decides between two numbers. */
sh_status sh_ref_round(sh_tensor *r, sh_tensor *self, int64_t decimals) {
    if (decimals == 0 || !is_float(dtype_of(r))) return map_whole(r, self, rint, itself);
    const double power = pow(10, fabs((double)decimals));
    SH_EACH_ELEMENT(r, i) {
        const double x = get(self, i), scaled = decimals > 0 ? x * power : x / power,
                     nearest = rint(dtype_of(r) == SH_F64 ? scaled : (double)(float)scaled);
        put(r, i, decimals > 0 ? nearest / power : nearest * power);
    }
    return SH_OK;
}

/* ---- tests ---- */

REAL(is_nan, isnan(x))
REAL(is_inf, isinf(x) != 0)
REAL(is_finite, isfinite(x))
REAL(is_zero, x == 0)
KERNEL(isnan, is_nan)
KERNEL(isinf, is_inf)
KERNEL(isfinite, is_finite)
KERNEL(logical_not, is_zero)

/* ---- activations ---- */

REAL(six, x<0 ? 0 : x> 6 ? 6 : x)
REAL(positive, x < 0 ? 0 : x)
REAL(times_logistic, x *logistic(x))
REAL(gauss, 0.5 * x * erfc(-x * M_SQRT1_2))
REAL(gauss_tanh, x *logistic(2 * M_2_SQRTPI * M_SQRT1_2 * (x + 0.044715 * x * x * x)))
REAL(hard_logistic, six(x + 3) / 6)
REAL(times_hard_logistic, x *hard_logistic(x))
WHOLE(int_positive, x < 0 ? 0 : x)
WHOLE(int_six, x<0 ? 0 : x> 6 ? 6 : x)
KERNEL_WHOLE(relu, positive, int_positive)
KERNEL_WHOLE(relu6, six, int_six)
KERNEL(silu, times_logistic)
KERNEL(hardsigmoid, hard_logistic)
KERNEL(hardswish, times_hard_logistic)

sh_status sh_ref_gelu(sh_tensor *r, sh_tensor *self, const char *approximate) {
    return map(r, self, strcmp(approximate, "tanh") == 0 ? gauss_tanh : gauss);
}

/* Integers are bounded by integers. */
sh_status sh_ref_hardtanh(sh_tensor *r, sh_tensor *self, sh_scalar min_val, sh_scalar max_val) {
    if (is_float(dtype_of(r))) return sh_ref_clamp(r, self, min_val, max_val);
    return sh_ref_clamp(r, self, sh_value_int(sh_value_as_int(min_val)),
                        sh_value_int(sh_value_as_int(max_val)));
}

sh_status sh_ref_leaky_relu(sh_tensor *r, sh_tensor *self, sh_scalar negative_slope) {
    SH_EACH_ELEMENT(r, i) {
        const double x = get(self, i);
        put(r, i, x > 0 ? x : x * sh_value_as_double(negative_slope));
    }
    return SH_OK;
}

sh_status sh_ref_elu(sh_tensor *r, sh_tensor *self, sh_scalar alpha, sh_scalar scale, sh_scalar input_scale) {
    const double a = sh_value_as_double(alpha), s = sh_value_as_double(scale),
                 inner = sh_value_as_double(input_scale);
    SH_EACH_ELEMENT(r, i) {
        const double x = get(self, i);
        put(r, i, x > 0 ? s * x : s * a * expm1(inner * x));
    }
    return SH_OK;
}

sh_status sh_ref_softplus(sh_tensor *r, sh_tensor *self, sh_scalar beta, sh_scalar threshold) {
    const double b = sh_value_as_double(beta), limit = sh_value_as_double(threshold);
    SH_EACH_ELEMENT(r, i) {
        const double x = get(self, i);
        put(r, i, b * x > limit ? x : log1p(exp(b * x)) / b);
    }
    return SH_OK;
}

/* ---- copying ---- */

sh_status sh_ref_copy(sh_tensor *r, sh_tensor *self, sh_tensor *src, bool non_blocking) {
    (void)self, (void)non_blocking;
    SH_EACH_ELEMENT(r, i) {
        const char *at = sh_element(src, i, r->ndim);
        char *to = sh_element(r, i, r->ndim);
        if (is_float(dtype_of(src)))
            sh_store_f64(dtype_of(r), to, sh_load_f64(dtype_of(src), at));
        else
            sh_store_i64(dtype_of(r), to, sh_load_i64(dtype_of(src), at));
    }
    return SH_OK;
}
