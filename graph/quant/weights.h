/* weights.h - constant weights stored in 8 bits, each once. */
#ifndef SH_GRAPH_QUANT_WEIGHTS_H
#define SH_GRAPH_QUANT_WEIGHTS_H

#include "graph/graph.h"
#include "graph/quant/qconfig.h"

typedef struct sh_stored_weight {
    const sh_tensor *from;
    sh_observer_options options;
    sh_node *dequantize;
} sh_stored_weight;

typedef struct sh_weight_store {
    sh_stored_weight *at;
    size_t n;
} sh_weight_store;

/* The node that gives back the weight from what is stored, at the end of `to`; the same for one weight and observer. `name`
 * is that of the layer, after which the graph's attributes are called. NULL and an error. */
sh_node *sh__weight_node(sh_weight_store *store, sh_graph *to, sh_tensor *weight,
                         const sh_observer_options *options, const char *name);

#endif
