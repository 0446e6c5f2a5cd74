/* cse.c - equal nodes become one: a hash table of what was met, in one walk.
 *
 * Equal are nodes of one target whose arguments mean the same, however they are written, when what they read was not
 * written to in between. The first stands for the later ones, so the arguments of what follows are equal by identity. */
#include <string.h>

#include "dispatch/chain.h"
#include "graph/bind.h"
#include "graph/effects.h"
#include "graph/pass/memory.h"
#include "graph/pass/pass.h"

typedef struct entry {
    sh_node *node; /* NULL: a free place */
    uint64_t hash;
    uint64_t stand; /* how often its inputs had been written to, added up */
} entry;

typedef struct table {
    entry *entries;
    size_t mask;
    sh_memory_map memory;
} table;

/* ---- hashing ---- */

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint64_t hash_string(uint64_t hash, const char *text) {
    while (*text) hash = mix(hash, (unsigned char)*text++);
    return hash;
}

static uint64_t hash_arg(uint64_t hash, const sh_arg *arg) {
    switch (arg->tag) {
    case SH_ARG_NONE: return mix(hash, 0);
    case SH_ARG_NODE: return mix(hash, 1 + (uint64_t)arg->as.node->id);
    case SH_ARG_STRING: return hash_string(hash, arg->as.string);
    case SH_ARG_LIST:
    case SH_ARG_TUPLE:
        for (uint32_t i = 0; i < arg->count; i++) hash = hash_arg(hash, &arg->as.list[i]);
        return mix(hash, arg->count);
    default: return mix(hash, (uint64_t)arg->as.i); /* a float's bits: -0 and 0 are two */
    }
}

/* NULL where the default stands, left out or spelled. */
static const sh_arg *argument(const sh_binding *b, uint32_t i) {
    const sh_arg *arg = b->args[i];
    return arg && sh__arg_is_default(&b->schema->params[i], arg) ? NULL : arg;
}

static uint64_t hash_node(const sh_node *node) {
    uint64_t hash = hash_string(mix(0, node->opcode), node->target);
    sh_binding b;
    if (sh__binds(node, &b)) {
        for (uint32_t i = 0; i < b.schema->nparams; i++)
            if (argument(&b, i)) hash = hash_arg(mix(hash, i), argument(&b, i));
        return hash;
    }
    for (size_t i = 0; i < node->args.n; i++) hash = hash_arg(hash, &node->args.at[i]);
    for (size_t i = 0; i < node->kwargs.n; i++)
        hash = hash_arg(hash_string(hash, node->kwargs.at[i].name), &node->kwargs.at[i].value);
    return hash;
}

/* ---- comparing ---- */

/* Floats by their bits. */
static bool same_arg(const sh_arg *a, const sh_arg *b) {
    if (!a || !b) return a == b;
    if (a->tag == SH_ARG_FLOAT && b->tag == SH_ARG_FLOAT)
        return memcmp(&a->as.f, &b->as.f, sizeof a->as.f) == 0;
    return sh_arg_equal(*a, *b);
}

static bool same_as_written(const sh_node *a, const sh_node *b) {
    if (a->args.n != b->args.n || a->kwargs.n != b->kwargs.n) return false;
    for (size_t i = 0; i < a->args.n; i++)
        if (!same_arg(&a->args.at[i], &b->args.at[i])) return false;
    for (size_t i = 0; i < a->kwargs.n; i++)
        if (strcmp(a->kwargs.at[i].name, b->kwargs.at[i].name) != 0 ||
            !same_arg(&a->kwargs.at[i].value, &b->kwargs.at[i].value))
            return false;
    return true;
}

static bool same_call(const sh_node *a, const sh_node *b) {
    sh_binding x, y;
    if (a->opcode != b->opcode || strcmp(a->target, b->target) != 0) return false;
    if (!sh__binds(a, &x) || !sh__binds(b, &y)) return same_as_written(a, b);
    for (uint32_t i = 0; i < x.schema->nparams; i++)
        if (!same_arg(argument(&x, i), argument(&y, i))) return false;
    return true;
}

/* ---- the walk ---- */

/* What is written to must stay as many: a view, too, may turn out to be a copy. Those that get one tensor have it in common. */
static bool may_merge(const table *t, const sh_node *node) {
    if (node->opcode == SH_GET_ATTR) return true;
    return node->opcode == SH_CALL_FUNCTION && !sh__node_effects(node).what &&
           !sh__is_written(&t->memory, node);
}

static uint64_t stand_of(const table *t, const sh_node *node) {
    uint64_t stand = 0;
    for (uint32_t i = 0; i < node->ninputs; i++) stand += sh__times_written(&t->memory, node->uses[i].input);
    return stand;
}

/* Both are the caller's, who may write to one. What is got by name twice is one tensor anyway. */
static bool must_differ(const sh_memory_map *memory, const sh_node *node, const sh_node *first) {
    return node->opcode != SH_GET_ATTR && sh__is_returned(memory, node) && sh__is_returned(memory, first);
}

/* The place of an equal node, or the free one where it would be. */
static entry *find(const table *t, const sh_node *node, uint64_t hash) {
    for (size_t i = hash & t->mask;; i = (i + 1) & t->mask) {
        entry *e = &t->entries[i];
        if (!e->node || (e->hash == hash && same_call(e->node, node))) return e;
    }
}

static sh_status merge(const table *t, sh_node *node, size_t *changes) {
    if (!may_merge(t, node)) return SH_OK;
    const uint64_t hash = hash_node(node), stand = stand_of(t, node);
    entry *e = find(t, node, hash);
    if (!e->node || e->stand != stand) {
        *e = (entry){node, hash, stand};
        return SH_OK;
    }
    if (must_differ(&t->memory, node, e->node)) return SH_OK;
    t->memory.returned[t->memory.origin[e->node->id]] |= sh__is_returned(&t->memory, node);
    SH_TRY(sh_node_replace_all_uses_with(node, e->node));
    sh__node_discard(node);
    ++*changes;
    return SH_OK;
}

static sh_status merge_all(table *t, sh_graph *graph, size_t *changes) {
    for (sh_node *node = sh_graph_first(graph), *next; node; node = next) {
        next = sh_node_next(node);
        sh__memory_pass(&t->memory, node);
        SH_TRY(merge(t, node, changes));
    }
    return SH_OK;
}

sh_status sh_pass_cse(sh_graph *graph, size_t *changes) {
    size_t ignored = 0;
    if (sh__error_pending()) return sh_error()->code;
    if (!graph) return sh_fail(SH_ERROR_NULL, "sh_pass_cse: the graph is NULL");
    if (!changes) changes = &ignored;
    table t = {.mask = 15};
    while (t.mask < 2 * graph->size) t.mask = 2 * t.mask + 1;
    SH_TRY(sh__memory_map(&t.memory, graph));
    t.entries = sh__calloc(t.mask + 1, sizeof *t.entries);
    const sh_status status = t.entries ? merge_all(&t, graph, changes) : SH_ERROR_MEMORY;
    sh__free(t.entries);
    sh__memory_free(&t.memory);
    return status;
}
