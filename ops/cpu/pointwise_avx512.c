/* The elementwise loops for the level avx512: everything is in the included files. */
#include "ops/cpu/level_avx512.inc"
#define SH_LEVEL_TABLE sh_loops_avx512
#include "ops/cpu/pointwise_level.inc"
