/* quantize.c - quantised ops in the cpu backend. */
#include "ops/kernels.h"

sh_status sh_cpu_quantize_per_tensor(sh_tensor *r, sh_tensor *input, double scale, int64_t zero_point,
                                     sh_dtype dtype, int64_t quant_min, int64_t quant_max) {
    return sh_ref_quantize_per_tensor(r, input, scale, zero_point, dtype, quant_min, quant_max);
}

sh_status sh_cpu_quantize_per_channel(sh_tensor *r, sh_tensor *input, sh_tensor *scales,
                                      sh_tensor *zero_points, int64_t axis, sh_dtype dtype, int64_t quant_min,
                                      int64_t quant_max) {
    return sh_ref_quantize_per_channel(r, input, scales, zero_points, axis, dtype, quant_min, quant_max);
}

sh_status sh_cpu_dequantize_per_tensor(sh_tensor *r, sh_tensor *input, double scale, int64_t zero_point) {
    return sh_ref_dequantize_per_tensor(r, input, scale, zero_point);
}

sh_status sh_cpu_dequantize_per_channel(sh_tensor *r, sh_tensor *input, sh_tensor *scales,
                                        sh_tensor *zero_points, int64_t axis) {
    return sh_ref_dequantize_per_channel(r, input, scales, zero_points, axis);
}

sh_status sh_cpu_fake_quantize_per_tensor_affine(sh_tensor *r, sh_tensor *self, double scale,
                                                 int64_t zero_point, int64_t quant_min, int64_t quant_max) {
    return sh_ref_fake_quantize_per_tensor_affine(r, self, scale, zero_point, quant_min, quant_max);
}

sh_status sh_cpu_fake_quantize_per_channel_affine(sh_tensor *r, sh_tensor *self, sh_tensor *scale,
                                                  sh_tensor *zero_point, int64_t axis, int64_t quant_min,
                                                  int64_t quant_max) {
    return sh_ref_fake_quantize_per_channel_affine(r, self, scale, zero_point, axis, quant_min, quant_max);
}

sh_status sh_cpu_quantized_linear(sh_tensor *r, sh_tensor *input, double input_scale,
                                  int64_t input_zero_point, sh_tensor *weight, sh_tensor *weight_scales,
                                  sh_tensor *bias, double output_scale, int64_t output_zero_point,
                                  sh_dtype output_dtype, bool relu) {
    return sh_ref_quantized_linear(r, input, input_scale, input_zero_point, weight, weight_scales, bias,
                                   output_scale, output_zero_point, output_dtype, relu);
}

sh_status sh_cpu_quantized_conv2d(sh_tensor *r, sh_tensor *input, double input_scale,
                                  int64_t input_zero_point, sh_tensor *weight, sh_tensor *weight_scales,
                                  sh_tensor *bias, sh_ints stride, sh_ints padding, sh_ints dilation,
                                  int64_t groups, double output_scale, int64_t output_zero_point,
                                  sh_dtype output_dtype, bool relu) {
    return sh_ref_quantized_conv2d(r, input, input_scale, input_zero_point, weight, weight_scales, bias,
                                   stride, padding, dilation, groups, output_scale, output_zero_point,
                                   output_dtype, relu);
}

sh_status sh_cpu_quantized_conv1d(sh_tensor *r, sh_tensor *input, double input_scale,
                                  int64_t input_zero_point, sh_tensor *weight, sh_tensor *weight_scales,
                                  sh_tensor *bias, sh_ints stride, sh_ints padding, sh_ints dilation,
                                  int64_t groups, double output_scale, int64_t output_zero_point,
                                  sh_dtype output_dtype, bool relu) {
    return sh_ref_quantized_conv1d(r, input, input_scale, input_zero_point, weight, weight_scales, bias,
                                   stride, padding, dilation, groups, output_scale, output_zero_point,
                                   output_dtype, relu);
}

sh_status sh_cpu_quantized_add(sh_tensor *r, sh_tensor *self, double self_scale, int64_t self_zero_point,
                               sh_tensor *other, double other_scale, int64_t other_zero_point,
                               double output_scale, int64_t output_zero_point, sh_dtype output_dtype,
                               bool relu) {
    return sh_ref_quantized_add(r, self, self_scale, self_zero_point, other, other_scale, other_zero_point,
                                output_scale, output_zero_point, output_dtype, relu);
}
