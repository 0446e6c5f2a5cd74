/* The loops of tile.h for f32 and the level avx512: everything is in the included file. */
#define SH_VMATH_LANES "ops/cpu/vmath_lanes_avx512.inc"
#define SH_TILE_PART "ops/cpu/tile_part_avx512.inc"
#define SH_TILE_NAME sh_tile_avx512_f32
#define SH_TILE_ROWS 8
#include "ops/cpu/tile_level.inc"
