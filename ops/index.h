/* index.h - what the backends share of ops that pick and mask: the checks that need data. */
#ifndef SH_OPS_INDEX_H
#define SH_OPS_INDEX_H

#include "dispatch/tensor_impl.h"

/* Entry i of a tensor of i64 or i32 with at most one dimension. */
static inline int64_t sh_index_at(const sh_tensor *index, int64_t i) {
    const int64_t at = index->ndim ? i * index->strides[0] : 0;
    return index->dtype == SH_I64 ? ((const int64_t *)index->data)[at] : ((const int32_t *)index->data)[at];
}

/* The first of n indices that is not from 0 to size - 1; n if all are. */
int64_t sh_first_outside(const int64_t *index, int64_t n, int64_t size);

/* Entries must be from 0 to size - 1. Not looked at where the result has no elements, as in torch. */
sh_status sh_check_index(const char *op, const sh_tensor *index, int64_t size, int64_t result_numel);

/* The value of masked_fill as one element of r's dtype; an error if r can't hold it. */
sh_status sh_read_fill(const sh_tensor *r, const sh_tensor *value, char *element);

#endif
