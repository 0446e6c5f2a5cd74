/* sample.h - random shapes, layouts and values for tests of properties. The same ones in every run. */
#ifndef SH_TESTS_SAMPLE_H
#define SH_TESTS_SAMPLE_H

#include <string.h>

#include "shunt.h"

static uint64_t sample_state;

/* Steele, Lea and Flood's splitmix64. */
static inline uint64_t sample_bits(void) {
    uint64_t z = sample_state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
}

/* From low to high, both included. */
static inline int64_t sample_int(int64_t low, int64_t high) {
    return low + (int64_t)(sample_bits() % (uint64_t)(high - low + 1));
}

static inline sh_dtype sample_dtype(void) { return (sh_dtype)sample_int(SH_F32, SH_B8); }

static inline void sample_sizes(int ndim, int64_t most, int64_t *sizes) {
    for (int i = 0; i < ndim; i++) sizes[i] = sample_int(sample_int(0, 9) ? 1 : 0, most);
}

static inline void sample_fill(sh_tensor *t) {
    char *at = sh_tensor_data(t);
    for (int64_t i = 0; i < sh_tensor_numel(t); i++) {
        const double v = (double)sample_int(-9, 9) / 2;
        switch (sh_tensor_dtype(t)) {
        case SH_F32: ((float *)at)[i] = (float)v; break;
        case SH_F64: ((double *)at)[i] = v; break;
        case SH_F16: ((uint16_t *)at)[i] = sh_f32_to_f16((float)v); break;
        case SH_BF16: ((uint16_t *)at)[i] = sh_f32_to_bf16((float)v); break;
        case SH_I64: ((int64_t *)at)[i] = (int64_t)v; break;
        case SH_I32: ((int32_t *)at)[i] = (int32_t)v; break;
        case SH_I16: ((int16_t *)at)[i] = (int16_t)v; break;
        case SH_I8: ((int8_t *)at)[i] = (int8_t)v; break;
        case SH_U8: ((uint8_t *)at)[i] = (uint8_t)(v < 0 ? -v : v); break;
        default: at[i] = v > 0; break;
        }
    }
}

/* A tensor of these sizes with random values over a random layout: axes in any order, gaps, an offset. */
static inline sh_tensor *sample_tensor(sh_dtype dtype, int ndim, const int64_t *sizes) {
    int64_t strides[SH_MAX_DIMS];
    int order[SH_MAX_DIMS];
    int64_t reach = 1;
    for (int i = 0; i < ndim; i++) order[i] = i;
    for (int i = ndim - 1; i > 0 && sample_int(0, 1); i--) {
        const int k = (int)sample_int(0, i), held = order[i];
        order[i] = order[k];
        order[k] = held;
    }
    const int64_t gap = sample_int(0, 2) ? 1 : 2, offset = sample_int(0, 2) ? 0 : 3;
    for (int i = ndim - 1; i >= 0; i--) {
        strides[order[i]] = reach * (i == ndim - 1 ? gap : 1);
        reach = strides[order[i]] * (sizes[order[i]] ? sizes[order[i]] : 1);
    }
    sh_tensor *base = sh_tensor_new(dtype, SH_SIZES(reach + offset));
    if (!base) return NULL;
    sample_fill(base);
    return sh_tensor_as_strided(base, sh_ints_of(sizes, (size_t)ndim), sh_ints_of(strides, (size_t)ndim),
                                offset);
}

/* The bytes of element i in row-major order. */
static inline const char *sample_element(const sh_tensor *t, int64_t i) {
    int64_t offset = 0;
    for (int d = sh_tensor_ndim(t); d-- > 0;) {
        offset += i % sh_tensor_sizes(t)[d] * sh_tensor_strides(t)[d];
        i /= sh_tensor_sizes(t)[d];
    }
    return (const char *)sh_tensor_data(t) + offset * (int64_t)sh_dtype_size(sh_tensor_dtype(t));
}

static inline bool sample_same_shape(const sh_tensor *a, const sh_tensor *b) {
    return sh_tensor_ndim(a) == sh_tensor_ndim(b) &&
           memcmp(sh_tensor_sizes(a), sh_tensor_sizes(b), (size_t)sh_tensor_ndim(a) * sizeof(int64_t)) == 0;
}

/* Dtype, shape and every bit of every element. */
static inline bool sample_same(const sh_tensor *a, const sh_tensor *b) {
    if (!a || !b || sh_tensor_dtype(a) != sh_tensor_dtype(b) || !sample_same_shape(a, b)) return false;
    for (int64_t i = 0; i < sh_tensor_numel(a); i++)
        if (memcmp(sample_element(a, i), sample_element(b, i), sh_dtype_size(sh_tensor_dtype(a))) != 0)
            return false;
    return true;
}

#endif
