/* quant_impl.h - what prepare leaves in the graph for convert and compare. */
#ifndef SH_GRAPH_QUANT_QUANT_IMPL_H
#define SH_GRAPH_QUANT_QUANT_IMPL_H

#include "graph/quant/quant.h"

/* Keys of nodes' metadata. On the root of a product that is quantised: its sh_qconfig. */
#define SH__QCONFIG "qconfig"
/* On it too, and on the call on reals that it becomes: the node that gives the value in the float graph. */
#define SH__FLOAT_PRODUCT "quantize.float_product"
/* On the observer of a layer's output, and what it becomes: the node that gives the value in the float graph; what the layer
 * is called; what it computes. */
#define SH__FLOAT_NODE "quantize.float_node"
#define SH__LAYER "quantize.layer"
#define SH__LAYER_OP "quantize.op"
/* On a node that gives a value in 8 bits: real = scale * (stored - zero_point). */
#define SH__SCALE "quantize.scale"
#define SH__ZERO_POINT "quantize.zero_point"

/* An error unless it is a graph module in eval mode. */
sh_status sh__check_graph_module(const sh_module *module, const char *function);

/* The observer that a call_module node calls, or NULL. */
sh_module *sh__node_observer(const sh_node *node);

#endif
