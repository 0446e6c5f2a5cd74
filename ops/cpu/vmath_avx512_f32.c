/* Vector math of f32 for the level avx512: everything is in the included file. */
#define SH_VMATH_LANES "ops/cpu/vmath_lanes_avx512.inc"
#define SH_VMATH_TABLE sh_vmath_avx512_f32
#include "ops/cpu/vmath_level.inc"
