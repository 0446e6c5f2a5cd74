/* lint.c - is a graph what graphs must be? The first fault is the error.
 *
 * One walk in order. A node is defined once it was met, which its stamp says; for a fault in the links
 * themselves nothing is taken on trust but the ring of the nodes. */
#include <stdio.h>
#include <string.h>

#include "dispatch/chain.h"
#include "graph/bind.h"
#include "graph/function.h"
#include "graph/graph_impl.h"

typedef struct linter {
    const sh_graph *graph;
    const sh_node *output;
    const sh_node *node; /* at hand */
    uint64_t met;        /* the stamp of nodes before it */
    uint32_t *user;      /* by id: the last node that was seen to use it, by number from 1 */
    uint32_t number;     /* of the node at hand */
    uint32_t ninputs;    /* distinct inputs found in its arguments so far */
} linter;

/* ---- the node itself ---- */

static sh_status check_place(const sh_graph *graph, const sh_node *node) {
    if (node->graph != graph)
        return sh_fail(SH_ERROR_VALUE, "%%%s stands in the graph but belongs to another", node->name->text);
    if (node->next->prev != node || node->prev->next != node)
        return sh_fail(SH_ERROR_VALUE, "%%%s is not where its neighbours say", node->name->text);
    return SH_OK;
}

static sh_status check_name(const sh_node *node) {
    const sh_node *named = node->name->object;
    if (named == node) return SH_OK;
    return sh_fail(SH_ERROR_VALUE, "two nodes have the name %%%s%s", node->name->text,
                   named ? "" : ", or it was given up");
}

/* ---- what it uses ---- */

/* Each distinct input must be the next among the node's uses. */
static sh_status check_input(sh_arg *arg, void *user) {
    linter *l = user;
    const sh_node *input = arg->as.node;
    const char *name = l->node->name->text;
    if (!input) return sh_fail(SH_ERROR_NULL, "%%%s: an argument is a NULL node", name);
    if (input->graph != l->graph)
        return sh_fail(SH_ERROR_VALUE, "%%%s uses %%%s, which is of another graph", name, input->name->text);
    if (input->stamp != l->met)
        return sh_fail(SH_ERROR_VALUE, "%%%s uses %%%s before it is defined", name, input->name->text);
    if (l->user[input->id] == l->number) return SH_OK;
    l->user[input->id] = l->number;
    if (l->ninputs < l->node->ninputs && l->node->uses[l->ninputs++].input == input) return SH_OK;
    return sh_fail(SH_ERROR_VALUE, "%%%s uses %%%s, which is not among its inputs", name, input->name->text);
}

static sh_status check_inputs(linter *l, const sh_node *node) {
    l->ninputs = 0;
    SH_TRY(sh__args_visit(node->args, node->kwargs, check_input, l));
    if (l->ninputs == node->ninputs) return SH_OK;
    return sh_fail(SH_ERROR_VALUE, "%%%s has the input %%%s, which none of its arguments is",
                   node->name->text, node->uses[l->ninputs].input->name->text);
}

/* Each use is a link among its input's users. */
static sh_status check_uses(const sh_node *node) {
    for (uint32_t i = 0; i < node->ninputs; i++) {
        const sh_use *use = &node->uses[i];
        const bool linked = use->user == node &&
                            (use->prev ? use->prev->next : use->input->first_user) == use &&
                            (use->next ? use->next->prev : use->input->last_user) == use;
        if (!linked)
            return sh_fail(SH_ERROR_VALUE, "%%%s uses %%%s and is not among its users", node->name->text,
                           use->input->name->text);
    }
    return SH_OK;
}

static sh_status check_users(const sh_node *node) {
    uint32_t n = 0;
    for (const sh_use *use = node->first_user; use && n <= node->nusers; use = use->next) {
        n++;
        if (use->input != node)
            return sh_fail(SH_ERROR_VALUE, "%%%s has a user that does not use it: %%%s", node->name->text,
                           use->user->name->text);
    }
    if (n == node->nusers) return SH_OK;
    return sh_fail(SH_ERROR_VALUE, "%%%s counts %u users and lists %s", node->name->text, node->nusers,
                   n < node->nusers ? "fewer" : "more");
}

/* ---- what it calls ---- */

static bool is_function_target(const sh_node *node) {
    sh_variant variant;
    return !sh__op_named(node->target, &variant) && sh_function_is_registered(node->target);
}

static sh_status check_getitem(const sh_node *node) {
    const bool fits = node->args.n == 2 && !node->kwargs.n && node->args.at[0].tag == SH_ARG_NODE &&
                      node->args.at[1].tag == SH_ARG_INT;
    return fits ? SH_OK
                : sh_fail(SH_ERROR_ARGUMENT, "%%%s: " SH_GETITEM " takes a node and an integer",
                          node->name->text);
}

static sh_status check_function(const sh_node *node) {
    sh_binding b;
    if (strcmp(node->target, SH_GETITEM) == 0) return check_getitem(node);
    if (is_function_target(node) || sh__bind(node, &b) >= 0) return SH_OK;
    const sh_error_info info = *sh_error();
    char text[512];
    snprintf(text, sizeof text, "%s", info.message);
    sh_clear_error();
    return sh_fail(info.code, "%%%s: %s", node->name->text, text);
}

static sh_status check_attribute(const sh_node *node) {
    const sh_graph_root *root = sh__graph_root(node->graph);
    if (sh_graph_attr(node->graph, node->target)) return SH_OK;
    if (root->tensor && root->tensor(root->object, node->target)) return SH_OK;
    return sh_fail(SH_ERROR_VALUE, "%%%s: there is no attribute %s", node->name->text, node->target);
}

/* A graph that belongs to no module yet may name any. */
static sh_status check_module(const sh_node *node) {
    const sh_graph_root *root = sh__graph_root(node->graph);
    if (!*node->target)
        return sh_fail(SH_ERROR_VALUE, "%%%s calls the module that its graph is", node->name->text);
    if (!root->has_module || root->has_module(root->object, node->target)) return SH_OK;
    return sh_fail(SH_ERROR_VALUE, "%%%s: there is no submodule %s", node->name->text, node->target);
}

static sh_status check_output(linter *l, const sh_node *node) {
    if (l->output)
        return sh_fail(SH_ERROR_VALUE, "there are two outputs: %%%s and %%%s", l->output->name->text,
                       node->name->text);
    l->output = node;
    if (node->next == &l->graph->root) return SH_OK;
    for (const sh_node *later = node->next; later != &l->graph->root; later = later->next)
        if (later->opcode == SH_OUTPUT) return check_output(l, later);
    return sh_fail(SH_ERROR_VALUE, "%%%s stands behind the output", node->next->name->text);
}

sh_status sh__node_check_target(const sh_node *node) {
    switch (node->opcode) {
    case SH_GET_ATTR: return check_attribute(node);
    case SH_CALL_FUNCTION: return check_function(node);
    case SH_CALL_MODULE: return check_module(node);
    default: return SH_OK;
    }
}

/* ---- all of it ---- */

static sh_status check_node(linter *l, sh_node *node) {
    l->node = node;
    SH_TRY(check_place(l->graph, node));
    SH_TRY(check_name(node));
    l->number++;
    SH_TRY(check_inputs(l, node));
    SH_TRY(check_uses(node));
    SH_TRY(check_users(node));
    SH_TRY(sh__node_check_target(node));
    if (node->opcode == SH_OUTPUT) SH_TRY(check_output(l, node));
    node->stamp = l->met;
    return SH_OK;
}

static sh_status check_nodes(linter *l) {
    size_t n = 0;
    for (sh_node *node = l->graph->root.next; node != &l->graph->root; node = node->next, n++)
        SH_TRY(check_node(l, node));
    if (n == l->graph->size) return SH_OK;
    return sh_fail(SH_ERROR_VALUE, "the graph counts %zu nodes and has %zu", l->graph->size, n);
}

sh_status sh_graph_lint(const sh_graph *graph) {
    if (sh__error_pending()) return sh_error()->code;
    if (!graph) return sh_fail(SH_ERROR_NULL, "sh_graph_lint: graph is NULL");
    linter l = {.graph = graph, .met = ++((sh_graph *)(uintptr_t)graph)->stamp};
    l.user = sh__calloc(graph->next_id + 1, sizeof *l.user);
    if (!l.user) return SH_ERROR_MEMORY;
    const sh_status status = check_nodes(&l);
    sh__free(l.user);
    return status;
}
