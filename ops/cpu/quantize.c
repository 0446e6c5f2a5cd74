/* quantize.c - onto grids and back in the cpu backend, and sums: loops before the engine of iter.h.
 *
 * Grids of channels are operands of their own that broadcast along the axis, and integers come as f32, which holds them
 * exactly; their entries are checked first, as in ref. */
#include "dispatch/memory_impl.h"
#include "ops/cpu/quantized_table.h"
#include "ops/cpu/vmath.h"
#include "ops/kernels.h"

const sh_quantized_table *sh_quantized_loops(void) {
    static const sh_quantized_table *const tables[SH_VMATH_LEVEL_COUNT] = {
        [SH_VMATH_SSE2] = &sh_quantized_sse2,
        [SH_VMATH_AVX2] = &sh_quantized_avx2,
        [SH_VMATH_AVX512] = &sh_quantized_avx512};
    return tables[sh_vmath_level_now()];
}

static bool is_signed(const sh_tensor *t) { return t->dtype == SH_I8; }

/* Operands come as f32, or as they are. */
static sh_status map(sh_loop *loop, sh_tensor *r, const sh_tensor *const *from, int n, bool as_f32,
                     const void *parameters) {
    sh_map m = {.loop = loop, .parameters = parameters, .to = r, .made = (sh_dtype)r->dtype, .n = n};
    for (int i = 0; i < n; i++) {
        const sh_dtype dtype = as_f32 ? SH_F32 : (sh_dtype)from[i]->dtype;
        m.from[i] = (sh_operand){from[i], dtype, dtype};
    }
    sh__map(&m);
    return SH_OK;
}

/* ---- one grid ---- */

static sh_status with_grid(sh_loop *loop, sh_tensor *r, const sh_tensor *input, sh_grid g) {
    const sh_quantize_loop l = {g, 1.0f / g.scale, (float)(g.low - g.zero_point),
                                (float)(g.high - g.zero_point)};
    return map(loop, r, &input, 1, false, &l);
}

sh_status sh_cpu_quantize_per_tensor(sh_tensor *r, sh_tensor *input, double scale, int64_t zero_point,
                                     sh_dtype dtype, int64_t quant_min, int64_t quant_max) {
    return with_grid(sh_quantized_loops()->quantize, r, input,
                     sh_grid_within(scale, zero_point, dtype, quant_min, quant_max));
}

sh_status sh_cpu_dequantize_per_tensor(sh_tensor *r, sh_tensor *input, double scale, int64_t zero_point) {
    return with_grid(sh_quantized_loops()->dequantize[is_signed(input)], r, input,
                     sh_grid_of(scale, zero_point, (sh_dtype)input->dtype));
}

sh_status sh_cpu_fake_quantize_per_tensor_affine(sh_tensor *r, sh_tensor *self, double scale,
                                                 int64_t zero_point, int64_t quant_min, int64_t quant_max) {
    return with_grid(sh_quantized_loops()->fake, r, self,
                     sh_grid_within(scale, zero_point, SH_I8, quant_min, quant_max));
}

/* ---- a grid for each channel ---- */

/* A vector along dimension `axis` of tensors with `ndim`: a view, the caller's. */
static sh_tensor *along(const sh_tensor *vector, int axis, int ndim) {
    int64_t sizes[SH_MAX_DIMS], strides[SH_MAX_DIMS] = {0};
    sh_tensor *view = sh__tensor_view(vector);
    if (!view) return NULL;
    for (int i = 0; i < ndim; i++) sizes[i] = 1;
    sizes[axis] = vector->sizes[0];
    strides[axis] = vector->strides[0];
    sh__tensor_set_layout(view, ndim, sizes, strides, 0);
    return view;
}

static sh_status with_views(sh_loop *loop, sh_tensor *r, const sh_tensor *input, const sh_tensor *scales,
                            const sh_tensor *zero_points, sh_grid like) {
    const sh_quantize_loop l = {.grid = like};
    if (!scales || !zero_points) return SH_ERROR_MEMORY;
    return map(loop, r, (const sh_tensor *[]){input, scales, zero_points}, 3, true, &l);
}

static sh_status with_grids(sh_loop *loop, const char *op, sh_tensor *r, const sh_tensor *input,
                            const sh_tensor *scales, const sh_tensor *zero_points, int64_t axis,
                            sh_grid like) {
    const int at = (int)(axis < 0 ? axis + r->ndim : axis);
    sh_grid *checked;
    SH_TRY(sh_grids_of(op, scales, zero_points, like, &checked));
    sh__free(checked);
    sh_tensor *s = along(scales, at, r->ndim), *z = s ? along(zero_points, at, r->ndim) : NULL;
    const sh_status status = with_views(loop, r, input, s, z, like);
    if (s) sh__release(s);
    if (z) sh__release(z);
    return status;
}

sh_status sh_cpu_quantize_per_channel(sh_tensor *r, sh_tensor *input, sh_tensor *scales,
                                      sh_tensor *zero_points, int64_t axis, sh_dtype dtype, int64_t quant_min,
                                      int64_t quant_max) {
    return with_grids(sh_quantized_loops()->quantize_channels, "quantize_per_channel", r, input, scales,
                      zero_points, axis, sh_grid_within(1, 0, dtype, quant_min, quant_max));
}

sh_status sh_cpu_dequantize_per_channel(sh_tensor *r, sh_tensor *input, sh_tensor *scales,
                                        sh_tensor *zero_points, int64_t axis) {
    return with_grids(sh_quantized_loops()->dequantize_channels, "dequantize_per_channel", r, input, scales,
                      zero_points, axis, sh_grid_of(1, 0, (sh_dtype)input->dtype));
}

sh_status sh_cpu_fake_quantize_per_channel_affine(sh_tensor *r, sh_tensor *self, sh_tensor *scale,
                                                  sh_tensor *zero_point, int64_t axis, int64_t quant_min,
                                                  int64_t quant_max) {
    return with_grids(sh_quantized_loops()->fake_channels, "fake_quantize_per_channel_affine", r, self, scale,
                      zero_point, axis, sh_grid_within(1, 0, SH_I8, quant_min, quant_max));
}

/* ---- sums ---- */

sh_status sh_cpu_quantized_add(sh_tensor *r, sh_tensor *self, double self_scale, int64_t self_zero_point,
                               sh_tensor *other, double other_scale, int64_t other_zero_point,
                               double output_scale, int64_t output_zero_point, sh_dtype output_dtype,
                               bool relu) {
    const sh_quantized_output output = {output_scale, output_zero_point, output_dtype, relu};
    const double step = sh_step_of(&output);
    const sh_quantized_add_loop l = {(float)self_zero_point, (float)(self_scale / step),
                                     (float)other_zero_point, (float)(other_scale / step),
                                     sh_steps_of(&output)};
    return map(sh_quantized_loops()->add[is_signed(self)][is_signed(other)], r,
               (const sh_tensor *[]){self, other}, 2, false, &l);
}
