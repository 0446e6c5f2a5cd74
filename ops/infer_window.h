/* infer_window.h - results of convolution and pooling, and the geometry that their kernels share.
 *
 * Windows slide over the last one or two axes; what stands before them is channels and, optionally, a batch. A 1-d
 * convolution is a 2-d one of height 1. */
#ifndef SH_OPS_INFER_WINDOW_H
#define SH_OPS_INFER_WINDOW_H

#include "ops/promote.h"

/* One axis of a sliding window: output o meets the inputs o * stride - padding + k * dilation, k < kernel, of which
 * those outside [0, in) are padding. */
typedef struct sh_window {
    int64_t in, kernel, stride, padding, dilation, out;
} sh_window;

typedef struct sh_conv {
    int64_t batch, channels, outputs, groups; /* channels in and out, of all groups */
    sh_window y, x;
} sh_conv;

/* The geometry of a convolution that sh_infer_conv1d or sh_infer_conv2d has let pass. */
sh_conv sh_conv_of(const sh_tensor *input, const sh_tensor *weight, sh_ints stride, sh_ints padding,
                   sh_ints dilation, int64_t groups);
sh_status sh_infer_conv(sh_spec *r, const char *op, const sh_tensor *input, const sh_tensor *weight,
                        const sh_tensor *bias, sh_ints stride, sh_ints padding, sh_ints dilation,
                        int64_t groups);

/* The part that looks at no dtype; `axes` is 1 or 2. The result is of the input's dtype. */
sh_status sh_infer_conv_sizes(sh_spec *r, const char *op, int axes, const sh_tensor *input,
                              const sh_tensor *weight, const sh_tensor *bias, sh_ints stride, sh_ints padding,
                              sh_ints dilation, int64_t groups);

typedef struct sh_pooling {
    int64_t planes; /* batch times channels */
    sh_window y, x;
} sh_pooling;

/* An empty stride means that of the kernel; an absent dilation 1. */
sh_pooling sh_pooling_of(const sh_tensor *self, sh_ints kernel_size, sh_ints stride, sh_ints padding,
                         sh_ints dilation, bool ceil_mode);
sh_status sh_infer_max_pool2d(sh_spec *r, const sh_tensor *self, sh_ints kernel_size, sh_ints stride,
                              sh_ints padding, sh_ints dilation, bool ceil_mode);
sh_status sh_infer_avg_pool2d(sh_spec *r, const sh_tensor *self, sh_ints kernel_size, sh_ints stride,
                              sh_ints padding, bool ceil_mode, int64_t divisor_override);
sh_status sh_infer_adaptive_avg_pool2d(sh_spec *r, const sh_tensor *self, sh_ints output_size);

#endif
