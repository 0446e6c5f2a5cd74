/* The transforms of winograd_loops.h for the level avx2: everything is in the included files. */
#include "ops/cpu/level_avx2.inc"
#define SH_LEVEL_TABLE sh_winograd_avx2
#include "graph/compile/winograd_level.inc"
