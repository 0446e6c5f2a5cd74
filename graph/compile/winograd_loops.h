/* winograd_loops.h - the transforms of Winograd's minimal filtering, channels last, one table a level of the vector math.
 *
 * F(m x m, 3 x 3) makes m x m outputs from (m + 2) x (m + 2) inputs by as many products (Lavin and Gray, "Fast Algorithms for
 * Convolutional Neural Networks", 2015). Of m + 2 = a, transform point t of a * a is row * a + column. Channels are a multiple of
 * SH_WINOGRAD_LANES. */
#ifndef SH_GRAPH_COMPILE_WINOGRAD_LOOPS_H
#define SH_GRAPH_COMPILE_WINOGRAD_LOOPS_H

#include <stddef.h>
#include <stdint.h>

enum { SH_WINOGRAD_LANES = 16, SH_WINOGRAD_PANEL = 32, SH_WINOGRAD_MOST = 6 };

typedef struct sh_winograd_finish {
    const float *bias; /* of each channel */
    float low, high;
} sh_winograd_finish;

typedef struct sh_winograd_loops {
    /* B^T d B of the tile whose pixels these are, point t at to + t * step. */
    void (*take)(const float *const *pixels, int64_t channels, float *to, int64_t step);
    /* A^T M A, point t at from + t * step, plus bias and, unless `added` is NULL, the added pixels, between low and high. A
     * pixel that is NULL is not written. */
    void (*give)(const float *from, int64_t step, int64_t channels, const sh_winograd_finish *finish,
                 const float *const *added, float *const *pixels);
    /* G g G^T of `width` filters, at most SH_WINOGRAD_PANEL, each 3 x 3 and `row` floats after the one before: point t of filter
     * w at to[t * step + w]. */
    void (*pack)(const float *filters, int64_t row, int64_t width, float *to, int64_t step);
} sh_winograd_loops;

/* [0]: m is 2; [1]: m is 4 */
extern const sh_winograd_loops sh_winograd_sse2[2], sh_winograd_avx2[2], sh_winograd_avx512[2];
const sh_winograd_loops *sh__winograd_loops_for(int m);

#endif
