/* memory.c - one walk finds which values share memory, the next counts who writes to it.
 *
 * While the first walk lasts, an origin is a step on the way to it. Tensors that are got by name are one memory as soon as they
 * are written to, since two nodes may get the same one. A call that may do anything (a function not declared pure, a
 * module that is more than its value) writes to all that it is given, and to those tensors. */
#include "graph/pass/memory.h"

#include <string.h>

#include "dispatch/chain.h"
#include "graph/bind.h"
#include "graph/pass/constant.h"

bool sh__makes_memory(const sh_node *node, const sh_effects *effects) {
    sh_binding b;
    if (effects->alias || (effects->what & SH__EFFECT_OTHER)) return false;
    if (node->opcode == SH_CALL_MODULE) return node->ninputs != 0;
    return sh__binds(node, &b) && !(b.op->tags & SH_OP_CUSTOM) && b.schema->nreturns == 1;
}

static uint32_t find(const sh_memory_map *map, uint32_t id) {
    while (map->origin[id] != id) id = map->origin[id] = map->origin[map->origin[id]];
    return id;
}

/* Older nodes are the origin. */
static void join(const sh_memory_map *map, uint32_t id, uint32_t older) {
    map->origin[find(map, id)] = find(map, older);
}

static void add_writes(const sh_memory_map *map, const sh_node *node, uint32_t *times) {
    const sh_effects effects = sh__node_effects(node);
    if (!(effects.what & (SH__EFFECT_WRITES | SH__EFFECT_OTHER))) return;
    if (effects.target && !(effects.what & SH__EFFECT_OTHER)) {
        times[map->origin[effects.target->id]]++;
        return;
    }
    for (uint32_t i = 0; i < node->ninputs; i++) times[map->origin[node->uses[i].input->id]]++;
    times[map->constants]++;
}

static void find_origins(const sh_memory_map *map, const sh_graph *graph) {
    for (uint32_t id = 0; id <= map->constants; id++) map->origin[id] = id;
    for (const sh_node *node = sh_graph_first(graph); node; node = sh_node_next(node)) {
        const sh_effects effects = sh__node_effects(node);
        if (effects.alias) join(map, node->id, effects.alias->id);
        for (uint32_t i = 0; effects.any_input && i < node->ninputs; i++)
            join(map, node->id, node->uses[i].input->id);
    }
}

static void count(const sh_memory_map *map, const sh_graph *graph) {
    for (uint32_t id = 0; id <= map->constants; id++) map->origin[id] = find(map, id);
    memset(map->writes, 0, (map->constants + 1) * sizeof *map->writes);
    for (const sh_node *node = sh_graph_first(graph); node; node = sh_node_next(node)) {
        add_writes(map, node, map->writes);
        for (uint32_t i = 0; node->opcode == SH_OUTPUT && i < node->ninputs; i++)
            map->returned[map->origin[node->uses[i].input->id]] = true;
    }
}

static sh_status join_constants(const sh_memory_map *map, const sh_graph *graph) {
    sh_seen written = {0};
    const sh_status status = sh__written_constants(graph, map, &written);
    for (const sh_node *node = sh_graph_first(graph); node && written.n && status >= 0;
         node = sh_node_next(node)) {
        const sh_tensor *t = sh__constant_of(node);
        if (t && t->storage && sh__seen_holds(&written, t->storage)) join(map, node->id, map->constants);
    }
    if (written.n && status >= 0) count(map, graph);
    sh__seen_free(&written);
    return status;
}

sh_status sh__memory_map(sh_memory_map *map, const sh_graph *graph) {
    const size_t n = graph->next_id + 2;
    map->origin = sh__calloc(n, 3 * sizeof *map->origin + sizeof *map->returned);
    if (!map->origin) return SH_ERROR_MEMORY;
    map->writes = map->origin + n;
    map->written = map->writes + n;
    map->returned = (bool *)(map->written + n);
    map->constants = (uint32_t)n - 1;
    find_origins(map, graph);
    count(map, graph);
    const sh_status status = join_constants(map, graph);
    if (status < 0) sh__memory_free(map);
    return status;
}

void sh__memory_free(sh_memory_map *map) {
    sh__free(map->origin);
    map->origin = NULL;
}

void sh__memory_pass(sh_memory_map *map, const sh_node *node) { add_writes(map, node, map->written); }
