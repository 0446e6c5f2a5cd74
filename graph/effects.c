/* effects.c - effects by what is declared: variants, tags, alias marks of the schema, flags of functions.
 *
 * An op with a flag `training` that is off writes and draws nothing, whatever its schema says. */
#include "graph/effects.h"

#include <string.h>

#include "dispatch/chain.h"
#include "graph/bind.h"
#include "graph/function.h"
#include "graph/given.h"
#include "graph/graph_impl.h"

static const sh_node *first_input(const sh_node *node) { return node->ninputs ? node->uses[0].input : NULL; }

static bool is_at_rest(const sh_binding *b) {
    const int i = sh_schema_find(b->schema, "training");
    if (i < 0 || b->schema->params[i].type != SH_TYPE_FLAG) return false;
    const sh_arg *arg = b->args[i];
    return arg ? arg->tag == SH_ARG_FLAG && !arg->as.i : !b->schema->params[i].value.as.i;
}

/* The node that an argument is, or the first in the list that it is; NULL if there is none. */
static const sh_node *any_node(const sh_arg *arg) {
    if (!arg || !sh_arg_is_list(*arg)) return sh__arg_node(arg);
    const sh_node *found = NULL;
    for (uint32_t i = 0; i < arg->count && !found; i++) found = sh__arg_node(&arg->as.list[i]);
    return found;
}

static uint32_t declared(const sh_binding *b) {
    uint32_t what = b->variant != SH_FUNCTIONAL ? SH__EFFECT_WRITES : 0;
    if (is_at_rest(b)) return what;
    if (b->op->tags & SH_OP_RANDOM) what |= SH__EFFECT_RANDOM;
    if ((b->op->tags & SH_OP_CUSTOM) && !(b->op->tags & (SH_OP_PURE | SH_OP_RANDOM)))
        what |= SH__EFFECT_OTHER;
    for (uint32_t i = 0; i < b->schema->nparams; i++)
        if (b->schema->params[i].written && any_node(b->args[i])) what |= SH__EFFECT_OTHER;
    return what;
}

static bool is_returned(const sh_schema *schema, char alias) {
    for (uint32_t i = 0; alias && i < schema->nreturns; i++)
        if (schema->returns[i].alias == alias) return true;
    return false;
}

/* What draws numbers for a tensor, as dropout does, gives that back where nothing is to be drawn. Of a list any entry may
 * be what comes back. */
static const sh_node *aliased(const sh_binding *b) {
    if (b->variant != SH_FUNCTIONAL) return sh__arg_node(sh__bound_target(b));
    for (uint32_t i = 0; i < b->schema->nparams; i++)
        if (any_node(b->args[i]) && is_returned(b->schema, b->schema->params[i].alias))
            return any_node(b->args[i]);
    const bool draws = (b->op->tags & SH_OP_RANDOM) && !(b->op->tags & SH_OP_FACTORY);
    return draws || (b->op->tags & SH_OP_VIEW) ? sh__arg_node(b->args[0]) : NULL;
}

static sh_effects of_function(const sh_node *node) {
    const bool pure = (sh_function_flags(node->target) & SH_FUNCTION_PURE) != 0;
    return (sh_effects){pure ? 0 : SH__EFFECT_OTHER, NULL, first_input(node), true};
}

static sh_effects of_call(const sh_node *node) {
    sh_binding b;
    if (sh_node_meta(node, SH_META_KEPT).kind != SH_META_NONE) return of_function(node);
    if (strcmp(node->target, SH_GETITEM) == 0) return (sh_effects){0, NULL, first_input(node), false};
    if (sh__bind(node, &b) < 0) {
        sh_clear_error();
        return of_function(node);
    }
    const sh_node *alias = aliased(&b);
    return (sh_effects){declared(&b), sh__arg_node(sh__bound_target(&b)), alias,
                        alias && (b.op->tags & SH_OP_CUSTOM)};
}

static sh_effects of_module(const sh_node *node) {
    const sh_graph_root *root = sh__graph_root(node->graph);
    const bool impure = root->is_impure && root->is_impure(root->object, node->target);
    const bool fresh = !impure && root->is_fresh && root->is_fresh(root->object, node->target);
    return (sh_effects){impure ? SH__EFFECT_OTHER : 0, NULL, fresh ? NULL : first_input(node), !fresh};
}

sh_effects sh__node_effects(const sh_node *node) {
    if (node->opcode == SH_CALL_FUNCTION) return of_call(node);
    if (node->opcode == SH_CALL_MODULE) return of_module(node);
    return (sh_effects){0};
}

bool sh_node_is_impure(const sh_node *node) {
    SH_GIVEN(node, false);
    if (node->opcode == SH_PLACEHOLDER || node->opcode == SH_OUTPUT) return true;
    return sh__node_effects(node).what != 0;
}
