/* nn_loops.h - the inner loops of normalisation and pooling, in f32 and f64, and of max_pool2d in i8 and u8, one table a level of the vector math
 * (vmath.h). All arrays are contiguous; `to` may be `x`, element on element. */
#ifndef SH_OPS_CPU_NN_LOOPS_H
#define SH_OPS_CPU_NN_LOOPS_H

#include "dispatch/dtype.h"

typedef struct sh_nn_loops {
    /* to = (x - mean) * scale + shift */
    void (*normalise)(void *to, const void *x, int64_t n, double mean, double scale, double shift);
    /* to = (x - mean) * scale * weight + bias, one of each for every element; NULL is 1 or 0 */
    void (*normalise_each)(void *to, const void *x, int64_t n, double mean, double scale, const void *weight,
                           const void *bias);
    /* to = (x - mean) * scale + shift, one of each for every element */
    void (*normalise_columns)(void *to, const void *x, int64_t n, const void *mean, const void *scale,
                              const void *shift);
    /* to = the larger one, or the sum, of to and from[i * step]; NaN is larger */
    void (*take_larger)(void *to, const void *from, int64_t step, int64_t n);
    void (*add)(void *to, const void *from, int64_t step, int64_t n);
    /* to = to / (factor * divisors) */
    void (*divide)(void *to, const void *divisors, double factor, int64_t n);
    void (*fill)(void *to, double value, int64_t n);
} sh_nn_loops;

extern const sh_nn_loops sh_nn_sse2[4], sh_nn_avx2[4], sh_nn_avx512[4]; /* f32, f64, i8, u8 */

/* For one of these dtypes, of the level in force; i8 and u8 have take_larger and fill. */
const sh_nn_loops *sh_nn_loops_for(sh_dtype dtype);

#endif
