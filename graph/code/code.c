/* code.c - graphs as C functions that do the same.
 *
 * The function is what a sh_module_type takes: `forward` where one tensor goes in and one comes out, else
 * `forward_values`. One statement a node, in their order, inside a scope that is left with the result alone. What a graph
 * can't have without a module (submodules, parameters, the tensors it keeps) comes from `self`, a graph module of it. */
#include <string.h>

#include "graph/code/coder.h"
#include "graph/code/literal.h"

/* ---- names ---- */

/* Wishes that can be had as they are go first, so that no other name takes them away. */
static sh_status name_variables(sh_coder *c) {
    for (int others = 0; others < 2; others++)
        for (const sh_node *n = sh_graph_first(c->graph); n; n = sh_node_next(n)) {
            sh_code_variable *v = &c->variables[n->id];
            if (n->opcode == SH_OUTPUT || v->name || (!others && !sh__is_free_identifier(n->name->text)))
                continue;
            v->name = sh__take_identifier(&c->names, n->name->text);
            if (!v->name) return SH_ERROR_MEMORY;
        }
    return SH_OK;
}

/* ---- inputs ---- */

/* Does the op's parameter take a tensor where `input` stands? A function takes anything. */
static bool is_tensor_in(const sh_node *user, const sh_node *input) {
    sh_binding b;
    if (!sh__binds(user, &b)) return true;
    for (uint32_t i = 0; i < b.schema->nparams; i++) {
        const sh_param *p = &b.schema->params[i];
        const bool tensor = p->type == SH_TYPE_TENSOR || p->type == SH_TYPE_TENSORS;
        if (sh__arg_node(b.args[i]) == input && p->type != SH_TYPE_TENSOR) return false;
        for (uint32_t k = 0; b.args[i] && sh_arg_is_list(*b.args[i]) && k < b.args[i]->count; k++)
            if (sh__arg_node(&b.args[i]->as.list[k]) == input && !tensor) return false;
    }
    return true;
}

/* Is it a tensor as far as can be told? A number by default, an entry of it or a use as a number say that it isn't. */
static bool is_tensor_input(const sh_node *node) {
    if (node->has_spec) return true;
    if (node->args.n && node->args.at[0].tag != SH_ARG_NONE) return false;
    for (const sh_use *use = node->first_user; use; use = use->next)
        if (!is_tensor_in(use->user, node)) return false;
    return !sh__code_is_indexed(node);
}

static sh_status code_input(sh_coder *c, const sh_node *node, size_t place) {
    const bool tensor = c->variables[node->id].kind == SH_CODE_TENSOR;
    if (!node->nusers) return SH_OK;
    sh__code_begin(c, node, tensor ? SH_CODE_TENSOR : SH_CODE_VALUE,
                   tensor ? "sh_tensor *" : "const sh_value ");
    sh__text_put(&c->out, tensor ? "sh_value_as_tensor(" : "");
    if (node->args.n) {
        sh__text_put(&c->out, "inputs.n > %zu ? inputs.at[%zu] : SH_VALUE(", place, place);
        SH_TRY(sh__code_argument(c, &node->args.at[0]));
        sh__text_put(&c->out, ")");
    } else {
        sh__text_put(&c->out, "inputs.at[%zu]", place);
    }
    sh__text_put(&c->out, tensor ? ")" : "");
    sh__code_end(c, node);
    return SH_OK;
}

static sh_status code_inputs(sh_coder *c) {
    size_t place = 0;
    for (const sh_node *node = sh_graph_first(c->graph); node; node = sh_node_next(node))
        if (node->opcode == SH_PLACEHOLDER) SH_TRY(code_input(c, node, place++));
    return SH_OK;
}

/* Sets what each input is. Returns the one there is, if it is a tensor that must be given. */
static const sh_node *look_at_inputs(sh_coder *c) {
    const sh_node *only = NULL;
    size_t n = 0;
    for (const sh_node *node = sh_graph_first(c->graph); node; node = sh_node_next(node)) {
        if (node->opcode != SH_PLACEHOLDER) continue;
        const bool tensor = is_tensor_input(node);
        c->variables[node->id].kind = tensor ? SH_CODE_TENSOR : SH_CODE_VALUE;
        only = !n++ && tensor && !node->args.n ? node : NULL;
    }
    return only;
}

static void put_count_check(sh_coder *c) {
    size_t most = 0, least = 0;
    for (const sh_node *node = sh_graph_first(c->graph); node; node = sh_node_next(node)) {
        most += node->opcode == SH_PLACEHOLDER;
        if (node->opcode == SH_PLACEHOLDER && !node->args.n) least = most;
    }
    sh__text_put(&c->out, "    if (inputs.n %s %zu", least == most ? "!=" : ">", most);
    if (least && least < most) sh__text_put(&c->out, " || inputs.n < %zu", least);
    sh__text_put(&c->out, ") {\n        sh_fail(SH_ERROR_ARGUMENT, \"%s: %%zu inputs given, it takes ",
                 c->function);
    if (least < most) sh__text_put(&c->out, "%zu to ", least);
    sh__text_put(&c->out, "%zu\", inputs.n);\n        return sh_none();\n    }\n", most);
}

/* ---- the function ---- */

static sh_status code_node(sh_coder *c, const sh_node *node) {
    switch (node->opcode) {
    case SH_PLACEHOLDER: return SH_OK;
    case SH_GET_ATTR: return sh__code_get_attr(c, node);
    case SH_CALL_FUNCTION: return sh__code_call(c, node);
    case SH_CALL_MODULE: return sh__code_call_module(c, node);
    case SH_OUTPUT: return sh__code_output(c, node);
    }
    return SH_OK;
}

static void put_signature(sh_coder *c, const char *input, const char *end) {
    if (input)
        sh__text_put(&c->out, "sh_tensor *%s(sh_module *self, sh_tensor *%s)%s", c->function, input, end);
    else
        sh__text_put(&c->out, "sh_value %s(sh_module *self, sh_values inputs)%s", c->function, end);
}

/* What stands in front of the statements. `input` is NULL where there isn't just one. */
static sh_status put_head(sh_coder *c, const sh_node *input) {
    const char *const name = input ? c->variables[input->id].name : NULL;
    sh__text_put(&c->out, "/* %s: a graph of %zu nodes, as the %s of a sh_module_type.", c->function,
                 c->graph->size, input ? "forward" : "forward_values");
    if (c->needs_self)
        sh__text_put(&c->out, "\n * `self` is a graph module of it, which has its modules and tensors.");
    sh__text_put(&c->out, " */\n#include <shunt.h>\n\n");
    put_signature(c, name, ";\n\n");
    put_signature(c, name, " {\n");
    sh__text_put(&c->out, c->needs_self ? "" : "    (void)self;\n");
    if (input && !input->nusers) sh__text_put(&c->out, "    (void)%s;\n", name);
    if (!input) put_count_check(c);
    sh__text_put(&c->out, "    sh_%s\n    SH_SCOPE {\n",
                 c->gives_tensor ? "tensor *result = NULL;" : "value result = sh_none();");
    return input ? SH_OK : code_inputs(c);
}

static void put_tail(sh_coder *c, const sh_node *input) {
    sh__text_put(&c->out, "    }\n    return %s;\n}\n",
                 c->gives_tensor && !input ? "sh_value_tensor(result)" : "result");
}

/* The statements come first, as what they are decides about the head. */
static sh_status code_all(sh_coder *c) {
    SH_TRY(name_variables(c));
    const sh_node *input = look_at_inputs(c);
    for (const sh_node *node = sh_graph_first(c->graph); node; node = sh_node_next(node))
        SH_TRY(code_node(c, node));
    sh_text body = c->out;
    c->out = (sh_text){0};
    if (!c->gives_tensor) input = NULL;
    const sh_status status = put_head(c, input);
    sh__text_add(&c->out, body.at ? body.at : "", body.length);
    c->out.failed |= body.failed;
    sh__text_drop(&body);
    put_tail(c, input);
    return status;
}

static sh_status check(const sh_graph *graph, const char *name) {
    if (sh__error_pending()) return sh_error()->code;
    if (!graph) return sh_fail(SH_ERROR_NULL, "sh_graph_code: graph is NULL");
    SH_TRY(sh_graph_lint(graph));
    if (sh__is_free_identifier(name)) return SH_OK;
    return sh_fail(SH_ERROR_VALUE, "sh_graph_code: %s can't be the name of a C function", name);
}

char *sh_graph_code(const sh_graph *graph, const char *name) {
    if (!name) name = "forward";
    if (check(graph, name) < 0) return NULL;
    sh_coder c = {.graph = graph, .function = name, .indent = 8};
    c.variables = sh__calloc(graph->next_id + 1, sizeof *c.variables);
    const bool done = c.variables && sh__take_identifier(&c.names, name) && code_all(&c) >= 0;
    sh__symbols_free(&c.names);
    sh__free(c.variables);
    if (done) return sh__text_take(&c.out);
    sh__text_drop(&c.out);
    return NULL;
}
