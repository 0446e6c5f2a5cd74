/* identities.c - nodes that give back their input go, and the input stands for them.
 *
 * The value of such an op is memory of its own, that of its input is somebody's: nothing may write to either while the
 * one stands for the other. */
#include <string.h>

#include "dispatch/chain.h"
#include "graph/bind.h"
#include "graph/effects.h"
#include "graph/module/graph_module.h"
#include "graph/module/module_impl.h"

#include "graph/pass/memory.h"
#include "graph/pass/pass.h"

static bool is_number(const sh_arg *arg, double value) {
    if (!arg) return false;
    return (arg->tag == SH_ARG_INT && (double)arg->as.i == value) ||
           (arg->tag == SH_ARG_FLOAT && arg->as.f == value);
}

/* The neutral second operand of each op, and whether it is as good as the first. */
static const struct {
    const char *op;
    double neutral;
    bool either;
} arithmetic[] = {
    {"add", 0, true}, {"sub", 0, false}, {"mul", 1, true}, {"div", 1, false}, {"pow", 1, false}};

/* alpha, rounding_mode and what else there is stand at their defaults. */
static bool rest_is_default(const sh_binding *b) {
    for (uint32_t i = 2; i < b->schema->nparams; i++)
        if (b->args[i] && !sh__arg_is_default(&b->schema->params[i], b->args[i])) return false;
    return true;
}

static sh_node *through_arithmetic(const sh_node *node, const sh_binding *b) {
    for (size_t k = 0; k < sizeof arithmetic / sizeof *arithmetic; k++) {
        if (strcmp(node->target, arithmetic[k].op) != 0 || !rest_is_default(b)) continue;
        sh_node *input = is_number(b->args[1], arithmetic[k].neutral) ? sh__arg_node(b->args[0]) : NULL;
        if (!input && arithmetic[k].either && is_number(b->args[0], arithmetic[k].neutral))
            input = sh__arg_node(b->args[1]);
        return input && sh__node_has_spec_of(input, node) ? input : NULL;
    }
    return NULL;
}

static sh_node *through_dropout(const sh_binding *b) {
    const int p = sh_schema_find(b->schema, "p"), training = sh_schema_find(b->schema, "training");
    const sh_arg *on = b->args[training];
    const bool off = on && on->tag == SH_ARG_FLAG && !on->as.i;
    return off || is_number(b->args[p], 0) ? sh__arg_node(b->args[0]) : NULL;
}

static sh_node *through_op(const sh_node *node) {
    sh_binding b;
    if (!sh__binds(node, &b) || b.variant != SH_FUNCTIONAL) return NULL;
    return strcmp(node->target, "dropout") == 0 ? through_dropout(&b) : through_arithmetic(node, &b);
}

static sh_node *through_module(const sh_node *node) {
    const sh_module *module = sh_node_module(node);
    const bool passes = sh_module_is(module, "Identity") ||
                        (sh_module_is(module, "Dropout") && !sh_module_is_training(module));
    return passes && !module->nhooks && node->args.n == 1 ? sh__arg_node(&node->args.at[0]) : NULL;
}

/* The input that the node gives back, or NULL. */
static sh_node *passed_through(const sh_node *node) {
    if (node->opcode == SH_CALL_FUNCTION) return through_op(node);
    return node->opcode == SH_CALL_MODULE ? through_module(node) : NULL;
}

/* ---- who looks at the layout ---- */

typedef struct walk {
    sh_memory_map memory;
    bool *viewed; /* by id: a view of it is made, or of what hands it on */
} walk;

/* All users of the node have been met. */
static void note_viewed(const walk *w, const sh_node *node) {
    sh_binding b;
    bool viewed = false;
    for (const sh_use *use = node->first_user; use && !viewed; use = use->next) {
        const sh_node *user = use->user;
        const sh_effects effects = sh__node_effects(user);
        const bool view =
            user->opcode == SH_CALL_FUNCTION && sh__binds(user, &b) && (b.op->tags & SH_OP_VIEW);
        viewed = view || (w->viewed[user->id] && (effects.alias == node || effects.any_input));
    }
    w->viewed[node->id] = viewed;
}

/* What arithmetic gives is row-major, its input may have any layout, which not every view can take. */
static bool needs_layout(const walk *w, const sh_node *node, const sh_node *input) {
    const bool made_here = w->memory.origin[input->id] == input->id && input->opcode == SH_CALL_FUNCTION;
    return sh__node_effects(node).alias != input && !made_here && w->viewed[node->id];
}

/* ---- the pass ---- */

static sh_status remove_one(const walk *w, sh_node *node, size_t *changes) {
    sh_node *input = passed_through(node);
    if (!input || sh__is_returned(&w->memory, node) || needs_layout(w, node, input)) return SH_OK;
    if (sh__is_written(&w->memory, node) || sh__is_written(&w->memory, input)) return SH_OK;
    SH_TRY(sh_node_replace_all_uses_with(node, input));
    sh__node_discard(node);
    ++*changes;
    return SH_OK;
}

/* Backwards, so that what is known of a node's users is known of the node. */
static sh_status remove_all(walk *w, sh_graph *graph, size_t *changes) {
    sh_status status = SH_OK;
    w->viewed = sh__calloc(graph->next_id + 1, sizeof *w->viewed);
    if (!w->viewed) return SH_ERROR_MEMORY;
    for (sh_node *node = sh_graph_last(graph), *before; node && status >= 0; node = before) {
        before = sh_node_prev(node);
        note_viewed(w, node);
        status = remove_one(w, node, changes);
    }
    sh__free(w->viewed);
    return status;
}

sh_status sh_pass_remove_identities(sh_graph *graph, size_t *changes) {
    size_t ignored = 0;
    if (sh__error_pending()) return sh_error()->code;
    if (!graph) return sh_fail(SH_ERROR_NULL, "sh_pass_remove_identities: the graph is NULL");
    if (!changes) changes = &ignored;
    walk w = {.viewed = NULL};
    SH_TRY(sh__memory_map(&w.memory, graph));
    const sh_status status = remove_all(&w, graph, changes);
    sh__memory_free(&w.memory);
    return status;
}
