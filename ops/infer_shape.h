/* infer_shape.h - results of ops that move data. */
#ifndef SH_OPS_INFER_SHAPE_H
#define SH_OPS_INFER_SHAPE_H

#include "ops/promote.h"

/* src must broadcast to self; the result is as self. */
sh_status sh_infer_copy(sh_spec *r, const sh_tensor *self, const sh_tensor *src);

#endif
