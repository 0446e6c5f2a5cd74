/* The loops of ramp.h for the level avx2: everything is in the included files. */
#include "ops/cpu/level_avx2.inc"
#define SH_LEVEL_TABLE sh_ramp_avx2
#include "ops/cpu/ramp_level.inc"
