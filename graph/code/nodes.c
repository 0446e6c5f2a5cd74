/* nodes.c - statements for the nodes that call no function: get_attr, call_module, output. */
#include <string.h>

#include "graph/code/coder.h"
#include "graph/code/literal.h"
#include "graph/module/graph_module.h"

/* ---- modules ---- */

sh_status sh__code_get_attr(sh_coder *c, const sh_node *node) {
    if (!node->nusers) return SH_OK;
    c->needs_self = true;
    sh__code_begin(c, node, SH_CODE_TENSOR, "sh_tensor *");
    sh__text_put(&c->out, "sh_graph_module_tensor(self, ");
    sh__code_string(&c->out, node->target);
    sh__text_put(&c->out, ")");
    sh__code_end(c, node);
    return SH_OK;
}

static void put_submodule(sh_coder *c, const sh_node *node) {
    sh__text_put(&c->out, "sh_module_child(self, ");
    sh__code_string(&c->out, node->target);
    sh__text_put(&c->out, ")");
}

/* The argument at a place of the module's inputs, by the names that its type gives them. */
static const sh_arg *module_argument(const sh_node *node, const char *const *names, size_t place) {
    if (place < node->args.n) return &node->args.at[place];
    for (size_t i = 0; i < node->kwargs.n; i++)
        if (names && names[place] && strcmp(names[place], node->kwargs.at[i].name) == 0)
            return &node->kwargs.at[i].value;
    return NULL;
}

static sh_status put_module_call(sh_coder *c, const sh_node *node) {
    const sh_module *module = sh_node_module(node);
    const size_t n = node->args.n + node->kwargs.n;
    sh__text_put(&c->out, "sh_module_call(");
    put_submodule(c, node);
    sh__text_put(&c->out, ", (sh_values){(const sh_value[]){");
    for (size_t i = 0; i < n; i++) {
        const sh_arg *arg = module_argument(node, module ? sh_module_type_of(module)->inputs : NULL, i);
        if (!arg)
            return sh_fail(SH_ERROR_UNSUPPORTED,
                           "sh_graph_code: %%%s calls %s by keyword, and no input of it has that name",
                           node->name->text, node->target);
        sh__text_put(&c->out, i ? ", SH_VALUE(" : "SH_VALUE(");
        SH_TRY(sh__code_argument(c, arg));
        sh__text_put(&c->out, ")");
    }
    sh__text_put(&c->out, n ? "}, %zu})" : "sh_none()}, %zu})", n);
    return SH_OK;
}

static bool takes_one_tensor(const sh_coder *c, const sh_node *node) {
    return node->args.n == 1 && !node->kwargs.n && node->args.at[0].tag == SH_ARG_NODE &&
           sh__code_variable(c, &node->args.at[0])->kind == SH_CODE_TENSOR;
}

sh_status sh__code_call_module(sh_coder *c, const sh_node *node) {
    const sh_module *module = sh_node_module(node);
    const bool plain =
        module && sh_module_type_of(module)->forward && !sh_module_type_of(module)->forward_values;
    const bool tensor = plain || (node->has_spec && !sh__code_is_indexed(node));
    c->needs_self = true;
    SH_TRY(sh__code_long_lists(c, node));
    sh__code_begin(c, node, tensor ? SH_CODE_TENSOR : SH_CODE_VALUE,
                   tensor ? "sh_tensor *" : "const sh_value ");
    if (tensor && takes_one_tensor(c, node)) {
        sh__text_put(&c->out, "sh_forward(");
        put_submodule(c, node);
        sh__text_put(&c->out, ", %s)", sh__code_variable(c, &node->args.at[0])->name);
    } else {
        sh__text_put(&c->out, tensor && node->nusers ? "sh_value_as_tensor(" : "");
        SH_TRY(put_module_call(c, node));
        sh__text_put(&c->out, tensor && node->nusers ? ")" : "");
    }
    sh__code_end(c, node);
    return SH_OK;
}

/* ---- output ---- */

/* The node's results where it has several, else NULL. */
static const sh_code_variable *results_of(const sh_coder *c, const sh_arg *arg) {
    const sh_code_variable *v = arg->tag == SH_ARG_NODE ? sh__code_variable(c, arg) : NULL;
    return v && sh__code_has_results(v) ? v : NULL;
}

/* Lists in the list are opened, as a run of the graph does. */
static sh_status put_outputs(sh_coder *c, const sh_arg *arg, const char **separator) {
    const sh_code_variable *const several = results_of(c, arg);
    for (uint32_t i = 0; sh_arg_is_list(*arg) && i < arg->count; i++)
        SH_TRY(put_outputs(c, &arg->as.list[i], separator));
    if (sh_arg_is_list(*arg) || arg->tag == SH_ARG_NONE) return SH_OK;
    for (uint32_t i = 0; i < (several ? several->schema->nreturns : 1); i++) {
        sh__text_put(&c->out, "%s", *separator);
        *separator = ", ";
        if (several) sh__code_result(c, several, i);
    }
    return several ? SH_OK : sh__code_tensor(c, arg);
}

static uint32_t count_outputs(const sh_coder *c, const sh_arg *arg) {
    const sh_code_variable *const several = results_of(c, arg);
    uint32_t n = several ? several->schema->nreturns : !sh_arg_is_list(*arg) && arg->tag != SH_ARG_NONE;
    for (uint32_t i = 0; sh_arg_is_list(*arg) && i < arg->count; i++) n += count_outputs(c, &arg->as.list[i]);
    return n;
}

static sh_status put_list(sh_coder *c, const sh_arg *arg) {
    const uint32_t n = count_outputs(c, arg);
    const char *separator = "";
    if (n > SH__CODE_IN_PLACE)
        sh__text_put(&c->out, "sh_list_value(sh_tensors_of((sh_tensor *const[]){");
    else
        sh__text_put(&c->out, n ? "sh_list_value(SH_LIST(" : "sh_list_value(sh_tensors_of(NULL, 0");
    SH_TRY(put_outputs(c, arg, &separator));
    sh__text_put(&c->out, n > SH__CODE_IN_PLACE ? "}, %u))" : "))", n);
    return SH_OK;
}

/* SH_VALUE would make a list anew, in the block; it is the list that the scope owns that leaves it. */
static sh_status put_value(sh_coder *c, const sh_arg *arg) {
    const sh_code_variable *v = arg->tag == SH_ARG_NODE ? sh__code_variable(c, arg) : NULL;
    if (v) {
        sh__text_put(&c->out, v->kind == SH_CODE_LIST ? "sh_value_tensors(" : "");
        SH_TRY(sh__code_argument(c, arg));
        sh__text_put(&c->out, v->kind == SH_CODE_LIST ? ")" : "");
        return SH_OK;
    }
    sh__text_put(&c->out, "SH_VALUE(");
    SH_TRY(sh__code_argument(c, arg));
    sh__text_put(&c->out, ")");
    return SH_OK;
}

sh_status sh__code_output(sh_coder *c, const sh_node *node) {
    const sh_arg value = sh_node_arg(node, 0), *const arg = &value;
    sh__text_put(&c->out, "%*sresult = ", c->indent, "");
    c->gives_tensor = arg->tag == SH_ARG_NODE && sh__code_variable(c, arg)->kind == SH_CODE_TENSOR;
    sh__text_put(&c->out, c->gives_tensor ? "sh_escape(" : "sh_escape_value(");
    if (c->gives_tensor)
        sh__text_put(&c->out, "%s", sh__code_variable(c, arg)->name);
    else
        SH_TRY(sh_arg_is_list(*arg) || results_of(c, arg) ? put_list(c, arg) : put_value(c, arg));
    sh__text_put(&c->out, ");\n");
    return SH_OK;
}
