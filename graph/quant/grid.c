/* grid.c - grids read from the arguments of nodes. */
#include "graph/quant/grid.h"

#include <string.h>

bool sh__calls(const sh_node *node, const char *op) {
    return node && sh_node_opcode(node) == SH_CALL_FUNCTION && strcmp(sh_node_target(node), op) == 0;
}

static bool read_number(sh_arg arg, double *number) {
    *number = arg.tag == SH_ARG_FLOAT ? arg.as.f : (double)arg.as.i;
    return arg.tag == SH_ARG_FLOAT || arg.tag == SH_ARG_INT;
}

static bool read_grid(const sh_node *node, sh_node_grid *grid) {
    const sh_arg zero_point = sh_node_arg(node, 2);
    grid->zero_point = zero_point.as.i;
    return zero_point.tag == SH_ARG_INT && read_number(sh_node_arg(node, 1), &grid->scale);
}

bool sh__grid_of(const sh_node *quantize, sh_node_grid *grid) {
    if (!sh__calls(quantize, SH__QUANTIZE) || sh_node_kwargs(quantize).n || !read_grid(quantize, grid))
        return false;
    const sh_arg dtype = sh_node_arg(quantize, 3);
    grid->dtype = (sh_dtype)dtype.as.i;
    return dtype.tag == SH_ARG_DTYPE;
}

sh_node *sh__quantize_before(const sh_node *dequantize, sh_node_grid *grid) {
    sh_node_grid own;
    const sh_arg stored = sh__calls(dequantize, SH__DEQUANTIZE) ? sh_node_arg(dequantize, 0) : sh_arg_none();
    if (stored.tag != SH_ARG_NODE || !sh__grid_of(stored.as.node, grid)) return NULL;
    own.dtype = grid->dtype;
    return read_grid(dequantize, &own) && sh__same_grid(&own, grid) ? stored.as.node : NULL;
}

void sh__set_dtype(sh_node *node, sh_dtype dtype) {
    const sh_spec *known = sh_node_spec(node);
    if (!known) return;
    sh_spec spec = *known;
    spec.dtype = dtype;
    sh_node_set_spec(node, &spec);
}
