/* reinplace.c - ops write into the memory of an input that nobody needs any more.
 *
 * One walk in order. A value is whole if it is all of the memory that an op made for it: a view may have gaps or any
 * order of axes, which what reads the result would see. `last` says, by the node that a memory began with, where a value in
 * it is used last; a memory that an op in place goes on with lives as long as that op's result, and what was given to a call that
 * may give any of its inputs back lives on. */
#include <stdio.h>
#include <string.h>

#include "dispatch/chain.h"
#include "graph/bind.h"
#include "graph/effects.h"
#include "graph/pass/memory.h"
#include "graph/pass/pass.h"

/* By the ids of nodes. */
typedef struct lives {
    uint32_t *origin;
    uint32_t *place; /* in the order of nodes */
    uint32_t *last;  /* by origin: the place of its last use */
    bool *whole;
} lives;

/* ---- whose memory ---- */

static uint32_t origin_of(const lives *l, const sh_node *node, const sh_effects *effects) {
    return effects->alias ? l->origin[effects->alias->id] : node->id;
}

static sh_status find_lives(lives *l, const sh_graph *graph) {
    const size_t n = graph->next_id + 1;
    l->origin = sh__calloc(n, 3 * sizeof *l->origin + sizeof *l->whole);
    if (!l->origin) return SH_ERROR_MEMORY;
    l->place = l->origin + n;
    l->last = l->place + n;
    l->whole = (bool *)(l->last + n);
    uint32_t place = 0;
    for (const sh_node *node = sh_graph_first(graph); node; node = sh_node_next(node)) {
        const sh_effects effects = sh__node_effects(node);
        l->origin[node->id] = origin_of(l, node, &effects);
        l->place[node->id] = ++place;
        for (uint32_t i = 0; i < node->ninputs; i++) {
            uint32_t *last = &l->last[l->origin[node->uses[i].input->id]];
            *last = effects.any_input && node->ninputs > 1 ? UINT32_MAX : *last > place ? *last : place;
        }
    }
    return SH_OK;
}

/* ---- may it? ---- */

/* The input that the node may write to, or NULL. What else it reads is that input itself or other memory. */
static sh_node *dying_input(const lives *l, const sh_node *node, const sh_binding *b) {
    sh_node *input = sh__arg_node(b->args[0]);
    if (!input || !l->whole[input->id] || !sh__node_has_spec_of(input, node)) return NULL;
    const uint32_t memory = l->origin[input->id];
    if (l->last[memory] != l->place[node->id]) return NULL;
    for (uint32_t i = 0; i < node->ninputs; i++) {
        const sh_node *other = node->uses[i].input;
        if (other != input && l->origin[other->id] == memory) return NULL;
    }
    return input;
}

/* "add_" of "add", "clamp_.Tensor" of "clamp.Tensor"; `name` has room. */
static void in_place_name(const char *target, char *name, size_t size) {
    const int family = (int)strcspn(target, ".");
    snprintf(name, size, "%.*s_%s", family, target, target + family);
}

static sh_status write_to(const lives *l, sh_node *node, const sh_node *input) {
    char name[160];
    in_place_name(node->target, name, sizeof name);
    SH_TRY(sh_node_set_target(node, name));
    const uint32_t memory = l->origin[input->id], own = node->id;
    if (l->last[own] > l->last[memory]) l->last[memory] = l->last[own];
    l->origin[own] = memory;
    return SH_OK;
}

static sh_status visit(lives *l, sh_node *node, size_t *changes) {
    const sh_effects effects = sh__node_effects(node);
    sh_binding b;
    l->origin[node->id] = origin_of(l, node, &effects);
    l->whole[node->id] =
        sh__makes_memory(node, &effects) || ((effects.what & SH__EFFECT_WRITES) && effects.target &&
                                             effects.alias == effects.target && l->whole[effects.target->id]);
    if (!node->nusers || effects.what || effects.alias || !sh__binds(node, &b)) return SH_OK;
    const bool has_form = (b.op->tags & SH_OP_PURE) && (b.op->tags & SH_OP_INPLACE);
    const sh_node *input = has_form ? dying_input(l, node, &b) : NULL;
    if (!input) return SH_OK;
    ++*changes;
    return write_to(l, node, input);
}

sh_status sh_pass_reinplace(sh_graph *graph, size_t *changes) {
    size_t ignored = 0;
    if (sh__error_pending()) return sh_error()->code;
    if (!graph) return sh_fail(SH_ERROR_NULL, "sh_pass_reinplace: the graph is NULL");
    if (!changes) changes = &ignored;
    lives l;
    SH_TRY(find_lives(&l, graph));
    sh_status status = SH_OK;
    for (sh_node *node = sh_graph_first(graph); node && status >= 0; node = sh_node_next(node))
        status = visit(&l, node, changes);
    sh__free(l.origin);
    return status;
}
