/* expand.h - a node gives way to the graph of what it does. */
#ifndef SH_GRAPH_PASS_EXPAND_H
#define SH_GRAPH_PASS_EXPAND_H

#include "graph/graph_impl.h"

/* What stands for `node`: a graph whose placeholders take these arguments in order. Its call_module nodes and those get_attr
 * nodes whose tensors it has not itself find them below the path `prefix`, if that is set. */
typedef struct sh_expansion {
    const sh_graph *body;
    sh_args inputs;
    const char *prefix;
} sh_expansion;

/* Puts copies of the body's nodes in front of the node, which goes. False, and nothing changed, where that can't be: no input
 * for a placeholder, a list that is used as one; or with an error. */
bool sh__node_expand(sh_node *node, const sh_expansion *expansion);

/* Meta tensors of the inputs' specs in the place of nodes, literals as they are; the scope's. False where a spec is not known, an
 * argument is a list, or with an error. `values` has room for all. */
bool sh__node_meta_inputs(const sh_node *node, sh_value *values);

#endif
