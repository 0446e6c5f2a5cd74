/* The loops of quantised ops for the level avx2: everything is in the included files. */
#include "ops/cpu/level_avx2.inc"
#define SH_LEVEL_TABLE sh_quantized_avx2
#include "ops/cpu/quantized_lanes_avx2.inc"
#include "ops/cpu/quantized_level.inc"
