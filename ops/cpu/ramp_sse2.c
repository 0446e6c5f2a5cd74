/* The loops of ramp.h for the level sse2: everything is in the included files. */
#include "ops/cpu/level_sse2.inc"
#define SH_LEVEL_TABLE sh_ramp_sse2
#include "ops/cpu/ramp_level.inc"
