/* tile.h - the inner loops of convolution and matrix product: sums of products for a block of results.
 *
 * Row m, column p of c is
 *
 *     bias[m] + sum over planes i and taps j of a[m * a_row + (i * ntaps + j) * a_step] * b[i * b_plane + taps[j] + p]
 *
 * With one tap, 0, that is a matrix product; with a tap for each place of a filter it is a convolution of all channels
 * (planes) at once, read from the input itself: no matrix of patches is made. All strides are in elements. Columns lie
 * side by side in b and c. The block is repeated for several lines, each b_line and c_line further.
 *
 * Sums are made in the type of the elements, one after the other in the order of planes and taps. Nothing is read or
 * written outside of the columns, and c overlaps neither a nor b. */
#ifndef SH_OPS_CPU_TILE_H
#define SH_OPS_CPU_TILE_H

#include "dispatch/dtype.h"

typedef struct sh_tile {
    const void *a, *b;
    void *c;
    const void *bias; /* one for each row, or NULL */
    int64_t a_row, a_step;
    int64_t b_plane, planes, ntaps;
    const int64_t *taps;
    int64_t c_row;
    int64_t lines, b_line, c_line;
    bool accumulate; /* adds to what is in c, instead of the bias */
    int64_t ahead;   /* so many elements behind each place of b is what is soon read: a hint; 0: nothing */
} sh_tile;

typedef void sh_tile_fn(const sh_tile *tile, int64_t rows, int64_t columns);

/* For a dtype but the half types and bool, in the instructions of the level in force (vmath.h). Integers wrap around. */
sh_tile_fn *sh_tile_for(sh_dtype dtype);

#define SH_TILE_LEVEL(level)                                                               \
    extern sh_tile_fn sh_tile_##level##_f32, sh_tile_##level##_f64, sh_tile_##level##_i64, \
        sh_tile_##level##_i32, sh_tile_##level##_i16, sh_tile_##level##_i8;
SH_TILE_LEVEL(sse2)
SH_TILE_LEVEL(avx2)
SH_TILE_LEVEL(avx512)
#undef SH_TILE_LEVEL

#endif
