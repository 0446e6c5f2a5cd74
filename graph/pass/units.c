/* units.c - a walk in depth, on a stack of its own: a unit comes behind all that it needs. */
#include "graph/pass/units.h"

#include <string.h>

enum { NEW, OPEN, DONE };

typedef struct walk {
    const sh_units *units;
    uint8_t *state; /* by unit */
    size_t *next;   /* by unit: the need to look at */
    uint32_t *stack;
    uint32_t depth, done;
} walk;

static uint32_t unit_of(const sh_units *u, const sh_node *node) { return u->of[node->id]; }

static bool is_between(const sh_units *u, const sh_need *need) {
    const uint32_t a = unit_of(u, need->node), b = unit_of(u, need->needed);
    return a != b && a != SH__NO_UNIT && b != SH__NO_UNIT;
}

/* Needs between units, sorted by who needs, in the order of nodes otherwise. */
static sh_status sort_needs(sh_units *u) {
    size_t n = 0, total = 0;
    sh_need *all = sh__graph_needs(u->graph, &n);
    if (!all) return sh__error_pending() ? sh_error()->code : SH_ERROR_MEMORY;
    for (size_t i = 0; i < n; i++)
        if (is_between(u, &all[i])) u->begin[unit_of(u, all[i].node) + 1]++, total++;
    for (uint32_t i = 0; i < u->n; i++) u->begin[i + 1] += u->begin[i];
    u->needs = sh__alloc((total + 1) * sizeof *u->needs);
    size_t *to = u->needs ? sh__alloc((u->n + 1) * sizeof *to) : NULL;
    if (to) memcpy(to, u->begin, u->n * sizeof *to);
    for (size_t i = 0; to && i < n; i++)
        if (is_between(u, &all[i])) u->needs[to[unit_of(u, all[i].node)]++] = all[i];
    u->nneeds = total;
    sh__free(all);
    sh__free(to);
    return to ? SH_OK : SH_ERROR_MEMORY;
}

/* The unit that is needed stands further down the stack, and needs what it looks at. */
static sh_status say_cycle(const walk *w, const sh_need *need) {
    const sh_units *u = w->units;
    const sh_need *back = &u->needs[w->next[unit_of(u, need->needed)] - 1];
    return sh_fail(
        SH_ERROR_VALUE, "the partition of %%%s needs %%%s, whose partition needs %%%s for %%%s: a cycle",
        need->node->name->text, need->needed->name->text, back->needed->name->text, back->node->name->text);
}

static void open_unit(walk *w, uint32_t unit) {
    w->state[unit] = OPEN;
    w->stack[w->depth++] = unit;
}

static sh_status visit(walk *w, uint32_t unit) {
    const sh_units *u = w->units;
    if (w->state[unit] == NEW) open_unit(w, unit);
    while (w->depth) {
        const uint32_t top = w->stack[w->depth - 1];
        if (w->next[top] == u->begin[top + 1]) {
            w->state[top] = DONE;
            u->order[w->done++] = top;
            w->depth--;
            continue;
        }
        const sh_need *need = &u->needs[w->next[top]++];
        const uint32_t needed = unit_of(u, need->needed);
        if (w->state[needed] == OPEN) return say_cycle(w, need);
        if (w->state[needed] == NEW) open_unit(w, needed);
    }
    return SH_OK;
}

static sh_status visit_all(sh_units *u) {
    walk w = {.units = u};
    w.next = sh__calloc(u->n + 1, sizeof *w.next + sizeof *w.stack + sizeof *w.state);
    if (!w.next) return SH_ERROR_MEMORY;
    w.stack = (uint32_t *)(w.next + u->n + 1);
    w.state = (uint8_t *)(w.stack + u->n + 1);
    memcpy(w.next, u->begin, u->n * sizeof *w.next);
    sh_status status = SH_OK;
    for (const sh_node *node = sh_graph_first(u->graph); node && status >= 0; node = sh_node_next(node))
        if (unit_of(u, node) != SH__NO_UNIT) status = visit(&w, unit_of(u, node));
    sh__free(w.next);
    return status;
}

sh_status sh__units_order(sh_units *u) {
    u->begin = sh__calloc(u->n + 1, sizeof *u->begin);
    u->order = sh__alloc((u->n + 1) * sizeof *u->order);
    if (!u->begin || !u->order) return SH_ERROR_MEMORY;
    SH_TRY(sort_needs(u));
    return visit_all(u);
}

void sh__units_free(sh_units *u) {
    sh__free(u->begin);
    sh__free(u->order);
    sh__free(u->needs);
}
