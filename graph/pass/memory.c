/* memory.c - one walk forward finds the origins, the effects of the nodes count the writes.
 *
 * A call that may do anything (a function not declared pure) writes to all that it is given. */
#include "graph/pass/memory.h"

#include "graph/effects.h"

static void add_writes(const sh_memory_map *map, const sh_node *node, uint32_t *times) {
    const sh_effects effects = sh__node_effects(node);
    if (!(effects.what & (SH__EFFECT_WRITES | SH__EFFECT_OTHER))) return;
    if (effects.target && !(effects.what & SH__EFFECT_OTHER)) {
        times[map->origin[effects.target->id]]++;
        return;
    }
    for (uint32_t i = 0; i < node->ninputs; i++) times[map->origin[node->uses[i].input->id]]++;
}

sh_status sh__memory_map(sh_memory_map *map, const sh_graph *graph) {
    const size_t n = graph->next_id + 1;
    map->origin = sh__calloc(n, 3 * sizeof *map->origin + sizeof *map->returned);
    if (!map->origin) return SH_ERROR_MEMORY;
    map->writes = map->origin + n;
    map->written = map->writes + n;
    map->returned = (bool *)(map->written + n);
    for (const sh_node *node = sh_graph_first(graph); node; node = sh_node_next(node)) {
        const sh_node *alias = sh__node_effects(node).alias;
        map->origin[node->id] = alias ? map->origin[alias->id] : node->id;
        add_writes(map, node, map->writes);
        for (uint32_t i = 0; node->opcode == SH_OUTPUT && i < node->ninputs; i++)
            map->returned[map->origin[node->uses[i].input->id]] = true;
    }
    return SH_OK;
}

void sh__memory_free(sh_memory_map *map) { sh__free(map->origin); }

void sh__memory_pass(sh_memory_map *map, const sh_node *node) { add_writes(map, node, map->written); }
