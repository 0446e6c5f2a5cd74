/* views_shape.c - the same elements in another shape: reshape, view, flatten, contiguous.
 *
 * A shape can be laid over strided elements where each run of dimensions that the new shape merges or
 * splits lies evenly in memory. Where it can't, view is an error and reshape copies. What torch returns as
 * it is (contiguous of contiguous, flatten of one dimension) is returned as it is: the same tensor. */
#include "dispatch/device_impl.h"
#include "ops/kernels.h"
#include "ops/views.h"

static sh_status bad_shape(const char *op, const sh_tensor *self, sh_ints shape, const char *why) {
    char from[160], to[160];
    return sh_fail(SH_ERROR_SHAPE, "%s: self is %s and the new shape %s: %s", op,
                   sh__shape_text(self->ndim, self->sizes, from, sizeof from),
                   sh__shape_text((int)shape.n, shape.at, to, sizeof to), why);
}

/* Takes over the entries, remembers where -1 is; the product of the others in *known. */
static sh_status read_shape(const char *op, const sh_tensor *self, sh_ints shape, sh_layout *to, int *open,
                            int64_t *known) {
    *open = -1;
    *known = 1;
    bool overflow = false, empty = false;
    for (size_t i = 0; i < shape.n; i++) {
        const int64_t size = shape.at[i];
        if (size < -1) return bad_shape(op, self, shape, "a size is negative");
        if (size == -1 && *open >= 0) return bad_shape(op, self, shape, "only one size can be left open");
        if (size == -1)
            *open = (int)i;
        else if (size == 0)
            empty = true;
        else
            overflow |= __builtin_mul_overflow(*known, size, known);
        to->sizes[i] = size;
    }
    if (empty)
        *known = 0;
    else if (overflow)
        return bad_shape(op, self, shape, "the sizes multiply to more elements than there are");
    to->ndim = (int)shape.n;
    return SH_OK;
}

static sh_status new_sizes(const char *op, const sh_tensor *self, sh_ints shape, sh_layout *to) {
    int open;
    int64_t known;
    if (shape.n > SH_MAX_DIMS)
        return sh_fail(SH_ERROR_SHAPE, "%s: the new shape has %zu dimensions, the most is %d", op, shape.n,
                       SH_MAX_DIMS);
    SH_TRY(read_shape(op, self, shape, to, &open, &known));
    if (open >= 0 && known == 0)
        return bad_shape(op, self, shape,
                         self->numel ? "the numbers of elements differ" : "any size would do for -1");
    if (open >= 0 ? self->numel % known != 0 : self->numel != known)
        return bad_shape(op, self, shape, "the numbers of elements differ");
    if (open >= 0) to->sizes[open] = self->numel / known;
    return SH_OK;
}

/* The strides of an empty tensor may wrap around: no element is found by them. */
static void row_major(sh_layout *to) {
    int64_t stride = 1;
    for (int i = to->ndim; i-- > 0;) {
        to->strides[i] = stride;
        __builtin_mul_overflow(stride, to->sizes[i] ? to->sizes[i] : 1, &stride);
    }
}

/* Does dimension `dim` of self lie evenly over the run behind it, which has `run` elements `stride` apart? */
static bool runs_on(const sh_tensor *self, int dim, int64_t run, int64_t stride) {
    return self->sizes[dim] == 1 || self->strides[dim] == run * stride;
}

/* The strides of the new shape over self's elements; false where there are none. From the last dimension on, each
 * even run of self must be used up by whole dimensions of the new shape. */
static bool strides_over(const sh_tensor *self, sh_layout *to) {
    int at = to->ndim - 1;
    int64_t stride = self->strides[self->ndim - 1], run = 1;
    for (int dim = self->ndim - 1; dim >= 0; dim--) {
        run *= self->sizes[dim];
        if (dim > 0 && runs_on(self, dim - 1, run, stride)) continue;
        int64_t used = 1;
        for (; at >= 0 && (used < run || to->sizes[at] == 1); at--) {
            to->strides[at] = used * stride;
            used *= to->sizes[at];
        }
        if (used != run) return false;
        if (dim > 0) stride = self->strides[dim - 1];
        run = 1;
    }
    return at < 0;
}

static bool lay_over(const sh_tensor *self, sh_layout *to) {
    if (!(self->flags & SH_TENSOR_CONTIGUOUS)) return strides_over(self, to);
    row_major(to);
    return true;
}

/* A row-major copy with one reference that is the caller's. */
static sh_tensor *copy_of(sh_tensor *self) {
    sh_spec spec = {.dtype = (sh_dtype)self->dtype, .ndim = self->ndim};
    memcpy(spec.sizes, self->sizes, sizeof spec.sizes);
    sh_tensor *copy = sh__tensor_alloc(&spec, self->device);
    if (!copy || self->device == SH_META) return copy;
    if ((sh__is_remote(self) ? sh__device_copy(copy, self) : sh_cpu_clone(copy, self)) >= 0) return copy;
    sh__release(copy);
    return NULL;
}

static sh_status copy_in_shape(sh_value *results, sh_tensor *self, sh_layout *to) {
    sh_tensor *copy = copy_of(self);
    row_major(to);
    if (copy) sh__tensor_set_layout(copy, to->ndim, to->sizes, to->strides, 0);
    return sh_give(results, copy);
}

static sh_status reshape(const char *op, sh_value *results, sh_tensor *self, sh_ints shape) {
    sh_layout to = {.ndim = 0};
    SH_TRY(new_sizes(op, self, shape, &to));
    return lay_over(self, &to) ? sh_give_view(results, self, &to) : copy_in_shape(results, self, &to);
}

sh_status sh_any_reshape(sh_value *results, sh_tensor *self, sh_ints shape) {
    return reshape("reshape", results, self, shape);
}

sh_status sh_any_view(sh_value *results, sh_tensor *self, sh_ints size) {
    sh_layout to = {.ndim = 0};
    SH_TRY(new_sizes("view", self, size, &to));
    if (lay_over(self, &to)) return sh_give_view(results, self, &to);
    return bad_shape("view", self, size,
                     "no strides lay it over self's elements; reshape copies where it must");
}

/* What the dimensions from start to end hold; false if it can't be counted. */
static bool joined(const sh_tensor *self, int start, int end, int64_t *size) {
    bool empty = false, overflow = false;
    *size = 1;
    for (int i = start; i <= end; i++) {
        empty |= self->sizes[i] == 0;
        overflow |= __builtin_mul_overflow(*size, self->sizes[i], size);
    }
    if (empty) *size = 0;
    return empty || !overflow;
}

sh_status sh_any_flatten(sh_value *results, sh_tensor *self, int64_t start_dim, int64_t end_dim) {
    int start, end;
    SH_TRY(sh_wrap_dim("flatten", start_dim, self->ndim, &start));
    SH_TRY(sh_wrap_dim("flatten", end_dim, self->ndim, &end));
    if (start > end)
        return sh_fail(SH_ERROR_VALUE, "flatten: start_dim %lld comes after end_dim %lld",
                       (long long)start_dim, (long long)end_dim);
    if (self->ndim && start == end) return sh_give(results, sh_keep(self));
    int64_t shape[SH_MAX_DIMS] = {1};
    size_t n = 0;
    for (int i = 0; i < self->ndim; i++) {
        if (i <= start || i > end)
            shape[n++] = self->sizes[i];
        else if (i == end && !joined(self, start, end, &shape[n - 1]))
            return sh_fail(SH_ERROR_SHAPE, "flatten: the sizes from %d to %d multiply to more than there are",
                           start, end);
    }
    return reshape("flatten", results, self, (sh_ints){shape, self->ndim ? n : 1});
}

sh_status sh_any_contiguous(sh_value *results, sh_tensor *self) {
    return sh_give(results, self->flags & SH_TENSOR_CONTIGUOUS ? sh_keep(self) : copy_of(self));
}
