/* index.c - picking, masking and cutting elements, one by one. */
#include <string.h>

#include "ops/element.h"
#include "ops/index.h"
#include "ops/infer_shape.h"
#include "ops/kernels.h"

sh_status sh_ref_clone(sh_tensor *r, sh_tensor *self) {
    SH_EACH_ELEMENT(r, i) memcpy(sh_element(r, i, r->ndim), sh_element(self, i, r->ndim), r->element);
    return SH_OK;
}

sh_status sh_ref_index_select(sh_tensor *r, sh_tensor *self, int64_t dim, sh_tensor *index) {
    const int at = sh_checked_dim(dim, r->ndim);
    SH_TRY(sh_check_index("index_select", index, self->ndim ? self->sizes[at] : 1, r->numel));
    SH_EACH_ELEMENT(r, i) {
        const int64_t place = i[at];
        void *to = sh_element(r, i, r->ndim);
        i[at] = sh_index_at(index, place);
        memcpy(to, sh_element(self, i, self->ndim), r->element);
        i[at] = place;
    }
    return SH_OK;
}

sh_status sh_ref_masked_fill(sh_tensor *r, sh_tensor *self, sh_tensor *mask, sh_tensor *value) {
    char fill[8];
    SH_TRY(sh_read_fill(r, value, fill));
    SH_EACH_ELEMENT(r, i) {
        const bool masked = *(const uint8_t *)sh_element(mask, i, r->ndim) != 0;
        memmove(sh_element(r, i, r->ndim), masked ? fill : sh_element(self, i, r->ndim), r->element);
    }
    return SH_OK;
}

/* Keeps element (row, column) where its diagonal is in the range. */
static sh_status keep_diagonals(sh_tensor *r, sh_tensor *self, int64_t low, int64_t high) {
    static const char zero[8];
    SH_EACH_ELEMENT(r, i) {
        const int64_t diagonal = i[r->ndim - 1] - i[r->ndim - 2];
        const bool kept = diagonal >= low && diagonal <= high;
        memmove(sh_element(r, i, r->ndim), kept ? sh_element(self, i, r->ndim) : zero, r->element);
    }
    return SH_OK;
}

sh_status sh_ref_tril(sh_tensor *r, sh_tensor *self, int64_t diagonal) {
    return keep_diagonals(r, self, INT64_MIN, diagonal);
}
sh_status sh_ref_triu(sh_tensor *r, sh_tensor *self, int64_t diagonal) {
    return keep_diagonals(r, self, diagonal, INT64_MAX);
}
