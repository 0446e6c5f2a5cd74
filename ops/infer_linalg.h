/* infer_linalg.h - results of matrix products. */
#ifndef SH_OPS_INFER_LINALG_H
#define SH_OPS_INFER_LINALG_H

#include "ops/promote.h"

sh_status sh_infer_matmul(sh_spec *r, const sh_tensor *a, const sh_tensor *b);
sh_status sh_infer_linear(sh_spec *r, const sh_tensor *input, const sh_tensor *weight, const sh_tensor *bias);

#endif
