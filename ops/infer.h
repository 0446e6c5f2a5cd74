/* infer.h - the infer functions that ops.def names: shapes and dtypes of results, and the checks of
 * arguments that need no data. `r` are the result specs. One header a kind of op. */
#ifndef SH_OPS_INFER_H
#define SH_OPS_INFER_H

#include "ops/infer_factory.h"
#include "ops/infer_linalg.h"
#include "ops/infer_nn.h"
#include "ops/infer_pointwise.h"
#include "ops/infer_quantize.h"
#include "ops/infer_reduce.h"
#include "ops/infer_shape.h"
#include "ops/infer_window.h"

#endif
