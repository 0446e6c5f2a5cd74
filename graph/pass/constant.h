/* constant.h - the tensors behind get_attr nodes: found, added, and when two of them are one memory. */
#ifndef SH_GRAPH_PASS_CONSTANT_H
#define SH_GRAPH_PASS_CONSTANT_H

#include "graph/module/module_impl.h"
#include "graph/pass/memory.h"

/* The tensor that a get_attr node gives, borrowed; NULL without an error where it is another node, or nobody has it. */
sh_tensor *sh__constant_of(const sh_node *node);
/* A get_attr node at the insertion point, for a tensor that the graph keeps from now on. Both have a free name like `wish`. */
sh_node *sh__constant_new(sh_graph *graph, const char *wish, sh_tensor *value);

/* The storages of tensors that the graph reads by name and writes to, at whatever node. Ended by sh__seen_free, on failure
 * too. */
sh_status sh__written_constants(const sh_graph *graph, const sh_memory_map *memory, sh_seen *storages);

/* Ends the node, which nobody uses, and those of its inputs that are constants and only it used. */
void sh__node_discard_with_constants(sh_node *node);

#endif
