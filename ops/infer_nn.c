/* infer_nn.c - normalisation, embedding, padding: what PyTorch refuses is refused here, before any data is looked at. */
#include "ops/infer_nn.h"

#include <string.h>

#include "dispatch/number.h"

static const char *type_text(const sh_tensor *t, char *text) {
    sh__tensor_print_type(t, text, 160);
    return text;
}

static bool is_float(const sh_tensor *t) { return sh_dtype_kind_of((sh_dtype)t->dtype) == SH_KIND_FLOAT; }
static bool is_half(const sh_tensor *t) { return t->dtype == SH_F16 || t->dtype == SH_BF16; }

static void set_like(sh_spec *r, const sh_tensor *t) {
    r->dtype = (sh_dtype)t->dtype;
    r->ndim = t->ndim;
    memcpy(r->sizes, t->sizes, sizeof *t->sizes * t->ndim);
}

/* ---- normalisation ---- */

static sh_status check_float(const char *op, const sh_tensor *input) {
    if (is_float(input)) return SH_OK;
    return sh_fail(SH_ERROR_DTYPE, "%s: input is of %s, expected floats", op,
                   sh_dtype_name((sh_dtype)input->dtype));
}

/* All that are given are of one dtype: the input's, or f32 beside a half type. */
static sh_status check_parameter_dtypes(const char *op, const sh_tensor *input, const char *const *names,
                                        const sh_tensor *const *t, int n) {
    const sh_tensor *first = NULL;
    for (int i = 0; i < n; i++) {
        if (!t[i]) continue;
        const bool fits = t[i]->dtype == input->dtype || (is_half(input) && t[i]->dtype == SH_F32);
        if (!first) first = t[i];
        if (fits && t[i]->dtype == first->dtype) continue;
        return sh_fail(SH_ERROR_DTYPE, "%s: %s is of %s beside an input of %s, expected %s", op, names[i],
                       sh_dtype_name((sh_dtype)t[i]->dtype), sh_dtype_name((sh_dtype)input->dtype),
                       sh_dtype_name((sh_dtype)(fits ? first->dtype : input->dtype)));
    }
    return SH_OK;
}

sh_status sh_infer_batch_norm(sh_spec *r, const sh_tensor *input, const sh_tensor *running_mean,
                              const sh_tensor *running_var, const sh_tensor *weight, const sh_tensor *bias,
                              bool training) {
    static const char *const names[] = {"running_mean", "running_var", "weight", "bias"};
    const sh_tensor *const t[] = {running_mean, running_var, weight, bias};
    char text[160];
    if (input->ndim < 2)
        return sh_fail(SH_ERROR_SHAPE, "batch_norm: input is %s, expected at least 2 dimensions",
                       type_text(input, text));
    for (int i = 0; i < 4; i++) {
        if (!t[i] && i < 2 && !training)
            return sh_fail(SH_ERROR_ARGUMENT,
                           "batch_norm: %s is not given, expected it unless training is true", names[i]);
        if (t[i] && (t[i]->ndim != 1 || t[i]->sizes[0] != input->sizes[1]))
            return sh_fail(SH_ERROR_SHAPE,
                           "batch_norm: %s is %s, expected 1 dimension of %lld, the channels of input",
                           names[i], type_text(t[i], text), (long long)input->sizes[1]);
    }
    SH_TRY(check_float("batch_norm", input));
    SH_TRY(check_parameter_dtypes("batch_norm", input, names, t, 4));
    set_like(r, input);
    return SH_OK;
}

static bool ends_with(const sh_tensor *t, sh_ints shape) {
    if (shape.n > t->ndim) return false;
    return memcmp(t->sizes + t->ndim - shape.n, shape.at, shape.n * sizeof *shape.at) == 0;
}

sh_status sh_infer_layer_norm(sh_spec *r, const sh_tensor *input, sh_ints normalized_shape,
                              const sh_tensor *weight, const sh_tensor *bias) {
    static const char *const names[] = {"weight", "bias"};
    const sh_tensor *const t[] = {weight, bias};
    char got[160], shape[160];
    if (!normalized_shape.n)
        return sh_fail(SH_ERROR_VALUE, "layer_norm: normalized_shape is empty, expected at least 1 entry");
    const int n = normalized_shape.n > SH_MAX_DIMS ? SH_MAX_DIMS : (int)normalized_shape.n;
    sh__shape_text(n, normalized_shape.at, shape, sizeof shape);
    if (!ends_with(input, normalized_shape))
        return sh_fail(SH_ERROR_SHAPE,
                       "layer_norm: input is %s, expected last dimensions of normalized_shape, %s",
                       type_text(input, got), shape);
    for (int i = 0; i < 2; i++)
        if (t[i] && (t[i]->ndim != normalized_shape.n || !ends_with(t[i], normalized_shape)))
            return sh_fail(SH_ERROR_SHAPE, "layer_norm: %s is %s, expected the shape of normalized_shape, %s",
                           names[i], type_text(t[i], got), shape);
    SH_TRY(check_float("layer_norm", input));
    SH_TRY(check_parameter_dtypes("layer_norm", input, names, t, 2));
    set_like(r, input);
    return SH_OK;
}

/* ---- embedding ---- */

sh_status sh_infer_embedding(sh_spec *r, const sh_tensor *weight, const sh_tensor *indices) {
    char text[160];
    if (weight->ndim != 2)
        return sh_fail(SH_ERROR_SHAPE, "embedding: weight is %s, expected 2 dimensions",
                       type_text(weight, text));
    if (indices->dtype != SH_I64 && indices->dtype != SH_I32)
        return sh_fail(SH_ERROR_DTYPE, "embedding: indices are of %s, expected i64 or i32",
                       sh_dtype_name((sh_dtype)indices->dtype));
    if (indices->ndim == SH_MAX_DIMS)
        return sh_fail(SH_ERROR_SHAPE, "embedding: indices have %d dimensions, the most is %d", indices->ndim,
                       SH_MAX_DIMS - 1);
    if (weight->sizes[0] == 0 && indices->numel)
        return sh_fail(SH_ERROR_SHAPE, "embedding: weight is %s and has no rows to choose from",
                       type_text(weight, text));
    set_like(r, indices);
    r->dtype = (sh_dtype)weight->dtype;
    r->sizes[r->ndim++] = weight->sizes[1];
    return SH_OK;
}

/* ---- padding ---- */

static const char *const pad_modes[SH_PAD_MODE_COUNT] = {"constant", "reflect", "replicate", "circular"};

sh_pad_mode sh_pad_mode_of(const char *name) {
    int mode = 0;
    while (mode < SH_PAD_MODE_COUNT && (!name || strcmp(name, pad_modes[mode]) != 0)) mode++;
    return (sh_pad_mode)mode;
}

int64_t sh_pad_source(sh_pad_mode mode, int64_t i, int64_t before, int64_t after, int64_t size) {
    const int64_t at = i - before, low = before < 0 ? -before : 0, high = after < 0 ? size + after : size;
    if (at >= low && at < high) return at;
    switch (mode) {
    case SH_PAD_REFLECT: return at < 0 ? -at : at < size ? at : 2 * (size - 1) - at;
    case SH_PAD_REPLICATE: return at < 0 ? 0 : at < size ? at : size - 1;
    case SH_PAD_CIRCULAR: return at < low ? at + (high - low) : at - (high - low);
    default: return -1;
    }
}

static sh_status check_pad_mode(const sh_tensor *self, sh_ints pad, sh_pad_mode mode, double value) {
    char text[160];
    const int axes = (int)pad.n / 2;
    if (!sh__is_no_number(value) && value != 0)
        return sh_fail(SH_ERROR_ARGUMENT, "pad: value is %g, expected none with mode '%s'", value,
                       pad_modes[mode]);
    bool good = axes >= 1 && axes <= 3 && (self->ndim == axes + 1 || self->ndim == axes + 2);
    for (int i = self->ndim == axes + 2; good && i < self->ndim; i++) good = self->sizes[i] > 0;
    if (good) return SH_OK;
    return sh_fail(
        SH_ERROR_SHAPE,
        "pad: self is %s and pad has %zu entries; with mode '%s' expected 2, 4 or 6 and one or two dimensions more than are "
        "padded, none but the first empty",
        type_text(self, text), pad.n, pad_modes[mode]);
}

/* How far a mode can reach outside of what is left of the input after cropping. */
static sh_status check_pad_reach(sh_pad_mode mode, int64_t amount, int64_t left, int dim) {
    const int64_t most = mode == SH_PAD_REFLECT ? left - 1 : mode == SH_PAD_CIRCULAR ? left : INT64_MAX;
    if (amount <= most) return SH_OK;
    return sh_fail(
        SH_ERROR_VALUE,
        "pad: pad is %lld in dimension %d, of which %lld are left, expected at most %lld with mode '%s'",
        (long long)amount, dim, (long long)left, (long long)most, pad_modes[mode]);
}

/* constant and circular crop first, the others see the whole input. */
static sh_status pad_dimension(sh_spec *r, int dim, sh_pad_mode mode, int64_t before, int64_t after) {
    const int64_t size = r->sizes[dim];
    const bool crops = mode == SH_PAD_CONSTANT || mode == SH_PAD_CIRCULAR;
    int64_t left = size, result;
    bool good =
        !__builtin_add_overflow(size, before, &result) && !__builtin_add_overflow(result, after, &result);
    if (crops)
        good &= !__builtin_add_overflow(left, before < 0 ? before : 0, &left) &&
                !__builtin_add_overflow(left, after < 0 ? after : 0, &left);
    if (!good || left < 0 || result < (mode != SH_PAD_CONSTANT))
        return sh_fail(SH_ERROR_VALUE,
                       "pad: pad is %lld and %lld in dimension %d of size %lld, which is too small",
                       (long long)before, (long long)after, dim, (long long)size);
    SH_TRY(check_pad_reach(mode, before, left, dim));
    SH_TRY(check_pad_reach(mode, after, left, dim));
    r->sizes[dim] = result;
    return SH_OK;
}

sh_status sh_infer_pad(sh_spec *r, const sh_tensor *self, sh_ints pad, const char *mode_name, double value) {
    char text[160];
    const sh_pad_mode mode = sh_pad_mode_of(mode_name);
    if (mode == SH_PAD_MODE_COUNT)
        return sh_fail(SH_ERROR_VALUE,
                       "pad: mode is '%s', expected 'constant', 'reflect', 'replicate' or 'circular'",
                       mode_name ? mode_name : "");
    if (pad.n % 2 || pad.n / 2 > self->ndim)
        return sh_fail(SH_ERROR_VALUE,
                       "pad: pad has %zu entries, expected pairs, at most one for each dimension of self, %s",
                       pad.n, type_text(self, text));
    if (mode != SH_PAD_CONSTANT) SH_TRY(check_pad_mode(self, pad, mode, value));
    set_like(r, self);
    for (size_t i = 0; i < pad.n / 2; i++)
        SH_TRY(pad_dimension(r, self->ndim - 1 - (int)i, mode, pad.at[2 * i], pad.at[2 * i + 1]));
    return SH_OK;
}
