/* Vector math of f32 for the level sse2: everything is in the included file. */
#define SH_VMATH_LANES "ops/cpu/vmath_lanes_sse2.inc"
#define SH_VMATH_TABLE sh_vmath_sse2_f32
#include "ops/cpu/vmath_level.inc"
