/* promote.h - PyTorch's type promotion and broadcasting, the rules that infer functions share.
 *
 * Kinds are ordered bool < integer < float. Tensors with dimensions outrank 0-d tensors, which outrank
 * numbers: a lower rank changes the dtype only where its kind is higher. */
#ifndef SH_OPS_PROMOTE_H
#define SH_OPS_PROMOTE_H

#include "dispatch/tensor_impl.h"

/* The smallest dtype that both convert to: u8 with i8 is i16, f16 with bf16 is f32. */
sh_dtype sh_promote(sh_dtype a, sh_dtype b);
/* What a number alone would become: f32, i64, bool. */
sh_dtype sh_default_dtype(sh_scalar number);

/* Gathers arguments one by one; sh_result_of tells the common dtype. */
typedef struct sh_promotion {
    sh_dtype dimensioned, zero_dim, number;
} sh_promotion;
void sh_promotion_add(sh_promotion *p, const sh_tensor *t);
sh_dtype sh_promotion_result(const sh_promotion *p);
sh_dtype sh_result_type(const sh_tensor *a, const sh_tensor *b);

/* The shape that a and b broadcast to, into `sizes`; an error that names both shapes. Returns the rank in *ndim. */
sh_status sh_broadcast(const char *op, int a_ndim, const int64_t *a, int b_ndim, const int64_t *b,
                       int32_t *ndim, int64_t *sizes);
/* Dimension `dim` of a tensor with `ndim`, counted from the end if negative; a 0-d tensor has one dimension here. */
sh_status sh_wrap_dim(const char *op, int64_t dim, int ndim, int *wrapped);
/* "[2, 3]" */
const char *sh__shape_text(int ndim, const int64_t *sizes, char *text, size_t size);

#endif
