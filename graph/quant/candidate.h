/* candidate.h - the nodes that can be quantised, and what of them. */
#ifndef SH_GRAPH_QUANT_CANDIDATE_H
#define SH_GRAPH_QUANT_CANDIDATE_H

#include "graph/graph_impl.h"

typedef enum sh_quantize_how {
    SH__WEIGHTS,
    SH__SUMS,
    SH__OWN,
    SH__CONCATENATES,
    SH__SHARES,
    SH__MOVES
} sh_quantize_how;

typedef struct sh_candidate {
    sh_quantize_how how;
    const char *op;
    sh_node *root; /* reads the inputs */
    sh_node *tail; /* gives the value: the root, or the relu behind it */
} sh_candidate;

/* Can this node be the root of what is quantised? */
bool sh__candidate_at(sh_node *node, sh_candidate *candidate);
/* The nodes whose values it reads as activations, at most `capacity` are written. Returns how many there are. */
size_t sh__candidate_inputs(const sh_candidate *candidate, sh_node **inputs, size_t capacity);

/* The node that gives a call of a product its weight; NULL: it is no such call. */
sh_node *sh__weight_of_call(const sh_node *node);

/* By the ids of nodes: is the memory of its value written to where somebody else could see it? What only one node uses
 * is that node's to write to. For sh__free; NULL and an error. */
bool *sh__written_values(const sh_graph *graph);

#endif
