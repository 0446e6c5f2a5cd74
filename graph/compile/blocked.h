/* blocked.h - oneDNN in a plan: convolutions with what follows them as units, in layouts of their own.
 *
 * A region of convolutions and what lies between them (pooling, sums, functions, channels joined) keeps its values in one
 * layout, channels last or in blocks; where a plain step reads one of them, or it is an output, a unit copies it back, once.
 * Results differ from the eager kernels' by rounding: sums run in another order and products are fused with them, which
 * makes some 1e-6 of the largest element; Winograd makes more (unit_conv.h). */
#ifndef SH_GRAPH_COMPILE_BLOCKED_H
#define SH_GRAPH_COMPILE_BLOCKED_H

#include "graph/compile/compile.h"
#include "graph/compile/plan.h"

typedef struct sh_block_options {
    sh_winograd winograd;
    uint32_t ways; /* 1 << sh_conv_way for each that may be taken when measuring; 0: all. For tests */
} sh_block_options;

/* Rewrites a draft's steps. On failure the plan is only good for being freed. */
sh_status sh__plan_block(sh_plan *plan, const sh_block_options *options);

#endif
