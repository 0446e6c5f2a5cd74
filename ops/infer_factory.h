/* infer_factory.h - results of ops that make tensors from sizes and numbers. */
#ifndef SH_OPS_INFER_FACTORY_H
#define SH_OPS_INFER_FACTORY_H

#include "ops/promote.h"

/* sizes with the given dtype, f32 where none is given. */
sh_status sh_infer_factory(sh_spec *r, sh_ints size, sh_dtype dtype);
/* Shape and, unless one is given, dtype of self. */
sh_status sh_infer_like(sh_spec *r, const sh_tensor *self, sh_dtype dtype);
/* The dtype follows the number where none is given. */
sh_status sh_infer_full(sh_spec *r, sh_ints size, sh_scalar fill_value, sh_dtype dtype);

#endif
