/* call.c - statements for call_function nodes: typed calls, calls by name, user functions, operator.getitem. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/chain.h"
#include "graph/code/coder.h"
#include "graph/code/literal.h"
#include "graph/print.h"

enum { MACRO_ARGUMENTS = 12 }; /* as many as sh_call_op, SH_ARGUMENTS and SH_INPUTS take */

/* ---- statements ---- */

void sh__code_begin(sh_coder *c, const sh_node *node, sh_code_kind kind, const char *type) {
    sh_code_variable *v = &c->variables[node->id];
    v->kind = node->nusers ? kind : SH_CODE_NOTHING;
    sh__text_put(&c->out, "%*s", c->indent, "");
    if (node->nusers) sh__text_put(&c->out, "%s%s = ", type, v->name);
}

void sh__code_end(sh_coder *c, const sh_node *node) {
    sh__text_put(&c->out, ";");
    if (node->has_spec) sh__text_put(&c->out, " /* ");
    sh__print_spec(&c->out, sh_node_spec(node));
    sh__text_put(&c->out, node->has_spec ? " */\n" : "\n");
}

bool sh__code_is_indexed(const sh_node *node) {
    for (const sh_use *use = node->first_user; use; use = use->next)
        if (use->user->opcode == SH_CALL_FUNCTION && strcmp(use->user->target, SH_GETITEM) == 0) return true;
    return false;
}

/* ---- arguments ---- */

/* Each with a comma between; a positional one stands between `before` and `after`. */
static sh_status put_each(sh_coder *c, const sh_node *node, const char *before, const char *after) {
    const size_t n = node->args.n + node->kwargs.n;
    for (size_t i = 0; i < n; i++) {
        sh__text_put(&c->out, i ? ", " : "");
        if (i < node->args.n) {
            sh__text_put(&c->out, "%s", before);
            SH_TRY(sh__code_argument(c, &node->args.at[i]));
            sh__text_put(&c->out, "%s", after);
            continue;
        }
        const sh_kwarg *kwarg = &node->kwargs.at[i - node->args.n];
        sh__text_put(&c->out, "SH_NAMED(");
        sh__code_string(&c->out, kwarg->name);
        sh__text_put(&c->out, ", ");
        SH_TRY(sh__code_argument(c, &kwarg->value));
        sh__text_put(&c->out, ")");
    }
    return SH_OK;
}

sh_status sh__code_arguments(sh_coder *c, const sh_node *node) {
    const size_t n = node->args.n + node->kwargs.n;
    if (!n) {
        sh__text_put(&c->out, "NULL, 0");
        return SH_OK;
    }
    sh__text_put(&c->out, "(const sh_argument[]){");
    SH_TRY(put_each(c, node, "{NULL, SH_VALUE(", ")}"));
    sh__text_put(&c->out, "}, %zu", n);
    return SH_OK;
}

/* ---- ops ---- */

/* sh_call_op gives one tensor. */
static sh_status code_call_op(sh_coder *c, const sh_node *node) {
    sh__code_begin(c, node, SH_CODE_TENSOR, "sh_tensor *");
    sh__text_put(&c->out, "sh_call_op(");
    sh__code_string(&c->out, node->target);
    sh__text_put(&c->out, ", ");
    SH_TRY(put_each(c, node, "", ""));
    sh__text_put(&c->out, ")");
    sh__code_end(c, node);
    return SH_OK;
}

static sh_status code_by_name(sh_coder *c, const sh_node *node, const sh_binding *b) {
    const size_t n = node->args.n + node->kwargs.n;
    const bool tensor = b->schema->nreturns == 1 && b->schema->returns[0].type == SH_TYPE_TENSOR;
    sh_code_variable *v = &c->variables[node->id];
    if (tensor && n && n <= MACRO_ARGUMENTS) return code_call_op(c, node);
    v->kind = SH_CODE_RESULTS;
    sh__text_put(&c->out, "%*ssh_value %s[SH_MAX_RESULTS] = {sh_none()};\n%*ssh_call_by_name(", c->indent, "",
                 v->name, c->indent, "");
    sh__code_string(&c->out, node->target);
    sh__text_put(&c->out, ", ");
    SH_TRY(sh__code_arguments(c, node));
    sh__text_put(&c->out, ", %s)", v->name);
    sh__code_end(c, node);
    return SH_OK;
}

static sh_status code_typed(sh_coder *c, const sh_node *node, const sh_binding *b) {
    char type[128] = "sh_tensor *", name[64];
    sh_code_kind kind = SH_CODE_TENSOR;
    if (b->schema->returns[0].type == SH_TYPE_TENSORS) {
        kind = SH_CODE_LIST;
        snprintf(type, sizeof type, "sh_list *");
    } else if (b->schema->nreturns > 1) {
        kind = SH_CODE_FIELDS;
        sh__code_op_name(b->op, name, sizeof name);
        snprintf(type, sizeof type, "const sh_%s_result ", name);
    }
    sh__code_begin(c, node, kind, type);
    SH_TRY(sh__code_typed(c, b));
    sh__code_end(c, node);
    return SH_OK;
}

static sh_status code_op(sh_coder *c, const sh_node *node) {
    sh_binding b;
    SH_TRY(sh__bind(node, &b));
    c->variables[node->id].schema = b.schema;
    return sh__code_is_typed(c, &b) ? code_typed(c, node, &b) : code_by_name(c, node, &b);
}

/* ---- functions ---- */

/* What it gives is known to be a tensor where its shape is. */
static sh_status code_function(sh_coder *c, const sh_node *node) {
    const char *const name = c->variables[node->id].name;
    const size_t n = node->args.n + node->kwargs.n;
    if (node->has_spec && n && n <= MACRO_ARGUMENTS && !sh__code_is_indexed(node)) {
        sh__code_begin(c, node, SH_CODE_TENSOR, "sh_tensor *");
        sh__text_put(&c->out, "sh_function_call(");
        sh__code_string(&c->out, node->target);
        sh__text_put(&c->out, ", ");
        SH_TRY(put_each(c, node, "", ""));
        sh__text_put(&c->out, ")");
    } else {
        c->variables[node->id].kind = SH_CODE_VALUE;
        sh__text_put(&c->out, "%*ssh_value %s = sh_none();\n%*ssh_function_call_values(", c->indent, "", name,
                     c->indent, "");
        sh__code_string(&c->out, node->target);
        sh__text_put(&c->out, ", (sh_arguments){");
        SH_TRY(sh__code_arguments(c, node));
        sh__text_put(&c->out, "}, &%s)", name);
    }
    sh__code_end(c, node);
    return SH_OK;
}

/* ---- operator.getitem ---- */

static sh_status put_value_item(sh_coder *c, const sh_node *node, bool tensor) {
    sh__text_put(&c->out, tensor ? "sh_value_as_tensor(sh_value_item(SH_VALUE(" : "sh_value_item(SH_VALUE(");
    SH_TRY(sh__code_argument(c, &node->args.at[0]));
    sh__text_put(&c->out, "), ");
    sh__code_int(&c->out, node->args.at[1].as.i);
    sh__text_put(&c->out, tensor ? "))" : ")");
    return SH_OK;
}

/* The field of a result, the entry of a list. Only a placeholder may be a list of integers. */
static sh_status code_getitem(sh_coder *c, const sh_node *node) {
    const sh_node *from = node->args.at[0].as.node;
    const sh_code_variable *v = &c->variables[from->id];
    const int64_t i = node->args.at[1].as.i;
    const bool value = v->kind == SH_CODE_VALUE && from->opcode == SH_PLACEHOLDER;
    if (v->kind == SH_CODE_TENSOR)
        return sh_fail(SH_ERROR_TYPE, "sh_graph_code: %%%s takes entry %" PRId64 " of %%%s, which is no list",
                       node->name->text, i, from->name->text);
    sh__code_begin(c, node, value ? SH_CODE_VALUE : SH_CODE_TENSOR,
                   value ? "const sh_value " : "sh_tensor *");
    if (sh__code_has_results(v) && i >= 0 && i < v->schema->nreturns) {
        sh__code_result(c, v, (uint32_t)i);
    } else if (v->kind == SH_CODE_LIST && i >= 0) {
        sh__text_put(&c->out, "sh_list_at(%s, %" PRId64 ")", v->name, i);
    } else {
        SH_TRY(put_value_item(c, node, !value));
    }
    sh__code_end(c, node);
    return SH_OK;
}

sh_status sh__code_call(sh_coder *c, const sh_node *node) {
    sh_variant variant;
    if (strcmp(node->target, SH_GETITEM) == 0) return node->nusers ? code_getitem(c, node) : SH_OK;
    SH_TRY(sh__code_long_lists(c, node));
    return sh__op_named(node->target, &variant) ? code_op(c, node) : code_function(c, node);
}
