/* infer_quantize.h - results of ops on quantised tensors. What scales and zero points in tensors hold is for the
 * kernels to look at. */
#ifndef SH_OPS_INFER_QUANTIZE_H
#define SH_OPS_INFER_QUANTIZE_H

#include "ops/promote.h"

sh_status sh_infer_quantize_per_tensor(sh_spec *r, const sh_tensor *input, double scale, int64_t zero_point,
                                       sh_dtype dtype, int64_t quant_min, int64_t quant_max);
sh_status sh_infer_quantize_per_channel(sh_spec *r, const sh_tensor *input, const sh_tensor *scales,
                                        const sh_tensor *zero_points, int64_t axis, sh_dtype dtype,
                                        int64_t quant_min, int64_t quant_max);
sh_status sh_infer_dequantize_per_tensor(sh_spec *r, const sh_tensor *input, double scale,
                                         int64_t zero_point);
sh_status sh_infer_dequantize_per_channel(sh_spec *r, const sh_tensor *input, const sh_tensor *scales,
                                          const sh_tensor *zero_points, int64_t axis);
sh_status sh_infer_fake_quantize_per_tensor(sh_spec *r, const sh_tensor *self, double scale,
                                            int64_t zero_point, int64_t quant_min, int64_t quant_max);
sh_status sh_infer_fake_quantize_per_channel(sh_spec *r, const sh_tensor *self, const sh_tensor *scale,
                                             const sh_tensor *zero_point, int64_t axis, int64_t quant_min,
                                             int64_t quant_max);

sh_status sh_infer_quantized_linear(sh_spec *r, const sh_tensor *input, double input_scale,
                                    int64_t input_zero_point, const sh_tensor *weight,
                                    const sh_tensor *weight_scales, const sh_tensor *bias,
                                    double output_scale, int64_t output_zero_point, sh_dtype output_dtype);
/* `axes` is 1 or 2. */
sh_status sh_infer_quantized_conv(sh_spec *r, int axes, const sh_tensor *input, double input_scale,
                                  int64_t input_zero_point, const sh_tensor *weight,
                                  const sh_tensor *weight_scales, const sh_tensor *bias, sh_ints stride,
                                  sh_ints padding, sh_ints dilation, int64_t groups, double output_scale,
                                  int64_t output_zero_point, sh_dtype output_dtype);
sh_status sh_infer_quantized_add(sh_spec *r, const sh_tensor *self, double self_scale,
                                 int64_t self_zero_point, const sh_tensor *other, double other_scale,
                                 int64_t other_zero_point, double output_scale, int64_t output_zero_point,
                                 sh_dtype output_dtype);

#endif
