/* infer_quantize.c - checks of grids (quantize.h) and of the dtypes that quantised ops take. The sizes of products
 * and convolutions are those of their float namesakes. */
#include "ops/infer_quantize.h"

#include <string.h>

#include "ops/infer_window.h"
#include "ops/quantize.h"

/* ---- dtypes and grids ---- */

static bool is_quantized(sh_dtype dtype) { return dtype == SH_I8 || dtype == SH_U8; }

static sh_status check_dtype(const char *op, const char *name, const sh_tensor *t, sh_dtype expected) {
    if (t->dtype == expected) return SH_OK;
    return sh_fail(SH_ERROR_DTYPE, "%s: %s is of %s, expected %s", op, name,
                   sh_dtype_name((sh_dtype)t->dtype), sh_dtype_name(expected));
}

static sh_status check_quantized(const char *op, const char *name, sh_dtype dtype) {
    if (is_quantized(dtype)) return SH_OK;
    return sh_fail(SH_ERROR_DTYPE, "%s: %s is %s, expected i8 or u8", op, name,
                   dtype ? sh_dtype_name(dtype) : "None");
}

/* Scales are rounded to f32, and must be ones after that. */
static sh_status check_scale(const char *op, const char *name, double scale) {
    if ((float)scale > 0 && isfinite((float)scale)) return SH_OK;
    return sh_fail(SH_ERROR_VALUE, "%s: %s is %g, expected a positive number", op, name, scale);
}

static sh_status check_point(const char *op, const char *name, int64_t zero_point, int64_t low,
                             int64_t high) {
    if (zero_point >= low && zero_point <= high) return SH_OK;
    return sh_fail(SH_ERROR_VALUE, "%s: %s is %lld, expected %lld to %lld", op, name, (long long)zero_point,
                   (long long)low, (long long)high);
}

/* The grid of all i8 or u8, under the names of the arguments. */
static sh_status check_grid(const char *op, const char *scale_name, double scale, const char *point_name,
                            int64_t zero_point, sh_dtype dtype) {
    const sh_grid g = sh_grid_of(1, 0, dtype);
    SH_TRY(check_scale(op, scale_name, scale));
    return check_point(op, point_name, zero_point, g.low, g.high);
}

static sh_status check_ends(const char *op, int64_t quant_min, int64_t quant_max, int64_t least,
                            int64_t most) {
    SH_TRY(check_point(op, "quant_min", quant_min, least, most));
    SH_TRY(check_point(op, "quant_max", quant_max, least, most));
    if (quant_min <= quant_max) return SH_OK;
    return sh_fail(SH_ERROR_VALUE, "%s: quant_min is %lld, expected at most quant_max, %lld", op,
                   (long long)quant_min, (long long)quant_max);
}

/* Ends within a dtype, either of them absent. Returns them in `g`. */
static sh_status check_ends_of(const char *op, sh_dtype dtype, int64_t quant_min, int64_t quant_max,
                               sh_grid *g) {
    SH_TRY(check_quantized(op, "dtype", dtype));
    const sh_grid all = sh_grid_of(1, 0, dtype);
    SH_TRY(check_ends(op, quant_min == SH_NO_INT ? all.low : quant_min,
                      quant_max == SH_NO_INT ? all.high : quant_max, all.low, all.high));
    *g = sh_grid_within(1, 0, dtype, quant_min, quant_max);
    return SH_OK;
}

static sh_status set(sh_spec *r, const sh_tensor *like, sh_dtype dtype) {
    r->dtype = dtype;
    r->ndim = like->ndim;
    memcpy(r->sizes, like->sizes, sizeof *like->sizes * like->ndim);
    return SH_OK;
}

static sh_status check_channels(const char *op, const sh_tensor *input, const char *scales_name,
                                const sh_tensor *scales, const char *points_name,
                                const sh_tensor *zero_points, int64_t axis) {
    char text[160];
    int at;
    if (!input->ndim)
        return sh_fail(SH_ERROR_SHAPE, "%s: the tensor has no dimensions, expected at least 1", op);
    SH_TRY(sh_wrap_dim(op, axis, input->ndim, &at));
    SH_TRY(check_dtype(op, scales_name, scales, SH_F32));
    if (zero_points->dtype != SH_I32 && zero_points->dtype != SH_I64)
        return sh_fail(SH_ERROR_DTYPE, "%s: %s is of %s, expected i32 or i64", op, points_name,
                       sh_dtype_name((sh_dtype)zero_points->dtype));
    const sh_tensor *odd = scales->ndim != 1 || scales->sizes[0] != input->sizes[at]             ? scales
                           : zero_points->ndim != 1 || zero_points->sizes[0] != input->sizes[at] ? zero_points
                                                                                                 : NULL;
    if (!odd) return SH_OK;
    sh__tensor_print_type(odd, text, sizeof text);
    return sh_fail(SH_ERROR_SHAPE, "%s: %s is %s, expected 1 dimension of %lld, as axis %d", op,
                   odd == scales ? scales_name : points_name, text, (long long)input->sizes[at], at);
}

/* ---- onto grids and back ---- */

sh_status sh_infer_quantize_per_tensor(sh_spec *r, const sh_tensor *input, double scale, int64_t zero_point,
                                       sh_dtype dtype, int64_t quant_min, int64_t quant_max) {
    const char *op = "quantize_per_tensor";
    sh_grid g;
    SH_TRY(check_dtype(op, "input", input, SH_F32));
    SH_TRY(check_ends_of(op, dtype, quant_min, quant_max, &g));
    SH_TRY(check_scale(op, "scale", scale));
    SH_TRY(check_point(op, "zero_point", zero_point, g.low, g.high));
    return set(r, input, dtype);
}

sh_status sh_infer_quantize_per_channel(sh_spec *r, const sh_tensor *input, const sh_tensor *scales,
                                        const sh_tensor *zero_points, int64_t axis, sh_dtype dtype,
                                        int64_t quant_min, int64_t quant_max) {
    const char *op = "quantize_per_channel";
    sh_grid g;
    SH_TRY(check_dtype(op, "input", input, SH_F32));
    SH_TRY(check_ends_of(op, dtype, quant_min, quant_max, &g));
    SH_TRY(check_channels(op, input, "scales", scales, "zero_points", zero_points, axis));
    return set(r, input, dtype);
}

sh_status sh_infer_dequantize_per_tensor(sh_spec *r, const sh_tensor *input, double scale,
                                         int64_t zero_point) {
    const char *op = "dequantize_per_tensor";
    SH_TRY(check_quantized(op, "input", (sh_dtype)input->dtype));
    SH_TRY(check_grid(op, "scale", scale, "zero_point", zero_point, (sh_dtype)input->dtype));
    return set(r, input, SH_F32);
}

sh_status sh_infer_dequantize_per_channel(sh_spec *r, const sh_tensor *input, const sh_tensor *scales,
                                          const sh_tensor *zero_points, int64_t axis) {
    const char *op = "dequantize_per_channel";
    SH_TRY(check_quantized(op, "input", (sh_dtype)input->dtype));
    SH_TRY(check_channels(op, input, "scales", scales, "zero_points", zero_points, axis));
    return set(r, input, SH_F32);
}

sh_status sh_infer_fake_quantize_per_tensor(sh_spec *r, const sh_tensor *self, double scale,
                                            int64_t zero_point, int64_t quant_min, int64_t quant_max) {
    const char *op = "fake_quantize_per_tensor_affine";
    SH_TRY(check_dtype(op, "self", self, SH_F32));
    SH_TRY(check_scale(op, "scale", scale));
    SH_TRY(check_ends(op, quant_min, quant_max, -SH_GRID_MOST, SH_GRID_MOST));
    SH_TRY(check_point(op, "zero_point", zero_point, quant_min, quant_max));
    return set(r, self, SH_F32);
}

sh_status sh_infer_fake_quantize_per_channel(sh_spec *r, const sh_tensor *self, const sh_tensor *scale,
                                             const sh_tensor *zero_point, int64_t axis, int64_t quant_min,
                                             int64_t quant_max) {
    const char *op = "fake_quantize_per_channel_affine";
    SH_TRY(check_dtype(op, "self", self, SH_F32));
    SH_TRY(check_ends(op, quant_min, quant_max, -SH_GRID_MOST, SH_GRID_MOST));
    SH_TRY(check_channels(op, self, "scale", scale, "zero_point", zero_point, axis));
    return set(r, self, SH_F32);
}

/* ---- products ---- */

static sh_status set_output(sh_spec *r, const char *op, double scale, int64_t zero_point, sh_dtype dtype) {
    r->dtype = dtype ? dtype : SH_F32;
    if (r->dtype == SH_F32) return SH_OK;
    if (!is_quantized(dtype))
        return sh_fail(SH_ERROR_DTYPE, "%s: output_dtype is %s, expected i8, u8 or f32", op,
                       sh_dtype_name(dtype));
    return check_grid(op, "output_scale", scale, "output_zero_point", zero_point, dtype);
}

static sh_status check_input(const char *op, const sh_tensor *input, double scale, int64_t zero_point) {
    SH_TRY(check_quantized(op, "input", (sh_dtype)input->dtype));
    return check_grid(op, "input_scale", scale, "input_zero_point", zero_point, (sh_dtype)input->dtype);
}

/* Dtypes of all, and as many scales as there are outputs, the first dimension of weight. */
static sh_status check_weight(const char *op, const sh_tensor *weight, const sh_tensor *scales,
                              const sh_tensor *bias) {
    char text[160];
    SH_TRY(check_dtype(op, "weight", weight, SH_I8));
    SH_TRY(check_dtype(op, "weight_scales", scales, SH_F32));
    if (bias) SH_TRY(check_dtype(op, "bias", bias, SH_F32));
    if (weight->ndim && weight->sizes[0] && weight->numel / weight->sizes[0] > SH_QUANTIZED_TERMS)
        return sh_fail(SH_ERROR_UNSUPPORTED, "%s: a result sums up %lld products, expected at most %d", op,
                       (long long)(weight->numel / weight->sizes[0]), SH_QUANTIZED_TERMS);
    if (scales->numel == 1 && scales->ndim < 2) return SH_OK;
    if (weight->ndim && scales->ndim == 1 && scales->sizes[0] == weight->sizes[0]) return SH_OK;
    sh__tensor_print_type(scales, text, sizeof text);
    return sh_fail(SH_ERROR_SHAPE, "%s: weight_scales is %s, expected 1 entry or one for each output", op,
                   text);
}

static sh_status check_linear(const char *op, const sh_tensor *input, const sh_tensor *weight,
                              const sh_tensor *bias) {
    char a[160], b[160];
    if (!input->ndim || weight->ndim != 2 || input->sizes[input->ndim - 1] != weight->sizes[1]) {
        sh__tensor_print_type(input, a, sizeof a);
        sh__tensor_print_type(weight, b, sizeof b);
        return sh_fail(
            SH_ERROR_SHAPE,
            "%s: input is %s and weight is %s, expected a weight of 2 dimensions, the last as long "
            "as the last of input",
            op, a, b);
    }
    if (!bias || (bias->ndim == 1 && bias->sizes[0] == weight->sizes[0])) return SH_OK;
    sh__tensor_print_type(bias, a, sizeof a);
    return sh_fail(SH_ERROR_SHAPE, "%s: bias is %s, expected 1 dimension of %lld", op, a,
                   (long long)weight->sizes[0]);
}

sh_status sh_infer_quantized_linear(sh_spec *r, const sh_tensor *input, double input_scale,
                                    int64_t input_zero_point, const sh_tensor *weight,
                                    const sh_tensor *weight_scales, const sh_tensor *bias,
                                    double output_scale, int64_t output_zero_point, sh_dtype output_dtype) {
    const char *op = "quantized_linear";
    SH_TRY(check_input(op, input, input_scale, input_zero_point));
    SH_TRY(check_weight(op, weight, weight_scales, bias));
    SH_TRY(check_linear(op, input, weight, bias));
    set(r, input, (sh_dtype)input->dtype);
    r->sizes[r->ndim - 1] = weight->sizes[0];
    return set_output(r, op, output_scale, output_zero_point, output_dtype);
}

sh_status sh_infer_quantized_conv(sh_spec *r, int axes, const sh_tensor *input, double input_scale,
                                  int64_t input_zero_point, const sh_tensor *weight,
                                  const sh_tensor *weight_scales, const sh_tensor *bias, sh_ints stride,
                                  sh_ints padding, sh_ints dilation, int64_t groups, double output_scale,
                                  int64_t output_zero_point, sh_dtype output_dtype) {
    const char *op = axes == 1 ? "quantized_conv1d" : "quantized_conv2d";
    SH_TRY(check_input(op, input, input_scale, input_zero_point));
    SH_TRY(check_weight(op, weight, weight_scales, bias));
    SH_TRY(sh_infer_conv_sizes(r, op, axes, input, weight, bias, stride, padding, dilation, groups));
    return set_output(r, op, output_scale, output_zero_point, output_dtype);
}

sh_status sh_infer_quantized_add(sh_spec *r, const sh_tensor *self, double self_scale,
                                 int64_t self_zero_point, const sh_tensor *other, double other_scale,
                                 int64_t other_zero_point, double output_scale, int64_t output_zero_point,
                                 sh_dtype output_dtype) {
    const char *op = "quantized_add";
    SH_TRY(check_quantized(op, "self", (sh_dtype)self->dtype));
    SH_TRY(check_quantized(op, "other", (sh_dtype)other->dtype));
    SH_TRY(
        check_grid(op, "self_scale", self_scale, "self_zero_point", self_zero_point, (sh_dtype)self->dtype));
    SH_TRY(check_grid(op, "other_scale", other_scale, "other_zero_point", other_zero_point,
                      (sh_dtype)other->dtype));
    SH_TRY(sh_broadcast(op, self->ndim, self->sizes, other->ndim, other->sizes, &r->ndim, r->sizes));
    return set_output(r, op, output_scale, output_zero_point, output_dtype);
}
