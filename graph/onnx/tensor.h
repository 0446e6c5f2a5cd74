/* tensor.h - TensorProto: dtypes by their ONNX numbers, and values. */
#ifndef SH_GRAPH_ONNX_TENSOR_H
#define SH_GRAPH_ONNX_TENSOR_H

#include "dispatch/tensor.h"
#include "graph/onnx/onnx.pb-c.h"
#include "graph/onnx/wire.h"

/* SH_NO_DTYPE for one that has no match here. */
sh_dtype sh__onnx_dtype(int32_t code);
/* "FLOAT", "UINT32", "type 99". */
const char *sh__onnx_dtype_name(int32_t code);
/* Scope-owned; its bytes are taken from the budget. `what` names it in errors. */
sh_tensor *sh__onnx_tensor(const Onnx__TensorProto *proto, sh_budget *budget, const char *what);

#endif
