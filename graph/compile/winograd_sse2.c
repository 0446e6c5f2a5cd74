/* The transforms of winograd_loops.h for the level sse2: everything is in the included files. */
#include "ops/cpu/level_sse2.inc"
#define SH_LEVEL_TABLE sh_winograd_sse2
#include "graph/compile/winograd_level.inc"
