/* quantize.h - integers that stand for reals, real = scale * (q - zero_point), and the arithmetic that all backends
 * share, so that they agree bit for bit.
 *
 * A grid says which reals the integers low to high of one tensor, or of one channel, stand for. Integer tensors carry
 * no grid: each op is told. Quantising takes x times the rounded inverse of scale to the nearest integer, halves to
 * even, as PyTorch does; what lies beyond the grid, infinities too, goes to its ends (PyTorch wraps some), NaN to low.
 *
 * Results of integer products are sums in i32, brought to reals or to another grid by one factor and one offset for
 * each output: float(sum) * factor + offset, rounded after the product and after the sum. */
#ifndef SH_OPS_QUANTIZE_H
#define SH_OPS_QUANTIZE_H

#include <math.h>

#include "dispatch/tensor_impl.h"

/* Grids lie within this many steps of 0, which f32 holds exactly, and sums of products have at most this many terms. */
enum { SH_GRID_MOST = 1 << 21, SH_QUANTIZED_TERMS = 65536 };

typedef struct sh_grid {
    float scale;
    int32_t zero_point, low, high;
} sh_grid;

/* All integers of i8 or u8. */
sh_grid sh_grid_of(double scale, int64_t zero_point, sh_dtype dtype);
/* The same with ends of its own; SH_NO_INT is that of the dtype. */
sh_grid sh_grid_within(double scale, int64_t zero_point, sh_dtype dtype, int64_t quant_min,
                       int64_t quant_max);
/* A grid for each entry of scales (f32) and zero_points (i32 or i64), with the ends of `like`. They are the caller's
 * and end with sh__free. An error for a scale or zero point that is none. */
sh_status sh_grids_of(const char *op, const sh_tensor *scales, const sh_tensor *zero_points, sh_grid like,
                      sh_grid **grids);

/* x in steps from the zero point. */
static inline float sh_grid_steps(const sh_grid *g, float x) {
    const float y = x * (1.0f / g->scale);
    const float low = (float)(g->low - g->zero_point), high = (float)(g->high - g->zero_point);
    return nearbyintf(y > low ? y < high ? y : high : low);
}

/* ---- results ---- */

/* What ops on integers say of their result: of f32 (`dtype` 0 or SH_F32), or on a grid of i8 or u8. */
typedef struct sh_quantized_output {
    double scale;
    int64_t zero_point;
    sh_dtype dtype;
    bool relu;
} sh_quantized_output;

/* The same for loops: ends in steps from the zero point. A real of f32 counts as one step, its ends are open. */
typedef struct sh_steps {
    sh_dtype dtype;
    float low, high;
    int32_t zero_point;
} sh_steps;
sh_steps sh_steps_of(const sh_quantized_output *output);
/* The size of a step. */
double sh_step_of(const sh_quantized_output *output);

/* y, in steps, as a result. */
static inline void sh_steps_store(const sh_steps *s, float y, void *to) {
    if (s->dtype == SH_F32)
        *(float *)to = y < s->low ? s->low : y;
    else
        *(uint8_t *)to =
            (uint8_t)((int32_t)nearbyintf(y > s->low ? y < s->high ? y : s->high : s->low) + s->zero_point);
}

/* Sums of products to results. */
typedef struct sh_requantize {
    sh_steps to;
    float *factor, *offset; /* one for each output */
} sh_requantize;

/* `bias` may be NULL; weight_scales has one entry, or one for each output. Ends with sh_requantize_free. An error for
 * a weight's scale that is none. */
sh_status sh_requantize_make(sh_requantize *q, const char *op, double input_scale,
                             const sh_tensor *weight_scales, const sh_tensor *bias, int64_t outputs,
                             const sh_quantized_output *output);
void sh_requantize_free(sh_requantize *q);

static inline void sh_requantize_store(const sh_requantize *q, int64_t output, int32_t sum, void *to) {
    const float product = (float)sum * q->factor[output];
    sh_steps_store(&q->to, product + q->offset[output], to);
}

#endif
