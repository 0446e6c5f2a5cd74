/* conv_way.h - which way each convolution of a plan is done. */
#ifndef SH_GRAPH_COMPILE_CONV_WAY_H
#define SH_GRAPH_COMPILE_CONV_WAY_H

#include "graph/compile/winograd.h"

/* Winograd sums transformed numbers: fewer products, an Inf or NaN spreads over its neighbours, and larger tiles lose bits. The
 * largest error against f64 in millionths of the largest result, inputs and filters from [-1, 1]:
 *
 *     channels and size      64, 56    128, 28    256, 14    512, 7
 *     eager                  0.8       1.4        1.7        2.2
 *     direct                 1.0       1.1        1.8        2.4
 *     F(2x2, 3x3)            0.4       0.5        0.6        1.0
 *     F(4x4, 3x3)            5.5       8.9        8.9        12
 */
typedef enum sh_conv_way { SH_CONV_DIRECT, SH_CONV_WINOGRAD_2, SH_CONV_WINOGRAD_4, SH_CONV_WAYS } sh_conv_way;

typedef struct sh_conv_choice {
    sh_conv_unit conv;
    uint32_t first, last; /* the steps that it stands for are among these */
    sh_conv_way way;
    sh_primitive *direct;       /* for that way; constants not packed */
    sh_winograd_unit *winograd; /* for the others. Neither: it stays as it is */
} sh_conv_choice;

/* Sets way and unit of each. Of the ways of which a bit is set in `ways` the fastest on scratch memory is taken, for equal
 * convolutions the same; 0: direct, unmeasured. */
sh_status sh__conv_choose(sh_conv_choice *choices, uint32_t n, uint32_t ways);
void sh__conv_choice_free(sh_conv_choice *c);

#endif
