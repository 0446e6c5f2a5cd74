/* invoke.h - one call_function node as a call of its op. */
#ifndef SH_GRAPH_INVOKE_H
#define SH_GRAPH_INVOKE_H

#include "graph/graph.h"

/* What a node stands for, borrowed: a tensor, a list of tensors, a number. */
typedef sh_status (*sh_resolver)(void *user, const sh_node *node, sh_value *value);

/* Room for the lists in a node's arguments, used again from call to call; ended by sh__free(at). */
typedef struct sh_scratch {
    uint64_t *at;
    size_t size, used;
} sh_scratch;

/* The values of its arguments, positional ones first; `arguments` has room for all. Lists are in `scratch` till its next
 * use. */
sh_status sh__node_arguments(const sh_node *node, sh_resolver resolve, void *user, sh_scratch *scratch,
                             sh_argument *arguments);
/* Calls the op that the node names, in the name of the place where the node was recorded. Results
 * (SH_MAX_RESULTS entries) are the scope's; past the last they are NONE. */
sh_status sh__node_call(const sh_node *node, sh_resolver resolve, void *user, sh_scratch *scratch,
                        sh_value *results);
/* Has it a spec, and no size in that is -1? */
bool sh__spec_is_known(const sh_node *node);
/* A tensor of the node's spec on the meta device, the scope's. */
sh_status sh__node_meta_value(const sh_node *node, sh_value *value);
/* Sets the node's spec to what its op's result would be, from the specs of its inputs, by a call on the meta device that
 * no mode sees. Where an input's is unknown, or a size of it is -1, so is the node's. */
SH_API sh_status sh__node_infer(sh_node *node, sh_scratch *scratch);
/* An argument that is no node and no list as a value. */
sh_value sh__literal_value(sh_arg arg);

#endif
