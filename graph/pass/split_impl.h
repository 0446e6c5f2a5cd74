/* split_impl.h - a graph with its nodes in units, about to be split. */
#ifndef SH_GRAPH_PASS_SPLIT_IMPL_H
#define SH_GRAPH_PASS_SPLIT_IMPL_H

#include "graph/pass/split.h"
#include "graph/pass/units.h"

typedef struct sh_parts {
    uint32_t nunits, nparts; /* the first nparts units become modules, each of the others is one node */
    uint32_t *of;            /* by the ids of nodes: the unit, SH__NO_UNIT for what is no call */
    const char *prefix;      /* modules are called prefix_number */
    const int *numbers;      /* by part */
} sh_parts;

sh_module *sh__split(const sh_graph *graph, const sh_parts *parts);

/* The list that an operator.getitem takes from, or NULL. It is in the same unit. */
const sh_node *sh__item_list(const sh_node *node);

#endif
