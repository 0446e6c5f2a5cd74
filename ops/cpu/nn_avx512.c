/* The loops of nn_loops.h for the level avx512: everything is in the included files. */
#include "ops/cpu/level_avx512.inc"
#define SH_LEVEL_TABLE sh_nn_avx512
#include "ops/cpu/nn_level.inc"
