/* cat.c - joining, element by element. */
#include "ops/element.h"
#include "ops/infer_shape.h"
#include "ops/kernels.h"

/* Integers by way of int64_t, which holds them all; floats by way of double. */
static void convert(const sh_tensor *r, void *to, const sh_tensor *t, const void *from) {
    const sh_dtype source = (sh_dtype)t->dtype, target = (sh_dtype)r->dtype;
    if (sh_dtype_kind_of(source) == SH_KIND_FLOAT)
        sh_store_f64(target, to, sh_load_f64(source, from));
    else
        sh_store_i64(target, to, sh_load_i64(source, from));
}

sh_status sh_ref_cat(sh_tensor *r, sh_tensors tensors, int64_t dim) {
    const int at = sh_checked_dim(dim, r->ndim);
    int64_t start = 0;
    for (size_t k = 0; k < tensors.n; k++) {
        const sh_tensor *t = tensors.at[k];
        if (sh_cat_skips(t)) continue;
        SH_EACH_ELEMENT(t, i) {
            const void *from = sh_element(t, i, t->ndim);
            i[at] += start;
            convert(r, sh_element(r, i, r->ndim), t, from);
            i[at] -= start;
        }
        start += t->sizes[at];
    }
    return SH_OK;
}

sh_status sh_ref_stack(sh_tensor *r, sh_tensors tensors, int64_t dim) {
    const int at = sh_checked_dim(dim, r->ndim);
    SH_EACH_ELEMENT(r, i) {
        const sh_tensor *t = tensors.at[i[at]];
        int64_t index[SH_MAX_DIMS];
        for (int k = 0; k < t->ndim; k++) index[k] = i[k + (k >= at)];
        convert(r, sh_element(r, i, r->ndim), t, sh_element(t, index, t->ndim));
    }
    return SH_OK;
}
