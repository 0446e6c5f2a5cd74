/* functional.c - a write whose memory nobody else looks at becomes a new value.
 *
 * One walk in order. What is written to must be whole: all of the memory that an op made for it, row-major, so that the new
 * value lies the same way. All other values in that memory that were there before the write must have had their last use,
 * and so must what was given to a call that may give any of its inputs back. The new call stands in front of the old one till
 * what follows is rewired: whenever that fails, the graph computes the same. */
#include <string.h>

#include "dispatch/chain.h"
#include "graph/bind.h"
#include "graph/invoke.h"
#include "graph/pass/memory.h"
#include "graph/pass/pass.h"

/* What is known about a node, by its id. `newest` and `handed_on` are those of the memory that began with it. */
typedef struct value {
    uint32_t origin; /* the id of the node that its memory began with */
    uint32_t place;  /* in the order of nodes; a new one has that of the one it stands for */
    const sh_node *older, *newest;
    bool whole, handed_on;
} value;

typedef struct walk {
    sh_graph *graph;
    value *values;
    sh_scratch scratch;
} walk;

/* ---- whose memory ---- */

static value *memory_of(const walk *w, const sh_node *node) { return &w->values[w->values[node->id].origin]; }

static bool stays_whole(const walk *w, const sh_effects *effects) {
    return (effects->what & SH__EFFECT_WRITES) && effects->target && effects->alias == effects->target &&
           w->values[effects->target->id].whole;
}

static void note(const walk *w, const sh_node *node) {
    const sh_effects effects = sh__node_effects(node);
    value *v = &w->values[node->id];
    v->origin = effects.alias ? w->values[effects.alias->id].origin : node->id;
    v->whole = sh__makes_memory(node, &effects) || stays_whole(w, &effects);
    v->older = memory_of(w, node)->newest;
    memory_of(w, node)->newest = node;
    const bool keeps = effects.any_input || (effects.what & SH__EFFECT_OTHER);
    for (uint32_t i = 0; keeps && i < node->ninputs; i++) memory_of(w, node->uses[i].input)->handed_on = true;
}

/* ---- may it? ---- */

static bool is_used_after(const walk *w, const sh_node *node, const sh_node *write) {
    for (const sh_use *use = node->first_user; use; use = use->next)
        if (w->values[use->user->id].place > w->values[write->id].place) return true;
    return false;
}

/* Through no other value is the write seen, by what follows or by the call itself. */
static bool is_seen_alone(const walk *w, const sh_node *target, const sh_node *write) {
    const value *memory = memory_of(w, target);
    for (uint32_t i = 0; i < write->ninputs; i++) {
        const sh_node *input = write->uses[i].input;
        if (input != target && memory_of(w, input) == memory) return false;
    }
    for (const sh_node *other = memory->newest; other; other = w->values[other->id].older)
        if (other != target && is_used_after(w, other, write)) return false;
    return !memory->handed_on;
}

/* The value that the call, which is bound, writes to, where it may make a new one instead. */
static sh_node *replaceable_target(const walk *w, const sh_node *node, const sh_binding *b) {
    const sh_effects effects = sh__node_effects(node);
    sh_node *target = sh__arg_node(sh__bound_target(b));
    if (effects.what != SH__EFFECT_WRITES || !target || !sh__spec_is_known(target)) return NULL;
    const bool gives_it = (b->op->tags & SH_OP_PURE) || strcmp(b->op->name, "copy") == 0;
    if (!gives_it || (b->op->tags & SH_OP_CUSTOM) || b->schema->nreturns != 1) return NULL;
    return w->values[target->id].whole && is_seen_alone(w, target, node) ? target : NULL;
}

static bool same_sizes(const sh_spec *a, const sh_spec *b) {
    return a->ndim == b->ndim && memcmp(a->sizes, b->sizes, (size_t)a->ndim * sizeof *a->sizes) == 0;
}

/* Is what the new call makes, in the dtype of the target, what the old one writes? As check_target in dispatch/kernel.c: what
 * is an error there stays one. */
static bool fits(const sh_binding *b, const sh_node *made, const sh_node *target) {
    const sh_spec *from = sh_node_spec(made), *to = sh_node_spec(target);
    if (!from || !to || !same_sizes(from, to)) return false;
    if (from->dtype == to->dtype) return true;
    const bool exact = b->variant == SH_OUT && (b->op->tags & SH_OP_EXACT);
    return !exact && !(b->op->tags & SH_OP_TARGET_DTYPE) &&
           sh_dtype_kind_of(from->dtype) <= sh_dtype_kind_of(to->dtype);
}

/* ---- the edit ---- */

static sh_node *create(const walk *w, sh_node *node, const char *target, sh_args args, sh_kwargs kwargs) {
    sh_node *made = NULL;
    SH_INSERTING_BEFORE(node)
    made = sh_graph_create_node(w->graph, SH_CALL_FUNCTION, target, args, kwargs, NULL);
    if (made) w->values[made->id].place = w->values[node->id].place;
    return made;
}

/* The call that makes the result, without `out`. */
static sh_node *create_functional(const walk *w, sh_node *node, const sh_binding *b) {
    sh_kwarg kwargs[SH_MAX_ARGS];
    size_t n = 0;
    for (size_t i = 0; i < node->kwargs.n; i++)
        if (&node->kwargs.at[i].value != b->out) kwargs[n++] = node->kwargs.at[i];
    return create(w, node, b->op->name, node->args, (sh_kwargs){kwargs, n});
}

static sh_node *create_cast(const walk *w, sh_node *made, sh_node *node, sh_dtype dtype) {
    return create(w, node, "to", SH_ARGS(made, sh_arg_dtype(dtype)), SH_NO_KWARGS);
}

typedef struct later {
    const walk *w;
    uint32_t place;
} later;
static bool comes_later(sh_node *user, void *data) {
    const later *l = data;
    return l->w->values[user->id].place > l->place;
}

/* All but dtype and shape. */
static sh_status copy_knowledge(sh_node *to, const sh_node *from, const sh_spec *spec) {
    const sh_spec kept = *spec;
    SH_TRY(sh__node_copy_knowledge(to, from));
    sh_node_set_spec(to, &kept);
    return SH_OK;
}

/* From here on what follows looks at `last`: what was made, or that in the target's dtype. */
static sh_status rewire(const walk *w, sh_node *node, sh_node *target, sh_node *made, sh_node *last) {
    later l = {w, w->values[node->id].place};
    SH_TRY(copy_knowledge(made, node, &made->spec));
    SH_TRY(copy_knowledge(last, node, &target->spec));
    SH_TRY(sh_node_replace_uses_where(target, last, comes_later, &l));
    SH_TRY(sh_node_replace_all_uses_with(node, last));
    sh__node_swap_names(last, node);
    sh__node_discard(node);
    return SH_OK;
}

/* What nobody uses goes again. */
static sh_status give_up(sh_node *made, sh_node *last, sh_status status) {
    if (last && last != made && !last->nusers) sh__node_discard(last);
    if (!made->nusers) sh__node_discard(made);
    return status;
}

static sh_status put_in_place(walk *w, sh_node *node, sh_node *target, sh_node *made, size_t *changes) {
    const sh_dtype dtype = target->spec.dtype;
    sh_node *last = made->spec.dtype == dtype ? made : create_cast(w, made, node, dtype);
    const sh_status status = last ? rewire(w, node, target, made, last) : SH_ERROR_MEMORY;
    if (status < 0) return give_up(made, last, status);
    note(w, made);
    if (last != made) note(w, last);
    ++*changes;
    return SH_OK;
}

static sh_status make_functional(walk *w, sh_node *node, sh_node *target, const sh_binding *b,
                                 size_t *changes) {
    sh_node *made = create_functional(w, node, b);
    if (!made) return sh_error()->code;
    const sh_status status = sh__node_infer(made, &w->scratch);
    if (status == SH_ERROR_MEMORY) return give_up(made, NULL, status);
    if (status >= 0 && fits(b, made, target)) return put_in_place(w, node, target, made, changes);
    sh_clear_error();
    note(w, node);
    return give_up(made, NULL, SH_OK);
}

/* ---- the pass ---- */

static sh_status visit(walk *w, sh_node *node, size_t *changes) {
    sh_binding b;
    const bool writes = sh__binds(node, &b) && b.variant != SH_FUNCTIONAL;
    sh_node *target = writes ? replaceable_target(w, node, &b) : NULL;
    if (target) return make_functional(w, node, target, &b, changes);
    note(w, node);
    return SH_OK;
}

/* A write becomes two nodes at most. */
static sh_status begin(walk *w) {
    w->values = sh__calloc(w->graph->next_id + 2 * w->graph->size + 1, sizeof *w->values);
    if (!w->values) return SH_ERROR_MEMORY;
    uint32_t place = 0;
    for (const sh_node *node = sh_graph_first(w->graph); node; node = sh_node_next(node))
        w->values[node->id].place = ++place;
    return SH_OK;
}

sh_status sh_pass_functionalize(sh_graph *graph, size_t *changes) {
    size_t ignored = 0;
    if (sh__error_pending()) return sh_error()->code;
    if (!graph) return sh_fail(SH_ERROR_NULL, "sh_pass_functionalize: the graph is NULL");
    if (!changes) changes = &ignored;
    walk w = {.graph = graph};
    sh_status status = begin(&w);
    for (sh_node *node = sh_graph_first(graph), *next; node && status >= 0; node = next) {
        next = sh_node_next(node);
        status = visit(&w, node, changes);
    }
    sh__free(w.scratch.at);
    sh__free(w.values);
    return status;
}
