/* rebuild.c - the loop over the nodes. */
#include "graph/quant/rebuild.h"

#include "dispatch/status.h"
#include "graph/root.h"

static sh_status emit_all(const sh_graph *from, sh_graph *to, sh_node_map *map, sh_emit emit, void *user) {
    for (const sh_node *node = sh_graph_first(from); node; node = sh_node_next(node)) {
        const sh_status status = emit(to, node, map, user);
        SH_TRY(status);
        if (status == SH_PASS && !sh_graph_node_copy(to, node, map)) return sh_error()->code;
    }
    sh_graph_eliminate_dead_code(to, NULL, NULL);
    return sh_error() ? sh_error()->code : SH_OK;
}

sh_graph *sh__graph_rebuild(const sh_graph *from, sh_emit emit, void *user) {
    sh_node_map *map = sh_node_map_new(from);
    sh_graph *to = map ? sh_graph_new() : NULL;
    if (to) sh__graph_share_root(to, from);
    const sh_status status = to ? emit_all(from, to, map, emit, user) : SH_ERROR_MEMORY;
    sh_node_map_free(map);
    if (status >= 0) return to;
    sh_graph_free(to);
    return NULL;
}
