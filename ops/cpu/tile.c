/* tile.c - the choice of a level. */
#include "ops/cpu/tile.h"

#include "ops/cpu/vmath.h"

sh_tile_fn *sh_tile_for(sh_dtype dtype) {
    static sh_tile_fn *const functions[SH_VMATH_LEVEL_COUNT][2] = {
        [SH_VMATH_SSE2] = {sh_tile_sse2_f32, sh_tile_sse2_f64},
        [SH_VMATH_AVX2] = {sh_tile_avx2_f32, sh_tile_avx2_f64},
        [SH_VMATH_AVX512] = {sh_tile_avx512_f32, sh_tile_avx512_f64},
    };
    return functions[sh_vmath_level_now()][dtype == SH_F64];
}
