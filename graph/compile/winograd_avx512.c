/* The transforms of winograd_loops.h for the level avx512: everything is in the included files. */
#include "ops/cpu/level_avx512.inc"
#define SH_LEVEL_TABLE sh_winograd_avx512
#include "graph/compile/winograd_level.inc"
