/* The loops of tile.h for integers and the level avx2: everything is in the included files. */
#include "ops/cpu/level_avx2.inc"
#define SH_TILE_INTEGERS sh_tile_avx2_
#include "ops/cpu/tile_integers.inc"
