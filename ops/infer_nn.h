/* infer_nn.h - results of normalisation, embedding and padding, and where padding comes from. */
#ifndef SH_OPS_INFER_NN_H
#define SH_OPS_INFER_NN_H

#include "ops/promote.h"

/* Parameters and statistics are of the input's dtype, or all f32 beside a half type. */
sh_status sh_infer_batch_norm(sh_spec *r, const sh_tensor *input, const sh_tensor *running_mean,
                              const sh_tensor *running_var, const sh_tensor *weight, const sh_tensor *bias,
                              bool training);
sh_status sh_infer_layer_norm(sh_spec *r, const sh_tensor *input, sh_ints normalized_shape,
                              const sh_tensor *weight, const sh_tensor *bias);

sh_status sh_infer_embedding(sh_spec *r, const sh_tensor *weight, const sh_tensor *indices);

typedef enum sh_pad_mode {
    SH_PAD_CONSTANT,
    SH_PAD_REFLECT,
    SH_PAD_REPLICATE,
    SH_PAD_CIRCULAR,
    SH_PAD_MODE_COUNT
} sh_pad_mode;
/* SH_PAD_MODE_COUNT for a name that is none. */
sh_pad_mode sh_pad_mode_of(const char *name);
/* `pad` holds pairs (before, after), the last dimension first; negative ones crop. */
sh_status sh_infer_pad(sh_spec *r, const sh_tensor *self, sh_ints pad, const char *mode, double value);
/* What is put before (side 0) or after (side 1) dimension `dim` of a tensor with `ndim`. */
static inline int64_t sh_pad_amount(sh_ints pad, int ndim, int dim, int side) {
    const size_t pair = (size_t)(ndim - 1 - dim);
    return pair < pad.n / 2 ? pad.at[2 * pair + (size_t)side] : 0;
}
/* The input that output `i` of a padded dimension shows, or -1 for the constant. */
int64_t sh_pad_source(sh_pad_mode mode, int64_t i, int64_t before, int64_t after, int64_t size);

#endif
