/* pointwise_maps.h - from tensors to a map (iter.h): what the elementwise kernels share.
 *
 * Arguments are rounded to the dtype that they promote to, as in PyTorch, and computed in it; the half types
 * in f32, rounded once at the end. */
#ifndef SH_OPS_CPU_POINTWISE_MAPS_H
#define SH_OPS_CPU_POINTWISE_MAPS_H

#include "ops/cpu/pointwise_loops.h"

/* The same loop for both types that vector math has. */
typedef struct sh_vector_loop {
    sh_loop *f32, *f64;
} sh_vector_loop;

extern const sh_vector_loop sh_vector_unary[SH_VMATH_UNARY_COUNT], sh_vector_param[SH_VMATH_PARAM_COUNT],
    sh_vector_binary[SH_VMATH_BINARY_COUNT];

/* What a kernel computes in: the dtype itself, f32 for the half types. */
static inline sh_dtype sh__computing(sh_dtype dtype) {
    return dtype == SH_F16 || dtype == SH_BF16 ? SH_F32 : dtype;
}

static inline bool sh__is_float(sh_dtype dtype) { return dtype <= SH_BF16; }

static inline sh_operand sh__operand(const sh_tensor *t, sh_dtype common) {
    return (sh_operand){t, common, sh__computing(common)};
}

/* The parameters of a loop, in its type. */
typedef union sh_parameters {
    float f32[4];
    double f64[4];
    int64_t i64[4];
    int32_t i32[4];
    int16_t i16[4];
    int8_t i8[4];
    uint8_t u8[4];
} sh_parameters;
_Static_assert(sizeof(sh_parameters) == SH_MAP_PARAMETERS, "a note of a map holds its parameters");

void sh__set_parameter(sh_parameters *p, sh_dtype as, int i, sh_scalar v);

/* Maps of one and two operands that promote to `common`; the loop writes `made`. */
sh_status sh__map1(sh_tensor *r, const sh_tensor *a, sh_dtype common, sh_dtype made, sh_loop *loop,
                   const void *p);
sh_status sh__map2(sh_tensor *r, const sh_tensor *a, const sh_tensor *b, sh_dtype common, sh_dtype made,
                   sh_loop *loop, const void *p);

/* Ops whose result has the dtype that they compute in, half types apart. */
sh_status sh__map_unary(sh_tensor *r, const sh_tensor *a, sh_loop_id id, const void *p);
sh_status sh__map_binary(sh_tensor *r, const sh_tensor *a, const sh_tensor *b, sh_loop_id id, const void *p);
sh_status sh__map_vector(sh_tensor *r, const sh_tensor *a, sh_vector_loop l, const void *p);

#endif
