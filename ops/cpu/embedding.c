/* embedding.c - embedding and pad in the cpu backend: moving elements, of whatever dtype, a row at a time. */
#include <string.h>

#include "dispatch/number.h"
#include "ops/cpu/rows.h"
#include "ops/cpu/widen.h"
#include "ops/element.h"
#include "ops/index.h"
#include "ops/infer_nn.h"
#include "ops/kernels.h"

static sh_status copy_rows(sh_tensor *r, const sh_tensor *weight, const sh_tensor *indices) {
    const int64_t *index = (const int64_t *)(const void *)indices->data, n = indices->numel;
    const int64_t wrong = sh_first_outside(index, n, weight->sizes[0]);
    if (wrong < n)
        return sh_fail(SH_ERROR_INDEX, "embedding: index %lld in indices, expected 0 to %lld",
                       (long long)index[wrong], (long long)weight->sizes[0] - 1);
    const sh_rows rows = {weight->data, 1, weight->sizes[0], weight->sizes[1] * (int64_t)weight->element};
    sh_pick_rows(r->data, &rows, index, n);
    return SH_OK;
}

sh_status sh_cpu_embedding(sh_tensor *r, sh_tensor *weight, sh_tensor *indices, int64_t padding_idx) {
    (void)padding_idx;
    sh_tensor *w, *i = NULL;
    sh_status status = sh_aside_contiguous(weight, (sh_dtype)weight->dtype, &w);
    if (status >= 0) status = sh_aside_contiguous(indices, SH_I64, &i);
    if (status >= 0) status = copy_rows(r, w, i);
    sh_aside_drop(w);
    sh_aside_drop(i);
    return status;
}

/* ---- pad ---- */

/* One padding on its way; what it reads is contiguous. */
typedef struct job {
    sh_pad_mode mode;
    sh_ints pad;
    const sh_tensor *x;
    size_t element;
    char number[8]; /* the constant, as an element */
} job;

static int64_t source_of(const job *j, int dim, int64_t i) {
    const int n = j->x->ndim;
    return sh_pad_source(j->mode, i, sh_pad_amount(j->pad, n, dim, 0), sh_pad_amount(j->pad, n, dim, 1),
                         j->x->sizes[dim]);
}

#define FILL(T)                                         \
    do {                                                \
        T number, *at = (T *)(void *)to;                \
        memcpy(&number, j->number, sizeof number);      \
        for (int64_t i = 0; i < n; i++) at[i] = number; \
    } while (0)

static void fill(const job *j, char *to, int64_t n) {
    switch (j->element) {
    case 1: FILL(uint8_t); break;
    case 2: FILL(uint16_t); break;
    case 4: FILL(uint32_t); break;
    default: FILL(uint64_t);
    }
}

/* Elements [from, to) of a row of the result, one by one. */
static void pad_ends(const job *j, char *row, const char *source, int64_t from, int64_t to) {
    if (j->mode == SH_PAD_CONSTANT) {
        fill(j, row + (size_t)from * j->element, to - from);
        return;
    }
    for (int64_t i = from; i < to; i++)
        memcpy(row + (size_t)i * j->element, source + (size_t)source_of(j, j->x->ndim - 1, i) * j->element,
               j->element);
}

/* A row of the result from one of the input, or of constants from NULL: what is inside lies in one piece. */
static void pad_row(const job *j, char *row, const char *source, int64_t n) {
    const int dim = j->x->ndim - 1;
    const int64_t before = sh_pad_amount(j->pad, j->x->ndim, dim, 0),
                  after = sh_pad_amount(j->pad, j->x->ndim, dim, 1);
    int64_t first = before > 0 ? before : 0, last = after > 0 ? n - after : n;
    if (!source) {
        fill(j, row, n);
        return;
    }
    if (first > n) first = n;
    if (last < first) last = first;
    pad_ends(j, row, source, 0, first);
    memcpy(row + (size_t)first * j->element, source + (size_t)(first - before) * j->element,
           (size_t)(last - first) * j->element);
    pad_ends(j, row, source, last, n);
}

/* Rows that differ in the last dimension but one only; `source` is where they come from, or NULL. */
static char *pad_plane(const job *j, const sh_tensor *r, char *to, const char *source) {
    const int dim = r->ndim - 2;
    const int64_t rows = dim >= 0 ? r->sizes[dim] : 1, n = r->sizes[dim + 1], bytes = n * (int64_t)j->element;
    const int64_t step = dim >= 0 ? j->x->strides[dim] * (int64_t)j->element : 0;
    for (int64_t i = 0; i < rows; i++, to += bytes) {
        const int64_t from = dim >= 0 ? source_of(j, dim, i) : 0;
        pad_row(j, to, source && from >= 0 ? source + from * step : NULL, n);
    }
    return to;
}

static void pad_planes(const job *j, const sh_tensor *r) {
    const int outer = r->ndim > 2 ? r->ndim - 2 : 0;
    int64_t index[SH_MAX_DIMS] = {0};
    char *to = r->data;
    do {
        const char *source = j->x->data;
        for (int d = 0; d < outer; d++) {
            const int64_t i = source_of(j, d, index[d]);
            source = source && i >= 0 ? source + i * j->x->strides[d] * (int64_t)j->element : NULL;
        }
        to = pad_plane(j, r, to, source);
    } while (sh_next_index(outer, r->sizes, index));
}

sh_status sh_cpu_pad(sh_tensor *r, sh_tensor *self, sh_ints pad, const char *mode, double value) {
    sh_tensor *x;
    if (!r->numel) return SH_OK;
    if (!r->ndim) return sh_cpu_copy(r, r, self, false);
    SH_TRY(sh_aside_contiguous(self, (sh_dtype)self->dtype, &x));
    job j = {.mode = sh_pad_mode_of(mode), .pad = pad, .x = x, .element = r->element};
    sh_store_f64((sh_dtype)r->dtype, j.number, sh__is_no_number(value) ? 0 : value);
    pad_planes(&j, r);
    sh_aside_drop(x);
    return SH_OK;
}
