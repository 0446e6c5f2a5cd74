/* The loops of ramp.h for the level avx512: everything is in the included files. */
#include "ops/cpu/level_avx512.inc"
#define SH_LEVEL_TABLE sh_ramp_avx512
#include "ops/cpu/ramp_level.inc"
