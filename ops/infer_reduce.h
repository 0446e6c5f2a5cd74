/* infer_reduce.h - results of reductions, scans and softmax: which axes go, which dtype comes out.
 *
 * An axis list that is absent or empty means all axes. A 0-d tensor has one axis here, 0 or -1. `op` is the
 * name for messages. */
#ifndef SH_OPS_INFER_REDUCE_H
#define SH_OPS_INFER_REDUCE_H

#include "ops/promote.h"

/* The axes of `t` in `dims` as bits; an error for one that is out of range or given twice. */
sh_status sh_axes_mask(const char *op, const sh_tensor *t, sh_ints dims, uint32_t *mask);
/* An `int? dim`, kept in *dim while the list is in use. */
static inline sh_ints sh_axes_of(const int64_t *dim) {
    return *dim == SH_NO_INT ? (sh_ints){NULL, 0} : (sh_ints){dim, 1};
}

/* sum, prod: integers and bool add up in i64 unless dtype says otherwise. */
sh_status sh_infer_total(sh_spec *r, const char *op, const sh_tensor *self, sh_ints dim, bool keepdim,
                         sh_dtype dtype);
sh_status sh_infer_mean(sh_spec *r, const sh_tensor *self, sh_ints dim, bool keepdim, sh_dtype dtype);
/* amax, amin, max, min: of self's dtype, refused over nothing. */
sh_status sh_infer_extreme(sh_spec *r, const char *op, const sh_tensor *self, sh_ints dim, bool keepdim);
/* max.dim, min.dim: values and indices. */
sh_status sh_infer_extreme_dim(sh_spec *r, const char *op, const sh_tensor *self, int64_t dim, bool keepdim);
sh_status sh_infer_arg(sh_spec *r, const char *op, const sh_tensor *self, int64_t dim, bool keepdim);
/* any, all: bool, but u8 stays u8. */
sh_status sh_infer_truth(sh_spec *r, const char *op, const sh_tensor *self, sh_ints dim, bool keepdim);
/* var, std: of floats only. */
sh_status sh_infer_spread(sh_spec *r, const char *op, const sh_tensor *self, sh_ints dim, bool keepdim);
sh_status sh_infer_norm(sh_spec *r, const sh_tensor *self, sh_ints dim, bool keepdim, sh_dtype dtype);
sh_status sh_infer_logsumexp(sh_spec *r, const sh_tensor *self, sh_ints dim, bool keepdim);
sh_status sh_infer_cumsum(sh_spec *r, const sh_tensor *self, int64_t dim, sh_dtype dtype);
/* softmax, log_softmax */
sh_status sh_infer_softmax(sh_spec *r, const char *op, const sh_tensor *self, int64_t dim, sh_dtype dtype);

#endif
