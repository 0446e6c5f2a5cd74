/* conv_way.h - which way each convolution of a plan is done: one layout for all of them, and in it the fastest way. */
#ifndef SH_GRAPH_COMPILE_CONV_WAY_H
#define SH_GRAPH_COMPILE_CONV_WAY_H

#include "graph/compile/unit_conv.h"

typedef struct sh_conv_choice {
    sh_conv_unit conv;
    uint32_t first, last;    /* the steps that it stands for are among these */
    double ns[SH_CONV_WAYS]; /* measured; DBL_MAX: not done */
    sh_conv_way way;
    sh_primitive *made; /* constants not packed; NULL: oneDNN has nothing for it */
} sh_conv_choice;

/* Sets way and primitive of each. The ways of which a bit is set in `ways` are tried on scratch memory, equal convolutions once;
 * 0: channels are last, untried. */
sh_status sh__conv_choose(sh_conv_choice *choices, uint32_t n, uint32_t ways);

#endif
