/* quantized_patches.h - convolution of integers by oneDNN. */
#ifndef SH_OPS_CPU_QUANTIZED_PATCHES_H
#define SH_OPS_CPU_QUANTIZED_PATCHES_H

#include "ops/cpu/quantized_bytes.h"
#include "ops/infer_window.h"
#include "ops/quantize.h"

/* Is that sooner done than by ourselves? */
bool sh_quantized_patches_win(const sh_conv *c);
/* Of x, which is [batch, channels, y.in, x.in], with a contiguous weight, into r. */
sh_status sh_quantized_patches(sh_tensor *r, const sh_conv *c, const sh_quantized_bytes *x,
                               const int8_t *weight, const sh_requantize *to);

#endif
