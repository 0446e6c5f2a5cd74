/* infer_pointwise.h - results of elementwise ops: broadcast shape, promoted dtype.
 *
 * What an op has in common with others stands under the common name; `op` is for messages. */
#ifndef SH_OPS_INFER_POINTWISE_H
#define SH_OPS_INFER_POINTWISE_H

#include "ops/promote.h"

/* Shapes or dtypes differ: broadcasting and promotion. */
sh_status sh__infer_binary_any(sh_spec *r, const sh_tensor *a, const sh_tensor *b);
/* The shape of a with this dtype. */
sh_status sh__infer_unary_any(sh_spec *r, const sh_tensor *a, sh_dtype dtype);

/* Equal dtype and shape, neither of them a number, a row-major: the common case, in a few instructions. */
static inline bool sh__are_alike(const sh_tensor *a, const sh_tensor *b) {
    if (a->dtype != b->dtype || a->ndim != b->ndim) return false;
    if (((a->flags & (SH_TENSOR_CONTIGUOUS | SH_TENSOR_WRAPPED)) | (b->flags & SH_TENSOR_WRAPPED)) !=
        SH_TENSOR_CONTIGUOUS)
        return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->sizes[i] != b->sizes[i]) return false;
    return true;
}

/* The dtype that both promote to. */
static inline sh_status sh_infer_binary(sh_spec *r, const sh_tensor *a, const sh_tensor *b) {
    if (SH_UNLIKELY(!sh__are_alike(a, b))) return sh__infer_binary_any(r, a, b);
    r->dtype = (sh_dtype)a->dtype;
    r->like = a;
    return SH_OK;
}

sh_status sh__check_alpha(const sh_spec *r, sh_scalar alpha);

static inline sh_status sh_infer_add(sh_spec *r, const sh_tensor *a, const sh_tensor *b, sh_scalar alpha) {
    SH_TRY(sh_infer_binary(r, a, b));
    return SH_LIKELY(r->dtype <= SH_BF16) ? SH_OK : sh__check_alpha(r, alpha);
}

/* As self; a lone number is an f32, not the f64 that it came in. */
static inline sh_status sh_infer_unary(sh_spec *r, const sh_tensor *a) {
    r->dtype = (sh_dtype)a->dtype;
    if (SH_UNLIKELY((a->flags & (SH_TENSOR_CONTIGUOUS | SH_TENSOR_WRAPPED)) != SH_TENSOR_CONTIGUOUS))
        return sh__infer_unary_any(r, a,
                                   (a->flags & SH_TENSOR_WRAPPED) && a->dtype == SH_F64 ? SH_F32 : r->dtype);
    r->like = a;
    return SH_OK;
}

sh_status sh_infer_sub(sh_spec *r, const sh_tensor *a, const sh_tensor *b, sh_scalar alpha);
/* Integers promote to f32. */
sh_status sh_infer_binary_float(sh_spec *r, const sh_tensor *a, const sh_tensor *b);
sh_status sh_infer_no_bool(sh_spec *r, const char *op, const sh_tensor *a, const sh_tensor *b);
sh_status sh_infer_div(sh_spec *r, const sh_tensor *a, const sh_tensor *b, const char *rounding_mode);
sh_status sh_infer_pow(sh_spec *r, const sh_tensor *a, const sh_tensor *exponent);
sh_status sh_infer_compare(sh_spec *r, const sh_tensor *a, const sh_tensor *b);
sh_status sh_infer_bitwise(sh_spec *r, const char *op, const sh_tensor *a, const sh_tensor *b);
sh_status sh_infer_bitwise_not(sh_spec *r, const sh_tensor *a);

sh_status sh_infer_where(sh_spec *r, const sh_tensor *condition, const sh_tensor *a, const sh_tensor *b);
sh_status sh_infer_clamp(sh_spec *r, const sh_tensor *self, sh_scalar min, sh_scalar max);
sh_status sh_infer_clamp_tensors(sh_spec *r, const sh_tensor *self, const sh_tensor *min,
                                 const sh_tensor *max);
sh_status sh_infer_lerp(sh_spec *r, const sh_tensor *self, const sh_tensor *end, const sh_tensor *weight);

/* Integers promote to f32. */
sh_status sh_infer_unary_float(sh_spec *r, const sh_tensor *a);
/* The result is bool. */
sh_status sh_infer_test(sh_spec *r, const sh_tensor *a);
/* Not for bool. */
sh_status sh_infer_numbers(sh_spec *r, const char *op, const sh_tensor *a);
sh_status sh_infer_square(sh_spec *r, const sh_tensor *a);
/* Not for integers. */
sh_status sh_infer_float(sh_spec *r, const char *op, const sh_tensor *a);
sh_status sh_infer_gelu(sh_spec *r, const sh_tensor *a, const char *approximate);
sh_status sh_infer_hardtanh(sh_spec *r, const sh_tensor *a, sh_scalar min_val, sh_scalar max_val);

#endif
