/* conv_way.h - which way each convolution of a plan is done. */
#ifndef SH_GRAPH_COMPILE_CONV_WAY_H
#define SH_GRAPH_COMPILE_CONV_WAY_H

#include "graph/compile/winograd.h"

/* Winograd sums transformed numbers: fewer products, larger errors, and an Inf or NaN spreads over its neighbours. The largest
 * error against f64, in parts of the largest result, of 64 channels and filters from [-1, 1]: direct 3e-7, F(2x2) 3e-7,
 * F(4x4) 1e-6. */
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
