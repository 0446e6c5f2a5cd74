/* quantize.c - see quantize.h. Infer functions have checked what needs no data; here the entries of scales and zero
 * points are looked at. */
#include "ops/quantize.h"

#include "dispatch/memory_impl.h"
#include "ops/element.h"

sh_grid sh_grid_of(double scale, int64_t zero_point, sh_dtype dtype) {
    const int low = dtype == SH_U8 ? 0 : -128;
    return (sh_grid){(float)scale, (int32_t)zero_point, low, low + 255};
}

sh_grid sh_grid_within(double scale, int64_t zero_point, sh_dtype dtype, int64_t quant_min,
                       int64_t quant_max) {
    sh_grid g = sh_grid_of(scale, zero_point, dtype);
    if (quant_min != SH_NO_INT) g.low = (int32_t)quant_min;
    if (quant_max != SH_NO_INT) g.high = (int32_t)quant_max;
    return g;
}

static sh_status check_scale(const char *op, const char *name, float scale, int64_t i) {
    if (scale > 0 && isfinite(scale)) return SH_OK;
    return sh_fail(SH_ERROR_VALUE, "%s: entry %lld of %s is %g, expected a positive number", op, (long long)i,
                   name, (double)scale);
}

static sh_status read_grid(const char *op, const sh_tensor *scales, const sh_tensor *zero_points, int64_t i,
                           sh_grid *g) {
    const int64_t zero_point = sh_load_i64((sh_dtype)zero_points->dtype, sh_element(zero_points, &i, 1));
    g->scale = *(const float *)sh_element(scales, &i, 1);
    SH_TRY(check_scale(op, "scales", g->scale, i));
    if (zero_point < g->low || zero_point > g->high)
        return sh_fail(SH_ERROR_VALUE, "%s: entry %lld of zero_points is %lld, expected %d to %d", op,
                       (long long)i, (long long)zero_point, g->low, g->high);
    g->zero_point = (int32_t)zero_point;
    return SH_OK;
}

sh_status sh_grids_of(const char *op, const sh_tensor *scales, const sh_tensor *zero_points, sh_grid like,
                      sh_grid **grids) {
    const int64_t n = scales->numel;
    sh_grid *made = sh__alloc(sizeof *made * (size_t)(n + 1));
    sh_status status = made ? SH_OK : SH_ERROR_MEMORY;
    for (int64_t i = 0; i < n && status >= 0; i++) {
        made[i] = like;
        status = read_grid(op, scales, zero_points, i, &made[i]);
    }
    if (status < 0) {
        sh__free(made);
        return status;
    }
    *grids = made;
    return SH_OK;
}

/* ---- results ---- */

static bool is_real(const sh_quantized_output *output) { return !output->dtype || output->dtype == SH_F32; }

double sh_step_of(const sh_quantized_output *output) { return is_real(output) ? 1 : output->scale; }

sh_steps sh_steps_of(const sh_quantized_output *output) {
    if (is_real(output)) return (sh_steps){SH_F32, output->relu ? 0 : -INFINITY, INFINITY, 0};
    const sh_grid g = sh_grid_of(output->scale, output->zero_point, output->dtype);
    return (sh_steps){output->dtype, output->relu ? 0 : (float)(g.low - g.zero_point),
                      (float)(g.high - g.zero_point), g.zero_point};
}

static const float *entry(const sh_tensor *t, int64_t i) { return (const float *)sh_element(t, &i, 1); }

sh_status sh_requantize_make(sh_requantize *q, const char *op, double input_scale,
                             const sh_tensor *weight_scales, const sh_tensor *bias, int64_t outputs,
                             const sh_quantized_output *output) {
    const double step = sh_step_of(output);
    *q = (sh_requantize){.to = sh_steps_of(output)};
    for (int64_t i = 0; i < weight_scales->numel; i++)
        SH_TRY(check_scale(op, "weight_scales", *entry(weight_scales, i), i));
    if (!(q->factor = sh__alloc(sizeof *q->factor * 2 * (size_t)(outputs + 1)))) return SH_ERROR_MEMORY;
    q->offset = q->factor + outputs;
    for (int64_t i = 0; i < outputs; i++) {
        q->factor[i] = (float)(input_scale * *entry(weight_scales, i) / step);
        q->offset[i] = bias ? (float)(*entry(bias, i) / step) : 0;
    }
    return SH_OK;
}

void sh_requantize_free(sh_requantize *q) {
    sh__free(q->factor);
    q->factor = NULL;
}
