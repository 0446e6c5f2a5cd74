/* quantize.c - quantised ops in the ref backend: one result after the other, sums of products exact in i32. */
#include "ops/quantize.h"

#include <string.h>

#include "dispatch/memory_impl.h"
#include "ops/element.h"
#include "ops/kernels.h"
#include "ops/ref/window.h"

/* ---- onto grids and back ---- */

/* The grid of each element: `grids` has one, or one for each entry along `axis`. */
typedef struct channels {
    const sh_grid *grids;
    int axis; /* -1: one grid for all */
} channels;

static const sh_grid *grid_at(const channels *c, const int64_t *index) {
    return c->axis < 0 ? c->grids : c->grids + index[c->axis];
}

static void quantize(sh_tensor *r, const sh_tensor *input, channels c) {
    SH_EACH_ELEMENT(r, i) {
        const sh_grid *g = grid_at(&c, i);
        const float x = *(const float *)sh_element(input, i, r->ndim);
        *(uint8_t *)sh_element(r, i, r->ndim) = (uint8_t)((int32_t)sh_grid_steps(g, x) + g->zero_point);
    }
}

static void dequantize(sh_tensor *r, const sh_tensor *input, channels c) {
    SH_EACH_ELEMENT(r, i) {
        const sh_grid *g = grid_at(&c, i);
        const int64_t q = sh_load_i64((sh_dtype)input->dtype, sh_element(input, i, r->ndim));
        *(float *)sh_element(r, i, r->ndim) = (float)(q - g->zero_point) * g->scale;
    }
}

static void fake_quantize(sh_tensor *r, const sh_tensor *self, channels c) {
    SH_EACH_ELEMENT(r, i) {
        const sh_grid *g = grid_at(&c, i);
        const int32_t steps = (int32_t)sh_grid_steps(g, *(const float *)sh_element(self, i, r->ndim));
        *(float *)sh_element(r, i, r->ndim) = (float)steps * g->scale;
    }
}

typedef void each_fn(sh_tensor *r, const sh_tensor *input, channels c);

static sh_status per_channel(sh_tensor *r, const char *op, const sh_tensor *input, const sh_tensor *scales,
                             const sh_tensor *zero_points, int64_t axis, sh_grid like, each_fn *each) {
    sh_grid *grids;
    SH_TRY(sh_grids_of(op, scales, zero_points, like, &grids));
    each(r, input, (channels){grids, (int)(axis < 0 ? axis + r->ndim : axis)});
    sh__free(grids);
    return SH_OK;
}

sh_status sh_ref_quantize_per_tensor(sh_tensor *r, sh_tensor *input, double scale, int64_t zero_point,
                                     sh_dtype dtype, int64_t quant_min, int64_t quant_max) {
    const sh_grid g = sh_grid_within(scale, zero_point, dtype, quant_min, quant_max);
    quantize(r, input, (channels){&g, -1});
    return SH_OK;
}

sh_status sh_ref_quantize_per_channel(sh_tensor *r, sh_tensor *input, sh_tensor *scales,
                                      sh_tensor *zero_points, int64_t axis, sh_dtype dtype, int64_t quant_min,
                                      int64_t quant_max) {
    return per_channel(r, "quantize_per_channel", input, scales, zero_points, axis,
                       sh_grid_within(1, 0, dtype, quant_min, quant_max), quantize);
}

sh_status sh_ref_dequantize_per_tensor(sh_tensor *r, sh_tensor *input, double scale, int64_t zero_point) {
    const sh_grid g = sh_grid_of(scale, zero_point, (sh_dtype)input->dtype);
    dequantize(r, input, (channels){&g, -1});
    return SH_OK;
}

sh_status sh_ref_dequantize_per_channel(sh_tensor *r, sh_tensor *input, sh_tensor *scales,
                                        sh_tensor *zero_points, int64_t axis) {
    return per_channel(r, "dequantize_per_channel", input, scales, zero_points, axis,
                       sh_grid_of(1, 0, (sh_dtype)input->dtype), dequantize);
}

sh_status sh_ref_fake_quantize_per_tensor_affine(sh_tensor *r, sh_tensor *self, double scale,
                                                 int64_t zero_point, int64_t quant_min, int64_t quant_max) {
    const sh_grid g = sh_grid_within(scale, zero_point, SH_I8, quant_min, quant_max);
    fake_quantize(r, self, (channels){&g, -1});
    return SH_OK;
}

sh_status sh_ref_fake_quantize_per_channel_affine(sh_tensor *r, sh_tensor *self, sh_tensor *scale,
                                                  sh_tensor *zero_point, int64_t axis, int64_t quant_min,
                                                  int64_t quant_max) {
    return per_channel(r, "fake_quantize_per_channel_affine", self, scale, zero_point, axis,
                       sh_grid_within(1, 0, SH_I8, quant_min, quant_max), fake_quantize);
}

/* ---- products ---- */

static int32_t product(const sh_tensor *input, const char *x, int32_t zero_point, const char *weight) {
    return ((int32_t)sh_load_i64((sh_dtype)input->dtype, x) - zero_point) * *(const int8_t *)weight;
}

sh_status sh_ref_quantized_linear(sh_tensor *r, sh_tensor *input, double input_scale,
                                  int64_t input_zero_point, sh_tensor *weight, sh_tensor *weight_scales,
                                  sh_tensor *bias, double output_scale, int64_t output_zero_point,
                                  sh_dtype output_dtype, bool relu) {
    const sh_quantized_output output = {output_scale, output_zero_point, output_dtype, relu};
    const int last = r->ndim - 1;
    sh_requantize q;
    SH_TRY(sh_requantize_make(&q, "quantized_linear", input_scale, weight_scales, bias, weight->sizes[0],
                              &output));
    SH_EACH_ELEMENT(r, i) {
        int32_t sum = 0;
        int64_t at[SH_MAX_DIMS];
        memcpy(at, i, sizeof at);
        for (int64_t k = 0; k < weight->sizes[1]; k++) {
            at[last] = k;
            sum += product(input, sh_element(input, at, r->ndim), (int32_t)input_zero_point,
                           sh_element(weight, (const int64_t[]){i[last], k}, 2));
        }
        sh_requantize_store(&q, i[last], sum, sh_element(r, i, r->ndim));
    }
    sh_requantize_free(&q);
    return SH_OK;
}

/* The sum over one channel's window. */
static int32_t sum_window(const sh_tensor *input, const char *plane, int32_t zero_point,
                          const sh_tensor *weight, const char *filter, sh_span y, sh_span x) {
    int32_t sum = 0;
    for (int64_t i = y.first; i < y.last; i++)
        for (int64_t j = x.first; j < x.last; j++)
            sum += product(input, sh_at2(input, plane, y.from + i * y.step, x.from + j * x.step), zero_point,
                           sh_at2(weight, filter, i, j));
    return sum;
}

static void convolve(sh_tensor *r, const sh_tensor *input, int32_t zero_point, const sh_tensor *weight,
                     const sh_conv *c, const sh_requantize *q) {
    const int axes = weight->ndim - 2, channel = input->ndim - axes - 1;
    const int64_t depth = c->channels / c->groups, width = c->outputs / c->groups;
    SH_EACH_ELEMENT(r, i) {
        int32_t sum = 0;
        const int64_t o = i[channel];
        const char *image = channel ? sh_advance(input, input->data, 0, i[0]) : input->data;
        const char *filters = sh_advance(weight, weight->data, 0, o);
        const sh_span y = sh_span_of(&c->y, axes == 2 ? i[channel + 1] : 0),
                      x = sh_span_of(&c->x, i[r->ndim - 1]);
        for (int64_t k = 0; k < depth; k++)
            sum += sum_window(input, sh_advance(input, image, channel, o / width * depth + k), zero_point,
                              weight, sh_advance(weight, filters, 1, k), y, x);
        sh_requantize_store(q, o, sum, sh_element(r, i, r->ndim));
    }
}

sh_status sh_ref_quantized_conv2d(sh_tensor *r, sh_tensor *input, double input_scale,
                                  int64_t input_zero_point, sh_tensor *weight, sh_tensor *weight_scales,
                                  sh_tensor *bias, sh_ints stride, sh_ints padding, sh_ints dilation,
                                  int64_t groups, double output_scale, int64_t output_zero_point,
                                  sh_dtype output_dtype, bool relu) {
    const sh_quantized_output output = {output_scale, output_zero_point, output_dtype, relu};
    const sh_conv c = sh_conv_of(input, weight, stride, padding, dilation, groups);
    sh_requantize q;
    SH_TRY(sh_requantize_make(&q, weight->ndim == 3 ? "quantized_conv1d" : "quantized_conv2d", input_scale,
                              weight_scales, bias, c.outputs, &output));
    convolve(r, input, (int32_t)input_zero_point, weight, &c, &q);
    sh_requantize_free(&q);
    return SH_OK;
}

sh_status sh_ref_quantized_conv1d(sh_tensor *r, sh_tensor *input, double input_scale,
                                  int64_t input_zero_point, sh_tensor *weight, sh_tensor *weight_scales,
                                  sh_tensor *bias, sh_ints stride, sh_ints padding, sh_ints dilation,
                                  int64_t groups, double output_scale, int64_t output_zero_point,
                                  sh_dtype output_dtype, bool relu) {
    return sh_ref_quantized_conv2d(r, input, input_scale, input_zero_point, weight, weight_scales, bias,
                                   stride, padding, dilation, groups, output_scale, output_zero_point,
                                   output_dtype, relu);
}

sh_status sh_ref_quantized_add(sh_tensor *r, sh_tensor *self, double self_scale, int64_t self_zero_point,
                               sh_tensor *other, double other_scale, int64_t other_zero_point,
                               double output_scale, int64_t output_zero_point, sh_dtype output_dtype,
                               bool relu) {
    const sh_quantized_output output = {output_scale, output_zero_point, output_dtype, relu};
    const sh_steps to = sh_steps_of(&output);
    const float a = (float)(self_scale / sh_step_of(&output)), b = (float)(other_scale / sh_step_of(&output));
    SH_EACH_ELEMENT(r, i) {
        const int64_t p = sh_load_i64((sh_dtype)self->dtype, sh_element(self, i, r->ndim)),
                      q = sh_load_i64((sh_dtype)other->dtype, sh_element(other, i, r->ndim));
        const float x = (float)(p - self_zero_point) * a, y = (float)(q - other_zero_point) * b;
        sh_steps_store(&to, x + y, sh_element(r, i, r->ndim));
    }
    return SH_OK;
}
