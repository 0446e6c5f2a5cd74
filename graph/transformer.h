/* transformer.h - a graph rewritten node by node into a new one, as torch.fx's Transformer does.
 *
 *     static sh_status sin_for_relu(sh_transformer *t, const sh_node *node, sh_args args, sh_kwargs kwargs, sh_arg *result) {
 *         if (strcmp(sh_node_target(node), "relu") != 0) return sh_transform_node(t, node, args, kwargs, result);
 *         *result = sh_arg_node(sh_graph_call_function(sh_transformer_graph(t), "sin", args.at[0]));
 *         return SH_OK;
 *     }
 *     sh_graph *other = sh_graph_transform(graph, &(sh_transformer_options){.call_function = sin_for_relu});
 *
 * Each hook gets a node of the old graph with its arguments in terms of the new one, and says what stands for the node
 * from then on: a node of the new graph or a literal. The old graph stays as it is. */
#ifndef SH_GRAPH_TRANSFORMER_H
#define SH_GRAPH_TRANSFORMER_H

#include "graph/graph.h"

SH_BEGIN_DECLS

typedef struct sh_transformer sh_transformer;

/* `result` is None where the hook sets nothing; a list can't stand for a node. */
typedef sh_status (*sh_transform)(sh_transformer *t, const sh_node *node, sh_args args, sh_kwargs kwargs,
                                  sh_arg *result);

/* NULL: nodes of that opcode are copied. */
typedef struct sh_transformer_options {
    void *user;
    sh_transform placeholder, get_attr, call_function, call_module, output;
} sh_transformer_options;

/* The new graph, the caller's (sh_graph_free); attributes are shared. options may be NULL. NULL and an error that names the node. */
SH_API sh_graph *sh_graph_transform(const sh_graph *graph, const sh_transformer_options *options);
SH_API sh_graph *sh_transformer_graph(const sh_transformer *t); /* the new one */
SH_API void *sh_transformer_user(const sh_transformer *t);
/* What is done where there is no hook: a copy of the node with these arguments and all that is known about it. */
SH_API sh_status sh_transform_node(sh_transformer *t, const sh_node *node, sh_args args, sh_kwargs kwargs,
                                   sh_arg *result);

SH_END_DECLS

#endif
