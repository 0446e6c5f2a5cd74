/* infer_window.c - the shapes of windows. What they cover is counted with care: hostile numbers saturate and are
 * refused. */
#include "ops/infer_window.h"

#include <string.h>

static const char *type_text(const sh_tensor *t, char *text) {
    sh__tensor_print_type(t, text, 160);
    return text;
}

/* A list of one entry stands for equal ones, an empty or absent one for `otherwise`. */
static int64_t entry(sh_ints list, size_t i, int64_t otherwise) {
    return list.n == 0 ? otherwise : list.at[list.n == 1 ? 0 : i];
}

static sh_status check_list(const char *op, const char *name, sh_ints list, size_t n, int64_t least) {
    if (list.n > 1 && list.n != n)
        return sh_fail(SH_ERROR_VALUE, "%s: %s has %zu entries, expected 1 or %zu", op, name, list.n, n);
    for (size_t i = 0; i < list.n; i++)
        if (list.at[i] < least)
            return sh_fail(SH_ERROR_VALUE, "%s: %s is %lld, expected at least %lld", op, name,
                           (long long)list.at[i], (long long)least);
    return SH_OK;
}

/* Inputs that a window covers, dilation included. Saturates. */
static int64_t extent(const sh_window *w) {
    int64_t e;
    return __builtin_mul_overflow(w->kernel - 1, w->dilation, &e) || e == INT64_MAX ? INT64_MAX : e + 1;
}

static int64_t padded(const sh_window *w) {
    int64_t size;
    return __builtin_mul_overflow(w->padding, 2, &size) || __builtin_add_overflow(size, w->in, &size)
               ? INT64_MAX
               : size;
}

static void set_like(sh_spec *r, const sh_tensor *t) {
    r->dtype = (sh_dtype)t->dtype;
    r->ndim = t->ndim;
    memcpy(r->sizes, t->sizes, sizeof *t->sizes * t->ndim);
}

/* ---- convolution ---- */

static sh_window conv_window(const sh_tensor *input, const sh_tensor *weight, int axes, int axis,
                             sh_ints stride, sh_ints padding, sh_ints dilation) {
    const size_t i = (size_t)axis;
    sh_window w = {input->sizes[input->ndim - axes + axis],
                   weight->sizes[2 + axis],
                   entry(stride, i, 1),
                   entry(padding, i, 0),
                   entry(dilation, i, 1),
                   0};
    w.out = (padded(&w) - extent(&w)) / w.stride + 1;
    return w;
}

sh_conv sh_conv_of(const sh_tensor *input, const sh_tensor *weight, sh_ints stride, sh_ints padding,
                   sh_ints dilation, int64_t groups) {
    const int axes = weight->ndim - 2;
    const bool batched = input->ndim == axes + 2;
    sh_conv c = {batched ? input->sizes[0] : 1,
                 input->sizes[batched],
                 weight->sizes[0],
                 groups,
                 {1, 1, 1, 0, 1, 1},
                 {0}};
    if (axes == 2) c.y = conv_window(input, weight, axes, 0, stride, padding, dilation);
    c.x = conv_window(input, weight, axes, axes - 1, stride, padding, dilation);
    return c;
}

static sh_status check_conv_lists(const char *op, int axes, sh_ints stride, sh_ints padding, sh_ints dilation,
                                  int64_t groups) {
    SH_TRY(check_list(op, "stride", stride, (size_t)axes, 1));
    SH_TRY(check_list(op, "padding", padding, (size_t)axes, 0));
    SH_TRY(check_list(op, "dilation", dilation, (size_t)axes, 1));
    if (groups < 1)
        return sh_fail(SH_ERROR_VALUE, "%s: groups is %lld, expected at least 1", op, (long long)groups);
    return SH_OK;
}

static sh_status check_conv_dtypes(const char *op, const sh_tensor *input, const sh_tensor *weight,
                                   const sh_tensor *bias) {
    const sh_tensor *odd = weight->dtype != input->dtype         ? weight
                           : bias && bias->dtype != input->dtype ? bias
                                                                 : NULL;
    if (odd)
        return sh_fail(SH_ERROR_DTYPE, "%s: %s is of %s, expected %s as input", op,
                       odd == weight ? "weight" : "bias", sh_dtype_name((sh_dtype)odd->dtype),
                       sh_dtype_name((sh_dtype)input->dtype));
    if (input->dtype == SH_B8) return sh_fail(SH_ERROR_DTYPE, "%s: input is of bool, expected numbers", op);
    return SH_OK;
}

static sh_status check_conv_channels(const char *op, const sh_tensor *input, const sh_tensor *weight,
                                     const sh_tensor *bias, int64_t groups) {
    char text[160];
    const int64_t channels = input->sizes[input->ndim - weight->ndim + 1], outputs = weight->sizes[0];
    if (outputs < groups || outputs % groups)
        return sh_fail(SH_ERROR_SHAPE,
                       "%s: weight is %s, expected a first dimension that groups, %lld, divides", op,
                       type_text(weight, text), (long long)groups);
    if (channels != weight->sizes[1] * groups)
        return sh_fail(SH_ERROR_SHAPE,
                       "%s: input has %lld channels, expected %lld for a weight of %s and groups %lld", op,
                       (long long)channels, (long long)(weight->sizes[1] * groups), type_text(weight, text),
                       (long long)groups);
    if (bias && (bias->ndim != 1 || bias->sizes[0] != outputs))
        return sh_fail(SH_ERROR_SHAPE, "%s: bias is %s, expected 1 dimension of %lld", op,
                       type_text(bias, text), (long long)outputs);
    return SH_OK;
}

static sh_status check_conv_window(const char *op, const sh_window *w, const char *axis) {
    if (w->in == 0) return sh_fail(SH_ERROR_SHAPE, "%s: the %s of input is 0, expected at least 1", op, axis);
    if (w->kernel == 0)
        return sh_fail(SH_ERROR_SHAPE, "%s: the %s of weight is 0, expected at least 1", op, axis);
    if (extent(w) > padded(w) || padded(w) == INT64_MAX)
        return sh_fail(
            SH_ERROR_SHAPE,
            "%s: the %s of input is %lld with padding, expected at least %lld, which weight covers", op, axis,
            (long long)padded(w), (long long)extent(w));
    return SH_OK;
}

sh_status sh_infer_conv_sizes(sh_spec *r, const char *op, int axes, const sh_tensor *input,
                              const sh_tensor *weight, const sh_tensor *bias, sh_ints stride, sh_ints padding,
                              sh_ints dilation, int64_t groups) {
    char text[160];
    if (input->ndim != axes + 1 && input->ndim != axes + 2)
        return sh_fail(SH_ERROR_SHAPE, "%s: input is %s, expected %d dimensions, or %d with a batch", op,
                       type_text(input, text), axes + 1, axes + 2);
    if (weight->ndim != axes + 2)
        return sh_fail(SH_ERROR_SHAPE, "%s: weight is %s, expected %d dimensions", op,
                       type_text(weight, text), axes + 2);
    SH_TRY(check_conv_lists(op, axes, stride, padding, dilation, groups));
    SH_TRY(check_conv_channels(op, input, weight, bias, groups));
    const sh_conv c = sh_conv_of(input, weight, stride, padding, dilation, groups);
    SH_TRY(check_conv_window(op, &c.y, "height"));
    SH_TRY(check_conv_window(op, &c.x, axes == 1 ? "length" : "width"));
    set_like(r, input);
    r->sizes[r->ndim - axes - 1] = c.outputs;
    if (axes == 2) r->sizes[r->ndim - 2] = c.y.out;
    r->sizes[r->ndim - 1] = c.x.out;
    return SH_OK;
}

sh_status sh_infer_conv(sh_spec *r, const char *op, const sh_tensor *input, const sh_tensor *weight,
                        const sh_tensor *bias, sh_ints stride, sh_ints padding, sh_ints dilation,
                        int64_t groups) {
    SH_TRY(check_conv_dtypes(op, input, weight, bias));
    return sh_infer_conv_sizes(r, op, strcmp(op, "conv1d") == 0 ? 1 : 2, input, weight, bias, stride, padding,
                               dilation, groups);
}

/* ---- pooling ---- */

static int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* With ceil_mode the last window may hang over, but it must begin inside the input or its left padding. */
static sh_window pool_window(const sh_tensor *self, int axis, sh_ints kernel_size, sh_ints stride,
                             sh_ints padding, sh_ints dilation, bool ceil_mode) {
    const size_t i = (size_t)axis;
    const int64_t kernel = entry(kernel_size, i, 1);
    sh_window w = {self->sizes[self->ndim - 2 + axis],
                   kernel,
                   entry(stride, i, kernel),
                   entry(padding, i, 0),
                   entry(dilation, i, 1),
                   0};
    const int64_t covered = extent(&w), size = padded(&w);
    w.out = covered > size && !ceil_mode
                ? 0
                : floor_divide(size - covered + (ceil_mode ? w.stride - 1 : 0), w.stride) + 1;
    if (ceil_mode && (w.out - 1) * w.stride >= w.in + w.padding) w.out--;
    return w;
}

sh_pooling sh_pooling_of(const sh_tensor *self, sh_ints kernel_size, sh_ints stride, sh_ints padding,
                         sh_ints dilation, bool ceil_mode) {
    sh_pooling p = {self->sizes[0], {0}, {0}};
    if (self->ndim == 4) p.planes *= self->sizes[1];
    p.y = pool_window(self, 0, kernel_size, stride, padding, dilation, ceil_mode);
    p.x = pool_window(self, 1, kernel_size, stride, padding, dilation, ceil_mode);
    return p;
}

static sh_status check_planes(const char *op, const sh_tensor *self) {
    char text[160];
    bool good = self->ndim == 3 || self->ndim == 4;
    for (int i = self->ndim == 4; good && i < self->ndim; i++) good = self->sizes[i] > 0;
    if (good) return SH_OK;
    return sh_fail(SH_ERROR_SHAPE,
                   "%s: self is %s, expected 3 dimensions, or 4 with a batch, none but the batch empty", op,
                   type_text(self, text));
}

static sh_status check_padding(const char *op, sh_ints kernel_size, sh_ints padding) {
    for (size_t i = 0; i < 2; i++)
        if (entry(padding, i, 0) > entry(kernel_size, i, 1) / 2)
            return sh_fail(SH_ERROR_VALUE, "%s: padding is %lld, expected at most half of kernel_size, %lld",
                           op, (long long)entry(padding, i, 0), (long long)entry(kernel_size, i, 1));
    return SH_OK;
}

static sh_status check_pool_lists(const char *op, sh_ints kernel_size, sh_ints stride, sh_ints padding,
                                  sh_ints dilation) {
    if (!kernel_size.n)
        return sh_fail(SH_ERROR_VALUE, "%s: kernel_size is empty, expected 1 or 2 entries", op);
    SH_TRY(check_list(op, "kernel_size", kernel_size, 2, 1));
    SH_TRY(check_list(op, "stride", stride, 2, 1));
    SH_TRY(check_list(op, "padding", padding, 2, 0));
    SH_TRY(check_list(op, "dilation", dilation, 2, 1));
    return check_padding(op, kernel_size, padding);
}

static sh_status infer_pool(sh_spec *r, const char *op, const sh_tensor *self, sh_ints kernel_size,
                            sh_ints stride, sh_ints padding, sh_ints dilation, bool ceil_mode) {
    char text[160];
    SH_TRY(check_pool_lists(op, kernel_size, stride, padding, dilation));
    SH_TRY(check_planes(op, self));
    if (self->dtype == SH_B8) return sh_fail(SH_ERROR_DTYPE, "%s: self is of bool, expected numbers", op);
    const sh_pooling p = sh_pooling_of(self, kernel_size, stride, padding, dilation, ceil_mode);
    if (p.y.out < 1 || p.x.out < 1)
        return sh_fail(SH_ERROR_SHAPE, "%s: self is %s, too small for a window of %lld by %lld", op,
                       type_text(self, text), (long long)extent(&p.y), (long long)extent(&p.x));
    set_like(r, self);
    r->sizes[r->ndim - 2] = p.y.out;
    r->sizes[r->ndim - 1] = p.x.out;
    return SH_OK;
}

sh_status sh_infer_max_pool2d(sh_spec *r, const sh_tensor *self, sh_ints kernel_size, sh_ints stride,
                              sh_ints padding, sh_ints dilation, bool ceil_mode) {
    return infer_pool(r, "max_pool2d", self, kernel_size, stride, padding, dilation, ceil_mode);
}

sh_status sh_infer_avg_pool2d(sh_spec *r, const sh_tensor *self, sh_ints kernel_size, sh_ints stride,
                              sh_ints padding, bool ceil_mode, int64_t divisor_override) {
    if (divisor_override == 0) return sh_fail(SH_ERROR_VALUE, "avg_pool2d: divisor_override is 0");
    return infer_pool(r, "avg_pool2d", self, kernel_size, stride, padding, (sh_ints){NULL, 0}, ceil_mode);
}

sh_status sh_infer_adaptive_avg_pool2d(sh_spec *r, const sh_tensor *self, sh_ints output_size) {
    const char *op = "adaptive_avg_pool2d";
    if (!output_size.n)
        return sh_fail(SH_ERROR_VALUE, "%s: output_size is empty, expected 1 or 2 entries", op);
    SH_TRY(check_list(op, "output_size", output_size, 2, 0));
    SH_TRY(check_planes(op, self));
    if (sh_dtype_kind_of((sh_dtype)self->dtype) != SH_KIND_FLOAT)
        return sh_fail(SH_ERROR_DTYPE, "%s: self is of %s, expected floats", op,
                       sh_dtype_name((sh_dtype)self->dtype));
    set_like(r, self);
    r->sizes[r->ndim - 2] = entry(output_size, 0, 1);
    r->sizes[r->ndim - 1] = entry(output_size, 1, 1);
    return SH_OK;
}
