/* text.h - both directions of the text, with a hand in what becomes of the tensors. */
#ifndef SH_GRAPH_IR_TEXT_H
#define SH_GRAPH_IR_TEXT_H

#include "graph/ir/ir.h"

/* Called with each tensor and the name that it has beside the text: its path, or for what a graph owns that of the graph, a
 * dot and the attribute's name ("enc..scale", ".scale"; "scale" where there are no modules). Once a tensor. */
typedef sh_status (*sh_ir_put)(void *user, const char *key, sh_tensor *tensor);
/* The tensor of this name, row-major, of this dtype and shape; scope-owned or borrowed. NULL and an error. */
typedef sh_tensor *(*sh_ir_get)(void *user, const char *key, const sh_spec *spec);

/* One of the two, the module's graph included. `put` is optional. */
SH_API char *sh__ir_write(const sh_graph *graph, sh_module *module, sh_ir_put put, void *user);
/* What was read is the caller's: `*module`, or if the text has none `*graph`; both are NULL on an error. `get` is optional. */
SH_API sh_status sh__ir_read(const char *text, size_t size, const char *what, sh_ir_get get, void *user,
                             sh_graph **graph, sh_module **module);

#endif
