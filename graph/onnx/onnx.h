/* onnx.h - ONNX models as graphs.
 *
 *     sh_graph *model = sh_load_onnx("face.onnx");
 *     sh_list *results = sh_graph_run(model, SH_LIST(image));
 *
 * Inputs become placeholders (their target is the model's name for them, their spec its dtype and shape, -1
 * for a size that the model leaves open), initializers attributes of the graph, each ONNX node one call or
 * two, named after it. Where all sizes are given each node has its dtype and shape, and a model whose shapes
 * do not fit is refused here. sh_graph_output_name gives the model's names of the outputs.
 *
 * Read are Add Concat Constant ConstantOfShape Conv Identity MaxPool Relu Reshape Transpose; another op is an
 * error that names it, its node and the opset. A hostile file is an error too: reading takes memory in
 * proportion to the file's size, and no more depth of the C stack than a fixed one. */
#ifndef SH_GRAPH_ONNX_ONNX_H
#define SH_GRAPH_ONNX_ONNX_H

#include "graph/graph.h"

SH_BEGIN_DECLS

/* The caller ends it by sh_graph_free. NULL and an error that names the file, the node, the op. */
SH_API sh_graph *sh_load_onnx(const char *path);
/* From memory; `name` stands for the file in errors. */
SH_API sh_graph *sh_parse_onnx(const void *data, size_t size, const char *name);
/* A TensorProto, as in the test_data_set folders of ONNX's models (input_0.pb); scope-owned. */
SH_API sh_tensor *sh_load_onnx_tensor(const char *path);
SH_API sh_tensor *sh_parse_onnx_tensor(const void *data, size_t size, const char *name);

SH_END_DECLS

#endif
