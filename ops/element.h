/* element.h - single elements of any dtype, and walking over an index: what the plain loops of the ref
 * backend are written with. Floats compute in double, integers and bool in int64_t. */
#ifndef SH_OPS_ELEMENT_H
#define SH_OPS_ELEMENT_H

#include "dispatch/tensor_impl.h"

static inline double sh_load_f64(sh_dtype dtype, const void *at) {
    switch (dtype) {
    case SH_F32: return *(const float *)at;
    case SH_F64: return *(const double *)at;
    case SH_F16: return sh_f16_to_f32(*(const uint16_t *)at);
    case SH_BF16: return sh_bf16_to_f32(*(const uint16_t *)at);
    case SH_I64: return (double)*(const int64_t *)at;
    case SH_I32: return *(const int32_t *)at;
    case SH_I16: return *(const int16_t *)at;
    case SH_I8: return *(const int8_t *)at;
    case SH_U8: return *(const uint8_t *)at;
    default: return *(const uint8_t *)at != 0;
    }
}

/* The real and the imaginary part of a complex number. */
static inline void sh_load_parts(sh_dtype dtype, const void *at, double *parts) {
    for (int i = 0; i < 2; i++) parts[i] = dtype == SH_C64 ? ((const float *)at)[i] : ((const double *)at)[i];
}

/* For who looks at elements of any dtype: of a complex one its real part, or its imaginary part where that alone is
 * not finite. */
static inline double sh_load_shown(sh_dtype dtype, const void *at) {
    double parts[2];
    if (dtype < SH_REAL_DTYPE_END) return sh_load_f64(dtype, at);
    sh_load_parts(dtype, at, parts);
    return __builtin_isfinite(parts[0]) && !__builtin_isfinite(parts[1]) ? parts[1] : parts[0];
}

static inline int64_t sh_load_i64(sh_dtype dtype, const void *at) {
    switch (dtype) {
    case SH_I64: return *(const int64_t *)at;
    case SH_I32: return *(const int32_t *)at;
    case SH_I16: return *(const int16_t *)at;
    case SH_I8: return *(const int8_t *)at;
    case SH_U8: return *(const uint8_t *)at;
    case SH_B8: return *(const uint8_t *)at != 0;
    default: return (int64_t)sh_load_f64(dtype, at);
    }
}

/* Rounds once to the dtype: to nearest even for floats, toward zero for integers. */
static inline void sh_store_i64(sh_dtype dtype, void *at, int64_t v) {
    switch (dtype) {
    case SH_F32: *(float *)at = (float)v; break;
    case SH_F64: *(double *)at = (double)v; break;
    case SH_F16: *(uint16_t *)at = sh_f32_to_f16((float)v); break;
    case SH_BF16: *(uint16_t *)at = sh_f32_to_bf16((float)v); break;
    case SH_I64: *(int64_t *)at = v; break;
    case SH_I32: *(int32_t *)at = (int32_t)v; break;
    case SH_I16: *(int16_t *)at = (int16_t)v; break;
    case SH_I8: *(int8_t *)at = (int8_t)v; break;
    case SH_U8: *(uint8_t *)at = (uint8_t)v; break;
    default: *(uint8_t *)at = v != 0;
    }
}

static inline void sh_store_f64(sh_dtype dtype, void *at, double v) {
    switch (dtype) {
    case SH_F32: *(float *)at = (float)v; break;
    case SH_F64: *(double *)at = v; break;
    case SH_F16: *(uint16_t *)at = sh_f32_to_f16((float)v); break;
    case SH_BF16: *(uint16_t *)at = sh_f32_to_bf16((float)v); break;
    case SH_B8: *(uint8_t *)at = v != 0; break;
    default: sh_store_i64(dtype, at, v >= -0x1p63 && v < 0x1p63 ? (int64_t)v : INT64_MIN);
    }
}

/* Element `index` (entries for `ndim` dimensions) of a tensor that broadcasts to that rank. */
static inline char *sh_element(const sh_tensor *t, const int64_t *index, int ndim) {
    int64_t offset = 0;
    for (int i = 0; i < t->ndim; i++)
        if (t->sizes[i] != 1) offset += index[ndim - t->ndim + i] * t->strides[i];
    return t->data + offset * (int64_t)t->element;
}

/* The next index in row-major order; false after the last. */
static inline bool sh_next_index(int ndim, const int64_t *sizes, int64_t *index) {
    for (int i = ndim; i-- > 0;) {
        if (++index[i] < sizes[i]) return true;
        index[i] = 0;
    }
    return false;
}

/* for every element of `t`: SH_EACH_ELEMENT(t, index) { *sh_element(t, index, t->ndim) ... } */
#define SH_EACH_ELEMENT(t, index)                                                                     \
    for (int64_t index[SH_MAX_DIMS] = {0}, SH__CAT(index, _go) = (t)->numel > 0; SH__CAT(index, _go); \
         SH__CAT(index, _go) = sh_next_index((t)->ndim, (t)->sizes, index))

#endif
