/* draft.h - plans made by hand, and run step by step in memory of their own: for tests of what edits drafts. */
#ifndef SH_TESTS_DRAFT_H
#define SH_TESTS_DRAFT_H

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/table.h"
#include "dispatch/tensor_impl.h"
#include "graph/compile/plan.h"

/* A value among the arguments of draft_op. */
static inline sh_value draft_value(uint32_t id) { return (sh_value){.tag = SH_TAG_TENSOR, .as.bits = id}; }

static inline sh_spec draft_spec(const sh_tensor *t) {
    sh_spec spec = {.dtype = (sh_dtype)t->dtype, .ndim = t->ndim};
    memcpy(spec.sizes, t->sizes, sizeof spec.sizes);
    return spec;
}

static inline size_t draft_bytes(const sh_spec *spec) {
    size_t n = sh_dtype_size(spec->dtype);
    for (int i = 0; i < spec->ndim; i++) n *= (size_t)spec->sizes[i];
    return n;
}

/* Argument number `input` of the runs, laid out as t. */
static inline uint32_t draft_input(sh_plan *plan, uint32_t input, const sh_tensor *t) {
    const sh_spec spec = draft_spec(t);
    const uint32_t buffer = sh__plan_add_buffer(plan, SH_HOME_INPUT, 0),
                   id = sh__plan_add_value(plan, "x", &spec, buffer);
    plan->buffers[buffer].input = input;
    memcpy(plan->values[id].strides, t->strides, sizeof t->strides);
    return id;
}

static inline uint32_t draft_number(sh_plan *plan, sh_scalar number) {
    return sh__plan_add_constant(plan, "", sh_tensor_from_number(number));
}

static inline sh_tensor draft_record(const sh_plan *plan, uint32_t id, char *data) {
    const sh_plan_value *v = &plan->values[id];
    const sh_tensor *constant = sh__value_constant(plan, id);
    sh_tensor t = {.dtype = (uint8_t)v->spec.dtype,
                   .element = (uint32_t)sh_dtype_size(v->spec.dtype),
                   .data = constant ? constant->data : data};
    sh__tensor_set_layout(&t, v->spec.ndim, v->spec.sizes, v->strides, 0);
    if (constant) t.flags = constant->flags;
    return t;
}

static inline void draft_load_all(const sh_plan_step *step, sh_tensor *records, sh_value *args) {
    memcpy(args, step->args, step->nargs * sizeof *args);
    for (uint32_t i = 0; i < step->nloads; i++)
        args[step->loads[i].argument] = sh_value_tensor(&records[step->loads[i].id]);
}

/* What the step's result is. */
static inline sh_status draft_infer(const sh_plan *plan, const sh_plan_step *step, sh_spec *spec) {
    sh_tensor *records = calloc(plan->nvalues, sizeof *records);
    sh_value args[SH_MAX_ARGS];
    for (uint32_t i = 0; i < step->nloads; i++)
        records[step->loads[i].id] = draft_record(plan, step->loads[i].id, NULL);
    draft_load_all(step, records, args);
    const sh_call call = {
        .op = step->op, .schema = step->schema, .args = args, .nargs = (uint8_t)step->nargs, .nresults = 1};
    const sh_status status = sh__call_infer(&call, args, spec);
    if (status == SH_OK) sh__spec_fill(spec);
    free(records);
    return status;
}

/* A step of this op on the arguments (in schema order, all of them), and its result; UINT32_MAX and an error: they don't
 * fit. */
static inline uint32_t draft_call(sh_plan *plan, const sh_op *op, const sh_value *args) {
    sh_plan_step step = {.kind = SH_STEP_KERNEL, .name = "op", .scope = "", .op = op, .schema = op->schema};
    sh_spec spec;
    step.slot = op->slots[SH_BACKEND_CPU];
    step.nargs = step.schema->nparams;
    step.args = sh__pool_alloc(&plan->pool, step.nargs * sizeof *args);
    step.loads = sh__pool_alloc(&plan->pool, step.nargs * sizeof *step.loads);
    memcpy(step.args, args, step.nargs * sizeof *args);
    for (uint32_t i = 0; i < step.nargs; i++)
        if (args[i].tag == SH_TAG_TENSOR)
            step.loads[step.nloads++] = (sh_load){(uint32_t)args[i].as.bits, i, -1};
    if (draft_infer(plan, &step, &spec) < 0) return UINT32_MAX;
    step.nresults = 1;
    step.results[0] =
        sh__plan_add_value(plan, "y", &spec, sh__plan_add_buffer(plan, SH_HOME_ARENA, draft_bytes(&spec)));
    sh__plan_add_step(&plan->steps, &step);
    return step.results[0];
}

/* The same by name, with up to three arguments; what is left out has its default. */
static inline uint32_t draft_op(sh_plan *plan, const char *name, sh_value a, sh_value b, sh_value c) {
    const sh_op *op = sh_op_find(name);
    sh_value args[SH_MAX_ARGS] = {a, b, c};
    for (uint32_t i = 0; i < op->schema->nparams; i++)
        if (args[i].tag == SH_TAG_NONE) args[i] = op->schema->params[i].value;
    const uint32_t id = draft_call(plan, op, args);
    cr_assert(id != UINT32_MAX, "%s", sh_error() ? sh_error()->message : "");
    return id;
}

/* ---- running ---- */

/* A plan's values in memory; each buffer has its own, full of ones and so of what no op may read. */
typedef struct draft_run {
    const sh_plan *plan;
    char **buffers, *scratch;
    sh_tensor *records;
} draft_run;

static inline draft_run draft_open(const sh_plan *plan, sh_tensor *const *inputs) {
    draft_run run = {plan, calloc(plan->nbuffers + 1, sizeof(char *)), NULL,
                     calloc(plan->nvalues + 1, sizeof(sh_tensor))};
    size_t most = 64;
    for (uint32_t i = 0; i < plan->nbuffers; i++) {
        const sh_plan_buffer *b = &plan->buffers[i];
        if (b->home != SH_HOME_ARENA && b->home != SH_HOME_FRESH) continue;
        run.buffers[i] = malloc(b->size + 1);
        memset(run.buffers[i], 0xff, b->size);
    }
    for (uint32_t i = 0; i < plan->nvalues; i++) {
        const sh_plan_value *v = &plan->values[i];
        const sh_plan_buffer *b = &plan->buffers[v->buffer];
        char *base = b->home == SH_HOME_INPUT ? inputs[b->input]->data : run.buffers[v->buffer];
        run.records[i] = draft_record(plan, i, base ? base + v->at : NULL);
    }
    for (uint32_t i = 0; i < plan->steps.n; i++) {
        const sh_plan_step *s = &plan->steps.at[i];
        const size_t wanted = s->kind == SH_STEP_UNIT && s->type->scratch ? s->type->scratch(s->unit) : 0;
        if (wanted > most) most = wanted;
    }
    run.scratch = aligned_alloc(64, (most + 63) / 64 * 64);
    return run;
}

static inline sh_status draft_run_step(draft_run *run, const sh_plan_step *step) {
    const sh_unit_frame frame = {.step = step, .records = run->records, .scratch = run->scratch};
    sh_value args[SH_MAX_ARGS], results[1];
    if (step->kind == SH_STEP_UNIT) return step->type->run(step->unit, &frame);
    draft_load_all(step, run->records, args);
    results[0] = sh_value_tensor(&run->records[step->results[0]]);
    return step->op->thunk_out(step->slot->typed, results, args);
}

static inline sh_status draft_run_all(draft_run *run) {
    for (uint32_t i = 0; i < run->plan->steps.n; i++) SH_TRY(draft_run_step(run, &run->plan->steps.at[i]));
    return SH_OK;
}

static inline void draft_close(draft_run *run) {
    for (uint32_t i = 0; i < run->plan->nbuffers; i++) free(run->buffers[i]);
    free(run->buffers);
    free(run->records);
    free(run->scratch);
}

#endif
