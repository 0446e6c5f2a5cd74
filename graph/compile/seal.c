/* seal.c - lifetimes, homes, in place.
 *
 * A buffer is in use from the first step that reads or writes a value on it to the last. An elementwise kernel, or a unit
 * that says so, may write where an operand lies that nobody reads afterwards: then both values are on one buffer. What
 * steps of the dispatcher touch, and what the caller gets, others may hold on to: such a buffer is fresh for each run. */
#include "graph/compile/seal.h"

#include <string.h>

#include "dispatch/memory_impl.h"

/* ---- lifetimes ---- */

static void touch(sh_plan *plan, uint32_t value, uint32_t step) {
    const uint32_t id = plan->values[value].buffer;
    plan->values[value].last = step;
    if (id == SH_NO_BUFFER) return;
    sh_plan_buffer *buffer = &plan->buffers[id];
    if (step < buffer->first) buffer->first = step;
    if (step > buffer->last) buffer->last = step;
}

static void find_lifetimes(sh_plan *plan) {
    for (uint32_t i = 0; i < plan->nbuffers; i++) {
        plan->buffers[i].first = UINT32_MAX;
        plan->buffers[i].last = 0;
    }
    for (uint32_t s = 0; s < plan->steps.n; s++) {
        const sh_plan_step *step = &plan->steps.at[s];
        for (uint32_t i = 0; i < step->nloads; i++) touch(plan, step->loads[i].id, s);
        for (uint32_t i = 0; i < step->nresults; i++) touch(plan, step->results[i], s);
    }
    for (uint32_t i = 0; i < plan->noutputs; i++) touch(plan, plan->outputs[i], plan->steps.n);
}

/* ---- homes ---- */

static void make_fresh(sh_plan *plan, uint32_t value) {
    const uint32_t id = plan->values[value].buffer;
    if (id != SH_NO_BUFFER && plan->buffers[id].home == SH_HOME_ARENA) plan->buffers[id].home = SH_HOME_FRESH;
}

static void choose_homes(sh_plan *plan) {
    plan->plain = true;
    for (uint32_t s = 0; s < plan->steps.n; s++) {
        const sh_plan_step *step = &plan->steps.at[s];
        if (step->kind == SH_STEP_KERNEL || step->kind == SH_STEP_UNIT) continue;
        plan->plain = false;
        for (uint32_t i = 0; i < step->nloads; i++) make_fresh(plan, step->loads[i].id);
        for (uint32_t i = 0; i < step->nresults; i++) make_fresh(plan, step->results[i]);
    }
    for (uint32_t i = 0; i < plan->noutputs; i++) make_fresh(plan, plan->outputs[i]);
}

static bool is_all_of_it(const sh_plan *plan, const sh_plan_value *value) {
    return !value->at && !value->opaque && sh__value_is_contiguous(value) &&
           sh__spec_bytes(&value->spec) == plan->buffers[value->buffer].size;
}

/* What a buffer's own tensor is: of an input or a constant the first value on it; of memory that is made the first that is all
 * of it as it lies, else plain bytes. */
static void choose_own(sh_plan *plan) {
    for (uint32_t i = 0; i < plan->nbuffers; i++) {
        plan->buffers[i].own = UINT32_MAX;
        plan->buffers[i].spec =
            (sh_spec){.dtype = SH_U8, .ndim = 1, .sizes = {(int64_t)plan->buffers[i].size}};
    }
    for (uint32_t i = plan->nvalues; i-- > 0;) {
        const sh_plan_value *value = &plan->values[i];
        if (value->buffer == SH_NO_BUFFER) continue;
        sh_plan_buffer *buffer = &plan->buffers[value->buffer];
        const bool given = buffer->home == SH_HOME_INPUT || buffer->home == SH_HOME_CONSTANT;
        if (!given && !is_all_of_it(plan, value)) continue;
        buffer->own = i;
        buffer->spec = value->spec;
    }
}

/* ---- in place ---- */

/* Does the buffer end with this step, and hold nothing but this value? `on` counts values by buffer. */
static bool ends_here(const sh_plan *plan, const uint32_t *on, uint32_t value, uint32_t step) {
    const sh_plan_value *v = &plan->values[value];
    if (v->buffer == SH_NO_BUFFER || v->opaque || v->at || on[v->buffer] != 1) return false;
    const sh_plan_buffer *buffer = &plan->buffers[v->buffer];
    return buffer->home == SH_HOME_ARENA && buffer->last == step && buffer->first < step;
}

/* The kernel reads each element before it writes there, if both lie alike. */
static bool lie_alike(const sh_plan_value *a, const sh_plan_value *b) {
    return a->spec.dtype == b->spec.dtype && sh__same_sizes(&a->spec, &b->spec) &&
           sh__value_is_contiguous(a) && sh__value_is_contiguous(b);
}

static void merge(sh_plan *plan, uint32_t *on, uint32_t result, uint32_t operand) {
    const uint32_t gone = plan->values[result].buffer, stays = plan->values[operand].buffer;
    sh_plan_buffer *buffer = &plan->buffers[stays];
    buffer->last = plan->buffers[gone].last;
    plan->buffers[gone].first = UINT32_MAX;
    plan->buffers[gone].last = 0;
    plan->values[result].buffer = stays;
    on[stays] = 1; /* the operand is never read again */
}

static bool takes_over(const sh_plan_step *step, uint32_t load, uint32_t result) {
    if (step->kind == SH_STEP_UNIT)
        return step->type->takes_over && step->type->takes_over(step->unit, load, result);
    return step->kind == SH_STEP_KERNEL && (step->op->tags & SH_OP_POINTWISE) && step->nresults == 1;
}

static void write_in_place(sh_plan *plan, uint32_t *on, uint32_t s, uint32_t result) {
    const sh_plan_step *step = &plan->steps.at[s];
    const sh_plan_value *value = &plan->values[step->results[result]];
    if (value->buffer == SH_NO_BUFFER) return;
    const sh_plan_buffer *buffer = &plan->buffers[value->buffer];
    if (buffer->home != SH_HOME_ARENA || buffer->first != s || on[value->buffer] != 1) return;
    for (uint32_t i = 0; i < step->nloads; i++) {
        const uint32_t operand = step->loads[i].id;
        if (!ends_here(plan, on, operand, s) || !lie_alike(&plan->values[operand], value)) continue;
        if (!takes_over(step, i, result)) continue;
        merge(plan, on, step->results[result], operand);
        return;
    }
}

static sh_status do_in_place(sh_plan *plan) {
    uint32_t *on = sh__calloc(plan->nbuffers + 1, sizeof *on);
    if (!on) return SH_ERROR_MEMORY;
    for (uint32_t i = 0; i < plan->nvalues; i++)
        if (plan->values[i].buffer != SH_NO_BUFFER) on[plan->values[i].buffer]++;
    for (uint32_t s = 0; s < plan->steps.n; s++)
        for (uint32_t i = 0; i < plan->steps.at[s].nresults; i++) write_in_place(plan, on, s, i);
    sh__free(on);
    return SH_OK;
}

/* ---- constants and scratch ---- */

static void drop_constants(sh_plan *plan) {
    for (uint32_t i = 0; i < plan->nbuffers; i++) {
        sh_plan_buffer *buffer = &plan->buffers[i];
        if (buffer->home != SH_HOME_CONSTANT || buffer->first <= buffer->last || !buffer->tensor) continue;
        sh_release(buffer->tensor);
        buffer->tensor = NULL;
    }
}

static size_t scratch_of(const sh_plan *plan) {
    size_t most = 0;
    for (uint32_t s = 0; s < plan->steps.n; s++) {
        const sh_plan_step *step = &plan->steps.at[s];
        const size_t size =
            step->kind == SH_STEP_UNIT && step->type->scratch ? step->type->scratch(step->unit) : 0;
        if (size > most) most = size;
    }
    return most;
}

static sh_status list_fresh(sh_plan *plan) {
    plan->fresh = sh__alloc((plan->nbuffers + 1) * sizeof *plan->fresh);
    for (uint32_t i = 0; plan->fresh && i < plan->nbuffers; i++)
        if (plan->buffers[i].home == SH_HOME_FRESH) plan->fresh[plan->nfresh++] = i;
    return plan->fresh ? SH_OK : SH_ERROR_MEMORY;
}

sh_status sh__plan_seal(sh_plan *plan) {
    find_lifetimes(plan);
    choose_homes(plan);
    SH_TRY(do_in_place(plan));
    SH_TRY(sh__arena_place(plan));
    SH_TRY(list_fresh(plan));
    choose_own(plan);
    drop_constants(plan);
    plan->arena = plan->scratch_at + scratch_of(plan);
    return SH_OK;
}
