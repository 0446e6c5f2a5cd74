/* nonzero.c - the one op here whose shape depends on data: it counts first, then makes its result.
 *
 * Elements are looked at as bits, so that four widths serve all dtypes. */
#include "dispatch/device_impl.h"
#include "ops/element.h"
#include "ops/kernels.h"

/* The bits that make an element of this dtype other than zero: all but the sign of a float. */
static uint64_t telling_bits(const sh_tensor *t) {
    const int bits = 8 * (int)t->element - (sh_dtype_kind_of((sh_dtype)t->dtype) == SH_KIND_FLOAT);
    return UINT64_MAX >> (64 - bits);
}

static inline uint64_t load_bits(const void *at, uint32_t width) {
    switch (width) {
    case 1: return *(const uint8_t *)at;
    case 2: return *(const uint16_t *)at;
    case 4: return *(const uint32_t *)at;
    default: return *(const uint64_t *)at;
    }
}

/* Elements along the last dimension, or the only one there is. */
typedef struct row {
    int64_t n, step; /* bytes to the next */
    int outer;       /* dimensions before */
} row;

static row rows_of(const sh_tensor *t) {
    const int last = t->ndim - 1;
    if (last < 0) return (row){1, 0, 0};
    return (row){t->sizes[last], t->strides[last] * (int64_t)t->element, last};
}

#define EACH_ROW(t, r, index, at)          \
    int64_t index[SH_MAX_DIMS] = {0};      \
    const char *at = (t)->data;            \
    for (bool more = (t)->numel > 0; more; \
         more = sh_next_index((r).outer, (t)->sizes, index), at = sh_element(t, index, (t)->ndim))

static inline __attribute__((always_inline)) int64_t count_of(const sh_tensor *self, uint32_t width) {
    const uint64_t telling = telling_bits(self);
    const row r = rows_of(self);
    int64_t n = 0;
    EACH_ROW(self, r, index, at)
    for (int64_t k = 0; k < r.n; k++) n += (load_bits(at + k * r.step, width) & telling) != 0;
    return n;
}

/* Writes the indices of the elements that are not zero. */
static inline __attribute__((always_inline)) void list(const sh_tensor *self, uint32_t width, int64_t *to) {
    const uint64_t telling = telling_bits(self);
    const row r = rows_of(self);
    EACH_ROW(self, r, index, at)
    for (int64_t k = 0; k < r.n; k++) {
        if (!(load_bits(at + k * r.step, width) & telling)) continue;
        for (int d = 0; d < r.outer; d++) *to++ = index[d];
        if (self->ndim) *to++ = k;
    }
}

static int64_t count(const sh_tensor *self) {
    switch (self->element) {
    case 1: return count_of(self, 1);
    case 2: return count_of(self, 2);
    case 4: return count_of(self, 4);
    default: return count_of(self, 8);
    }
}

static void find(const sh_tensor *self, int64_t *to) {
    switch (self->element) {
    case 1: list(self, 1, to); break;
    case 2: list(self, 2, to); break;
    case 4: list(self, 4, to); break;
    default: list(self, 8, to);
    }
}

static sh_status nonzero(sh_value *results, const sh_tensor *self) {
    const int device = self->device;
    self = sh__on_host(self, "nonzero: the shape of the result depends on data");
    if (!self) return sh_error()->code;
    const sh_spec spec = {.dtype = SH_I64, .ndim = 2, .sizes = {count(self), self->ndim}};
    sh_tensor *r = sh__tensor_alloc(&spec, SH_HOST);
    if (!r || !sh__own(r)) return SH_ERROR_MEMORY;
    find(self, (int64_t *)r->data);
    if (device != SH_HOST) r = sh_tensor_to(r, (sh_device)device);
    results[0] = sh_value_tensor(r);
    return r ? SH_OK : sh_error()->code;
}

sh_status sh_any_nonzero(sh_value *results, sh_tensor *self) { return nonzero(results, self); }
