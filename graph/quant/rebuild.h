/* rebuild.h - a graph made anew, node by node, so that what stands for a node can have its name. */
#ifndef SH_GRAPH_QUANT_REBUILD_H
#define SH_GRAPH_QUANT_REBUILD_H

#include "graph/graph.h"

/* Makes what stands for `node` in `to` and says so in the map; SH_PASS: it is copied. */
typedef sh_status (*sh_emit)(sh_graph *to, const sh_node *node, sh_node_map *map, void *user);

/* Without nodes that do nothing. It looks for modules where `from` does. The caller's; NULL and an error. */
sh_graph *sh__graph_rebuild(const sh_graph *from, sh_emit emit, void *user);

#endif
