/* inline.c - calls of modules become the nodes that they are made of.
 *
 * A graph module's graph is copied as it is. What any other module does is found by tracing it, down to ops, on inputs of
 * the shapes that the node has: so the way it runs is written once, in its forward. */
#include <string.h>

#include "dispatch/chain.h"
#include "graph/module/graph_module.h"
#include "graph/module/nn_types.h"
#include "graph/pass/expand.h"
#include "graph/pass/pass.h"
#include "graph/trace.h"

/* A hook is run each time; so is what a module of somebody else's does beside issuing ops. What a norm in training does to its
 * buffers no trace shows. */
static sh_status note_more(const char *path, sh_module *module, void *user) {
    const bool impure = module->type->is_impure && module->type->is_impure(module);
    (void)path;
    *(bool *)user |= module->nhooks || (impure && (module->buffers.n || !sh__nn_is_built_in(module->type)));
    return SH_OK;
}

static bool may_inline(const sh_node *node, sh_module *module) {
    bool more = false;
    return !node->kwargs.n && node->args.n <= SH_MAX_ARGS && sh_module_walk(module, note_more, &more) >= 0 &&
           !more;
}

static bool is_no_leaf(const char *path, const sh_module *module, void *user) {
    (void)path, (void)module, (void)user;
    return false;
}

/* NULL where it can't be traced; out of memory is an error, any other failure is not. */
static sh_graph *traced(const sh_node *node, sh_module *module) {
    sh_value values[SH_MAX_ARGS];
    sh_graph *body = NULL;
    if (sh__node_meta_inputs(node, values))
        body =
            sh_trace(module, (sh_values){values, node->args.n}, &(sh_trace_options){.is_leaf = is_no_leaf});
    if (sh__error_pending() && sh_error()->code != SH_ERROR_MEMORY) sh_clear_error();
    return body;
}

/* The trace's placeholders are the arguments that are nodes; others were given as they are. */
static size_t list_inputs(const sh_node *node, bool all, sh_arg *inputs) {
    size_t n = 0;
    for (size_t i = 0; i < node->args.n; i++)
        if (all || node->args.at[i].tag == SH_ARG_NODE) inputs[n++] = node->args.at[i];
    return n;
}

static bool inline_one(sh_node *node, sh_module *module) {
    sh_arg inputs[SH_MAX_ARGS];
    sh_graph *own = sh_graph_module_graph(module), *made = own ? NULL : traced(node, module);
    if (!own && !made) return false;
    const size_t n = list_inputs(node, own != NULL, inputs);
    const sh_expansion e = {own ? own : made, {inputs, n}, node->target};
    const bool done = sh__node_expand(node, &e);
    sh_graph_free(made);
    return done;
}

sh_status sh_inline_modules(sh_graph *graph, sh_node_filter chosen, void *user, size_t *changes) {
    size_t n = 0;
    if (sh__error_pending()) return sh_error()->code;
    if (!graph) return sh_fail(SH_ERROR_NULL, "sh_inline_modules: the graph is NULL");
    for (sh_node *node = sh_graph_first(graph), *next; node && !sh__error_pending(); node = next) {
        sh_node *const before = sh_node_prev(node);
        sh_module *module = node->opcode == SH_CALL_MODULE ? sh_node_module(node) : NULL;
        next = sh_node_next(node);
        if (!module || (chosen && !chosen(node, user)) || !may_inline(node, module)) continue;
        bool done;
        SH_SCOPE done = inline_one(node, module);
        n += done;
        if (done) next = before ? sh_node_next(before) : sh_graph_first(graph); /* what it is made of */
    }
    if (changes) *changes += n;
    return sh__error_pending() ? sh_error()->code : SH_OK;
}

sh_status sh_pass_inline_modules(sh_graph *graph, size_t *changes) {
    return sh_inline_modules(graph, NULL, NULL, changes);
}
