/* infer_shape.h - results of ops that move data. */
#ifndef SH_OPS_INFER_SHAPE_H
#define SH_OPS_INFER_SHAPE_H

#include "ops/promote.h"

/* A dim that infer has checked, counted from the front; 0 where there is none. */
static inline int sh_checked_dim(int64_t dim, int ndim) {
    return !ndim ? 0 : (int)(dim < 0 ? dim + ndim : dim);
}

/* src must broadcast to self; the result is as self. */
sh_status sh_infer_copy(sh_spec *r, const sh_tensor *self, const sh_tensor *src);

/* Sizes agree but for dim, which adds up. Empty tensors of one dimension stand for nothing, as in torch. */
sh_status sh_infer_cat(sh_spec *r, sh_tensors tensors, int64_t dim);
static inline bool sh_cat_skips(const sh_tensor *t) { return t->ndim == 1 && t->sizes[0] == 0; }
/* Sizes agree; dim is a new one, with as many entries as there are tensors. */
sh_status sh_infer_stack(sh_spec *r, sh_tensors tensors, int64_t dim);

/* As self, with as many entries along dim as index has; index is a vector or a single integer. */
sh_status sh_infer_index_select(sh_spec *r, const sh_tensor *self, int64_t dim, const sh_tensor *index);
/* Self and mask broadcast; the dtype is self's. The value is a tensor without dimensions. */
sh_status sh_infer_masked_fill(sh_spec *r, const sh_tensor *self, const sh_tensor *mask,
                               const sh_tensor *value);
/* As self, which is a matrix or a batch of them. */
sh_status sh_infer_triangle(sh_spec *r, const char *op, const sh_tensor *self);

#endif
