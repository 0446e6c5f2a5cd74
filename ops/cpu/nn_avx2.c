/* The loops of nn_loops.h for the level avx2: everything is in the included files. */
#include "ops/cpu/level_avx2.inc"
#define SH_LEVEL_TABLE sh_nn_avx2
#include "ops/cpu/nn_level.inc"
