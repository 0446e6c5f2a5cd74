/* infer_reduce.c - shapes first, then each kind of op adds its rule of dtypes. */
#include "ops/infer_reduce.h"

static bool is_float(sh_dtype dtype) { return sh_dtype_kind_of(dtype) == SH_KIND_FLOAT; }
static sh_dtype dtype_of(const sh_tensor *t) { return (sh_dtype)t->dtype; }

static const char *type_text(const sh_tensor *t, char *text, size_t size) {
    sh__tensor_print_type(t, text, size);
    return text;
}

sh_status sh_axes_mask(const char *op, const sh_tensor *t, sh_ints dims, uint32_t *mask) {
    *mask = dims.n ? 0 : (1u << t->ndim) - 1;
    for (size_t i = 0; i < dims.n; i++) {
        int axis;
        SH_TRY(sh_wrap_dim(op, dims.at[i], t->ndim, &axis));
        if (*mask >> axis & 1) return sh_fail(SH_ERROR_VALUE, "%s: dim %d is given twice", op, axis);
        *mask |= 1u << axis;
    }
    return SH_OK;
}

/* The shape of what is left, and the mask of what went. */
static sh_status reduce(sh_spec *r, const char *op, const sh_tensor *self, sh_ints dims, bool keepdim,
                        uint32_t *mask) {
    SH_TRY(sh_axes_mask(op, self, dims, mask));
    r->ndim = 0;
    for (int i = 0; i < self->ndim; i++) {
        if (!(*mask >> i & 1))
            r->sizes[r->ndim++] = self->sizes[i];
        else if (keepdim)
            r->sizes[r->ndim++] = 1;
    }
    return SH_OK;
}

static sh_status need_float(const char *op, const sh_tensor *self, sh_dtype dtype) {
    char text[160];
    if (is_float(dtype ? dtype : dtype_of(self))) return SH_OK;
    if (dtype)
        return sh_fail(SH_ERROR_DTYPE, "%s: dtype is %s, expected a float dtype", op, sh_dtype_name(dtype));
    return sh_fail(SH_ERROR_DTYPE, "%s: self is %s, expected a tensor of floats", op,
                   type_text(self, text, sizeof text));
}

sh_status sh_infer_total(sh_spec *r, const char *op, const sh_tensor *self, sh_ints dim, bool keepdim,
                         sh_dtype dtype) {
    uint32_t mask;
    r->dtype = dtype ? dtype : is_float(dtype_of(self)) ? dtype_of(self) : SH_I64;
    return reduce(r, op, self, dim, keepdim, &mask);
}

sh_status sh_infer_mean(sh_spec *r, const sh_tensor *self, sh_ints dim, bool keepdim, sh_dtype dtype) {
    SH_TRY(need_float("mean", self, dtype));
    return sh_infer_total(r, "mean", self, dim, keepdim, dtype);
}

/* ---- largest and smallest ---- */

static sh_status refuse_nothing(const char *op, const sh_tensor *self, uint32_t mask, bool dims_given) {
    char text[160];
    for (int i = 0; i < self->ndim; i++) {
        if (!(mask >> i & 1) || self->sizes[i]) continue;
        type_text(self, text, sizeof text);
        if (dims_given)
            return sh_fail(SH_ERROR_SHAPE, "%s: dim %d of self, %s, has size 0, expected at least 1", op, i,
                           text);
        return sh_fail(SH_ERROR_SHAPE, "%s: self is %s and has no elements (dim %d has size 0)", op, text, i);
    }
    return SH_OK;
}

sh_status sh_infer_extreme(sh_spec *r, const char *op, const sh_tensor *self, sh_ints dim, bool keepdim) {
    uint32_t mask;
    r->dtype = dtype_of(self);
    SH_TRY(reduce(r, op, self, dim, keepdim, &mask));
    return SH_LIKELY(self->numel) ? SH_OK : refuse_nothing(op, self, mask, dim.n > 0);
}

sh_status sh_infer_extreme_dim(sh_spec *r, const char *op, const sh_tensor *self, int64_t dim, bool keepdim) {
    SH_TRY(sh_infer_extreme(r, op, self, (sh_ints){&dim, 1}, keepdim));
    r[1] = r[0];
    r[1].dtype = SH_I64;
    return SH_OK;
}

sh_status sh_infer_arg(sh_spec *r, const char *op, const sh_tensor *self, int64_t dim, bool keepdim) {
    SH_TRY(sh_infer_extreme(r, op, self, sh_axes_of(&dim), keepdim));
    r->dtype = SH_I64;
    return SH_OK;
}

/* ---- the others ---- */

sh_status sh_infer_truth(sh_spec *r, const char *op, const sh_tensor *self, sh_ints dim, bool keepdim) {
    uint32_t mask;
    r->dtype = self->dtype == SH_U8 ? SH_U8 : SH_B8;
    return reduce(r, op, self, dim, keepdim, &mask);
}

sh_status sh_infer_spread(sh_spec *r, const char *op, const sh_tensor *self, sh_ints dim, bool keepdim) {
    SH_TRY(need_float(op, self, SH_NO_DTYPE));
    return sh_infer_total(r, op, self, dim, keepdim, SH_NO_DTYPE);
}

sh_status sh_infer_norm(sh_spec *r, const sh_tensor *self, sh_ints dim, bool keepdim, sh_dtype dtype) {
    SH_TRY(need_float("norm", self, dtype));
    return sh_infer_total(r, "norm", self, dim, keepdim, dtype);
}

sh_status sh_infer_logsumexp(sh_spec *r, const sh_tensor *self, sh_ints dim, bool keepdim) {
    return sh_infer_total(r, "logsumexp", self, dim, keepdim,
                          is_float(dtype_of(self)) ? SH_NO_DTYPE : SH_F32);
}

static sh_status along(sh_spec *r, const char *op, const sh_tensor *self, int64_t dim) {
    int axis;
    SH_TRY(sh_wrap_dim(op, dim, self->ndim, &axis));
    r->ndim = self->ndim;
    for (int i = 0; i < self->ndim; i++) r->sizes[i] = self->sizes[i];
    return SH_OK;
}

sh_status sh_infer_cumsum(sh_spec *r, const sh_tensor *self, int64_t dim, sh_dtype dtype) {
    r->dtype = dtype ? dtype : is_float(dtype_of(self)) ? dtype_of(self) : SH_I64;
    if (r->dtype == SH_B8)
        return sh_fail(SH_ERROR_DTYPE, "cumsum: dtype is bool, expected a dtype of numbers");
    return along(r, "cumsum", self, dim);
}

sh_status sh_infer_softmax(sh_spec *r, const char *op, const sh_tensor *self, int64_t dim, sh_dtype dtype) {
    r->dtype = dtype ? dtype : dtype_of(self);
    SH_TRY(need_float(op, self, dtype));
    return along(r, op, self, dim);
}
