/* The loops of tile.h for f32 and the level sse2: everything is in the included file. */
#define SH_VMATH_LANES "ops/cpu/vmath_lanes_sse2.inc"
#define SH_TILE_PART "ops/cpu/tile_part_sse2.inc"
#define SH_TILE_NAME sh_tile_sse2_f32
#define SH_TILE_ROWS 4
#include "ops/cpu/tile_level.inc"
