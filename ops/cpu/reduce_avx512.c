/* Inner loops of reductions for the level avx512: everything is in the included files. */
#include "ops/cpu/level_avx512.inc"
#define SH_LEVEL_TABLE sh_reduce_avx512
#include "ops/cpu/reduce_level.inc"
