/* Vector math of f64 for the level avx2: everything is in the included file. */
#define SH_VMATH_F64 1
#define SH_VMATH_LANES "ops/cpu/vmath_lanes_avx2.inc"
#define SH_VMATH_TABLE sh_vmath_avx2_f64
#include "ops/cpu/vmath_level.inc"
