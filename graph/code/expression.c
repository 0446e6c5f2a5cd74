/* expression.c - arguments as C expressions.
 *
 * SH_ARGUMENTS and its like take tensors, numbers, strings, lists and sh_value alike, so a node's variable stands for
 * itself there, whatever it holds. Lists of up to SH__CODE_IN_PLACE entries are written in place;
 * longer ones are arrays of their own, remembered for the statement at hand. */
#include "graph/code/coder.h"
#include "graph/code/literal.h"

/* ---- nodes ---- */

void sh__code_result(sh_coder *c, const sh_code_variable *v, uint32_t i) {
    const char *const field = v->schema->returns[i].name;
    if (v->kind == SH_CODE_RESULTS)
        sh__text_put(&c->out, "sh_value_as_tensor(%s[%u])", v->name, i);
    else if (*field)
        sh__text_put(&c->out, "%s.%s", v->name, field);
    else
        sh__text_put(&c->out, "%s.result%u", v->name, i);
}

static void put_results(sh_coder *c, const sh_code_variable *v) {
    sh__text_put(&c->out, "SH_LIST(");
    for (uint32_t i = 0; i < v->schema->nreturns; i++) {
        sh__text_put(&c->out, i ? ", " : "");
        sh__code_result(c, v, i);
    }
    sh__text_put(&c->out, ")");
}

static void put_node(sh_coder *c, const sh_code_variable *v) {
    if (v->kind == SH_CODE_LIST)
        sh__text_put(&c->out, "sh_list_view(%s)", v->name);
    else if (sh__code_has_results(v))
        put_results(c, v);
    else
        sh__text_put(&c->out, v->kind == SH_CODE_RESULTS ? "%s[0]" : "%s", v->name);
}

/* ---- lists ---- */

bool sh__code_holds_tensors(const sh_coder *c, const sh_arg *list) {
    for (uint32_t i = 0; i < list->count; i++) {
        const sh_arg *entry = &list->as.list[i];
        if (entry->tag == SH_ARG_INT || entry->tag == SH_ARG_FLAG) return false;
        if (entry->tag == SH_ARG_NODE && sh__code_variable(c, entry)->kind == SH_CODE_TENSOR) return true;
    }
    return list->count > 0;
}

sh_status sh__code_tensor(sh_coder *c, const sh_arg *arg) {
    if (arg->tag == SH_ARG_NONE) {
        sh__text_put(&c->out, "NULL");
        return SH_OK;
    }
    const sh_code_variable *v = arg->tag == SH_ARG_NODE ? sh__code_variable(c, arg) : NULL;
    if (v && v->kind == SH_CODE_TENSOR)
        sh__text_put(&c->out, "%s", v->name);
    else if (v && v->kind == SH_CODE_VALUE)
        sh__text_put(&c->out, "sh_value_as_tensor(%s)", v->name);
    else if (v && v->kind == SH_CODE_RESULTS && v->schema->nreturns == 1)
        sh__text_put(&c->out, "sh_value_as_tensor(%s[0])", v->name);
    else
        return sh_fail(SH_ERROR_TYPE, "sh_graph_code: an entry of a list of tensors is no tensor");
    return SH_OK;
}

static sh_status put_integer(sh_coder *c, const sh_arg *arg) {
    if (arg->tag == SH_ARG_INT || arg->tag == SH_ARG_FLAG) {
        sh__code_int(&c->out, arg->as.i);
        return SH_OK;
    }
    if (arg->tag != SH_ARG_NODE || sh__code_variable(c, arg)->kind != SH_CODE_VALUE)
        return sh_fail(SH_ERROR_TYPE, "sh_graph_code: an entry of a list of integers is no integer");
    sh__text_put(&c->out, "sh_value_as_int(%s)", sh__code_variable(c, arg)->name);
    return SH_OK;
}

static sh_status put_entries(sh_coder *c, const sh_arg *list, bool tensors) {
    for (uint32_t i = 0; i < list->count; i++) {
        sh__text_put(&c->out, !i ? "" : i % 16 ? ", " : ",\n        ");
        SH_TRY(tensors ? sh__code_tensor(c, &list->as.list[i]) : put_integer(c, &list->as.list[i]));
    }
    return SH_OK;
}

static const char *array_of(const sh_coder *c, const sh_arg *list) {
    uint32_t i = 0;
    while (i < c->narrays && c->arrays[i].list != list->as.list) i++;
    return i < c->narrays ? c->arrays[i].name : "";
}

sh_status sh__code_list(sh_coder *c, const sh_arg *list, bool tensors) {
    const char *const type = tensors ? "tensors" : "ints";
    if (list->count > SH__CODE_IN_PLACE) {
        sh__text_put(&c->out, "sh_%s_of(%s, %u)", type, array_of(c, list), list->count);
        return SH_OK;
    }
    if (!list->count) {
        sh__text_put(&c->out, tensors ? "sh_tensors_of(NULL, 0)" : "SH_SCALAR_SHAPE");
        return SH_OK;
    }
    sh__text_put(&c->out, tensors ? "SH_LIST(" : "SH_SIZES(");
    SH_TRY(put_entries(c, list, tensors));
    sh__text_put(&c->out, ")");
    return SH_OK;
}

/* ---- long lists ---- */

static sh_status declare_array(sh_coder *c, const sh_node *node, const sh_arg *list) {
    if (!sh_arg_is_list(*list) || list->count <= SH__CODE_IN_PLACE) return SH_OK;
    if (c->narrays == SH_MAX_ARGS)
        return sh_fail(SH_ERROR_UNSUPPORTED,
                       "sh_graph_code: %%%s has more than %d lists of more than %d entries", node->name->text,
                       SH_MAX_ARGS, SH__CODE_IN_PLACE);
    const bool tensors = sh__code_holds_tensors(c, list);
    const char *name = sh__take_identifier(&c->names, "list");
    if (!name) return SH_ERROR_MEMORY;
    c->arrays[c->narrays++] = (sh_code_array){list->as.list, name};
    sh__text_put(&c->out, "%*s%s %s[] = {", c->indent, "", tensors ? "sh_tensor *const" : "const int64_t",
                 name);
    SH_TRY(put_entries(c, list, tensors));
    sh__text_put(&c->out, "};\n");
    return SH_OK;
}

sh_status sh__code_long_lists(sh_coder *c, const sh_node *node) {
    c->narrays = 0;
    for (size_t i = 0; i < node->args.n; i++) SH_TRY(declare_array(c, node, &node->args.at[i]));
    for (size_t i = 0; i < node->kwargs.n; i++) SH_TRY(declare_array(c, node, &node->kwargs.at[i].value));
    return SH_OK;
}

/* ---- anything ---- */

sh_status sh__code_argument(sh_coder *c, const sh_arg *arg) {
    switch ((sh_arg_tag)arg->tag) {
    case SH_ARG_NONE: sh__text_put(&c->out, "sh_none()"); break;
    case SH_ARG_NODE: put_node(c, sh__code_variable(c, arg)); break;
    case SH_ARG_INT: sh__code_int(&c->out, arg->as.i); break;
    case SH_ARG_FLOAT: sh__code_float(&c->out, arg->as.f); break;
    case SH_ARG_FLAG: sh__text_put(&c->out, "(bool)%d", arg->as.i != 0); break;
    case SH_ARG_STRING: sh__code_string(&c->out, arg->as.string); break;
    case SH_ARG_LIST:
    case SH_ARG_TUPLE: return sh__code_list(c, arg, sh__code_holds_tensors(c, arg));
    case SH_ARG_DTYPE:
        sh__text_put(&c->out, "sh_value_dtype(");
        sh__code_dtype(&c->out, (sh_dtype)arg->as.i);
        sh__text_put(&c->out, ")");
    }
    return SH_OK;
}
