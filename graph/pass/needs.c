/* needs.c - which nodes must have run before which.
 *
 * For each memory that is written to, the last write and the reads since then are kept: a read needs the write, a write
 * all of them. Random draws, and what may do anything, are writes to one memory more. */
#include "graph/effects.h"
#include "graph/pass/memory.h"
#include "graph/pass/units.h"

/* A read of a memory, in a chain of those since the last write. */
typedef struct reading {
    const sh_node *node;
    uint32_t next; /* index + 1; 0: none */
} reading;

typedef struct search {
    sh_memory_map memory;
    const sh_node **writer; /* by memory */
    uint32_t *readings;     /* by memory: the newest, index + 1 */
    reading *pool;
    uint32_t npool;
    sh_need *needs;
    size_t n, capacity;
    bool failed;
    uint32_t world; /* a memory behind those of nodes */
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
    return s->memory.writes[*memory] != 0;
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
    if (anything) note_write(s, node, s->memory.constants);
    if (anything || (effects.what & SH__EFFECT_RANDOM)) note_write(s, node, s->world);
}

static sh_status begin(search *s, const sh_graph *graph) {
    const size_t n = graph->next_id + 3;
    size_t uses = 1;
    SH_TRY(sh__memory_map(&s->memory, graph));
    for (const sh_node *node = sh_graph_first(graph); node; node = sh_node_next(node)) uses += node->ninputs;
    s->writer = sh__calloc(n, sizeof *s->writer + sizeof *s->readings);
    s->pool = sh__alloc(uses * sizeof *s->pool);
    if (!s->writer || !s->pool) return SH_ERROR_MEMORY;
    s->readings = (uint32_t *)(s->writer + n);
    s->world = s->memory.constants + 1;
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
    sh__free((void *)s.writer);
    sh__free(s.pool);
    if (!done) sh__free(s.needs);
    *n = s.n;
    return done ? s.needs : NULL;
}
