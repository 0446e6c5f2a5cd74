/* The loops of tile.h for f32 and the level avx2: everything is in the included file. */
#define SH_VMATH_LANES "ops/cpu/vmath_lanes_avx2.inc"
#define SH_TILE_PART "ops/cpu/tile_part_avx2.inc"
#define SH_TILE_NAME sh_tile_avx2_f32
#define SH_TILE_ROWS 4
#include "ops/cpu/tile_level.inc"
