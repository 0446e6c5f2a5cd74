/* shapes.h - dtype and shape of every node, found by running the graph. */
#ifndef SH_GRAPH_SHAPES_H
#define SH_GRAPH_SHAPES_H

#include "graph/graph.h"

SH_BEGIN_DECLS

/* Runs the graph and keeps dtype and shape of each tensor that a node gives as its spec; other nodes lose theirs. With
 * inputs it is a run like any other. Inputs on the meta device, or none at all where each placeholder has its spec, compute
 * nothing: shapes only, seen by no mode; no tensor of the graph is written to and nothing drawn. A module of a type with an
 * infer function writes nothing either (a batch norm in training counts no batch); another's forward runs. The error of
 * a node that fails names it. */
SH_API sh_status sh_graph_propagate_shapes(sh_graph *graph, sh_arguments inputs);

SH_END_DECLS

#endif
