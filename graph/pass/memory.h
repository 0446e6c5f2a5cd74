/* memory.h - whose memory each value of a graph is in, and when that is written to. */
#ifndef SH_GRAPH_PASS_MEMORY_H
#define SH_GRAPH_PASS_MEMORY_H

#include "graph/effects.h"
#include "graph/graph_impl.h"

/* By the ids of nodes. A value's origin is the node that its memory began with: itself, or what it is a view of. */
typedef struct sh_memory_map {
    uint32_t *origin;
    uint32_t *writes;   /* by origin: how many nodes write to it */
    bool *returned;     /* by origin: the graph gives it, or a view of it, to its caller */
    uint32_t *written;  /* by origin: how many have, up to the node at hand (sh__memory_pass) */
    uint32_t constants; /* the origin of all tensors that are got by name and written to, at whatever node */
} sh_memory_map;

/* Is its value all of the memory that the node made for it, row-major: a built-in op's, or that of a module that gives
 * nothing that it was given? */
bool sh__makes_memory(const sh_node *node, const sh_effects *effects);

sh_status sh__memory_map(sh_memory_map *map, const sh_graph *graph);
void sh__memory_free(sh_memory_map *map);
/* The walk goes past this node. */
void sh__memory_pass(sh_memory_map *map, const sh_node *node);
/* Is its memory ever written to? */
static inline bool sh__is_written(const sh_memory_map *map, const sh_node *node) {
    return map->writes[map->origin[node->id]] != 0;
}
/* Is its memory the caller's when the graph has run? */
static inline bool sh__is_returned(const sh_memory_map *map, const sh_node *node) {
    return map->returned[map->origin[node->id]];
}
/* Up to the node at hand, how often its memory has been. */
static inline uint32_t sh__times_written(const sh_memory_map *map, const sh_node *node) {
    return map->written[map->origin[node->id]];
}

#endif
