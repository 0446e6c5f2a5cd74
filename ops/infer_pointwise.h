/* infer_pointwise.h - results of elementwise ops: broadcast shape, promoted dtype. */
#ifndef SH_OPS_INFER_POINTWISE_H
#define SH_OPS_INFER_POINTWISE_H

#include "ops/promote.h"

/* Shapes or dtypes differ: broadcasting and promotion. `op` for messages. */
sh_status sh__infer_binary_any(sh_spec *r, const sh_tensor *a, const sh_tensor *b);

static inline sh_status sh_infer_binary(sh_spec *r, const sh_tensor *a, const sh_tensor *b) {
    const int n = a->ndim;
    bool same = a->dtype == b->dtype && n == b->ndim && !((a->flags | b->flags) & SH_TENSOR_WRAPPED);
    for (int i = 0; same && i < n; i++) same = a->sizes[i] == b->sizes[i];
    r->dtype = (sh_dtype)a->dtype;
    if (SH_UNLIKELY(!same || !(a->flags & SH_TENSOR_CONTIGUOUS))) return sh__infer_binary_any(r, a, b);
    r->like = a;
    return SH_OK;
}

sh_status sh__check_alpha(const sh_spec *r, sh_scalar alpha);

static inline sh_status sh_infer_add(sh_spec *r, const sh_tensor *a, const sh_tensor *b, sh_scalar alpha) {
    SH_TRY(sh_infer_binary(r, a, b));
    return SH_LIKELY(r->dtype <= SH_BF16) ? SH_OK : sh__check_alpha(r, alpha);
}

static inline sh_status sh_infer_unary(sh_spec *r, const sh_tensor *a) {
    r->ndim = a->ndim;
    r->dtype = (sh_dtype)a->dtype;
    for (int i = 0; i < a->ndim; i++) r->sizes[i] = a->sizes[i];
    return SH_OK;
}

sh_status sh_infer_sub(sh_spec *r, const sh_tensor *a, const sh_tensor *b, sh_scalar alpha);

#endif
