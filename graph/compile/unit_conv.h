/* unit_conv.h - a 2-d convolution of f32 with a constant weight, and what follows it. */
#ifndef SH_GRAPH_COMPILE_UNIT_CONV_H
#define SH_GRAPH_COMPILE_UNIT_CONV_H

#include "graph/compile/postop.h"

/* By axis, y first. All that two convolutions must have alike to be one primitive, but for their post-ops. */
typedef struct sh_conv_shape {
    int64_t batch, channels, outputs, groups;
    dnnl_dims_t in, out, kernel, stride, dilation, before, after; /* the last two: padding, with 0 */
    int64_t has_bias;
} sh_conv_shape;

enum { SH_CONV_BIASES = 3 };

/* A batch norm by running statistics. */
typedef struct sh_conv_norm {
    const sh_tensor *mean, *var, *gamma, *beta; /* mean is NULL: there is none; the last two may be */
    double eps;
} sh_conv_norm;

/* Filters to be packed: the weight's, or a scaled copy of them. */
typedef struct sh_conv_filters {
    const float *data;
    const int64_t *strides;
    int64_t own_strides[4];
    float *block;
    size_t capacity;
} sh_conv_filters;

typedef struct sh_conv_unit {
    sh_conv_shape shape;
    uint32_t input, output; /* values of the draft */
    const sh_tensor *weight;
    uint32_t weight_value;
    const sh_tensor *biases[SH_CONV_BIASES]; /* they add up */
    uint32_t nbiases;
    sh_conv_norm norm; /* of that */
    sh_postops after;
} sh_conv_unit;

/* Is the step a convolution that this can do? Then it is described, without what is fused. */
bool sh__conv_read(const sh_plan *plan, const sh_plan_step *step, sh_conv_unit *conv);
/* Takes a padding with zeros in front of it over: the step that makes its input. */
bool sh__conv_take_pad(const sh_plan *plan, const sh_plan_step *pad, sh_conv_unit *conv);
/* Takes what a step makes of its result over: a function, a sum. `from` is the value as it is so far. */
bool sh__conv_take_step(const sh_plan *plan, const sh_plan_step *step, uint32_t from, sh_conv_unit *conv);

/* oneDNN's primitive for it, channels last; constants not packed, source and result bound to no value yet. NULL: an error, or,
 * without one, oneDNN has no more than plain loops for it. */
sh_primitive *sh__conv_new(const sh_conv_unit *conv);
sh_status sh__conv_pack(const sh_conv_unit *conv, sh_primitive *p);
/* Ended by sh__conv_filters_end. */
sh_status sh__conv_filters(const sh_conv_unit *conv, sh_conv_filters *filters);
void sh__conv_filters_end(sh_conv_filters *filters);
/* What is added to each output, or 0. */
void sh__conv_bias(const sh_conv_unit *conv, float *sums);

#endif
