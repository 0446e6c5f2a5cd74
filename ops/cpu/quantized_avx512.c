/* The loops of quantised ops for the level avx512: everything is in the included files. */
#include "ops/cpu/level_avx512.inc"
#define SH_LEVEL_TABLE sh_quantized_avx512
#include "ops/cpu/quantized_lanes_avx512.inc"
#include "ops/cpu/quantized_level.inc"
