/* views.c - views that rearrange axes or add and drop such as hold one element.
 *
 * A view op reads and writes no data: its result shares the storage of its argument, on every device,
 * and costs one tensor record. Views of parts are in views_part.c, of other shapes in views_shape.c. */
#include "ops/views.h"

#include "ops/kernels.h"

sh_tensor *sh_layout_view(const sh_tensor *self, const sh_layout *layout) {
    sh_tensor *view = sh__tensor_view(self);
    if (view) sh__tensor_set_layout(view, layout->ndim, layout->sizes, layout->strides, layout->offset);
    return view;
}

sh_status sh_give(sh_value *results, sh_tensor *t) {
    if (!t || !sh__own(t)) return SH_ERROR_MEMORY;
    results[0] = sh_value_tensor(t);
    return SH_OK;
}

sh_status sh_give_view(sh_value *results, const sh_tensor *self, const sh_layout *layout) {
    return sh_give(results, sh_layout_view(self, layout));
}

/* ---- order ---- */

sh_status sh_any_transpose(sh_value *results, sh_tensor *self, int64_t dim0, int64_t dim1) {
    int a, b;
    SH_TRY(sh_wrap_dim("transpose", dim0, self->ndim, &a));
    SH_TRY(sh_wrap_dim("transpose", dim1, self->ndim, &b));
    sh_layout to = sh_layout_of(self);
    if (self->ndim) {
        to.sizes[a] = self->sizes[b];
        to.sizes[b] = self->sizes[a];
        to.strides[a] = self->strides[b];
        to.strides[b] = self->strides[a];
    }
    return sh_give_view(results, self, &to);
}

sh_status sh_any_permute(sh_value *results, sh_tensor *self, sh_ints dims) {
    sh_layout to = {.ndim = 0};
    uint32_t seen = 0;
    if (dims.n != self->ndim)
        return sh_fail(SH_ERROR_SHAPE,
                       "permute: dims has %zu entries, expected one for each of the %d dimensions of self",
                       dims.n, self->ndim);
    for (size_t i = 0; i < dims.n; i++) {
        int from;
        SH_TRY(sh_wrap_dim("permute", dims.at[i], self->ndim, &from));
        if (seen >> from & 1) return sh_fail(SH_ERROR_VALUE, "permute: dims names dimension %d twice", from);
        seen |= 1u << from;
        sh_layout_append(&to, self->sizes[from], self->strides[from]);
    }
    return sh_give_view(results, self, &to);
}

/* ---- axes of one element ---- */

/* Without the dimensions of size 1 that `which` has the bit of. */
static sh_status squeeze(sh_value *results, const sh_tensor *self, uint32_t which) {
    sh_layout to = {.ndim = 0};
    for (int i = 0; i < self->ndim; i++)
        if (self->sizes[i] != 1 || !(which >> i & 1)) sh_layout_append(&to, self->sizes[i], self->strides[i]);
    return sh_give_view(results, self, &to);
}

sh_status sh_any_squeeze(sh_value *results, sh_tensor *self) { return squeeze(results, self, UINT32_MAX); }

sh_status sh_any_squeeze_dim(sh_value *results, sh_tensor *self, int64_t dim) {
    int which;
    SH_TRY(sh_wrap_dim("squeeze", dim, self->ndim, &which));
    return squeeze(results, self, 1u << which);
}

sh_status sh_any_unsqueeze(sh_value *results, sh_tensor *self, int64_t dim) {
    int at;
    if (self->ndim == SH_MAX_DIMS)
        return sh_fail(SH_ERROR_SHAPE, "unsqueeze: self has %d dimensions already, the most there are",
                       SH_MAX_DIMS);
    SH_TRY(sh_wrap_dim("unsqueeze", dim, self->ndim + 1, &at));
    sh_layout to = {.ndim = 0};
    for (int i = 0; i <= self->ndim; i++) {
        if (i == at) sh_layout_append(&to, 1, i < self->ndim ? self->sizes[i] * self->strides[i] : 1);
        if (i < self->ndim) sh_layout_append(&to, self->sizes[i], self->strides[i]);
    }
    return sh_give_view(results, self, &to);
}

/* ---- axes that repeat ---- */

static sh_status bad_expand(const sh_tensor *self, sh_ints size, const char *why, size_t i) {
    char from[160], to[160];
    return sh_fail(SH_ERROR_SHAPE, "expand: self is %s and size is %s: %s (entry %zu of size)",
                   sh__shape_text(self->ndim, self->sizes, from, sizeof from),
                   sh__shape_text((int)size.n, size.at, to, sizeof to), why, i);
}

/* Entry i of size; `dim` is the dimension of self that it stands over, negative where self has none. */
static sh_status expand_one(sh_layout *to, const sh_tensor *self, sh_ints size, size_t i, int dim) {
    const int64_t wanted = size.at[i];
    if (dim < 0) {
        if (wanted < 0) return bad_expand(self, size, "a new dimension needs a size", i);
        sh_layout_append(to, wanted, 0);
        return SH_OK;
    }
    if (wanted != -1 && wanted != self->sizes[dim] && self->sizes[dim] != 1)
        return bad_expand(self, size, "only a dimension of size 1 expands", i);
    if (wanted < -1) return bad_expand(self, size, "a size is negative", i);
    const bool repeats = wanted != -1 && wanted != self->sizes[dim];
    sh_layout_append(to, repeats ? wanted : self->sizes[dim], repeats ? 0 : self->strides[dim]);
    return SH_OK;
}

/* The strides of new dimensions of size 1, which torch gives as if they were not expanded. */
static void fill_leading(sh_layout *to, int leading) {
    for (int i = leading; i-- > 0;)
        if (to->sizes[i] == 1) to->strides[i] = i + 1 < to->ndim ? to->sizes[i + 1] * to->strides[i + 1] : 1;
}

sh_status sh_any_expand(sh_value *results, sh_tensor *self, sh_ints size) {
    if (size.n > SH_MAX_DIMS)
        return sh_fail(SH_ERROR_SHAPE, "expand: size has %zu entries, the most is %d", size.n, SH_MAX_DIMS);
    if (size.n < self->ndim)
        return bad_expand(self, size, "size has fewer entries than self has dimensions", size.n);
    sh_layout to = {.ndim = 0};
    sh_spec spec = {.dtype = (sh_dtype)self->dtype, .ndim = (int32_t)size.n};
    const int leading = (int)size.n - self->ndim;
    for (size_t i = 0; i < size.n; i++) SH_TRY(expand_one(&to, self, size, i, (int)i - leading));
    memcpy(spec.sizes, to.sizes, sizeof to.sizes);
    SH_TRY(sh__spec_check(&spec, "expand"));
    fill_leading(&to, leading);
    return sh_give_view(results, self, &to);
}
