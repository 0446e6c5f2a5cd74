/* The loops of tile.h for integers and the level avx512: everything is in the included files. */
#include "ops/cpu/level_avx512.inc"
#define SH_TILE_INTEGERS sh_tile_avx512_
#include "ops/cpu/tile_integers.inc"
