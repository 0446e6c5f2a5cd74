/* pointwise.c - elementwise kernels of two and three operands of the cpu backend: which loop, in which type.
 *
 * A few f32 elements take a short path of their own: there the way into the engine (iter.h) costs more than
 * the arithmetic. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "ops/cpu/pointwise_maps.h"
#include "ops/element.h"
#include "ops/kernels.h"
#include "ops/promote.h"

/* ---- a few f32 elements ---- */

enum { FEW = 32 };
typedef float four __attribute__((vector_size(16)));

static inline four load(const float *at) {
    four v;
    memcpy(&v, at, sizeof v);
    return v;
}

/* f32 is the first of the dtypes, so a union of bits is 1 where all are f32. */
static inline bool is_few_f32(const sh_tensor *r, const sh_tensor *a, const sh_tensor *b) {
    _Static_assert(SH_F32 == 1, "no dtype but f32 is 1, and none but SH_NO_DTYPE is less");
    return (r->flags & a->flags & b->flags & SH_TENSOR_CONTIGUOUS) &&
           (r->dtype | a->dtype | b->dtype) == SH_F32 && r->numel <= FEW && r->numel == a->numel &&
           r->numel == b->numel;
}

/* An f32 operand of up to two dimensions, or a number, laid over rows and columns; strides in elements. */
typedef struct grid {
    const float *at;
    int64_t row, column;
    float number;
} grid;

static inline int64_t grid_stride(const sh_tensor *t, int dim) {
    return dim >= 0 && t->sizes[dim] != 1 ? t->strides[dim] : 0;
}

static inline bool lay_grid(grid *g, const sh_tensor *t) {
    *g = (grid){(const float *)t->data, grid_stride(t, t->ndim - 2), grid_stride(t, t->ndim - 1), 0};
    if (t->dtype == SH_F32) return t->ndim <= 2;
    if (!(t->flags & SH_TENSOR_WRAPPED)) return false;
    g->number = (float)sh_load_f64((sh_dtype)t->dtype, t->data);
    g->at = &g->number;
    return true;
}

/* Operands that differ in shape. */
static inline bool lay_grids(const sh_tensor *r, const sh_tensor *self, const sh_tensor *other, grid *a,
                             grid *b) {
    return r->dtype == SH_F32 && r->ndim <= 2 && r->numel <= FEW && (r->flags & SH_TENSOR_CONTIGUOUS) &&
           lay_grid(a, self) && lay_grid(b, other);
}

/* The same loop where a plan keeps it. Those of a level are the faster from 16 elements on. */
static sh_status map_some(sh_tensor *r, const sh_tensor *self, const sh_tensor *other, sh_loop_id id,
                          sh_loop *some) {
    if (r->dtype == SH_F32 && r->numel < 16) return sh__map2(r, self, other, SH_F32, SH_F32, some, NULL);
    return sh__map_binary(r, self, other, id, NULL);
}

/* some_X is a straight loop, few_X the way to it. any_X takes the rest, a small grid without the engine; it is a call of
 * its own, so that the straight way need not save registers for it. */
#define FEW_F32(name, operator)                                                                            \
    static inline void some_##name(void *result, const void *first, const void *second, const void *third, \
                                   int64_t n, const void *parameters) {                                    \
        (void)third, (void)parameters;                                                                     \
        const float *a = first, *b = second;                                                               \
        float *to = result;                                                                                \
        const int64_t fours = n & ~INT64_C(3);                                                             \
        int64_t i = 0;                                                                                     \
        for (; i < fours; i += 4) {                                                                        \
            const four v = load(a + i) operator load(b + i);                                               \
            memcpy(to + i, &v, sizeof v);                                                                  \
        }                                                                                                  \
        for (; i < n; i++) to[i] = a[i] operator b[i];                                                     \
    }                                                                                                      \
    static inline sh_status few_##name(sh_tensor *r, const sh_tensor *self, const sh_tensor *other) {      \
        some_##name(r->data, self->data, other->data, NULL, r->numel, NULL);                               \
        return SH_OK;                                                                                      \
    }                                                                                                      \
    static __attribute__((noinline))                                                                       \
    sh_status any_##name(sh_tensor *r, const sh_tensor *self, const sh_tensor *other) {                    \
        grid a, b;                                                                                         \
        if (!lay_grids(r, self, other, &a, &b))                                                            \
            return map_some(r, self, other, SH_LOOP_##name, some_##name);                                  \
        const int64_t columns = r->ndim > 0 ? r->sizes[r->ndim - 1] : 1;                                   \
        const float *const end = (const float *)r->data + r->numel;                                        \
        for (float *to = (float *)r->data; to < end; to += columns, a.at += a.row, b.at += b.row)          \
            for (int64_t i = 0; i < columns; i++) to[i] = a.at[i * a.column] operator b.at[i * b.column];  \
        return SH_OK;                                                                                      \
    }
FEW_F32(add, +)
FEW_F32(sub, -)
FEW_F32(mul, *)
FEW_F32(div, /)

/* ---- arithmetic ---- */

static sh_status vector_binary(sh_tensor *r, sh_tensor *a, sh_tensor *b, sh_vector_loop l) {
    const sh_dtype as = sh__computing((sh_dtype)r->dtype);
    return sh__map2(r, a, b, (sh_dtype)r->dtype, as, as == SH_F64 ? l.f64 : l.f32, NULL);
}

static inline bool is_one(sh_scalar v) { return v.tag == SH_TAG_INT && v.as.i == 1; }

static __attribute__((noinline)) sh_status scaled(sh_tensor *r, sh_tensor *self, sh_tensor *other,
                                                  sh_loop_id id, sh_scalar alpha) {
    sh_parameters p;
    sh__set_parameter(&p, sh__computing((sh_dtype)r->dtype), 0, alpha);
    return sh__map_binary(r, self, other, id, &p);
}

sh_status sh_cpu_add(sh_tensor *r, sh_tensor *self, sh_tensor *other, sh_scalar alpha) {
    if (SH_UNLIKELY(!is_one(alpha))) return scaled(r, self, other, SH_LOOP_add_scaled, alpha);
    return SH_LIKELY(is_few_f32(r, self, other)) ? few_add(r, self, other) : any_add(r, self, other);
}

sh_status sh_cpu_sub(sh_tensor *r, sh_tensor *self, sh_tensor *other, sh_scalar alpha) {
    if (SH_UNLIKELY(!is_one(alpha))) return scaled(r, self, other, SH_LOOP_sub_scaled, alpha);
    return SH_LIKELY(is_few_f32(r, self, other)) ? few_sub(r, self, other) : any_sub(r, self, other);
}

sh_status sh_cpu_mul(sh_tensor *r, sh_tensor *self, sh_tensor *other) {
    return SH_LIKELY(is_few_f32(r, self, other)) ? few_mul(r, self, other) : any_mul(r, self, other);
}

#define FIND_ZERO(T)                                                                                         \
    static void find_zero_##T(void *to, const void *first, const void *second, const void *third, int64_t n, \
                              const void *found) {                                                           \
        (void)to, (void)second, (void)third;                                                                 \
        const T *at = first;                                                                                 \
        bool zero = false;                                                                                   \
        for (int64_t i = 0; i < n; i++) zero |= at[i] == 0;                                                  \
        if (zero) atomic_store_explicit(*(atomic_bool *const *)found, true, memory_order_relaxed);           \
    }
FIND_ZERO(int64_t)
FIND_ZERO(int32_t)
FIND_ZERO(int16_t)
FIND_ZERO(int8_t)

/* Integers have no answer to a division by zero, and nothing may be written before that is known. */
static sh_status check_divisor(const char *op, const sh_tensor *divisor, sh_dtype common) {
    static sh_loop *const find[] = {[SH_I64] = find_zero_int64_t,
                                    [SH_I32] = find_zero_int32_t,
                                    [SH_I16] = find_zero_int16_t,
                                    [SH_I8] = find_zero_int8_t,
                                    [SH_U8] = find_zero_int8_t};
    if (sh__is_float(common)) return SH_OK;
    atomic_bool found = false, *at = &found;
    const sh_map map = {
        .loop = find[common], .parameters = &at, .n = 1, .from = {sh__operand(divisor, common)}};
    sh__map(&map);
    return found ? sh_fail(SH_ERROR_VALUE, "%s: ZeroDivisionError: other holds a 0, and %s has no infinity",
                           op, sh_dtype_name(common))
                 : SH_OK;
}

/* In floats the quotient and the remainder come from C's fmod, which has the sign of self. */
#define BY_FMOD(name, id, T, s, S)                                                                        \
    static void name##_##s(void *to, const void *first, const void *second, const void *third, int64_t n, \
                           const void *p) {                                                               \
        (void)third;                                                                                      \
        T rest[SH_TILE];                                                                                  \
        for (int64_t i = 0, part; i < n; i += part) {                                                     \
            part = n - i < SH_TILE ? n - i : SH_TILE;                                                     \
            const T *x = (const T *)first + i, *y = (const T *)second + i;                                \
            sh_vmath_fmod_##s(x, y, rest, (size_t)part);                                                  \
            sh__loops()->loop[id][S]((T *)to + i, x, y, rest, part, p);                                   \
        }                                                                                                 \
    }
BY_FMOD(floor_quotient, SH_LOOP_floor_quotient, float, f32, SH_F32)
BY_FMOD(floor_quotient, SH_LOOP_floor_quotient, double, f64, SH_F64)
BY_FMOD(floor_rest, SH_LOOP_floor_rest, float, f32, SH_F32)
BY_FMOD(floor_rest, SH_LOOP_floor_rest, double, f64, SH_F64)

static sh_status division(const char *op, sh_tensor *r, sh_tensor *self, sh_tensor *other, sh_loop_id id) {
    SH_TRY(r->numel ? check_divisor(op, other, (sh_dtype)r->dtype) : SH_OK);
    return sh__map_binary(r, self, other, id, NULL);
}

static sh_status floor_divide(const char *op, sh_tensor *r, sh_tensor *self, sh_tensor *other) {
    if (!sh__is_float((sh_dtype)r->dtype)) return division(op, r, self, other, SH_LOOP_div_floor);
    return vector_binary(r, self, other, (sh_vector_loop){floor_quotient_f32, floor_quotient_f64});
}

sh_status sh_cpu_div(sh_tensor *r, sh_tensor *self, sh_tensor *other, const char *rounding_mode) {
    if (rounding_mode && *rounding_mode == 'f') return floor_divide("div", r, self, other);
    if (rounding_mode) return division("div", r, self, other, SH_LOOP_div_trunc);
    return SH_LIKELY(is_few_f32(r, self, other)) ? few_div(r, self, other) : any_div(r, self, other);
}

sh_status sh_cpu_floor_divide(sh_tensor *r, sh_tensor *self, sh_tensor *other) {
    return floor_divide("floor_divide", r, self, other);
}

sh_status sh_cpu_remainder(sh_tensor *r, sh_tensor *self, sh_tensor *other) {
    if (!sh__is_float((sh_dtype)r->dtype)) return division("remainder", r, self, other, SH_LOOP_remainder);
    return vector_binary(r, self, other, (sh_vector_loop){floor_rest_f32, floor_rest_f64});
}

sh_status sh_cpu_fmod(sh_tensor *r, sh_tensor *self, sh_tensor *other) {
    if (sh__is_float((sh_dtype)r->dtype))
        return vector_binary(r, self, other, sh_vector_binary[SH_VMATH_fmod]);
    return division("fmod", r, self, other, SH_LOOP_rest);
}

sh_status sh_cpu_atan2(sh_tensor *r, sh_tensor *self, sh_tensor *other) {
    return vector_binary(r, self, other, sh_vector_binary[SH_VMATH_atan2]);
}

sh_status sh_cpu_maximum(sh_tensor *r, sh_tensor *self, sh_tensor *other) {
    return sh__map_binary(r, self, other, SH_LOOP_maximum, NULL);
}

sh_status sh_cpu_minimum(sh_tensor *r, sh_tensor *self, sh_tensor *other) {
    return sh__map_binary(r, self, other, SH_LOOP_minimum, NULL);
}

/* ---- powers ---- */

/* PyTorch's short cuts where the exponent is a number: their special values are those of the function named. For
 * f16 PyTorch takes no roots. */
static sh_status power_of_float(sh_tensor *r, sh_tensor *self, double exponent) {
    if (r->dtype == SH_F16 && fabs(exponent) == 0.5) return SH_PASS;
    if (exponent == 0.5) return sh__map_vector(r, self, sh_vector_unary[SH_VMATH_sqrt], NULL);
    if (exponent == -0.5) return sh__map_vector(r, self, sh_vector_unary[SH_VMATH_rsqrt], NULL);
    if (exponent == -1) return sh__map_vector(r, self, sh_vector_unary[SH_VMATH_reciprocal], NULL);
    if (exponent == 2) return sh__map_vector(r, self, sh_vector_unary[SH_VMATH_square], NULL);
    if (exponent == 3) return sh__map_unary(r, self, SH_LOOP_cube, NULL);
    if (exponent == -2) return sh__map_unary(r, self, SH_LOOP_inverse_square, NULL);
    return SH_PASS;
}

sh_status sh_cpu_pow(sh_tensor *r, sh_tensor *self, sh_tensor *exponent) {
    if (!sh__is_float((sh_dtype)r->dtype)) return sh__map_binary(r, self, exponent, SH_LOOP_power, NULL);
    if (exponent->flags & SH_TENSOR_WRAPPED) {
        const sh_status status = power_of_float(r, self, sh_item(exponent));
        if (status != SH_PASS) return status;
    }
    return vector_binary(r, self, exponent, sh_vector_binary[SH_VMATH_pow]);
}

/* ---- comparison and logic ---- */

static sh_status compare(sh_tensor *r, sh_tensor *self, sh_tensor *other, sh_loop_id id) {
    const sh_dtype common = sh_result_type(self, other);
    return sh__map2(r, self, other, common, SH_B8, sh__loops()->loop[id][sh__computing(common)], NULL);
}

/* Arguments become bool by way of the dtype that they promote to. */
static sh_status logical(sh_tensor *r, sh_tensor *self, sh_tensor *other, sh_loop_id id) {
    const sh_dtype common = sh_result_type(self, other);
    const sh_map map = {.loop = sh__loops()->loop[id][SH_B8],
                        .to = r,
                        .made = SH_B8,
                        .n = 2,
                        .from = {{self, common, SH_B8}, {other, common, SH_B8}}};
    sh__map(&map);
    return SH_OK;
}

#define COMPARE(name)                                                          \
    sh_status sh_cpu_##name(sh_tensor *r, sh_tensor *self, sh_tensor *other) { \
        return compare(r, self, other, SH_LOOP_##name);                        \
    }
COMPARE(eq)
COMPARE(ne)
COMPARE(lt)
COMPARE(le)
COMPARE(gt)
COMPARE(ge)

#define BITS(name, how, loop)                                                  \
    sh_status sh_cpu_##name(sh_tensor *r, sh_tensor *self, sh_tensor *other) { \
        return how(r, self, other, SH_LOOP_##loop);                            \
    }
#define bitwise(r, self, other, id) sh__map_binary(r, self, other, id, NULL)
BITS(logical_and, logical, bit_and)
BITS(logical_or, logical, bit_or)
BITS(logical_xor, logical, bit_xor)
BITS(bitwise_and, bitwise, bit_and)
BITS(bitwise_or, bitwise, bit_or)
BITS(bitwise_xor, bitwise, bit_xor)

/* ---- three operands ---- */

sh_status sh_cpu_where(sh_tensor *r, sh_tensor *condition, sh_tensor *self, sh_tensor *other) {
    const sh_dtype dtype = (sh_dtype)r->dtype, yes_no = (sh_dtype)condition->dtype;
    const sh_map map = {.loop = sh__loops()->choose[r->element],
                        .to = r,
                        .made = dtype,
                        .n = 3,
                        .from = {{condition, yes_no, yes_no}, {self, dtype, dtype}, {other, dtype, dtype}}};
    sh__map(&map);
    return SH_OK;
}

static sh_status ternary(sh_tensor *r, sh_tensor *a, sh_tensor *b, sh_tensor *c, sh_loop_id id) {
    const sh_dtype common = (sh_dtype)r->dtype, as = sh__computing(common);
    const sh_map map = {.loop = sh__loops()->loop[id][as],
                        .to = r,
                        .made = as,
                        .n = 3,
                        .from = {sh__operand(a, common), sh__operand(b, common), sh__operand(c, common)}};
    sh__map(&map);
    return SH_OK;
}

sh_status sh_cpu_lerp(sh_tensor *r, sh_tensor *self, sh_tensor *end, sh_tensor *weight) {
    return ternary(r, self, end, weight, SH_LOOP_lerp);
}

/* The bound of a dtype that no element passes. */
static sh_scalar no_bound(sh_dtype as, bool upper) {
    static const int64_t highest[] = {[SH_I64] = INT64_MAX, [SH_I32] = INT32_MAX, [SH_I16] = INT16_MAX,
                                      [SH_I8] = INT8_MAX,   [SH_U8] = UINT8_MAX,  [SH_B8] = 1};
    if (sh__is_float(as)) return sh_value_float(upper ? INFINITY : -INFINITY);
    if (as == SH_U8 || as == SH_B8) return sh_value_int(upper ? highest[as] : 0);
    return sh_value_int(upper ? highest[as] : -highest[as] - 1);
}

/* A bound that is NaN makes every element NaN. */
sh_status sh_cpu_clamp(sh_tensor *r, sh_tensor *self, sh_scalar min, sh_scalar max) {
    const sh_dtype as = sh__computing((sh_dtype)r->dtype);
    const bool none = isnan(sh_value_as_double(min)) || isnan(sh_value_as_double(max));
    sh_parameters p;
    if (none) min = max = sh_value_float(NAN);
    sh__set_parameter(&p, as, 0, min.tag == SH_TAG_NONE ? no_bound(as, false) : min);
    sh__set_parameter(&p, as, 1, max.tag == SH_TAG_NONE ? no_bound(as, true) : max);
    return sh__map_unary(r, self, none ? SH_LOOP_shifted : SH_LOOP_clamp, &p);
}

sh_status sh_cpu_clamp_Tensor(sh_tensor *r, sh_tensor *self, sh_tensor *min, sh_tensor *max) {
    if (min && max) return ternary(r, self, min, max, SH_LOOP_clamp_tensors);
    return min ? sh__map_binary(r, self, min, SH_LOOP_maximum, NULL)
               : sh__map_binary(r, self, max, SH_LOOP_minimum, NULL);
}
