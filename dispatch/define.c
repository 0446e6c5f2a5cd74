/* define.c - ops made at run time.
 *
 * A definition is one immutable record, published by two stores: the record, then the schema that calls begin with. A call
 * that began under an earlier schema finds out before the infer function runs (sh__call_infer), so no function ever
 * meets arguments of another schema. Records are never freed: a call in flight may hold one. */
#include <stdlib.h>
#include <string.h>

#include "dispatch/chain.h"
#include "dispatch/journal.h"
#include "dispatch/registry.h"

/* ---- what a schema may say ---- */

static sh_status refuse(const sh_schema *schema, sh_status code, const char *what, const char *name) {
    return sh_fail(code, "%s: %s%s%s: %s", schema->name, what, name ? " " : "", name ? name : "",
                   schema->text);
}

/* The first parameter with the letter, or NULL; *several: there are more. */
static const sh_param *parameter_of(const sh_schema *schema, char alias, bool *several) {
    const sh_param *first = NULL;
    *several = false;
    for (uint32_t i = 0; i < schema->nparams; i++) {
        if (schema->params[i].alias != alias) continue;
        *several = first != NULL;
        if (!first) first = &schema->params[i];
    }
    return first;
}

static sh_status check_result_alias(const sh_schema *schema, const sh_param *result) {
    bool several;
    const sh_param *from = parameter_of(schema, result->alias, &several);
    if (result->written && !from->written)
        return refuse(schema, SH_ERROR_SCHEMA,
                      "a result is marked (a!), which hands an argument back, but nothing writes to argument",
                      from->name);
    if (result->written && several)
        return refuse(schema, SH_ERROR_SCHEMA,
                      "a result marked (a!) is one argument, but its letter stands at several, such as",
                      from->name);
    if (result->written && result->type != from->type)
        return refuse(schema, SH_ERROR_SCHEMA, "a result marked (a!) is of another type than argument",
                      from->name);
    return SH_OK;
}

static sh_status check_result(const sh_schema *schema, const sh_param *result) {
    const bool list = result->type == SH_TYPE_TENSORS;
    if ((!list && result->type != SH_TYPE_TENSOR) || result->optional || result->holes)
        return refuse(schema, SH_ERROR_SCHEMA, "a result is a Tensor or a Tensor[]", NULL);
    if (list && schema->nreturns > 1)
        return refuse(schema, SH_ERROR_SCHEMA, "a Tensor[] is the only result, or there is none", NULL);
    return result->alias ? check_result_alias(schema, result) : SH_OK;
}

static bool writes(const sh_schema *schema) {
    bool any = false;
    for (uint32_t i = 0; i < schema->nparams; i++) any |= schema->params[i].written;
    return any;
}

/* Can the result be put into a tensor that is given? */
static bool has_target(const sh_schema *schema) {
    return schema->nreturns == 1 && schema->returns[0].type == SH_TYPE_TENSOR && !schema->returns[0].alias;
}

static bool has_self(const sh_schema *schema) {
    return schema->nparams && schema->params[0].type == SH_TYPE_TENSOR && !schema->params[0].optional;
}

static sh_status check_tags(const sh_schema *schema, uint32_t tags) {
    if ((tags & SH_OP_PURE) && writes(schema))
        return refuse(schema, SH_ERROR_ARGUMENT, "tagged as pure, but it writes to an argument", NULL);
    if ((tags & SH_OP_PURE) && (tags & SH_OP_RANDOM))
        return refuse(schema, SH_ERROR_ARGUMENT, "tagged as pure and as random", NULL);
    if ((tags & (SH_OP_INPLACE | SH_OP_OUT)) && !has_target(schema))
        return refuse(schema, SH_ERROR_ARGUMENT,
                      "tagged as having a form in place or with out, which takes one new result", NULL);
    if ((tags & SH_OP_INPLACE) && !has_self(schema))
        return refuse(schema, SH_ERROR_ARGUMENT,
                      "tagged as having a form in place, but its first argument is no Tensor", NULL);
    if ((tags & SH_OP_VIEW) && !has_self(schema))
        return refuse(schema, SH_ERROR_ARGUMENT, "tagged as a view, but its first argument is no Tensor",
                      NULL);
    return SH_OK;
}

static sh_status check(const sh_schema *schema, const sh_op_options *o) {
    for (uint32_t i = 0; i < schema->nreturns; i++) SH_TRY(check_result(schema, &schema->returns[i]));
    return check_tags(schema, o->tags);
}

/* ---- making ---- */

static bool spreads(const sh_schema *schema) {
    bool any = false;
    for (uint32_t i = 0; i < schema->nparams; i++) any |= schema->params[i].length > 1;
    return any;
}

static sh_definition *definition_new(sh_schema *schema, const sh_op_options *o) {
    sh_definition *d = sh__calloc(1, sizeof *d);
    char *who = d ? sh__strdup(o->registrant ? o->registrant : "unknown") : NULL;
    if (!who) {
        sh__free(d);
        return NULL;
    }
    d->schema = schema;
    d->infer = o->infer;
    d->infer_user = o->user;
    d->cost = o->cost;
    d->registrant = who;
    d->writes = writes(schema);
    d->spreads = spreads(schema);
    d->infers = true;
    for (uint32_t i = 0; i < schema->nreturns; i++) {
        d->aliases |= schema->returns[i].alias != 0;
        d->infers &= o->infer || schema->returns[i].written;
    }
    return d;
}

static void definition_free(sh_definition *d) {
    sh__free((void *)(uintptr_t)d->registrant);
    sh__free(d);
}

static void drop_kernels(const sh_definition *d) {
    for (uint32_t i = 0; i < d->nkernels; i++) sh__kernel_drop_locked(d->kernels[i]);
}

static sh_status add_kernels(sh_definition *d, sh_op *op, const sh_op_options *o) {
    const struct {
        sh_boxed boxed;
        uint32_t column;
    } kernels[SH_DEFINED_KERNELS] = {
        {o->cpu, SH_BACKEND_CPU}, {o->ref, SH_BACKEND_REF}, {o->composite, SH_COLUMN_COMPOSITE}};
    for (size_t i = 0; i < SH_DEFINED_KERNELS; i++) {
        if (!kernels[i].boxed) continue;
        const sh_registration *r =
            sh__register_locked(op, kernels[i].column, kernels[i].boxed, o->kernel_user, o->registrant);
        if (!r) return sh__error_ensure(SH_ERROR_MEMORY);
        d->kernels[d->nkernels++] = (sh_kernel){r->index, r->generation};
    }
    return SH_OK;
}

/* Is there a kernel that was registered as composite, before or now? */
static uint32_t composite_tag(const sh_op *op) {
    const sh_registration *r = op->columns[SH_COLUMN_COMPOSITE];
    while (r && !atomic_load(&r->state)) r = r->older;
    return r ? SH_OP_COMPOSITE : 0;
}

static sh_status publish(sh_definition *d, sh_op *op, const sh_op_options *o) {
    const sh_status status = add_kernels(d, op, o);
    if (status < 0) {
        drop_kernels(d);
        return status;
    }
    atomic_store(&op->tags, (o->tags & ~(uint32_t)SH_OP_COMPOSITE) | SH_OP_CUSTOM | composite_tag(op));
    atomic_store_explicit(&op->definition, d, memory_order_release);
    sh__slots_publish(op);
    atomic_store_explicit(&op->schema, d->schema, memory_order_release);
    return SH_OK;
}

static sh_status define_locked(sh_schema *schema, const sh_op_options *o, const sh_op **op) {
    sh_op *entry = sh__op_intern_locked(schema->name);
    if (!entry) return sh__error_ensure(SH_ERROR_MEMORY);
    sh__slots_publish(entry);
    if (sh_op_schema(entry))
        return sh_fail(SH_ERROR_OP, "op %s is defined already: %s", schema->name, sh_op_schema(entry)->text);
    sh_definition *d = definition_new(schema, o);
    const sh_status status = d ? publish(d, entry, o) : SH_ERROR_MEMORY;
    if (status < 0 && d) definition_free(d);
    if (status >= 0 && op) *op = entry;
    return status;
}

/* What a caller of another version knows of, the rest as if left out. */
static sh_op_options known_options(const sh_op_options *given) {
    sh_op_options options = {0};
    const size_t size = given && given->size ? given->size : sizeof options;
    if (given) memcpy(&options, given, size < sizeof options ? size : sizeof options);
    return options;
}

/* Schemas of undefined ops are kept, so none has another's address. */
static void undo_define(uint64_t what) {
    const sh_schema *schema = (const sh_schema *)(uintptr_t)what;
    const sh_op *op = sh_op_find(schema->name);
    if (op && sh_op_schema(op) == schema) sh_op_undefine(schema->name);
}

sh_status sh_op_define(const char *text, const sh_op_options *options, const sh_op **op) {
    const sh_op_options o = known_options(options);
    sh_schema *schema;
    if (sh__error_pending()) return sh_error()->code;
    SH_TRY(sh__journal_reserve());
    SH_TRY(sh_schema_parse(text, &schema));
    sh_status status = check(schema, &o);
    if (status >= 0) {
        sh__table_lock();
        status = define_locked(schema, &o, op);
        sh__table_unlock();
    }
    if (status < 0)
        sh_schema_free(schema);
    else
        sh__journal_note(undo_define, (uintptr_t)schema);
    return status;
}

/* ---- ending ---- */

static sh_definition *retired; /* under the table lock */

static void undefine_locked(sh_op *op, const sh_definition *definition) {
    sh_definition *d = (sh_definition *)(uintptr_t)definition;
    atomic_store_explicit(&op->schema, NULL, memory_order_release);
    atomic_store_explicit(&op->definition, NULL, memory_order_release);
    drop_kernels(d);
    sh__slots_publish(op);
    d->before = retired;
    retired = d;
}

sh_status sh_op_undefine(const char *name) {
    if (sh__error_pending()) return sh_error()->code;
    sh_op *op = name ? (sh_op *)(uintptr_t)sh_op_find(name) : NULL;
    if (!op) return sh_fail(SH_ERROR_OP, "there is no op %s", name ? name : "NULL");
    sh__table_lock();
    const sh_definition *d = sh__definition(op);
    const bool defined = sh_op_schema(op) != NULL;
    if (d) undefine_locked(op, d);
    sh__table_unlock();
    if (d) return SH_OK;
    return sh_fail(SH_ERROR_OP, defined ? "op %s is built in" : "there is no op %s", name);
}

const char *sh_op_registrant(const sh_op *op) {
    const sh_definition *d = sh__definition(op);
    return d ? d->registrant : sh_op_schema(op) ? "built-in" : "nobody";
}

bool sh_call_cost(const sh_call *call, double *flops, double *bytes) {
    const sh_definition *d = sh__definition(call->op);
    if (!d || !d->cost || d->schema != call->schema || !call->has_result) return false;
    *flops = *bytes = 0;
    d->cost(call, flops, bytes, d->infer_user);
    return true;
}

/* ---- inferring ---- */

static sh_status is_gone(const sh_call *call) {
    return sh_fail(SH_ERROR_OP, "%s was undefined while a call of it was in flight", call->op->name);
}

sh_status sh__call_infer(const sh_call *call, const sh_value *args, sh_spec *results) {
    const sh_op *op = call->op;
    for (uint32_t i = 0; i < call->nresults; i++) results[i].like = NULL;
    if (SH_LIKELY(op->infer != NULL)) return op->infer(args, results, op->infer_user);
    const sh_definition *d = sh__definition(op);
    if (!d || d->schema != call->schema || !d->infers) return is_gone(call);
    for (uint32_t i = 0; i < call->nresults; i++) results[i].dtype = SH_NO_DTYPE;
    if (d->infer) SH_TRY(d->infer(args, results, d->infer_user));
    for (uint32_t i = 0; i < call->nresults; i++) {
        const sh_param *result = &call->schema->returns[i];
        results[i].like = NULL;
        if (result->type == SH_TYPE_TENSOR && !result->written) SH_TRY(sh__spec_check(&results[i], op->name));
    }
    return SH_OK;
}
