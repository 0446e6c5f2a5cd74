/* The loops of tile.h for integers and the level sse2: everything is in the included files. */
#include "ops/cpu/level_sse2.inc"
#define SH_TILE_INTEGERS sh_tile_sse2_
#include "ops/cpu/tile_integers.inc"
