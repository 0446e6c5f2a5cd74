/* split.h - a graph in parts: torch.fx.passes.split_module and the capability partitioner.
 *
 *     static int stage(const sh_node *node, void *user) { return strstr(sh_node_scope(node), "layer3") ? 1 : 0; }
 *     sh_module *parts = sh_split_module(sh_graph_module_graph(m), stage, NULL);
 *     y = sh_forward(parts, x);                      // calls submod_0, then submod_1
 *
 * Each partition becomes a graph module, a submodule of the result, with the modules and tensors that its nodes use; what one
 * needs of another it gets as an input. Partitions run in an order in which each finds what it needs, and in which writes, reads of
 * what is written and random draws keep theirs, so that the same bits come out. The graph itself stays as it is. */
#ifndef SH_GRAPH_PASS_SPLIT_H
#define SH_GRAPH_PASS_SPLIT_H

#include "graph/module/graph_module.h"
#include "graph/pass/pass.h"

SH_BEGIN_DECLS

/* The number of the partition that a call_function or call_module node is of; below 0: it stays outside. */
typedef int (*sh_partition_of)(const sh_node *node, void *user);

/* A new graph module, the caller's, with submodules submod_<number>. NULL and an error that names nodes where partitions
 * need each other, or a list would go from one to another; operator.getitem goes with its list. */
SH_API sh_module *sh_split_module(const sh_graph *graph, sh_partition_of partition, void *user);

typedef struct sh_partition_options {
    size_t least; /* nodes that a partition has at least; 0: 1 */
} sh_partition_options;
/* The supported nodes in connected partitions, fused_0 and so on, none of which could take another in without a cycle; the others
 * stay outside. options may be NULL. */
SH_API sh_module *sh_partition_by_support(const sh_graph *graph, sh_node_filter supported, void *user,
                                          const sh_partition_options *options);

SH_END_DECLS

#endif
