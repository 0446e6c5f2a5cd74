/* winograd.h - a 3 x 3 convolution of stride 1 by Winograd's minimal filtering, channels last, as a unit.
 *
 * A block of tiles at a time is transformed, multiplied point by point with the transformed filters (a matrix product for each
 * point: tiles x channels x outputs) and transformed back, with bias, sum and clamp on the way out. */
#ifndef SH_GRAPH_COMPILE_WINOGRAD_H
#define SH_GRAPH_COMPILE_WINOGRAD_H

#include "graph/compile/unit_conv.h"

extern const sh_unit_type sh__unit_winograd;

typedef struct sh_winograd_unit {
    sh_conv_shape shape;
    int m;                         /* outputs of a tile by axis: 2 or 4 */
    uint32_t input, output, added; /* values; `added` may be SH_NO_VALUE, and may lie where the output does */
    int64_t tiles[2];              /* by axis */
    int64_t block;                 /* tiles at a time */
    float low, high;
    float *filters; /* by point, then panels of outputs, then channels */
    size_t capacity;
    float *bias;
} sh_winograd_unit;

/* NULL: an error, or, without one, it can't be done in this way: other than 3 x 3 of stride 1, channels that are no multiple of
 * 16, functions other than a clamp after the sum. Filters are not packed, values are not set. */
sh_winograd_unit *sh__winograd_new(const sh_conv_unit *conv, int m);
/* Zeros for filters and bias: to measure with. */
sh_status sh__winograd_reserve(sh_winograd_unit *unit);
sh_status sh__winograd_pack(const sh_conv_unit *conv, sh_winograd_unit *unit);

#endif
