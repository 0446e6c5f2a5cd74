/* typed.c - calls of built-in ops as a person writes them: sh_add(x, 2.0, .alpha = 3).
 *
 * Only where the typed function gets exactly what the node says. It can't where C has no word for it: an explicit
 * None against a default, a keyword Scalar that is a whole float (2.0 counts as 2), an empty list of axes, a stride of
 * 0, numbers that are known only when they come. Such calls go by name. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/code/coder.h"
#include "graph/code/literal.h"
#include "ops/ops.h"

/* ---- what fits ---- */

static bool is_required(const sh_param *p) { return !p->has_default && !p->keyword_only; }
static bool is_axes(const sh_param *p) { return p->type == SH_TYPE_INTS && p->optional && !p->length; }
static bool is_number(const sh_arg *arg) { return arg->tag >= SH_ARG_INT && arg->tag <= SH_ARG_FLAG; }

static bool is_kind(const sh_coder *c, const sh_arg *arg, sh_code_kind kind) {
    return arg->tag == SH_ARG_NODE && sh__code_variable(c, arg)->kind == kind;
}

static bool entries_are(const sh_arg *list, sh_arg_tag tag) {
    for (uint32_t i = 0; i < list->count; i++)
        if (list->as.list[i].tag != tag) return false;
    return sh_arg_is_list(*list);
}

static bool tensors_fit(const sh_coder *c, const sh_arg *arg) {
    if (is_kind(c, arg, SH_CODE_LIST)) return true;
    for (uint32_t i = 0; sh_arg_is_list(*arg) && i < arg->count; i++)
        if (arg->as.list[i].tag != SH_ARG_NONE && !is_kind(c, &arg->as.list[i], SH_CODE_TENSOR)) return false;
    return sh_arg_is_list(*arg);
}

static bool axes_fit(const sh_arg *arg) {
    if (arg->tag == SH_ARG_INT) return arg->as.i >= -SH_MAX_DIMS && arg->as.i < SH_MAX_DIMS;
    bool fit = entries_are(arg, SH_ARG_INT) && arg->count > 0 && arg->count <= SH_MAX_DIMS;
    for (uint32_t i = 0; fit && i < arg->count; i++)
        fit = arg->as.list[i].as.i >= -SH_MAX_DIMS && arg->as.list[i].as.i < SH_MAX_DIMS;
    return fit;
}

/* A zero is "as the first" or "none given" to most options of this form. */
static bool array_fits(const sh_param *p, const sh_arg *arg) {
    const bool zeros = strcmp(p->name, "padding") == 0;
    if (arg->tag == SH_ARG_INT) return zeros || arg->as.i;
    bool fit = entries_are(arg, SH_ARG_INT) && arg->count == p->length;
    for (uint32_t i = 0; fit && i < arg->count; i++) fit = zeros || arg->as.list[i].as.i;
    return fit;
}

static bool scalar_fits(const sh_arg *arg) {
    const int64_t limit = INT64_C(1) << 53;
    if (arg->tag == SH_ARG_INT) return arg->as.i >= -limit && arg->as.i <= limit;
    return arg->tag == SH_ARG_FLOAT && !isnan(arg->as.f) && arg->as.f != trunc(arg->as.f);
}

static bool required_fits(const sh_coder *c, const sh_param *p, const sh_arg *arg) {
    switch (p->type) {
    case SH_TYPE_TENSOR: return is_kind(c, arg, SH_CODE_TENSOR) || is_number(arg);
    case SH_TYPE_TENSORS: return tensors_fit(c, arg);
    case SH_TYPE_SCALAR: return is_number(arg) || is_kind(c, arg, SH_CODE_VALUE);
    case SH_TYPE_INTS: return entries_are(arg, SH_ARG_INT) || (p->length && arg->tag == SH_ARG_INT);
    case SH_TYPE_INT: return arg->tag == SH_ARG_INT && arg->as.i != SH_NO_INT;
    default: return arg->tag != SH_ARG_NODE && arg->tag != SH_ARG_NONE;
    }
}

static bool option_fits(const sh_coder *c, const sh_param *p, const sh_arg *arg) {
    switch (p->type) {
    case SH_TYPE_TENSOR: return is_kind(c, arg, SH_CODE_TENSOR);
    case SH_TYPE_SCALAR: return scalar_fits(arg);
    case SH_TYPE_INTS: return is_axes(p) ? axes_fit(arg) : p->length ? array_fits(p, arg) : false;
    case SH_TYPE_FLOAT: return is_number(arg) && !(arg->tag == SH_ARG_FLOAT && isnan(arg->as.f));
    default: return required_fits(c, p, arg);
    }
}

static bool argument_fits(const sh_coder *c, const sh_param *p, const sh_arg *arg) {
    if (!arg || sh__arg_is_default(p, arg)) return true;
    return is_required(p) ? required_fits(c, p, arg) : option_fits(c, p, arg);
}

/* A macro without options and without required arguments takes no empty list. */
static bool has_argument(const sh_schema *schema) {
    for (uint32_t i = 0; i < schema->nparams; i++)
        if (is_required(&schema->params[i])) return true;
    return false;
}

bool sh__code_is_typed(const sh_coder *c, const sh_binding *b) {
    if (sh_op_id(b->op) >= SH_OP_BUILTIN_COUNT || !has_argument(b->schema)) return false;
    if (b->out && !is_kind(c, b->out, SH_CODE_TENSOR)) return false;
    for (uint32_t i = 0; i < b->schema->nparams; i++)
        if (!argument_fits(c, &b->schema->params[i], b->args[i])) return false;
    return true;
}

/* ---- writing ---- */

static void put_ints(sh_coder *c, const sh_arg *arg, uint32_t length) {
    const uint32_t n = arg->tag == SH_ARG_INT ? length : arg->count;
    for (uint32_t i = 0; i < n; i++) {
        sh__text_put(&c->out, i ? ", " : "");
        sh__code_int(&c->out, arg->tag == SH_ARG_INT ? arg->as.i : arg->as.list[i].as.i);
    }
}

static sh_status put_required(sh_coder *c, const sh_param *p, const sh_arg *arg) {
    switch (p->type) {
    case SH_TYPE_TENSORS:
        return sh_arg_is_list(*arg) ? sh__code_list(c, arg, true) : sh__code_argument(c, arg);
    case SH_TYPE_INTS:
        if (arg->tag != SH_ARG_INT) return sh__code_list(c, arg, false);
        sh__text_put(&c->out, "SH_SIZES(");
        put_ints(c, arg, p->length);
        sh__text_put(&c->out, ")");
        return SH_OK;
    case SH_TYPE_DTYPE: sh__code_dtype(&c->out, (sh_dtype)arg->as.i); return SH_OK;
    case SH_TYPE_FLAG: sh__text_put(&c->out, arg->as.i ? "true" : "false"); return SH_OK;
    default: return sh__code_argument(c, arg);
    }
}

static sh_status put_option(sh_coder *c, const sh_param *p, const sh_arg *arg) {
    sh__text_put(&c->out, ".%s = ", p->name);
    if (p->type != SH_TYPE_INTS) return put_required(c, p, arg);
    if (is_axes(p) && arg->tag == SH_ARG_INT) return sh__code_argument(c, arg);
    sh__text_put(&c->out, is_axes(p) ? "SH_DIMS(" : "{");
    put_ints(c, arg, p->length);
    sh__text_put(&c->out, is_axes(p) ? ")" : "}");
    return SH_OK;
}

void sh__code_op_name(const sh_op *op, char *name, size_t size) {
    snprintf(name, size, "%s", sh_op_name(op));
    for (; *name; name++)
        if (*name == '.') *name = '_';
}

/* Required arguments in order, then options: the typed function's own. */
sh_status sh__code_typed(sh_coder *c, const sh_binding *b) {
    const char *separator = "";
    char name[64];
    sh__code_op_name(b->op, name, sizeof name);
    sh__text_put(&c->out, "sh_%s%s(", name, b->variant == SH_INPLACE ? "_" : "");
    for (int options = 0; options < 2; options++)
        for (uint32_t i = 0; i < b->schema->nparams; i++) {
            const sh_param *p = &b->schema->params[i];
            const sh_arg *arg = b->args[i];
            if (is_required(p) == options || !arg || (options && sh__arg_is_default(p, arg))) continue;
            sh__text_put(&c->out, "%s", separator);
            SH_TRY(options ? put_option(c, p, arg) : put_required(c, p, arg));
            separator = ", ";
        }
    if (b->out) sh__text_put(&c->out, "%s.out = %s", separator, sh__code_variable(c, b->out)->name);
    sh__text_put(&c->out, ")");
    return SH_OK;
}
