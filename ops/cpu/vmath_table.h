/* The table of one level and one type: what a vmath_LEVEL_TYPE.c file defines and vmath.c chooses from. */
#ifndef SH_OPS_CPU_VMATH_TABLE_H
#define SH_OPS_CPU_VMATH_TABLE_H

#include "ops/cpu/vmath.h"

typedef struct sh_vmath_table_f32 {
    sh_vmath_unary_f32_fn *unary[SH_VMATH_UNARY_COUNT];
    sh_vmath_param_f32_fn *param[SH_VMATH_PARAM_COUNT];
    sh_vmath_binary_f32_fn *binary[SH_VMATH_BINARY_COUNT];
} sh_vmath_table_f32;

typedef struct sh_vmath_table_f64 {
    sh_vmath_unary_f64_fn *unary[SH_VMATH_UNARY_COUNT];
    sh_vmath_param_f64_fn *param[SH_VMATH_PARAM_COUNT];
    sh_vmath_binary_f64_fn *binary[SH_VMATH_BINARY_COUNT];
} sh_vmath_table_f64;

extern const sh_vmath_table_f32 sh_vmath_sse2_f32, sh_vmath_avx2_f32, sh_vmath_avx512_f32;
extern const sh_vmath_table_f64 sh_vmath_sse2_f64, sh_vmath_avx2_f64, sh_vmath_avx512_f64;

#endif
