/* unit_pool.h - what else stays channels last between convolutions: pooling, functions and sums of values, and channels
 * joined. All of it is channels last; source and result are bound to no value yet. */
#ifndef SH_GRAPH_COMPILE_UNIT_POOL_H
#define SH_GRAPH_COMPILE_UNIT_POOL_H

#include "graph/compile/postop.h"

/* A max_pool2d, avg_pool2d, adaptive_avg_pool2d, or a mean over both axes of a plane. NULL: an error, or, without one, it is none
 * that oneDNN does as we do. oneDNN's largest element may miss a NaN. */
sh_primitive *sh__pool_new(const sh_plan *plan, const sh_plan_step *step);
/* An elementwise function of `self`. */
sh_primitive *sh__eltwise_new(const sh_plan *plan, const sh_plan_step *step);
/* self + other, of equal shapes; DNNL_ARG_SRC_0 and DNNL_ARG_SRC_1. */
sh_primitive *sh__binary_new(const sh_plan *plan, const sh_plan_step *step);

/* ---- channels joined, channels last ---- */

extern const sh_unit_type sh__unit_channels;

typedef struct sh_channels_part {
    uint32_t value; /* SH_NO_VALUE: zeros */
    int64_t width;
} sh_channels_part;

typedef struct sh_channels {
    uint32_t result, n;
    int64_t pixels, width; /* of a pixel: the sum of the parts' */
    sh_channels_part parts[];
} sh_channels;

/* A cat of 4-d values along their channels. The parts' values are those of the draft. NULL: as above. */
sh_channels *sh__channels_new(const sh_plan *plan, const sh_plan_step *step);

#endif
