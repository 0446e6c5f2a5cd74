/* The loops of quantised ops for the level sse2: everything is in the included files. */
#include "ops/cpu/level_sse2.inc"
#define SH_LEVEL_TABLE sh_quantized_sse2
#include "ops/cpu/quantized_lanes_sse2.inc"
#include "ops/cpu/quantized_level.inc"
