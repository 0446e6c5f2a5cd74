/* pointwise.c - elementwise kernels of the ref backend: plain loops over single elements.
 *
 * Arguments are rounded to the dtype that they promote to; then floats compute in double, integers and bool
 * in int64_t, sums and products of them modulo 2^64. */
#include <math.h>
#include <string.h>

#include "ops/element.h"
#include "ops/kernels.h"
#include "ops/promote.h"

static bool is_float(sh_dtype dtype) { return sh_dtype_kind_of(dtype) == SH_KIND_FLOAT; }

/* An element, rounded to the dtype `common`. */
typedef union element {
    char bytes[8];
    int64_t widest;
} element;

static element element_in(sh_dtype common, const sh_tensor *t, const int64_t *index, int ndim) {
    const char *at = sh_element(t, index, ndim);
    element e;
    if (is_float((sh_dtype)t->dtype))
        sh_store_f64(common, &e, sh_load_f64((sh_dtype)t->dtype, at));
    else
        sh_store_i64(common, &e, sh_load_i64((sh_dtype)t->dtype, at));
    return e;
}

static double get(sh_dtype common, const sh_tensor *t, const int64_t *index, int ndim) {
    const element e = element_in(common, t, index, ndim);
    return sh_load_f64(common, &e);
}
static int64_t get_whole(sh_dtype common, const sh_tensor *t, const int64_t *index, int ndim) {
    const element e = element_in(common, t, index, ndim);
    return sh_load_i64(common, &e);
}
static void put(sh_tensor *t, const int64_t *index, double v) {
    sh_store_f64((sh_dtype)t->dtype, sh_element(t, index, t->ndim), v);
}
static void put_whole(sh_tensor *t, const int64_t *index, int64_t v) {
    sh_store_i64((sh_dtype)t->dtype, sh_element(t, index, t->ndim), v);
}

/* ---- two operands ---- */

typedef double real2(double x, double y);
typedef int64_t whole2(int64_t x, int64_t y);

static sh_status map2(sh_tensor *r, const sh_tensor *a, const sh_tensor *b, sh_dtype common, real2 *real,
                      whole2 *whole) {
    SH_EACH_ELEMENT(r, i) {
        if (is_float(common))
            put(r, i, real(get(common, a, i, r->ndim), get(common, b, i, r->ndim)));
        else
            put_whole(r, i, whole(get_whole(common, a, i, r->ndim), get_whole(common, b, i, r->ndim)));
    }
    return SH_OK;
}

static sh_dtype dtype_of(const sh_tensor *t) { return (sh_dtype)t->dtype; }

#define REAL2(name, value) \
    static double name(double x, double y) { return value; }
#define WHOLE2(name, value) \
    static int64_t name(int64_t x, int64_t y) { return value; }

/* ---- arithmetic ---- */

WHOLE2(wrapped_add, (int64_t)((uint64_t)x + (uint64_t)y))
WHOLE2(wrapped_sub, (int64_t)((uint64_t)x - (uint64_t)y))
WHOLE2(wrapped_mul, (int64_t)((uint64_t)x *(uint64_t)y))

/* x + scale * y; of bools the sum is their "or". */
static sh_status scaled_sum(sh_tensor *r, const sh_tensor *a, const sh_tensor *b, double scale,
                            int64_t whole_scale) {
    const sh_dtype common = dtype_of(r);
    SH_EACH_ELEMENT(r, i) {
        if (is_float(common))
            put(r, i, get(common, a, i, r->ndim) + scale * get(common, b, i, r->ndim));
        else
            put_whole(r, i,
                      wrapped_add(get_whole(common, a, i, r->ndim),
                                  wrapped_mul(whole_scale, get_whole(common, b, i, r->ndim))));
    }
    return SH_OK;
}

sh_status sh_ref_add(sh_tensor *r, sh_tensor *self, sh_tensor *other, sh_scalar alpha) {
    return scaled_sum(r, self, other, sh_value_as_double(alpha), sh_value_as_int(alpha));
}
sh_status sh_ref_sub(sh_tensor *r, sh_tensor *self, sh_tensor *other, sh_scalar alpha) {
    return scaled_sum(r, self, other, -sh_value_as_double(alpha), wrapped_sub(0, sh_value_as_int(alpha)));
}

REAL2(product, x *y)
REAL2(quotient, x / y)
REAL2(whole_quotient, trunc(x / y))
/* The quotient is rounded first, and so may become an integer. */
REAL2(whole_quotient_f32, trunc((float)(x / y)))

/* Python's //: so that floor_divide(x, y) * y + remainder(x, y) is near x. */
static double floor_quotient(double x, double y) {
    if (y == 0) return x / y;
    const double rest = fmod(x, y);
    const double whole = (x - rest) / y - (rest != 0 && (y < 0) != (rest < 0));
    if (whole == 0) return copysign(0, x / y);
    return floor(whole) + (whole - floor(whole) > 0.5);
}
static double floor_rest(double x, double y) {
    const double rest = fmod(x, y);
    return rest != 0 && (y < 0) != (rest < 0) ? rest + y : rest;
}
WHOLE2(int_rest, y == -1 ? 0 : x % y)
WHOLE2(int_quotient, y == -1 ? wrapped_sub(0, x) : x / y)
WHOLE2(int_floor_rest, int_rest(x, y) + (int_rest(x, y) != 0 && (int_rest(x, y) < 0) != (y < 0) ? y : 0))
WHOLE2(int_floor_quotient,
       wrapped_sub(int_quotient(x, y), int_rest(x, y) != 0 && (int_rest(x, y) < 0) != (y < 0)))

sh_status sh_ref_mul(sh_tensor *r, sh_tensor *self, sh_tensor *other) {
    return map2(r, self, other, dtype_of(r), product, wrapped_mul);
}

static sh_status divide(const char *op, sh_tensor *r, const sh_tensor *a, const sh_tensor *b, real2 *real,
                        whole2 *whole) {
    const sh_dtype common = dtype_of(r);
    SH_EACH_ELEMENT(r, i) {
        if (!is_float(common) && get_whole(common, b, i, r->ndim) == 0)
            return sh_fail(SH_ERROR_VALUE, "%s: ZeroDivisionError: other holds a 0, and %s has no infinity",
                           op, sh_dtype_name(common));
    }
    return map2(r, a, b, common, real, whole);
}

sh_status sh_ref_div(sh_tensor *r, sh_tensor *self, sh_tensor *other, const char *rounding_mode) {
    if (!rounding_mode) return map2(r, self, other, dtype_of(r), quotient, NULL);
    real2 *toward_zero = r->dtype == SH_F64 ? whole_quotient : whole_quotient_f32;
    if (strcmp(rounding_mode, "trunc") == 0) return divide("div", r, self, other, toward_zero, int_quotient);
    return divide("div", r, self, other, floor_quotient, int_floor_quotient);
}
sh_status sh_ref_floor_divide(sh_tensor *r, sh_tensor *self, sh_tensor *other) {
    return divide("floor_divide", r, self, other, floor_quotient, int_floor_quotient);
}
sh_status sh_ref_remainder(sh_tensor *r, sh_tensor *self, sh_tensor *other) {
    return divide("remainder", r, self, other, floor_rest, int_floor_rest);
}
sh_status sh_ref_fmod(sh_tensor *r, sh_tensor *self, sh_tensor *other) {
    return divide("fmod", r, self, other, fmod, int_rest);
}
sh_status sh_ref_atan2(sh_tensor *r, sh_tensor *self, sh_tensor *other) {
    return map2(r, self, other, dtype_of(r), atan2, NULL);
}

REAL2(larger, isnan(x) || x > y ? x : y)
REAL2(smaller, isnan(x) || x < y ? x : y)
WHOLE2(int_larger, x > y ? x : y)
WHOLE2(int_smaller, x < y ? x : y)
sh_status sh_ref_maximum(sh_tensor *r, sh_tensor *self, sh_tensor *other) {
    return map2(r, self, other, dtype_of(r), larger, int_larger);
}
sh_status sh_ref_minimum(sh_tensor *r, sh_tensor *self, sh_tensor *other) {
    return map2(r, self, other, dtype_of(r), smaller, int_smaller);
}

static int64_t int_power(int64_t x, int64_t y) {
    if (y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0;
    int64_t result = 1;
    for (; y; y >>= 1, x = wrapped_mul(x, x))
        if (y & 1) result = wrapped_mul(result, x);
    return result;
}

/* Where the exponent is a number, half powers are roots (but for f16), which differ from pow at -0 and -inf. */
sh_status sh_ref_pow(sh_tensor *r, sh_tensor *self, sh_tensor *exponent) {
    const bool is_number =
        (exponent->flags & SH_TENSOR_WRAPPED) && is_float(dtype_of(r)) && r->dtype != SH_F16;
    const double number = is_number ? sh_item(exponent) : 0;
    if (number == 0.5) return sh_ref_sqrt(r, self);
    if (number == -0.5) return sh_ref_rsqrt(r, self);
    return map2(r, self, exponent, dtype_of(r), pow, int_power);
}

/* ---- comparison and logic ---- */

#define COMPARE(name, operator)                                                     \
    REAL2(name, x operator y)                                                       \
    WHOLE2(int_##name, x operator y)                                                \
    sh_status sh_ref_##name(sh_tensor *r, sh_tensor *self, sh_tensor *other) {      \
        return map2(r, self, other, sh_result_type(self, other), name, int_##name); \
    }
COMPARE(eq, ==)
COMPARE(ne, !=)
COMPARE(lt, <)
COMPARE(le, <=)
COMPARE(gt, >)
COMPARE(ge, >=)

#define LOGICAL(name, operator)                                                     \
    REAL2(name, (x != 0) operator(y != 0))                                          \
    WHOLE2(int_##name, (x != 0) operator(y != 0))                                   \
    sh_status sh_ref_##name(sh_tensor *r, sh_tensor *self, sh_tensor *other) {      \
        return map2(r, self, other, sh_result_type(self, other), name, int_##name); \
    }
LOGICAL(logical_and, &&)
LOGICAL(logical_or, ||)
LOGICAL(logical_xor, !=)

#define BITWISE(name, operator)                                                \
    WHOLE2(name, x operator y)                                                 \
    sh_status sh_ref_##name(sh_tensor *r, sh_tensor *self, sh_tensor *other) { \
        return map2(r, self, other, dtype_of(r), NULL, name);                  \
    }
BITWISE(bitwise_and, &)
BITWISE(bitwise_or, |)
BITWISE(bitwise_xor, ^)

/* ---- three operands ---- */

sh_status sh_ref_where(sh_tensor *r, sh_tensor *condition, sh_tensor *self, sh_tensor *other) {
    SH_EACH_ELEMENT(r, i) {
        const bool holds = sh_load_i64(dtype_of(condition), sh_element(condition, i, r->ndim)) != 0;
        const element e = element_in(dtype_of(r), holds ? self : other, i, r->ndim);
        memcpy(sh_element(r, i, r->ndim), &e, r->element);
    }
    return SH_OK;
}

sh_status sh_ref_lerp(sh_tensor *r, sh_tensor *self, sh_tensor *end, sh_tensor *weight) {
    const sh_dtype common = dtype_of(r);
    SH_EACH_ELEMENT(r, i) {
        const double x = get(common, self, i, r->ndim), y = get(common, end, i, r->ndim),
                     w = get(common, weight, i, r->ndim);
        put(r, i, fabs(w) < 0.5 ? x + w * (y - x) : y - (y - x) * (1 - w));
    }
    return SH_OK;
}

sh_status sh_ref_clamp_Tensor(sh_tensor *r, sh_tensor *self, sh_tensor *min, sh_tensor *max) {
    const sh_dtype common = dtype_of(r);
    const int n = r->ndim;
    SH_EACH_ELEMENT(r, i) {
        if (is_float(common)) {
            const double x = get(common, self, i, n), above = min ? larger(x, get(common, min, i, n)) : x;
            put(r, i, max ? smaller(above, get(common, max, i, n)) : above);
        } else {
            const int64_t x = get_whole(common, self, i, n),
                          above = min ? int_larger(x, get_whole(common, min, i, n)) : x;
            put_whole(r, i, max ? int_smaller(above, get_whole(common, max, i, n)) : above);
        }
    }
    return SH_OK;
}

/* A 0-d tensor that stands for a number, on the caller's stack; NULL for none. */
static sh_tensor *as_tensor(sh_scalar number, sh_tensor *at, element *data) {
    if (number.tag == SH_TAG_NONE) return NULL;
    const bool whole = number.tag != SH_TAG_FLOAT;
    *at = (sh_tensor){.dtype = whole ? SH_I64 : SH_F64, .element = 8, .numel = 1, .data = data->bytes};
    if (whole)
        sh_store_i64(SH_I64, data, sh_value_as_int(number));
    else
        sh_store_f64(SH_F64, data, number.as.f);
    return at;
}

sh_status sh_ref_clamp(sh_tensor *r, sh_tensor *self, sh_scalar min, sh_scalar max) {
    sh_tensor bounds[2];
    element data[2];
    return sh_ref_clamp_Tensor(r, self, as_tensor(min, &bounds[0], &data[0]),
                               as_tensor(max, &bounds[1], &data[1]));
}
