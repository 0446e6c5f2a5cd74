#include "ops/infer_shape.h"

#include <string.h>

#include "ops/infer_pointwise.h"

static bool same_shape(const sh_tensor *t, const sh_spec *spec) {
    return t->ndim == spec->ndim && memcmp(t->sizes, spec->sizes, (size_t)t->ndim * sizeof *t->sizes) == 0;
}

sh_status sh_infer_copy(sh_spec *r, const sh_tensor *self, const sh_tensor *src) {
    SH_TRY(sh_broadcast("copy", self->ndim, self->sizes, src->ndim, src->sizes, &r->ndim, r->sizes));
    r->dtype = (sh_dtype)self->dtype;
    if (same_shape(self, r)) return SH_OK;
    char ts[160], tr[160];
    return sh_fail(SH_ERROR_SHAPE, "copy: src %s doesn't broadcast to self %s",
                   sh__shape_text(src->ndim, src->sizes, ts, sizeof ts),
                   sh__shape_text(self->ndim, self->sizes, tr, sizeof tr));
}

/* ---- joining ---- */

static sh_status join_dtype(sh_spec *r, const char *op, sh_tensors tensors) {
    sh_promotion p = {SH_NO_DTYPE, SH_NO_DTYPE, SH_NO_DTYPE};
    if (!tensors.n) return sh_fail(SH_ERROR_VALUE, "%s: the list of tensors is empty", op);
    for (size_t i = 0; i < tensors.n; i++) sh_promotion_add(&p, tensors.at[i]);
    r->dtype = sh_promotion_result(&p);
    return SH_OK;
}

static sh_status cannot_join(const char *op, const sh_tensor *first, const sh_tensor *t, size_t i,
                             const char *why) {
    char ta[160], tb[160];
    return sh_fail(SH_ERROR_SHAPE, "%s: tensor %zu is %s, the first is %s: %s", op, i,
                   sh__shape_text(t->ndim, t->sizes, ta, sizeof ta),
                   sh__shape_text(first->ndim, first->sizes, tb, sizeof tb), why);
}

/* Adds tensor i to what r says after the first. */
static sh_status cat_one(sh_spec *r, const sh_tensor *first, const sh_tensor *t, size_t i, int dim) {
    if (t->ndim != r->ndim) return cannot_join("cat", first, t, i, "the numbers of dimensions differ");
    for (int k = 0; k < r->ndim; k++)
        if (k != dim && t->sizes[k] != r->sizes[k])
            return cannot_join("cat", first, t, i, "sizes differ in more than dim");
    if (__builtin_add_overflow(r->sizes[dim], t->sizes[dim], &r->sizes[dim]))
        return cannot_join("cat", first, t, i, "the sizes add up to more than there are");
    return SH_OK;
}

sh_status sh_infer_cat(sh_spec *r, sh_tensors tensors, int64_t dim) {
    const sh_tensor *first = NULL;
    int at = 0;
    SH_TRY(join_dtype(r, "cat", tensors));
    r->ndim = 1;
    r->sizes[0] = 0;
    for (size_t i = 0; i < tensors.n; i++) {
        const sh_tensor *t = tensors.at[i];
        if (!t->ndim) return sh_fail(SH_ERROR_SHAPE, "cat: tensor %zu has no dimension; stack joins such", i);
        if (sh_cat_skips(t)) continue;
        if (!first) {
            first = t;
            SH_TRY(sh_wrap_dim("cat", dim, t->ndim, &at));
            r->ndim = t->ndim;
            memcpy(r->sizes, t->sizes, sizeof t->sizes);
            r->sizes[at] = 0;
        }
        SH_TRY(cat_one(r, first, t, i, at));
    }
    return SH_OK;
}

sh_status sh_infer_stack(sh_spec *r, sh_tensors tensors, int64_t dim) {
    int at;
    SH_TRY(join_dtype(r, "stack", tensors));
    const sh_tensor *first = tensors.at[0];
    if (first->ndim == SH_MAX_DIMS)
        return sh_fail(SH_ERROR_SHAPE, "stack: the tensors have %d dimensions already, the most there are",
                       SH_MAX_DIMS);
    SH_TRY(sh_wrap_dim("stack", dim, first->ndim + 1, &at));
    r->ndim = first->ndim;
    memcpy(r->sizes, first->sizes, sizeof first->sizes);
    for (size_t i = 1; i < tensors.n; i++)
        if (!same_shape(tensors.at[i], r))
            return cannot_join("stack", first, tensors.at[i], i, "shapes differ");
    for (int k = r->ndim++; k > at; k--) r->sizes[k] = r->sizes[k - 1];
    r->sizes[at] = (int64_t)tensors.n;
    return SH_OK;
}

/* ---- picking and masking ---- */

sh_status sh_infer_index_select(sh_spec *r, const sh_tensor *self, int64_t dim, const sh_tensor *index) {
    int at;
    SH_TRY(sh_wrap_dim("index_select", dim, self->ndim, &at));
    if (index->dtype != SH_I64 && index->dtype != SH_I32)
        return sh_fail(SH_ERROR_DTYPE, "index_select: index is %s, expected i64 or i32",
                       sh_dtype_name((sh_dtype)index->dtype));
    if (index->ndim > 1)
        return sh_fail(SH_ERROR_SHAPE, "index_select: index has %d dimensions, expected a vector",
                       index->ndim);
    if (!self->ndim && index->numel != 1)
        return sh_fail(SH_ERROR_SHAPE,
                       "index_select: self has no dimension, so index has one entry, not %lld",
                       (long long)index->numel);
    r->dtype = (sh_dtype)self->dtype;
    r->ndim = self->ndim;
    memcpy(r->sizes, self->sizes, sizeof r->sizes);
    if (self->ndim) r->sizes[at] = index->numel;
    return SH_OK;
}

sh_status sh_infer_masked_fill(sh_spec *r, const sh_tensor *self, const sh_tensor *mask,
                               const sh_tensor *value) {
    if (mask->dtype != SH_B8 && mask->dtype != SH_U8)
        return sh_fail(SH_ERROR_DTYPE, "masked_fill: mask is %s, expected bool",
                       sh_dtype_name((sh_dtype)mask->dtype));
    if (value->ndim)
        return sh_fail(SH_ERROR_SHAPE, "masked_fill: value has %d dimensions, expected none", value->ndim);
    SH_TRY(sh_broadcast("masked_fill", self->ndim, self->sizes, mask->ndim, mask->sizes, &r->ndim, r->sizes));
    r->dtype = (sh_dtype)self->dtype;
    return SH_OK;
}

sh_status sh_infer_triangle(sh_spec *r, const char *op, const sh_tensor *self) {
    if (self->ndim < 2)
        return sh_fail(SH_ERROR_SHAPE, "%s: self has %d dimensions, expected 2 or more", op, self->ndim);
    return sh_infer_unary(r, self);
}
