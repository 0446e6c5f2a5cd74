/* The loops of nn_loops.h for the level sse2: everything is in the included files. */
#include "ops/cpu/level_sse2.inc"
#define SH_LEVEL_TABLE sh_nn_sse2
#include "ops/cpu/nn_level.inc"
