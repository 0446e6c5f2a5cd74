/* index.c - picking, masking and cutting by runs along the last dimension.
 *
 * Nothing is computed, so elements are moved by their width. Casts and strides of whole tensors are left to copy. */
#include "ops/index.h"

#include <string.h>

#include "ops/cpu/rows.h"
#include "ops/cpu/widen.h"
#include "ops/element.h"
#include "ops/infer_shape.h"
#include "ops/kernels.h"

sh_status sh_cpu_clone(sh_tensor *r, sh_tensor *self) { return sh_cpu_copy(r, r, self, false); }

/* ---- index_select ---- */

static int64_t product(const int64_t *sizes, int from, int to) {
    int64_t n = 1;
    for (int i = from; i < to; i++) n *= sizes[i];
    return n;
}

static sh_status pick_contiguous(sh_tensor *r, const sh_tensor *self, int dim, sh_tensor *index) {
    const sh_rows rows = {.from = self->data,
                          .tables = product(r->sizes, 0, dim),
                          .size = r->ndim ? self->sizes[dim] : 1,
                          .bytes = product(r->sizes, dim + 1, r->ndim) * (int64_t)r->element};
    sh_tensor *packed;
    SH_TRY(sh_aside_contiguous(index, SH_I64, &packed));
    sh_pick_rows(r->data, &rows, (const int64_t *)(const void *)packed->data, index->numel);
    sh_aside_drop(packed);
    return SH_OK;
}

/* Entry `at` along dim as a tensor of size 1 there. */
static sh_tensor slab(const sh_tensor *t, int dim, int64_t at) {
    sh_tensor one = {.dtype = t->dtype, .element = t->element, .data = t->data};
    int64_t sizes[SH_MAX_DIMS];
    memcpy(sizes, t->sizes, sizeof sizes);
    if (t->ndim) sizes[dim] = 1;
    sh__tensor_set_layout(&one, t->ndim, sizes, t->strides, t->ndim ? at * t->strides[dim] : 0);
    return one;
}

sh_status sh_cpu_index_select(sh_tensor *r, sh_tensor *self, int64_t dim, sh_tensor *index) {
    const int at = sh_checked_dim(dim, r->ndim);
    SH_TRY(sh_check_index("index_select", index, self->ndim ? self->sizes[at] : 1, r->numel));
    if (!r->numel) return SH_OK;
    if (self->flags & r->flags & SH_TENSOR_CONTIGUOUS) return pick_contiguous(r, self, at, index);
    for (int64_t i = 0; i < index->numel; i++) {
        sh_tensor to = slab(r, at, i), from = slab(self, at, sh_index_at(index, i));
        SH_TRY(sh_cpu_copy(&to, &to, &from, false));
    }
    return SH_OK;
}

/* ---- masked_fill ---- */

typedef struct run {
    char *to;
    const uint8_t *mask;
    int64_t n, step, mask_step; /* steps in elements */
} run;

/* Without a branch: a random mask would be guessed wrong half the time. */
#define FILL(type)                                                                \
    {                                                                             \
        type value;                                                               \
        memcpy(&value, fill, sizeof value);                                       \
        type *to = (type *)r->to;                                                 \
        for (int64_t i = 0; i < r->n; i++, to += r->step) {                       \
            const type kept = (type)((type)(r->mask[i * r->mask_step] != 0) - 1); \
            *to = (type)((*to & kept) | (value & ~kept));                         \
        }                                                                         \
        return;                                                                   \
    }

static void fill_run(const run *r, uint32_t width, const char *fill) {
    switch (width) {
    case 1: FILL(uint8_t)
    case 2: FILL(uint16_t)
    case 4: FILL(uint32_t)
    default: FILL(uint64_t)
    }
}

static int64_t broadcast_stride(const sh_tensor *t, int i, int ndim) {
    const int own = i - (ndim - t->ndim);
    return own < 0 || t->sizes[own] == 1 ? 0 : t->strides[own];
}

sh_status sh_cpu_masked_fill(sh_tensor *r, sh_tensor *self, sh_tensor *mask, sh_tensor *value) {
    char fill[8];
    SH_TRY(sh_read_fill(r, value, fill));
    if (r->data != self->data) SH_TRY(sh_cpu_copy(r, r, self, false));
    const bool flat = (r->flags & mask->flags & SH_TENSOR_CONTIGUOUS) && r->numel == mask->numel;
    const int last = r->ndim - 1, outer = flat || r->ndim == 0 ? 0 : last;
    run line = {.n = flat || r->ndim == 0 ? r->numel : r->sizes[last], .step = 1, .mask_step = 1};
    if (!flat && r->ndim) {
        line.step = r->strides[last];
        line.mask_step = broadcast_stride(mask, last, r->ndim);
    }
    int64_t index[SH_MAX_DIMS] = {0};
    for (bool more = r->numel > 0; more; more = sh_next_index(outer, r->sizes, index)) {
        line.to = sh_element(r, index, r->ndim);
        line.mask = (const uint8_t *)sh_element(mask, index, r->ndim);
        fill_run(&line, r->element, fill);
    }
    return SH_OK;
}

/* ---- triangles ---- */

#define KEEP(type)                  \
    for (int64_t k = 0; k < n; k++) \
        ((type *)to)[k * to_step] = k >= first && k < end ? ((const type *)from)[k * from_step] : 0;

/* One row of n elements: those from first up to end are kept, the others become zero. */
static void keep_row(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n,
                     uint32_t width, int64_t first, int64_t end) {
    switch (width) {
    case 1: KEEP(uint8_t) return;
    case 2: KEEP(uint16_t) return;
    case 4: KEEP(uint32_t) return;
    default: KEEP(uint64_t) return;
    }
}

static int64_t clamp(int64_t v, int64_t low, int64_t high) { return v < low ? low : v > high ? high : v; }

/* The same for rows without gaps. */
static void keep_packed_row(char *to, const char *from, int64_t n, uint32_t width, int64_t first,
                            int64_t end) {
    memset(to, 0, (size_t)(first * width));
    if (to != from) memcpy(to + first * width, from + first * width, (size_t)((end - first) * width));
    memset(to + end * width, 0, (size_t)((n - end) * width));
}

/* Row i keeps the columns from i + low up to, not including, i + high. */
static sh_status keep_diagonals(sh_tensor *r, sh_tensor *self, int64_t low, int64_t high) {
    const int rows = r->ndim - 2, columns = r->ndim - 1;
    const int64_t n = r->sizes[columns];
    const bool packed = r->strides[columns] == 1 && self->strides[columns] == 1;
    int64_t index[SH_MAX_DIMS] = {0};
    for (bool more = r->numel > 0; more; more = sh_next_index(columns, r->sizes, index)) {
        const int64_t first = clamp(index[rows] + low, 0, n), end = clamp(index[rows] + high, first, n);
        char *to = sh_element(r, index, r->ndim);
        const char *from = sh_element(self, index, r->ndim);
        if (packed)
            keep_packed_row(to, from, n, r->element, first, end);
        else
            keep_row(to, r->strides[columns], from, self->strides[columns], n, r->element, first, end);
    }
    return SH_OK;
}

/* Beyond the matrix all diagonals are alike; cut there, the sums above can't overflow. */
static int64_t cut(const sh_tensor *t, int64_t diagonal) {
    return clamp(diagonal, -t->sizes[t->ndim - 2], t->sizes[t->ndim - 1]);
}

sh_status sh_cpu_tril(sh_tensor *r, sh_tensor *self, int64_t diagonal) {
    return keep_diagonals(r, self, -r->sizes[r->ndim - 2], cut(r, diagonal) + 1);
}
sh_status sh_cpu_triu(sh_tensor *r, sh_tensor *self, int64_t diagonal) {
    return keep_diagonals(r, self, cut(r, diagonal), r->sizes[r->ndim - 1] + 1);
}
