/* dce.c - dead code goes in one pass backwards: when a node is met, its users have been decided on.
 *
 * What a write changes is kept by the data: the node that is written to is an argument of the one that
 * writes, which is impure and stays. */
#include "graph/given.h"
#include "graph/graph_impl.h"

size_t sh_graph_eliminate_dead_code(sh_graph *graph, bool (*keeps)(const sh_node *node, void *user),
                                    void *user) {
    SH_GIVEN(graph, 0);
    size_t gone = 0;
    for (sh_node *node = sh_graph_last(graph), *before; node; node = before) {
        before = sh_node_prev(node);
        if (node->nusers || sh_node_is_impure(node) || (keeps && keeps(node, user))) continue;
        sh__node_discard(node);
        gone++;
    }
    return gone;
}
