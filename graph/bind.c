/* bind.c - placing arguments without their values: what byname.c does for a call that has them.
 *
 * Kinds of literals are checked; what a node will give is known only when it runs. */
#include "graph/bind.h"

#include <string.h>

#include "dispatch/chain.h"
#include "graph/invoke.h"

static sh_status find_op(const sh_node *node, sh_binding *b) {
    const char *const target = sh_node_target(node);
    b->op = sh__op_named(target, &b->variant);
    if (b->op) {
        b->schema = sh_op_schema(b->op);
        return SH_OK;
    }
    const char *near = sh_op_suggest(target);
    return sh_fail(SH_ERROR_OP, "there is no op or function %s%s%s", target, near ? "; did you mean " : "",
                   near ? near : "");
}

/* ---- kinds ---- */

/* What each type takes, as bits of sh_arg_tag; a node may give anything. */
static uint32_t kinds_taken(const sh_param *param) {
    enum {
        NUMBERS = 1u << SH_ARG_INT | 1u << SH_ARG_FLOAT | 1u << SH_ARG_FLAG,
        LISTS = 1u << SH_ARG_LIST | 1u << SH_ARG_TUPLE
    };
    static const uint32_t taken[SH_TYPE_COUNT] = {
        [SH_TYPE_TENSOR] = NUMBERS,
        [SH_TYPE_TENSORS] = LISTS,
        [SH_TYPE_SCALAR] = NUMBERS,
        [SH_TYPE_INT] = 1u << SH_ARG_INT,
        [SH_TYPE_INTS] = LISTS,
        [SH_TYPE_FLOAT] = 1u << SH_ARG_INT | 1u << SH_ARG_FLOAT,
        [SH_TYPE_FLAG] = 1u << SH_ARG_FLAG,
        [SH_TYPE_STRING] = 1u << SH_ARG_STRING,
        [SH_TYPE_DTYPE] = 1u << SH_ARG_DTYPE,
    };
    uint32_t kinds = taken[param->type] | 1u << SH_ARG_NODE;
    if (param->optional) kinds |= 1u << SH_ARG_NONE;
    if (param->type == SH_TYPE_INTS && (param->length || param->optional)) kinds |= 1u << SH_ARG_INT;
    return kinds;
}

static bool entry_fits(const sh_param *param, const sh_arg *entry) {
    if (entry->tag == SH_ARG_NODE) return true;
    if (param->type == SH_TYPE_INTS) return entry->tag == SH_ARG_INT || entry->tag == SH_ARG_FLAG;
    return entry->tag == SH_ARG_NONE && param->holes;
}

static const char *kind_name(const sh_arg *arg) {
    static const char *const names[] = {"None", "a node", "int",    "float", "bool",
                                        "str",  "dtype",  "a list", "a list"};
    return names[arg->tag];
}

static sh_status check_kind(const sh_binding *b, const sh_param *param, const sh_arg *arg) {
    const sh_arg *wrong = kinds_taken(param) >> arg->tag & 1 ? NULL : arg;
    for (uint32_t i = 0; !wrong && sh_arg_is_list(*arg) && i < arg->count; i++)
        if (!entry_fits(param, &arg->as.list[i])) wrong = &arg->as.list[i];
    if (!wrong) return SH_OK;
    char type[32];
    sh_type_print(param, type, sizeof type);
    return sh_fail(SH_ERROR_TYPE, "%s: argument %s: got %s%s, expected %s", b->op->name, param->name,
                   wrong == arg ? "" : "a list with ", kind_name(wrong), type);
}

/* ---- places ---- */

static sh_status bind_out(sh_binding *b, const sh_arg *arg) {
    if (!(b->op->tags & SH_OP_OUT) || b->variant == SH_INPLACE)
        return sh_fail(SH_ERROR_ARGUMENT, "%s takes no out", b->op->name);
    if (arg->tag != SH_ARG_NODE) return sh_fail(SH_ERROR_TYPE, "%s: out must be a Tensor", b->op->name);
    b->variant = SH_OUT;
    b->out = arg;
    return SH_OK;
}

static sh_status place(sh_binding *b, int i, const sh_arg *arg) {
    if (b->args[i])
        return sh_fail(SH_ERROR_ARGUMENT, "%s: argument %s is given twice", b->op->name,
                       b->schema->params[i].name);
    b->args[i] = arg;
    return check_kind(b, &b->schema->params[i], arg);
}

static sh_status place_keyword(sh_binding *b, const sh_kwarg *kwarg) {
    const int i = sh_schema_find(b->schema, kwarg->name);
    if (i >= 0) return place(b, i, &kwarg->value);
    if (strcmp(kwarg->name, "out") == 0) return bind_out(b, &kwarg->value);
    return sh_fail(SH_ERROR_ARGUMENT, "%s has no argument %s: %s", b->op->name, kwarg->name, b->schema->text);
}

static sh_status check_missing(const sh_binding *b) {
    for (uint32_t i = 0; i < b->schema->nparams; i++)
        if (!b->args[i] && !b->schema->params[i].has_default)
            return sh_fail(SH_ERROR_ARGUMENT, "%s: argument %s is missing: %s", b->op->name,
                           b->schema->params[i].name, b->schema->text);
    return SH_OK;
}

sh_status sh__bind(const sh_node *node, sh_binding *binding) {
    const sh_args args = sh_node_args(node);
    const sh_kwargs kwargs = sh_node_kwargs(node);
    *binding = (sh_binding){0};
    SH_TRY(find_op(node, binding));
    for (size_t i = 0; i < args.n; i++) {
        if (i >= binding->schema->nparams || binding->schema->params[i].keyword_only)
            return sh_fail(SH_ERROR_ARGUMENT, "%s: argument number %zu is too many: %s", binding->op->name,
                           i + 1, binding->schema->text);
        SH_TRY(place(binding, (int)i, &args.at[i]));
    }
    for (size_t i = 0; i < kwargs.n; i++) SH_TRY(place_keyword(binding, &kwargs.at[i]));
    return check_missing(binding);
}

bool sh__binds(const sh_node *node, sh_binding *binding) {
    sh_variant variant;
    const bool is_op =
        sh_node_opcode(node) == SH_CALL_FUNCTION && sh__op_named(sh_node_target(node), &variant);
    if (is_op && sh__bind(node, binding) >= 0) return true;
    sh_clear_error();
    return false;
}

const sh_arg *sh__bound_target(const sh_binding *binding) {
    return binding->variant == SH_OUT       ? binding->out
           : binding->variant == SH_INPLACE ? binding->args[0]
                                            : NULL;
}

/* ---- defaults ---- */

bool sh__arg_is_default(const sh_param *param, const sh_arg *arg) {
    const sh_value v = param->value;
    if (!param->has_default || arg->tag == SH_ARG_NODE) return false;
    if (arg->tag != SH_ARG_LIST && arg->tag != SH_ARG_TUPLE) {
        sh_value given = sh__literal_value(*arg);
        if (param->type == SH_TYPE_FLOAT && given.tag == SH_TAG_INT)
            given = sh_value_float((double)given.as.i);
        if (param->type == SH_TYPE_INTS && given.tag == SH_TAG_INT)
            return v.tag == SH_TAG_INTS && v.count == 1 && v.as.ints[0] == given.as.i;
        return sh_value_equal(given, v);
    }
    if (v.tag != SH_TAG_INTS || v.count != arg->count) return false;
    for (uint32_t i = 0; i < v.count; i++)
        if (arg->as.list[i].tag != SH_ARG_INT || arg->as.list[i].as.i != v.as.ints[i]) return false;
    return true;
}
