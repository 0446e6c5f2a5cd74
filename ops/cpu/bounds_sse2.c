/* The loops of bounds.h for the level sse2: everything is in the included files. */
#include "ops/cpu/level_sse2.inc"
#define SH_LEVEL_TABLE sh_bounds_sse2
#include "ops/cpu/bounds_level.inc"
