/* nn_loops.c - the choice of a level. */
#include "ops/cpu/nn_loops.h"

#include "ops/cpu/vmath.h"

const sh_nn_loops *sh_nn_loops_for(sh_dtype dtype) {
    static const sh_nn_loops *const levels[SH_VMATH_LEVEL_COUNT] = {
        [SH_VMATH_SSE2] = sh_nn_sse2, [SH_VMATH_AVX2] = sh_nn_avx2, [SH_VMATH_AVX512] = sh_nn_avx512};
    return &levels[sh_vmath_level_now()][dtype == SH_F64 ? 1 : dtype == SH_I8 ? 2 : dtype == SH_U8 ? 3 : 0];
}
