/* cat.c - joining: each tensor fills its part of the result.
 *
 * Row-major tensors of the result's dtype are runs of bytes, a run for each index before dim; all else goes
 * through copy into a view of the part, which casts and takes any strides. */
#include <string.h>

#include "ops/infer_shape.h"
#include "ops/kernels.h"

/* The part of r from `start` along dim, laid out like t. */
static sh_tensor part_of(const sh_tensor *r, const sh_tensor *t, int dim, int64_t start) {
    sh_tensor part = {.dtype = r->dtype, .element = r->element, .data = r->data};
    sh__tensor_set_layout(&part, t->ndim, t->sizes, r->strides, start * r->strides[dim]);
    return part;
}

#define SHORT_RUNS(bytes) \
    for (int64_t i = 0; i < runs; i++) memcpy(to + i * step, from + i * (bytes), bytes);

/* A call a run costs more than the copy where a run is one element: a constant size makes it one move. */
static void copy_runs(char *to, int64_t step, const char *from, int64_t bytes, int64_t runs) {
    switch (bytes) {
    case 2: SHORT_RUNS(2) return;
    case 4: SHORT_RUNS(4) return;
    case 8: SHORT_RUNS(8) return;
    default:
        for (int64_t i = 0; i < runs; i++) memcpy(to + i * step, from + i * bytes, (size_t)bytes);
    }
}

static int64_t product(const int64_t *sizes, int from, int to) {
    int64_t n = 1;
    for (int i = from; i < to; i++) n *= sizes[i];
    return n;
}

static sh_status place(sh_tensor *r, sh_tensor *t, int dim, int64_t start) {
    if (!(r->flags & t->flags & SH_TENSOR_CONTIGUOUS) || r->dtype != t->dtype) {
        sh_tensor part = part_of(r, t, dim, start);
        return sh_cpu_copy(&part, &part, t, false);
    }
    const int64_t inner = product(t->sizes, dim + 1, t->ndim) * (int64_t)t->element;
    if (t->numel)
        copy_runs(r->data + start * inner, r->sizes[dim] * inner, t->data, t->sizes[dim] * inner,
                  product(t->sizes, 0, dim));
    return SH_OK;
}

sh_status sh_cpu_cat(sh_tensor *r, sh_tensors tensors, int64_t dim) {
    const int at = sh_checked_dim(dim, r->ndim);
    int64_t start = 0;
    for (size_t i = 0; i < tensors.n; i++) {
        if (sh_cat_skips(tensors.at[i])) continue;
        SH_TRY(place(r, tensors.at[i], at, start));
        start += tensors.at[i]->sizes[at];
    }
    return SH_OK;
}

/* As cat of tensors that have dim, of size 1. */
sh_status sh_cpu_stack(sh_tensor *r, sh_tensors tensors, int64_t dim) {
    const int at = sh_checked_dim(dim, r->ndim);
    for (size_t i = 0; i < tensors.n; i++) {
        const sh_tensor *t = tensors.at[i];
        sh_tensor one = {.dtype = t->dtype, .element = t->element, .data = t->data};
        int64_t sizes[SH_MAX_DIMS], strides[SH_MAX_DIMS];
        for (int k = 0; k < r->ndim; k++) {
            sizes[k] = k == at ? 1 : t->sizes[k - (k > at)];
            strides[k] = k == at ? 1 : t->strides[k - (k > at)];
        }
        sh__tensor_set_layout(&one, r->ndim, sizes, strides, 0);
        SH_TRY(place(r, &one, at, (int64_t)i));
    }
    return SH_OK;
}
