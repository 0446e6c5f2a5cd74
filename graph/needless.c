/* needless.c - what a run can leave out when some nodes have their value beforehand.
 *
 * Backwards from the output: a node runs if a node that runs uses it, or if it has an effect that one can
 * notice. A write is noticed if what it writes to is from outside, or a node that runs later looks at that
 * memory; two nodes look at the same memory if views and writes lead back to the same node. */
#include <string.h>

#include "graph/effects.h"
#include "graph/interpreter_impl.h"

typedef struct search {
    const bool *given;
    bool *needless;
    bool *needed;
    bool *watched;    /* memory, by the id of the node that it began with */
    uint32_t *memory; /* the id of that node */
    const sh_node **nodes;
} search;

static void trace_memory(search *s, const sh_graph *graph) {
    for (const sh_node *node = sh_graph_first(graph); node; node = sh_node_next(node)) {
        const sh_node *alias = s->given[node->id] ? NULL : sh__node_effects(node).alias;
        s->memory[node->id] = alias && s->nodes[alias->id] ? s->memory[alias->id] : node->id;
        s->nodes[node->id] = node;
    }
}

static bool is_from_outside(const search *s, const sh_node *node) {
    const sh_node *origin = s->nodes[s->memory[node->id]];
    return origin->opcode == SH_PLACEHOLDER || origin->opcode == SH_GET_ATTR || s->given[origin->id];
}

static bool is_noticed(const search *s, const sh_node *node) {
    const sh_effects effects = sh__node_effects(node);
    if (effects.what & SH__EFFECT_OTHER) return true;
    if (!(effects.what & SH__EFFECT_WRITES)) return false;
    const sh_node *target = effects.target;
    return !target || is_from_outside(s, target) || s->watched[s->memory[target->id]];
}

static void decide(search *s, const sh_node *node) {
    const bool runs =
        !s->given[node->id] && (node->opcode == SH_OUTPUT || s->needed[node->id] || is_noticed(s, node));
    s->needless[node->id] = !runs;
    for (uint32_t i = 0; runs && i < node->ninputs; i++) {
        const uint32_t id = node->uses[i].input->id;
        s->needed[id] = true;
        s->watched[s->memory[id]] = true;
    }
}

sh_status sh__needless_nodes(const sh_graph *graph, const bool *given, bool *needless) {
    const size_t n = graph->next_id + 1;
    search s = {.given = given, .needless = needless};
    s.nodes = sh__calloc(n, sizeof *s.nodes + sizeof *s.memory + 2 * sizeof *s.needed);
    if (!s.nodes) return SH_ERROR_MEMORY;
    s.memory = (uint32_t *)(s.nodes + n);
    s.needed = (bool *)(s.memory + n);
    s.watched = s.needed + n;
    trace_memory(&s, graph);
    for (const sh_node *node = sh_graph_last(graph); node; node = sh_node_prev(node)) decide(&s, node);
    sh__free((void *)s.nodes);
    return SH_OK;
}
