/* swap.c - making a call one of another op (M6).
 *
 * Required parameters of the new op take, first, the argument of the same name; those left take the
 * unused positional arguments in order, where the kinds agree. Optional ones take a namesake or their
 * default. What is then left over must have its own default, or the swap is refused and nothing changed. */
#include <string.h>

#include "dispatch/chain.h"

typedef struct swap {
    const sh_call *call;
    const sh_op *to;
    const sh_schema *schema;
    sh_value args[SH_MAX_ARGS];
    uint32_t used;   /* bit i: the old argument i has found its place */
    uint32_t set;    /* bit i: the new argument i has its value */
    uint32_t listed; /* bit i: it is a list that an integer became, in `axes` */
    int64_t axes[SH_MAX_ARGS];
} swap;

/* One axis may stand for a list of one, and the other way round: the dim of max.dim and that of sum. */
static bool fits(const sh_param *from, const sh_param *to, const sh_value *value) {
    if (value->tag == SH_TAG_NONE) return to->optional;
    if (from->type == to->type) return true;
    if (value->tag == SH_TAG_INT && to->type == SH_TYPE_INTS) return true;
    if (value->tag == SH_TAG_INTS && to->type == SH_TYPE_INT) return value->count == 1;
    const bool numbers =
        from->type == SH_TYPE_SCALAR || from->type == SH_TYPE_INT || from->type == SH_TYPE_FLOAT;
    return numbers && to->type == SH_TYPE_SCALAR;
}

static void place(swap *s, uint32_t from, uint32_t to) {
    const sh_value *value = &s->call->args[from];
    s->args[to] = *value;
    if (value->tag == SH_TAG_INT && s->schema->params[to].type == SH_TYPE_INTS) {
        s->axes[to] = value->as.i;
        s->args[to] = sh_value_ints((sh_ints){&s->axes[to], 1});
        s->listed |= 1u << to;
    } else if (value->tag == SH_TAG_INTS && s->schema->params[to].type == SH_TYPE_INT) {
        s->args[to] = sh_value_int(value->as.ints[0]);
    }
    s->used |= 1u << from;
    s->set |= 1u << to;
}

static void place_by_name(swap *s) {
    for (uint32_t i = 0; i < s->schema->nparams; i++) {
        const int from = sh_schema_find(s->call->schema, s->schema->params[i].name);
        if (from < 0 || (uint32_t)from >= s->call->nargs) continue;
        if (fits(&s->call->schema->params[from], &s->schema->params[i], &s->call->args[from]))
            place(s, (uint32_t)from, i);
    }
}

static bool is_required(const sh_param *param) { return !param->has_default && !param->keyword_only; }

static void place_by_position(swap *s) {
    uint32_t from = 0;
    for (uint32_t i = 0; i < s->schema->nparams; i++) {
        if (s->set >> i & 1 || !is_required(&s->schema->params[i])) continue;
        while (from < s->call->nargs && (s->used >> from & 1 || !is_required(&s->call->schema->params[from])))
            from++;
        if (from == s->call->nargs) return;
        if (fits(&s->call->schema->params[from], &s->schema->params[i], &s->call->args[from]))
            place(s, from++, i);
    }
}

static sh_status fill_defaults(swap *s, const char *mode) {
    for (uint32_t i = 0; i < s->schema->nparams; i++) {
        if (s->set >> i & 1) continue;
        const sh_param *param = &s->schema->params[i];
        if (!param->has_default)
            return sh_fail(SH_ERROR_ARGUMENT, "mode %s can't swap %s for %s: nothing to put for argument %s",
                           mode, s->call->op->name, s->to->name, param->name);
        s->args[i] = param->value;
    }
    return SH_OK;
}

static sh_status check_dropped(const swap *s, const char *mode) {
    for (uint32_t i = 0; i < s->call->nargs; i++) {
        const sh_param *param = &s->call->schema->params[i];
        if (s->used >> i & 1 || (param->has_default && sh_value_equal(s->call->args[i], param->value)))
            continue;
        char text[64];
        sh_value_print(s->call->args[i], text, sizeof text);
        return sh_fail(SH_ERROR_ARGUMENT,
                       "mode %s can't swap %s for %s: %s does not take argument %s, which is %s", mode,
                       s->call->op->name, s->to->name, s->to->name, param->name, text);
    }
    return SH_OK;
}

sh_status sh_call_swap(sh_call *call, uint32_t op_id) {
    if (sh__error_pending()) return sh_error()->code;
    if (!call->at) return sh_fail(SH_ERROR_MODE, "sh_call_swap: no mode's callback is running this call");
    const char *mode = call->at->mode->name;
    swap s = {.call = call, .to = sh__op_at(op_id)};
    s.schema = s.to ? sh_op_schema(s.to) : NULL;
    if (!s.schema)
        return s.to ? sh_fail(SH_ERROR_OP, "mode %s can't swap %s for %s, which is not defined", mode,
                              call->op->name, s.to->name)
                    : sh_fail(SH_ERROR_OP, "mode %s can't swap %s: there is no op with id %u", mode,
                              call->op->name, op_id);
    place_by_name(&s);
    place_by_position(&s);
    SH_TRY(check_dropped(&s, mode));
    SH_TRY(fill_defaults(&s, mode));
    if (s.schema->nreturns != call->nresults || s.schema->returns[0].type != call->schema->returns[0].type)
        return sh_fail(SH_ERROR_RESULT, "mode %s can't swap %s for %s: they give different results", mode,
                       call->op->name, s.to->name);
    for (uint32_t i = 0; i < s.schema->nparams; i++)
        if (s.listed >> i & 1) SH_TRY(sh__call_hold(call, &s.args[i]));
    sh__before_edit(call);
    memcpy(call->args, s.args, s.schema->nparams * sizeof *s.args);
    call->op = s.to;
    call->schema = s.schema;
    call->nargs = s.schema->nparams;
    return SH_OK;
}

sh_status sh_call_swap_named(sh_call *call, const char *name) {
    const sh_op *op = sh_op_find(name);
    if (!op || !sh_op_schema(op))
        return sh_fail(SH_ERROR_OP, "there is no op %s to swap %s for", name, call->op->name);
    return sh_call_swap(call, op->id);
}
