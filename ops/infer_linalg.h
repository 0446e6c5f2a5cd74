/* infer_linalg.h - results of matrix products. All operands have one dtype, which is not bool. */
#ifndef SH_OPS_INFER_LINALG_H
#define SH_OPS_INFER_LINALG_H

#include "ops/promote.h"

/* The second argument of mm and so on is `other` here. */
sh_status sh_infer_matmul(sh_spec *r, const sh_tensor *self, const sh_tensor *other);
sh_status sh_infer_mm(sh_spec *r, const sh_tensor *self, const sh_tensor *other);
sh_status sh_infer_bmm(sh_spec *r, const sh_tensor *self, const sh_tensor *other);
sh_status sh_infer_mv(sh_spec *r, const sh_tensor *self, const sh_tensor *other);
sh_status sh_infer_dot(sh_spec *r, const sh_tensor *self, const sh_tensor *other);
/* self must expand to the shape of mat1 @ mat2. */
sh_status sh_infer_addmm(sh_spec *r, const sh_tensor *self, const sh_tensor *mat1, const sh_tensor *mat2);
sh_status sh_infer_linear(sh_spec *r, const sh_tensor *input, const sh_tensor *weight, const sh_tensor *bias);

#endif
