/* run.c - a plan runs: addresses for what is bound late, then the steps, then the outputs.
 *
 * A plain plan, kernels and units alone, makes its outputs first and is one loop over rows. Any other makes fresh memory
 * at its first step and drops what steps hand on to the dispatcher after its last. */
#include "graph/compile/run.h"

#include <string.h>

#include "graph/held.h"

/* ---- buffers outside the arena ---- */

static inline void bind(sh_workspace *w, uint32_t buffer) {
    const sh_tensor *base = w->bases[buffer];
    for (const sh_site *site = w->sites[buffer]; site; site = site->next) {
        site->record->data = base->data + site->at;
        site->record->storage = base->storage;
    }
}

static sh_status make_fresh(const sh_plan *plan, sh_workspace *w, uint32_t buffer) {
    w->bases[buffer] = sh__tensor_alloc(&plan->buffers[buffer].spec, SH_HOST);
    if (!w->bases[buffer]) return SH_ERROR_MEMORY;
    bind(w, buffer);
    return SH_OK;
}

static void drop_fresh(sh_workspace *w, uint32_t buffer) {
    if (w->bases[buffer]) sh__release(w->bases[buffer]);
    w->bases[buffer] = NULL;
}

static void take_input(const sh_plan *plan, sh_workspace *w, uint32_t value, sh_tensor *input) {
    const uint32_t buffer = plan->values[value].buffer;
    if (buffer == SH_NO_BUFFER) {
        w->made[value] = sh_value_tensor(sh_keep(input));
        return;
    }
    w->bases[buffer] = input;
    bind(w, buffer);
}

/* ---- steps ---- */

/* What failed, by the op's name and the node's. */
static sh_status failed(const sh_plan_step *step, sh_status status) {
    const char *op = step->op ? step->op->name : step->type ? step->type->name : step->name;
    sh__error_at(op, "node of a plan", step->name);
    return sh__error_ensure(status);
}

static inline sh_status run_plain_step(const sh_plan *plan, const sh_workspace *w, uint32_t s) {
    const sh_ready *row = &w->ready[s];
    if (SH_LIKELY(row->thunk != NULL)) return row->thunk(row->kernel, row->results, row->args);
    return plan->steps.at[s].type->run(plan->steps.at[s].unit, &w->frames[s]);
}

static sh_status run_plain(const sh_plan *plan, sh_workspace *w) {
    for (uint32_t i = 0; i < plan->nfresh; i++) SH_TRY(make_fresh(plan, w, plan->fresh[i]));
    for (uint32_t s = 0; s < plan->steps.n; s++) {
        const sh_status status = run_plain_step(plan, w, s);
        if (SH_UNLIKELY(status < 0)) return failed(&plan->steps.at[s], status);
    }
    return SH_OK;
}

/* Fresh memory whose first step this is. */
static sh_status begin_step(const sh_plan *plan, sh_workspace *w, uint32_t s) {
    const sh_plan_step *step = &plan->steps.at[s];
    for (uint32_t i = 0; i < step->nresults; i++) {
        const uint32_t buffer = plan->values[step->results[i]].buffer;
        if (buffer != SH_NO_BUFFER && plan->buffers[buffer].home == SH_HOME_FRESH && !w->bases[buffer])
            SH_TRY(make_fresh(plan, w, buffer));
    }
    return SH_OK;
}

static void end_value(const sh_plan *plan, sh_workspace *w, uint32_t value, uint32_t s) {
    const uint32_t buffer = plan->values[value].buffer;
    if (plan->values[value].last == s) sh__value_drop(&w->made[value]);
    if (buffer != SH_NO_BUFFER && plan->buffers[buffer].home == SH_HOME_FRESH &&
        plan->buffers[buffer].last == s)
        drop_fresh(w, buffer);
}

static sh_status run_mixed(const sh_plan *plan, sh_workspace *w) {
    for (uint32_t s = 0; s < plan->steps.n; s++) {
        const sh_plan_step *step = &plan->steps.at[s];
        const bool plain = step->kind == SH_STEP_KERNEL || step->kind == SH_STEP_UNIT;
        sh_status status = begin_step(plan, w, s);
        if (status >= 0) status = plain ? run_plain_step(plan, w, s) : sh__run_other_step(plan, w, s);
        if (status < 0) return failed(step, status);
        for (uint32_t i = 0; i < step->nloads; i++) end_value(plan, w, step->loads[i].id, s);
        for (uint32_t i = 0; i < step->nresults; i++) end_value(plan, w, step->results[i], s);
    }
    return SH_OK;
}

/* ---- outputs ---- */

/* A view's offset is in its own elements. */
static sh_tensor *view_of(const sh_plan_value *value, const sh_tensor *base) {
    sh_tensor *view = sh__tensor_view(base);
    if (!view) return NULL;
    view->dtype = (uint8_t)value->spec.dtype;
    view->element = (uint32_t)sh_dtype_size(value->spec.dtype);
    sh__tensor_set_layout(view, value->spec.ndim, value->spec.sizes, value->strides,
                          (int64_t)(value->at / view->element));
    return view;
}

sh_tensor *sh__real_tensor(const sh_plan *plan, sh_workspace *w, uint32_t id) {
    const sh_plan_value *value = &plan->values[id];
    if (!sh__is_absent(w->made[id])) return sh_value_as_tensor(w->made[id]);
    sh_tensor *base = value->buffer == SH_NO_BUFFER ? NULL : w->bases[value->buffer];
    if (!base) {
        sh_fail(SH_ERROR_VALUE, "%%%s of a plan has no value yet", value->name);
        return NULL;
    }
    sh_tensor *t = plan->buffers[value->buffer].own == id ? sh_keep(base) : view_of(value, base);
    if (t) w->made[id] = sh_value_tensor(t);
    return t;
}

static sh_status give_list(const sh_plan *plan, sh_workspace *w, sh_value *result) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < plan->noutputs; i++) {
        const sh_value made = w->made[plan->outputs[i]];
        n += made.tag == SH_TAG_TENSORS ? made.count : 1;
    }
    sh_list *list = sh__list_new(n);
    if (!list) return SH_ERROR_MEMORY;
    *result = sh_value_tensors((sh_tensors){list->at, n});
    n = 0;
    for (uint32_t i = 0; i < plan->noutputs; i++) {
        const sh_value made = w->made[plan->outputs[i]];
        for (uint32_t k = 0; made.tag == SH_TAG_TENSORS && k < made.count; k++)
            list->at[n++] = sh_keep(made.as.tensors[k]);
        if (made.tag == SH_TAG_TENSORS) continue;
        sh_tensor *t = sh__real_tensor(plan, w, plan->outputs[i]);
        if (!t) {
            sh__list_release(list);
            return sh__error_ensure(SH_ERROR_MEMORY);
        }
        list->at[n++] = sh_keep(t);
    }
    return sh__value_own(result);
}

static sh_status give(const sh_plan *plan, sh_workspace *w, sh_value *result) {
    if (plan->output_is_list || plan->noutputs != 1) return give_list(plan, w, result);
    const uint32_t id = plan->outputs[0];
    if (plan->values[id].is_list) {
        *result = w->made[id];
        SH_TRY(sh__value_hold(result));
        return sh__value_own(result);
    }
    sh_tensor *t = sh__real_tensor(plan, w, id);
    *result = sh_value_tensor(t);
    return t && sh__own(sh_keep(t)) ? SH_OK : sh__error_ensure(SH_ERROR_MEMORY);
}

/* ---- a run ---- */

static void clear(const sh_plan *plan, sh_workspace *w) {
    for (uint32_t i = 0; i < plan->nfresh; i++) drop_fresh(w, plan->fresh[i]);
    if (plan->plain) {
        for (uint32_t i = 0; i < plan->noutputs; i++) sh__value_drop(&w->made[plan->outputs[i]]);
        for (uint32_t i = 0; i < plan->ninputs; i++) sh__value_drop(&w->made[plan->inputs[i]]);
        return;
    }
    for (uint32_t i = 0; i < plan->nvalues; i++) sh__value_drop(&w->made[i]);
}

sh_status sh__plan_run(const sh_plan *plan, sh_workspace *w, sh_tensor *const *inputs, sh_value *result) {
    for (uint32_t i = 0; i < plan->ninputs; i++) take_input(plan, w, plan->inputs[i], inputs[i]);
    sh_status status = plan->plain ? run_plain(plan, w) : run_mixed(plan, w);
    *result = sh_none();
    if (SH_LIKELY(status >= 0)) status = give(plan, w, result);
    clear(plan, w);
    return status;
}
