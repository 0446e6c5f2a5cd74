/* transformer.c - the walk of a transformer: arguments rewritten to what stands for them, then the hook. */
#include "graph/transformer.h"

#include <stdio.h>

#include "dispatch/cold.h"
#include "graph/given.h"
#include "graph/graph_impl.h"

struct sh_transformer {
    const sh_graph *from;
    sh_graph *to;
    void *user;
    sh_transform hooks[SH_OUTPUT + 1];
    sh_arg *values; /* by id of the old nodes */
};

sh_graph *sh_transformer_graph(const sh_transformer *t) { return t->to; }
void *sh_transformer_user(const sh_transformer *t) { return t->user; }

sh_status sh_transform_node(sh_transformer *t, const sh_node *node, sh_args args, sh_kwargs kwargs,
                            sh_arg *result) {
    if (sh__error_pending()) return sh_error()->code;
    SH_GIVEN(t, SH_ERROR_NULL);
    SH_GIVEN(node, SH_ERROR_NULL);
    const char *target = sh__copied_target(t->to, node);
    sh_node *copy =
        target ? sh_graph_create_node(t->to, node->opcode, target, args, kwargs, node->name->text) : NULL;
    if (!copy) return sh_error()->code;
    *result = sh_arg_node(copy);
    return sh__node_copy_knowledge(copy, node);
}

static sh_status rewrite(sh_arg *arg, void *user) {
    const sh_transformer *t = user;
    *arg = t->values[arg->as.node->id];
    return SH_OK;
}

static sh_status check_result(const sh_transformer *t, const sh_arg *result) {
    if (result->tag == SH_ARG_LIST || result->tag == SH_ARG_TUPLE)
        return sh_fail(SH_ERROR_VALUE, "a list can't stand for a node");
    if (result->tag != SH_ARG_NODE) return SH_OK;
    if (!result->as.node) return sh_fail(SH_ERROR_NULL, "NULL can't stand for a node");
    if (result->as.node->graph == t->to) return SH_OK;
    return sh_fail(SH_ERROR_VALUE, "%%%s is of another graph than the new one", result->as.node->name->text);
}

static sh_status transform(sh_transformer *t, const sh_node *node) {
    const sh_transform hook = t->hooks[node->opcode] ? t->hooks[node->opcode] : sh_transform_node;
    sh_arg *result = &t->values[node->id];
    sh_arg_block block;
    SH_TRY(sh__args_copy(t->to, node->args, node->kwargs, &t->to->pool, &block));
    sh__args_visit(block.args, block.kwargs, rewrite, t);
    const sh_status status = hook(t, node, block.args, block.kwargs, result);
    if (status >= 0 && result->tag == SH_ARG_STRING)
        result->as.string = sh__graph_string(t->to, result->as.string);
    sh__pool_free(&t->to->pool, block.block, block.size);
    if (status < 0 || sh__error_pending()) return sh__error_ensure(status);
    return check_result(t, result);
}

static void name_node(const sh_node *node) {
    const sh_status code = sh_error()->code;
    char message[SH_MESSAGE_SIZE];
    snprintf(message, sizeof message, "%s", sh_error()->message);
    sh_clear_error();
    sh_fail(code, "%s; while transforming %%%s", message, node->name->text);
}

static sh_status transform_all(sh_transformer *t) {
    for (const sh_node *node = sh_graph_first(t->from); node; node = sh_node_next(node)) {
        if (transform(t, node) >= 0) continue;
        name_node(node);
        return sh_error()->code;
    }
    return SH_OK;
}

sh_graph *sh_graph_transform(const sh_graph *graph, const sh_transformer_options *options) {
    SH_GIVEN(graph, NULL);
    static const sh_transformer_options plain = {0};
    if (sh__error_pending()) return NULL;
    const sh_transformer_options *o = options ? options : &plain;
    sh_transformer t = {.from = graph, .user = o->user};
    t.hooks[SH_PLACEHOLDER] = o->placeholder;
    t.hooks[SH_GET_ATTR] = o->get_attr;
    t.hooks[SH_CALL_FUNCTION] = o->call_function;
    t.hooks[SH_CALL_MODULE] = o->call_module;
    t.hooks[SH_OUTPUT] = o->output;
    t.values = sh__calloc(graph->next_id + 1, sizeof *t.values);
    t.to = t.values ? sh_graph_new() : NULL;
    if (t.to) sh__graph_share_root(t.to, graph);
    const sh_status status = t.to ? transform_all(&t) : SH_ERROR_MEMORY;
    sh__free(t.values);
    if (status >= 0) return t.to;
    sh_graph_free(t.to);
    return NULL;
}
