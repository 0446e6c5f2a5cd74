/* needs.c - which nodes must have run before which.
 *
 * For each memory that is written to, the last write and the reads since then are kept: a read needs the write, a write
 * all of them. Random draws, and what may do anything, are writes to one memory more; constants that are written to are
 * one memory, since two nodes may get the same tensor. */
#include "graph/effects.h"
#include "graph/pass/constant.h"
#include "graph/pass/units.h"

/* A read of a memory, in a chain of those since the last write. */
typedef struct reading {
    const sh_node *node;
    uint32_t next; /* index + 1; 0: none */
} reading;

typedef struct search {
    sh_memory_map memory;
    sh_seen written;
    const sh_node **nodes;  /* by id */
    const sh_node **writer; /* by memory */
    uint32_t *readings;     /* by memory: the newest, index + 1 */
    reading *pool;
    uint32_t npool;
    sh_need *needs;
    size_t n, capacity;
    bool failed;
    uint32_t world, constants; /* memories behind those of nodes */
} search;

static void need(search *s, const sh_node *node, const sh_node *needed) {
    if (!needed || needed == node || s->failed) return;
    if (s->n == s->capacity) {
        const size_t capacity = s->capacity ? s->capacity * 2 : 64;
        sh_need *needs = sh__realloc(s->needs, capacity * sizeof *needs);
        s->failed = !needs;
        if (!needs) return;
        s->needs = needs;
        s->capacity = capacity;
    }
    s->needs[s->n++] = (sh_need){node, needed};
}

static void note_write(search *s, const sh_node *node, uint32_t memory) {
    need(s, node, s->writer[memory]);
    for (uint32_t r = s->readings[memory]; r; r = s->pool[r - 1].next) need(s, node, s->pool[r - 1].node);
    s->readings[memory] = 0;
    s->writer[memory] = node;
}

static void note_read(search *s, const sh_node *node, uint32_t memory) {
    need(s, node, s->writer[memory]);
    s->pool[s->npool++] = (reading){node, s->readings[memory]};
    s->readings[memory] = s->npool;
}

/* The memory behind a value, where anything writes to that. */
static bool written_memory(const search *s, const sh_node *input, uint32_t *memory) {
    *memory = s->memory.origin[input->id];
    const sh_tensor *t = sh__constant_of(s->nodes[*memory]);
    const bool constant = t && t->storage && sh__seen_holds(&s->written, t->storage);
    if (constant) *memory = s->constants;
    return constant || s->memory.writes[*memory];
}

static void note_node(search *s, const sh_node *node) {
    const sh_effects effects = sh__node_effects(node);
    const bool anything = (effects.what & SH__EFFECT_OTHER) != 0;
    for (uint32_t i = 0; i < node->ninputs; i++) {
        const sh_node *input = node->uses[i].input;
        uint32_t memory;
        need(s, node, input);
        if (!written_memory(s, input, &memory)) continue;
        if (anything || ((effects.what & SH__EFFECT_WRITES) && effects.target == input))
            note_write(s, node, memory);
        else
            note_read(s, node, memory);
    }
    if (anything) note_write(s, node, s->constants);
    if (anything || (effects.what & SH__EFFECT_RANDOM)) note_write(s, node, s->world);
}

static sh_status begin(search *s, const sh_graph *graph) {
    const size_t n = graph->next_id + 3;
    size_t uses = 1;
    SH_TRY(sh__memory_map(&s->memory, graph));
    SH_TRY(sh__written_constants(graph, &s->memory, &s->written));
    for (const sh_node *node = sh_graph_first(graph); node; node = sh_node_next(node)) uses += node->ninputs;
    s->nodes = sh__calloc(n, 2 * sizeof *s->nodes + sizeof *s->readings);
    s->pool = sh__alloc(uses * sizeof *s->pool);
    if (!s->nodes || !s->pool) return SH_ERROR_MEMORY;
    s->writer = s->nodes + n;
    s->readings = (uint32_t *)(s->writer + n);
    s->world = graph->next_id + 1;
    s->constants = graph->next_id + 2;
    for (const sh_node *node = sh_graph_first(graph); node; node = sh_node_next(node))
        s->nodes[node->id] = node;
    return SH_OK;
}

sh_need *sh__graph_needs(const sh_graph *graph, size_t *n) {
    search s = {.needs = sh__alloc(64 * sizeof *s.needs), .capacity = 64};
    bool done = s.needs && begin(&s, graph) >= 0;
    for (const sh_node *node = sh_graph_first(graph); node && done; node = sh_node_next(node)) {
        note_node(&s, node);
        done = !s.failed;
    }
    sh__memory_free(&s.memory);
    sh__seen_free(&s.written);
    sh__free((void *)s.nodes);
    sh__free(s.pool);
    if (!done) sh__free(s.needs);
    *n = s.n;
    return done ? s.needs : NULL;
}
