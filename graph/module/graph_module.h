/* graph_module.h - a graph as a module: it is called, saved, printed and hung in trees like any other.
 *
 *     sh_module *m = sh_graph_module_new(net, graph);      // what the graph uses of net, and the graph
 *     SH_EACH_NODE(node, sh_graph_module_graph(m)) ...      // edits count from the next call on
 *     y = sh_forward(m, x);
 *
 * Forward runs the graph as it then stands: it is made ready again after an edit, once, and there is nothing to
 * recompile by hand. Its submodules, parameters and buffers are those of the module it was made from, not copies; the
 * tensors that the graph keeps itself (`_tensor_constant0`) stay there. Each op is a call like any other, so a mode that
 * is pushed when the module runs sees it. */
#ifndef SH_GRAPH_MODULE_GRAPH_MODULE_H
#define SH_GRAPH_MODULE_GRAPH_MODULE_H

#include "graph/graph.h"
#include "graph/module/module.h"

SH_BEGIN_DECLS

/* Takes the graph over, on failure too. An error names a target that `root` has not. The caller's. */
SH_API sh_module *sh_graph_module_new(sh_module *root, sh_graph *graph);
/* Borrowed; NULL without an error if this is no graph module. */
SH_API sh_graph *sh_graph_module_graph(const sh_module *module);
/* What a get_attr node of this target gives: a tensor that the graph keeps, else a parameter or buffer at that path of the module.
 * Borrowed; NULL and an error if there is none. */
SH_API sh_tensor *sh_graph_module_tensor(const sh_module *module, const char *path);
/* Takes the graph over, on failure too; the one of before is freed. Submodules stay as they are. */
SH_API sh_status sh_graph_module_set_graph(sh_module *module, sh_graph *graph);

/* As sh_module_set, and modules that are missing on the way are made. sh_module_delete takes one out. */
SH_API sh_status sh_graph_module_add_submodule(sh_module *module, const char *path, sh_module *child);
/* Deletes the submodules that no call_module or get_attr node needs. `count` may be NULL. */
SH_API sh_status sh_graph_module_delete_all_unused_submodules(sh_module *module, size_t *count);

/* Where call_module and get_attr nodes of a graph look; retained. NULL takes it off. */
SH_API void sh_graph_set_module(sh_graph *graph, sh_module *module);
/* The module that a call_module node calls, borrowed; NULL without an error if it calls none, or its graph has none there. */
SH_API sh_module *sh_node_module(const sh_node *node);

SH_END_DECLS

#endif
