/* tile.c - the choice of a level. */
#include "ops/cpu/tile.h"

#include "ops/cpu/vmath.h"

#define LEVEL(level)                                                                                      \
    {                                                                                                     \
        [SH_F32] = sh_tile_##level##_f32, [SH_F64] = sh_tile_##level##_f64,                               \
        [SH_I64] = sh_tile_##level##_i64, [SH_I32] = sh_tile_##level##_i32,                               \
        [SH_I16] = sh_tile_##level##_i16, [SH_I8] = sh_tile_##level##_i8, [SH_U8] = sh_tile_##level##_i8, \
    }

sh_tile_fn *sh_tile_for(sh_dtype dtype) {
    static sh_tile_fn *const functions[SH_VMATH_LEVEL_COUNT][SH_DTYPE_COUNT] = {
        [SH_VMATH_SSE2] = LEVEL(sse2), [SH_VMATH_AVX2] = LEVEL(avx2), [SH_VMATH_AVX512] = LEVEL(avx512)};
    return functions[sh_vmath_level_now()][dtype];
}
