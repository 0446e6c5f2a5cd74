/* byname.c - calling an op that is known by its name only.
 *
 * "add_" is the in-place form of add where no op has that very name, "clamp_.Tensor" that of clamp.Tensor. Arguments are
 * placed by position, then by name, defaults fill the rest; then it is a call like any other. A name without overload
 * means the first overload of the family that takes the arguments, the one of that very name before others. */
#include <stdio.h>
#include <string.h>

#include "dispatch/byname.h"
#include "dispatch/chain.h"

typedef struct binding {
    sh_call *call;
    uint32_t set;
    sh_variant variant;
    int64_t room[SH_MAX_ARGS][SH_MAX_DIMS]; /* of lists that a number stands for */
} binding;

/* "add" of "add_", "clamp.Tensor" of "clamp_.Tensor"; false where no name is an in-place form's. */
static bool functional_name(const char *name, char *base, size_t size) {
    const size_t family = strcspn(name, "."), n = strlen(name);
    if (family < 2 || n >= size || name[family - 1] != '_') return false;
    memcpy(base, name, family - 1);
    memcpy(base + family - 1, name + family, n - family + 1);
    return true;
}

const sh_op *sh__op_named(const char *name, sh_variant *variant) {
    *variant = SH_FUNCTIONAL;
    const sh_op *op = sh_op_find(name);
    if (op && sh_op_schema(op)) return op;
    char base[96];
    if (!functional_name(name, base, sizeof base)) return NULL;
    const sh_op *plain = sh_op_find(base);
    *variant = SH_INPLACE;
    return plain && sh_op_schema(plain) && (plain->tags & SH_OP_INPLACE) ? plain : NULL;
}

/* The op of this name; where there is none, what names a family that consists of overloads alone, or NULL. */
static const sh_op *find_op(const char *name, sh_variant *variant) {
    char base[96];
    const sh_op *op = sh__op_named(name, variant);
    if (op) return op;
    *variant = SH_FUNCTIONAL;
    if ((op = sh_op_find(name)) || !functional_name(name, base, sizeof base)) return op;
    *variant = SH_INPLACE;
    op = sh_op_find(base);
    return op && sh_op_schema(op) ? NULL : op;
}

static sh_status unknown(const char *name) {
    const sh_op *op = sh_op_find(name);
    const char *near = op ? NULL : sh_op_suggest(name);
    return sh_fail(SH_ERROR_OP, op ? "op %s has kernels but no schema%s%s" : "there is no op %s%s%s", name,
                   near ? "; did you mean " : "", near ? near : "");
}

static sh_status bind_out(binding *b, const sh_argument *argument) {
    if (!(b->call->op->tags & SH_OP_OUT) || b->variant == SH_INPLACE)
        return sh_fail(SH_ERROR_ARGUMENT, "%s takes no out", b->call->op->name);
    if (argument->value.tag != SH_TAG_TENSOR)
        return sh_fail(SH_ERROR_TYPE, "%s: out must be a Tensor", b->call->op->name);
    b->variant = SH_OUT;
    b->call->target = argument->value.as.tensor;
    return SH_OK;
}

static sh_status bind(binding *b, const sh_argument *argument, uint32_t position) {
    const sh_schema *schema = b->call->schema;
    int i = (int)position;
    if (argument->name) {
        i = sh_schema_find(schema, argument->name);
        if (i < 0 && strcmp(argument->name, "out") == 0) return bind_out(b, argument);
        if (i < 0)
            return sh_fail(SH_ERROR_ARGUMENT, "%s has no argument %s: %s", b->call->op->name, argument->name,
                           schema->text);
    } else if (position >= schema->nparams || schema->params[position].keyword_only) {
        return sh_fail(SH_ERROR_ARGUMENT, "%s: argument number %u is too many: %s", b->call->op->name,
                       position + 1, schema->text);
    }
    if (b->set >> i & 1)
        return sh_fail(SH_ERROR_ARGUMENT, "%s: argument %s is given twice", b->call->op->name,
                       schema->params[i].name);
    b->set |= 1u << i;
    return sh__check_arg(b->call, &schema->params[i], &argument->value, b->room[i], &b->call->args[i]);
}

static sh_status bind_all(binding *b, const sh_argument *arguments, size_t n) {
    const sh_schema *schema = b->call->schema;
    for (size_t k = 0; k < n; k++) {
        if (k && !arguments[k].name && arguments[k - 1].name)
            return sh_fail(SH_ERROR_ARGUMENT,
                           "%s: a positional argument stands behind %s=", b->call->op->name,
                           arguments[k - 1].name);
        SH_TRY(bind(b, &arguments[k], (uint32_t)k));
    }
    for (uint32_t i = 0; i < schema->nparams; i++) {
        if (b->set >> i & 1) continue;
        if (!schema->params[i].has_default)
            return sh_fail(SH_ERROR_ARGUMENT, "%s: argument %s is missing: %s", b->call->op->name,
                           schema->params[i].name, schema->text);
        b->call->args[i] = schema->params[i].value;
    }
    return SH_OK;
}

/* What was made for the arguments of an op that does not take them ends here. */
static sh_status try_op(binding *b, const sh_op *op, sh_variant variant, const sh_argument *arguments,
                        size_t n) {
    const uint32_t mark = sh__thread.nitems;
    b->call->op = op;
    b->call->schema = sh_op_schema(op);
    if (!b->call->schema) return sh_fail(SH_ERROR_ARGUMENT, "op %s is not defined any more", op->name);
    b->call->target = NULL;
    b->set = 0;
    b->variant = variant;
    const sh_status status = bind_all(b, arguments, n);
    if (status < 0) sh__scope_release(mark, NULL, 0);
    return status;
}

/* The other overloads of the family, in the order of the table. SH_PASS: none takes the arguments. */
static sh_status try_overloads(binding *b, const sh_op *first, sh_variant variant,
                               const sh_argument *arguments, size_t n) {
    for (uint32_t id = 0; id < sh_op_count(); id++) {
        const sh_op *op = sh__op_at(id);
        if (op == first || op->family != first->id || !sh_op_schema(op)) continue;
        if (variant == SH_INPLACE && !(op->tags & SH_OP_INPLACE)) continue;
        const sh_status status = try_op(b, op, variant, arguments, n);
        if (status != SH_ERROR_ARGUMENT && status != SH_ERROR_TYPE) return status;
        sh_clear_error();
    }
    return SH_PASS;
}

static sh_status bind_op(binding *b, const char *name, const sh_argument *arguments, size_t n) {
    sh_variant variant;
    char message[512];
    const sh_op *op = find_op(name, &variant);
    if (!op) return unknown(name);
    const sh_status status = sh_op_schema(op) ? try_op(b, op, variant, arguments, n) : SH_PASS;
    const bool misfit = status == SH_ERROR_ARGUMENT || status == SH_ERROR_TYPE;
    if (!misfit && status != SH_PASS) return status;
    if (op->family != op->id) return misfit ? status : unknown(name);
    snprintf(message, sizeof message, "%s", misfit ? sh_error()->message : "");
    sh_clear_error();
    const sh_status other = try_overloads(b, op, variant, arguments, n);
    if (other != SH_PASS) return other;
    return misfit ? sh_fail(status, "%s", message) : unknown(name);
}

sh_status sh__call_by_name(const char *name, const sh_argument *arguments, size_t n, sh_value *results,
                           const void *caller) {
    if (sh__error_pending()) return sh_error()->code;
    if (!name) return sh_fail(SH_ERROR_NULL, "sh_call_by_name: name is NULL");
    sh_value args[SH_MAX_ARGS];
    sh_call call = {.args = args};
    binding b;
    b.call = &call;
    SH_TRY(bind_op(&b, name, arguments, n));
    if (b.variant == SH_INPLACE) call.target = sh_value_as_tensor(args[0]);
    SH_TRY(sh__call_placed(call.op, call.schema, b.variant, call.target, args, results, caller));
    for (uint32_t i = call.schema->nreturns; i < SH_MAX_RESULTS; i++) results[i] = sh_none();
    return SH_OK;
}

sh_status sh_call_by_name(const char *name, const sh_argument *arguments, size_t n, sh_value *results) {
    return sh__call_by_name(name, arguments, n, results, __builtin_frame_address(0));
}

sh_tensor *sh__call_op(const char *name, const sh_argument *arguments, size_t n) {
    sh_value results[SH_MAX_RESULTS];
    if (sh__call_by_name(name, arguments, n, results, __builtin_frame_address(0)) < 0) return NULL;
    if (results[0].tag == SH_TAG_TENSOR) return results[0].as.tensor;
    if (results[0].tag == SH_TAG_NONE) return NULL; /* an op without results */
    sh_fail(SH_ERROR_RESULT, "%s gives a list of tensors: use sh_call_by_name", name);
    return NULL;
}
