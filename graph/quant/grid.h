/* grid.h - quantize and dequantize nodes, and the grid that they are on: real = scale * (stored - zero_point). */
#ifndef SH_GRAPH_QUANT_GRID_H
#define SH_GRAPH_QUANT_GRID_H

#include "graph/graph.h"

#define SH__QUANTIZE "quantize_per_tensor"
#define SH__DEQUANTIZE "dequantize_per_tensor"
#define SH__DEQUANTIZE_CHANNELS "dequantize_per_channel"

typedef struct sh_node_grid {
    double scale;
    int64_t zero_point;
    sh_dtype dtype;
} sh_node_grid;

/* False if the node is no quantize_per_tensor of a fixed grid and the whole dtype. */
bool sh__grid_of(const sh_node *quantize, sh_node_grid *grid);
/* The same of a dequantize_per_tensor of what such a node gives: that node, or NULL. */
sh_node *sh__quantize_before(const sh_node *dequantize, sh_node_grid *grid);
static inline bool sh__same_grid(const sh_node_grid *a, const sh_node_grid *b) {
    return a->scale == b->scale && a->zero_point == b->zero_point && a->dtype == b->dtype;
}

/* Is it a call of this op? */
bool sh__calls(const sh_node *node, const char *op);
/* A node's dtype changes, its shape stays. */
void sh__set_dtype(sh_node *node, sh_dtype dtype);

#endif
