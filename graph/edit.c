/* edit.c - edits of nodes beside those of node.c: moving, finding, one form for arguments. */
#include <string.h>

#include "dispatch/chain.h"
#include "graph/bind.h"
#include "graph/given.h"
#include "graph/graph_impl.h"

/* ---- moving ---- */

static sh_status move(sh_node *node, sh_node *other, bool behind) {
    if (sh__error_pending()) return sh_error()->code;
    if (!node || !other) return sh_fail(SH_ERROR_NULL, "a node to be moved, or moved to, is NULL");
    if (node->graph != other->graph)
        return sh_fail(SH_ERROR_VALUE, "%%%s can't be moved to %%%s, which is of another graph",
                       other->name->text, node->name->text);
    if (node == other) return SH_OK;
    sh__node_unlink(other);
    sh__node_link(other, behind ? node->next : node);
    return SH_OK;
}

sh_status sh_node_append(sh_node *node, sh_node *other) { return move(node, other, true); }
sh_status sh_node_prepend(sh_node *node, sh_node *other) { return move(node, other, false); }

/* ---- finding ---- */

size_t sh_graph_find_nodes(const sh_graph *graph, sh_opcode opcode, const char *target, sh_node **nodes,
                           size_t capacity) {
    SH_GIVEN(graph, 0);
    size_t n = 0;
    for (sh_node *node = sh_graph_first(graph); node; node = sh_node_next(node))
        if (node->opcode == opcode && (!target || strcmp(node->target, target) == 0) && n++ < capacity)
            nodes[n - 1] = node;
    return n;
}

/* ---- arguments ---- */

sh_status sh_node_insert_arg(sh_node *node, size_t i, sh_arg arg) {
    if (sh__error_pending()) return sh_error()->code;
    SH_GIVEN(node, SH_ERROR_NULL);
    const size_t n = node->args.n;
    if (i > n)
        return sh_fail(SH_ERROR_INDEX, "node %%%s has %zu arguments; one is to be inserted as number %zu",
                       node->name->text, n, i);
    sh_arg *args = sh__alloc((n + 1) * sizeof *args);
    if (!args) return SH_ERROR_MEMORY;
    if (i) memcpy(args, node->args.at, i * sizeof *args);
    args[i] = arg;
    if (i < n) memcpy(args + i + 1, node->args.at + i, (n - i) * sizeof *args);
    const sh_status status = sh_node_set_args(node, (sh_args){args, n + 1}, node->kwargs);
    sh__free(args);
    return status;
}

typedef struct form {
    sh_arg args[SH_MAX_ARGS];
    sh_kwarg kwargs[SH_MAX_ARGS + 1];
    size_t nargs, nkwargs;
} form;

static void take(form *to, const sh_param *param, const sh_arg *arg, sh_argument_form how) {
    const bool keyword = how == SH_KEYWORD_FORM || param->has_default || param->keyword_only;
    if (how == SH_POSITIONAL_FORM && sh__arg_is_default(param, arg)) return;
    if (keyword)
        to->kwargs[to->nkwargs++] = (sh_kwarg){param->name, *arg};
    else
        to->args[to->nargs++] = *arg;
}

/* An edit that changes nothing would make whoever watches for edits do its work again. */
static bool is_written_so(const sh_node *node, const form *to) {
    bool same = node->args.n == to->nargs && node->kwargs.n == to->nkwargs;
    for (size_t i = 0; same && i < to->nargs; i++) same = sh_arg_equal(node->args.at[i], to->args[i]);
    for (size_t i = 0; same && i < to->nkwargs; i++)
        same = strcmp(node->kwargs.at[i].name, to->kwargs[i].name) == 0 &&
               sh_arg_equal(node->kwargs.at[i].value, to->kwargs[i].value);
    return same;
}

sh_status sh_node_normalize_arguments(sh_node *node, sh_argument_form how) {
    SH_GIVEN(node, SH_ERROR_NULL);
    sh_binding b;
    sh_variant variant;
    form to = {.nargs = 0};
    if (sh__error_pending()) return sh_error()->code;
    if (node->opcode != SH_CALL_FUNCTION || !sh__op_named(node->target, &variant)) return SH_OK;
    SH_TRY(sh__bind(node, &b));
    for (uint32_t i = 0; i < b.schema->nparams; i++)
        if (b.args[i]) take(&to, &b.schema->params[i], b.args[i], how);
    if (b.out) to.kwargs[to.nkwargs++] = (sh_kwarg){"out", *b.out};
    if (is_written_so(node, &to)) return SH_OK;
    return sh_node_set_args(node, (sh_args){to.args, to.nargs}, (sh_kwargs){to.kwargs, to.nkwargs});
}
