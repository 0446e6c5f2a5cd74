/* run_step.c - steps that go through the dispatcher, or make their results themselves.
 *
 * Their arguments are tensors of their own, which modes, functions and results may hold on to. What they give is checked
 * against what the trace saw: the steps behind them are made for that. */
#include <inttypes.h>
#include <string.h>

#include "graph/compile/run.h"
#include "graph/held.h"
#include "graph/invoke.h"

/* ---- arguments ---- */

typedef struct arguments {
    sh_value at[SH_MAX_ARGS];
    sh_tensor *target;
} arguments;

/* The row's own arguments, with tensors in the place of records. */
static sh_status load(const sh_plan *plan, sh_workspace *w, uint32_t s, arguments *a) {
    const sh_plan_step *step = &plan->steps.at[s];
    memcpy(a->at, w->ready[s].args, step->nargs * sizeof *a->at);
    a->target = NULL;
    for (uint32_t i = 0; i < step->nloads; i++) {
        const sh_load *l = &step->loads[i];
        sh_tensor *t = sh__real_tensor(plan, w, l->id);
        if (!t) return sh__error_ensure(SH_ERROR_MEMORY);
        if (l->argument == SH__TARGET)
            a->target = t;
        else if (l->entry < 0)
            a->at[l->argument] = sh_value_tensor(t);
        else
            ((sh_tensor **)(uintptr_t)a->at[l->argument].as.tensors)[l->entry] = t;
    }
    if (step->variant == SH_INPLACE) a->target = sh_value_as_tensor(a->at[0]);
    return SH_OK;
}

/* ---- results ---- */

static sh_status check(const sh_plan_value *value, const sh_tensor *t) {
    char got[160], expected[160];
    const bool same = t->dtype == value->spec.dtype && t->ndim == value->spec.ndim &&
                      memcmp(t->sizes, value->spec.sizes, t->ndim * sizeof *t->sizes) == 0;
    if (same || !value->known) return SH_OK;
    sh_tensor shape = {.dtype = (uint8_t)value->spec.dtype, .ndim = (uint8_t)value->spec.ndim};
    memcpy(shape.sizes, value->spec.sizes, sizeof shape.sizes);
    sh__tensor_print_type(t, got, sizeof got);
    sh__tensor_print_type(&shape, expected, sizeof expected);
    return sh_fail(SH_ERROR_RESULT, "%%%s is %s, and was %s when it was compiled", value->name, got,
                   expected);
}

/* Kernels behind read the record: it becomes the tensor's likeness. A list has none. */
static void show(sh_workspace *w, uint32_t id, const sh_tensor *t) {
    sh_tensor *record = &w->records[id];
    record->flags = t->flags;
    record->dtype = t->dtype;
    record->device = t->device;
    record->element = t->element;
    record->ndim = t->ndim;
    record->numel = t->numel;
    record->data = t->data;
    record->address = t->address;
    record->storage = t->storage;
    memcpy(record->sizes, t->sizes, sizeof t->sizes);
    memcpy(record->strides, t->strides, sizeof t->strides);
}

static sh_status keep_result(const sh_plan *plan, sh_workspace *w, uint32_t id, sh_value result) {
    const sh_plan_value *value = &plan->values[id];
    const bool list = result.tag == SH_TAG_TENSORS;
    if ((result.tag != SH_TAG_TENSOR && !list) || list != value->is_list)
        return sh_fail(SH_ERROR_RESULT, "%%%s gave %s, and did not when it was compiled", value->name,
                       list ? "a list" : "no tensor");
    if (!list) SH_TRY(check(value, result.as.tensor));
    SH_TRY(sh__value_hold(&result));
    w->made[id] = result;
    if (!list) show(w, id, result.as.tensor);
    return SH_OK;
}

static sh_status keep_results(const sh_plan *plan, sh_workspace *w, const sh_plan_step *step,
                              const sh_value *results) {
    for (uint32_t i = 0; i < step->nresults; i++) SH_TRY(keep_result(plan, w, step->results[i], results[i]));
    return SH_OK;
}

/* ---- kinds ---- */

static sh_status run_maker(const sh_plan *plan, sh_workspace *w, uint32_t s, sh_value *results) {
    const sh_plan_step *step = &plan->steps.at[s];
    arguments a;
    SH_TRY(load(plan, w, s, &a));
    return step->op->thunk_returns(step->slot->typed, results, a.at);
}

/* Below every mode: what they do to this call is in the plan. */
static sh_status run_call(const sh_plan *plan, sh_workspace *w, uint32_t s, sh_value *results) {
    const sh_plan_step *step = &plan->steps.at[s];
    const void *const caller[] = {NULL, step->site};
    arguments a;
    sh_switch off;
    SH_TRY(load(plan, w, s, &a));
    sh_switch_off(&off, SH_OFF_ALL);
    const sh_status status =
        sh__call_placed(step->op, step->schema, step->variant, a.target, a.at, results, caller);
    sh_switch_end(&off);
    return status;
}

static sh_status run_kept(const sh_plan *plan, sh_workspace *w, uint32_t s, sh_value *results) {
    const sh_plan_step *step = &plan->steps.at[s];
    const void *const caller[] = {NULL, step->site};
    arguments a;
    SH_TRY(load(plan, w, s, &a));
    return sh__call_from(step->op, step->schema, step->variant, a.target, a.at, results, caller,
                         (uint32_t)(step->kept >> 32), (uint32_t)step->kept);
}

static sh_status run_item(const sh_plan *plan, sh_workspace *w, uint32_t s, sh_value *results) {
    const sh_plan_step *step = &plan->steps.at[s];
    results[0] = sh_value_item(w->made[step->loads[0].id], step->item);
    return sh__error_pending() ? sh_error()->code : SH_OK;
}

/* ---- by name ---- */

typedef struct named {
    const sh_plan *plan;
    sh_workspace *w;
    const sh_plan_step *step;
} named;

static uint32_t first_load(const sh_plan_step *step, uint32_t input, uint32_t *n) {
    uint32_t first = 0;
    while (first < step->nloads && step->loads[first].argument != input) first++;
    *n = 0;
    while (first + *n < step->nloads && step->loads[first + *n].argument == input) ++*n;
    return first;
}

static sh_status resolve(void *user, const sh_node *node, sh_value *value) {
    named *c = user;
    uint32_t input = 0, n;
    while (node != c->step->node->uses[input].input) input++;
    const uint32_t first = first_load(c->step, input, &n);
    if (n == 1) {
        const uint32_t id = c->step->loads[first].id;
        *value = c->plan->values[id].is_list ? c->w->made[id]
                                             : sh_value_tensor(sh__real_tensor(c->plan, c->w, id));
        return sh__error_pending() ? sh_error()->code : SH_OK;
    }
    sh_list *list = sh__list_new(n);
    if (!list) return SH_ERROR_MEMORY;
    *value = sh_value_tensors((sh_tensors){list->at, n});
    for (uint32_t i = 0; i < n; i++)
        list->at[i] = sh_keep(sh__real_tensor(c->plan, c->w, c->step->loads[first + i].id));
    return sh__error_pending() ? sh_error()->code : sh__value_own(value);
}

static sh_status call_function(named *c, sh_function_entry *function, sh_value *results) {
    const sh_node *node = c->step->node;
    const size_t n = node->args.n + node->kwargs.n;
    sh_scratch scratch = {0};
    sh_argument *given = sh__alloc((n + 1) * sizeof *given);
    sh_status status = given ? sh__node_arguments(node, resolve, c, &scratch, given) : SH_ERROR_MEMORY;
    if (status >= 0) status = sh__function_call_at(function, (sh_arguments){given, n}, node->site, results);
    sh__free(given);
    sh__free(scratch.at);
    return status;
}

/* A user's function issues its ops under the modes that are pushed, as it would outside. */
static sh_status run_named(const sh_plan *plan, sh_workspace *w, uint32_t s, sh_value *results) {
    named c = {plan, w, &plan->steps.at[s]};
    sh_function_entry *function = sh__function_find(c.step->node->target);
    sh_scratch scratch = {0};
    sh_switch off;
    if (function) {
        const sh_status status = call_function(&c, function, results);
        sh__function_release(function);
        return status;
    }
    sh_switch_off(&off, SH_OFF_ALL);
    const sh_status status = sh__node_call(c.step->node, resolve, &c, &scratch, results);
    sh_switch_end(&off);
    sh__free(scratch.at);
    return status;
}

/* ---- a step ---- */

static sh_status run_kind(const sh_plan *plan, sh_workspace *w, uint32_t s, sh_value *results) {
    const sh_plan_step *step = &plan->steps.at[s];
    switch (step->kind) {
    case SH_STEP_MAKER: return run_maker(plan, w, s, results);
    case SH_STEP_KEPT: return run_kept(plan, w, s, results);
    case SH_STEP_ITEM: return run_item(plan, w, s, results);
    default: return step->node ? run_named(plan, w, s, results) : run_call(plan, w, s, results);
    }
}

/* In the scopes that were open where it was recorded, which is what the modes find around the eager call: the names that an
 * interpreter gives are among them. */
sh_status sh__run_other_step(const sh_plan *plan, sh_workspace *w, uint32_t s) {
    const sh_plan_step *step = &plan->steps.at[s];
    sh_value results[SH_MAX_RESULTS] = {{0}};
    sh_scope scope = sh_scope_begin(__FILE__, __LINE__);
    sh_status status = *step->scope ? sh_name_push(step->scope) : SH_OK;
    if (status >= 0) {
        status = run_kind(plan, w, s, results);
        if (status >= 0) status = keep_results(plan, w, step, results);
        if (*step->scope) sh_name_pop();
    }
    sh_scope_end(&scope);
    return status;
}
