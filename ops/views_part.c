/* views_part.c - views of a part of the elements: select, narrow, slice, and split in all its forms. */
#include "ops/kernels.h"
#include "ops/views.h"

/* The dimension that a part is taken along. */
static sh_status part_dim(const char *op, const sh_tensor *self, int64_t dim, int *at) {
    if (!self->ndim) return sh_fail(SH_ERROR_SHAPE, "%s: self has no dimension to take a part of", op);
    return sh_wrap_dim(op, dim, self->ndim, at);
}

sh_status sh_any_select(sh_value *results, sh_tensor *self, int64_t dim, int64_t index) {
    int at;
    SH_TRY(part_dim("select", self, dim, &at));
    const int64_t size = self->sizes[at];
    if (index < -size || index >= size)
        return sh_fail(SH_ERROR_INDEX, "select: index %lld is out of range for dimension %d of size %lld",
                       (long long)index, at, (long long)size);
    sh_layout to = {.offset = (index < 0 ? index + size : index) * self->strides[at]};
    for (int i = 0; i < self->ndim; i++)
        if (i != at) sh_layout_append(&to, self->sizes[i], self->strides[i]);
    return sh_give_view(results, self, &to);
}

static sh_layout part(const sh_tensor *self, int dim, int64_t start, int64_t length) {
    sh_layout to = sh_layout_of(self);
    to.sizes[dim] = length;
    to.offset = start * self->strides[dim];
    return to;
}

sh_status sh_any_narrow(sh_value *results, sh_tensor *self, int64_t dim, int64_t start, int64_t length) {
    int at;
    SH_TRY(part_dim("narrow", self, dim, &at));
    const int64_t size = self->sizes[at], from = start < 0 ? start + size : start;
    if (from < 0 || from > size)
        return sh_fail(SH_ERROR_INDEX, "narrow: start %lld is out of range for dimension %d of size %lld",
                       (long long)start, at, (long long)size);
    if (length < 0 || length > size - from)
        return sh_fail(SH_ERROR_INDEX,
                       "narrow: start %lld and length %lld don't fit in dimension %d of size %lld",
                       (long long)start, (long long)length, at, (long long)size);
    const sh_layout to = part(self, at, from, length);
    return sh_give_view(results, self, &to);
}

/* A bound of a slice as Python takes it: from the end if negative, then cut to what there is. */
static int64_t clamp_bound(int64_t bound, int64_t size, int64_t otherwise) {
    if (bound == SH_NO_INT) return otherwise;
    if (bound < 0) bound += size;
    return bound < 0 ? 0 : bound > size ? size : bound;
}

sh_status sh_any_slice(sh_value *results, sh_tensor *self, int64_t dim, int64_t start, int64_t end,
                       int64_t step) {
    int at;
    SH_TRY(part_dim("slice", self, dim, &at));
    if (step <= 0) return sh_fail(SH_ERROR_VALUE, "slice: step is %lld, expected 1 or more", (long long)step);
    const int64_t size = self->sizes[at], from = clamp_bound(start, size, 0),
                  to = clamp_bound(end, size, size);
    const int64_t length = to > from ? (to - from - 1) / step + 1 : 0;
    sh_layout layout = part(self, at, from, length);
    if (length > 1)
        layout.strides[at] *= step; /* with one element or none the stride says nothing and could overflow */
    return sh_give_view(results, self, &layout);
}

/* ---- lists ---- */

/* Parts of `length` each along dim, or of lengths.at[i] where that is given. */
static sh_status split(sh_value *results, const sh_tensor *self, int dim, size_t n, int64_t length,
                       sh_ints lengths) {
    if (n > INT32_MAX) return sh_fail(SH_ERROR_VALUE, "a list of %zu parts is longer than a list can be", n);
    sh_list *list = sh__list_new(n);
    if (!list) return SH_ERROR_MEMORY;
    int64_t start = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t left = self->sizes[dim] - start, wanted = lengths.at ? lengths.at[i] : length;
        const sh_layout to = part(self, dim, start, wanted < left ? wanted : left);
        list->at[i] = sh_layout_view(self, &to);
        if (!list->at[i]) {
            sh__list_release(list);
            return SH_ERROR_MEMORY;
        }
        start += to.sizes[dim];
    }
    if (!sh__own_list(list)) return SH_ERROR_MEMORY;
    results[0] = sh_value_tensors((sh_tensors){list->at, n});
    return SH_OK;
}

static int64_t round_up(int64_t a, int64_t b) { return a / b + (a % b != 0); }

sh_status sh_any_split(sh_value *results, sh_tensor *self, int64_t split_size, int64_t dim) {
    int at;
    SH_TRY(part_dim("split", self, dim, &at));
    const int64_t size = self->sizes[at];
    if (split_size < 0 || (split_size == 0 && size != 0))
        return sh_fail(SH_ERROR_VALUE,
                       "split: split_size is %lld for dimension %d of size %lld, expected 1 or more",
                       (long long)split_size, at, (long long)size);
    const int64_t n = split_size ? round_up(size, split_size) : 1;
    return split(results, self, at, n ? (size_t)n : 1, split_size, (sh_ints){NULL, 0});
}

sh_status sh_any_split_sizes(sh_value *results, sh_tensor *self, sh_ints split_sizes, int64_t dim) {
    int at;
    SH_TRY(part_dim("split.sizes", self, dim, &at));
    int64_t left = self->sizes[at];
    for (size_t i = 0; i < split_sizes.n; i++) {
        if (split_sizes.at[i] < 0)
            return sh_fail(SH_ERROR_VALUE, "split.sizes: split_sizes[%zu] is %lld", i,
                           (long long)split_sizes.at[i]);
        if (split_sizes.at[i] > left) left = -1;
        if (left < 0) break;
        left -= split_sizes.at[i];
    }
    if (left != 0)
        return sh_fail(SH_ERROR_SHAPE, "split.sizes: split_sizes don't sum to %lld, the size of dimension %d",
                       (long long)self->sizes[at], at);
    return split(results, self, at, split_sizes.n, 0, split_sizes);
}

sh_status sh_any_chunk(sh_value *results, sh_tensor *self, int64_t chunks, int64_t dim) {
    int at;
    SH_TRY(part_dim("chunk", self, dim, &at));
    if (chunks <= 0)
        return sh_fail(SH_ERROR_VALUE, "chunk: chunks is %lld, expected 1 or more", (long long)chunks);
    const int64_t size = self->sizes[at], length = round_up(size, chunks);
    const int64_t n = length ? round_up(size, length) : chunks;
    return split(results, self, at, (size_t)n, length, (sh_ints){NULL, 0});
}
