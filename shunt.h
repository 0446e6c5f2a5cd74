/* shunt.h - the one header of shunt: tensor operations through a dispatch table, under a stack of modes.
 *
 *     #include <shunt.h>
 *
 *     static sh_status add_to_mul(sh_mode *mode, sh_call *call) {
 *         (void)mode;
 *         if (sh_call_family(call) == SH_OP_add) SH_TRY(sh_call_swap(call, SH_OP_mul));
 *         return SH_PASS;
 *     }
 *     ...
 *     SH_SCOPE {
 *         sh_tensor *x = sh_rand(SH_SIZES(2, 2)), *y = sh_rand_like(x), *z;
 *         SH_WITH_MODE(add_to_mul) { z = sh_add(x, y); }     // z is x * y
 *     }
 */
#ifndef SHUNT_H
#define SHUNT_H

#include "dispatch/base.h"
#include "dispatch/byname.h"
#include "dispatch/call.h"
#include "dispatch/device.h"
#include "dispatch/dtype.h"
#include "dispatch/ffi/c_kernel.h"
#include "dispatch/finding.h"
#include "dispatch/foreign.h"
#include "dispatch/memory.h"
#include "dispatch/mode.h"
#include "dispatch/op.h"
#include "dispatch/schema.h"
#include "dispatch/scope.h"
#include "dispatch/status.h"
#include "dispatch/tensor.h"
#include "dispatch/value.h"
#include "dispatch/verbose.h"
#include "graph/arg.h"
#include "graph/check/op_check.h"
#include "graph/compile/compile.h"
#include "graph/function.h"
#include "graph/graph.h"
#include "graph/interpreter.h"
#include "graph/io/graph_file.h"
#include "graph/io/state_dict.h"
#include "graph/ir/ir.h"
#include "graph/module/graph_module.h"
#include "graph/module/module.h"
#include "graph/module/nn.h"
#include "graph/node.h"
#include "graph/onnx/onnx.h"
#include "graph/pass/pass.h"
#include "graph/pass/split.h"
#include "graph/picture/dot.h"
#include "graph/quant/compare.h"
#include "graph/quant/equalize.h"
#include "graph/quant/observer.h"
#include "graph/quant/qconfig.h"
#include "graph/quant/quant.h"
#include "graph/record.h"
#include "graph/rewrite/rewrite.h"
#include "graph/shapes.h"
#include "graph/timing.h"
#include "graph/trace.h"
#include "graph/transformer.h"
#include "modes/environment.h"
#include "modes/plugin.h"
#include "modes/spec.h"
#include "ops/api.h"
#include "ops/check.h"
#include "ops/compare.h"
#include "ops/dlpack.h"
#include "ops/format.h"
#include "ops/io/io.h"
#include "ops/ops.h"
#include "ops/random.h"

#endif
