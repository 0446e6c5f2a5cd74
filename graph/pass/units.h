/* units.h - the nodes of a graph in groups, and the groups in an order in which they can run one after the other.
 *
 * A unit is a partition, or one node that stays outside. What a unit needs of others is values, and that reads, writes and
 * random draws keep the order they have in the graph. */
#ifndef SH_GRAPH_PASS_UNITS_H
#define SH_GRAPH_PASS_UNITS_H

#include "graph/pass/memory.h"

#define SH__NO_UNIT UINT32_MAX /* inputs, constants, the output */

/* That a node needs another: its value, or that it has run. */
typedef struct sh_need {
    const sh_node *node, *needed;
} sh_need;

typedef struct sh_units {
    const sh_graph *graph;
    uint32_t n;
    uint32_t *of;    /* by the ids of nodes: the unit */
    uint32_t *order; /* units, each behind what it needs */
    sh_need *needs;  /* by the unit of `node` */
    size_t *begin;   /* by unit: its first need; begin[n] is how many there are */
    size_t nneeds;
} sh_units;

/* Every need of a node, in the order of nodes, those inside a unit too. The caller's, for sh__free. NULL and an error. */
sh_need *sh__graph_needs(const sh_graph *graph, size_t *n);

/* `of` is set, the rest is found. The error names nodes of units that need each other. Ended by sh__units_free in any case;
 * `of` stays the caller's. */
sh_status sh__units_order(sh_units *units);
void sh__units_free(sh_units *units);

#endif
