/* plan_draft.c - see plan_draft.h. */
#include "tests/plan_draft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/tensor_impl.h"

/* ---- making ---- */

sh_status draft_begin(draft *d) {
    memset(d, 0, sizeof *d);
    d->plan = sh__plan_new();
    return d->plan ? SH_OK : SH_ERROR_MEMORY;
}

static uint32_t value_of(const draft *d, const sh_tensor *t) {
    uint32_t id = 0;
    while (id < d->plan->nvalues && d->eager[id] != t) id++;
    return id;
}

static sh_tensor *add(draft *d, sh_tensor *t, uint32_t buffer) {
    sh_spec spec = {.dtype = (sh_dtype)t->dtype, .ndim = t->ndim};
    memcpy(spec.sizes, t->sizes, sizeof spec.sizes);
    const uint32_t id = buffer == UINT32_MAX ? UINT32_MAX : sh__plan_add_value(d->plan, "v", &spec, buffer);
    if (id == UINT32_MAX) return NULL;
    memcpy(d->plan->values[id].strides, t->strides, sizeof t->strides);
    return d->eager[id] = t;
}

sh_tensor *draft_input(draft *d, sh_tensor *t) {
    return t ? add(d, t, sh__plan_add_buffer(d->plan, SH_HOME_INPUT, (size_t)t->numel * t->element)) : NULL;
}

sh_tensor *draft_constant(draft *d, sh_tensor *t) {
    const uint32_t id = t ? sh__plan_add_constant(d->plan, "c", t) : UINT32_MAX;
    return id == UINT32_MAX ? NULL : (d->eager[id] = t);
}

sh_tensor *draft_view(draft *d, sh_tensor *base, sh_tensor *view) {
    const sh_plan_value *v = &d->plan->values[value_of(d, base)];
    return view ? add(d, view, v->buffer) : NULL;
}

sh_status draft_output(draft *d, sh_tensor *t) {
    if (!t) return sh_error()->code;
    d->plan->values[value_of(d, t)].output = true;
    return SH_OK;
}

static void load(const draft *d, sh_plan_step *step, const sh_tensor *t, uint32_t argument, int64_t entry) {
    const uint32_t id = value_of(d, t);
    if (id < d->plan->nvalues) step->loads[step->nloads++] = (sh_load){id, argument, entry};
}

static sh_status place(draft *d, sh_plan_step *step, const sh_value *args, size_t n) {
    step->nargs = step->schema->nparams;
    step->args = sh__plan_alloc(d->plan, step->nargs * sizeof *step->args);
    step->loads = sh__plan_alloc(d->plan, 16 * sizeof *step->loads);
    if (!step->args || !step->loads) return SH_ERROR_MEMORY;
    for (uint32_t i = 0; i < step->nargs; i++) {
        step->args[i] = i < n ? args[i] : step->schema->params[i].value;
        if (step->args[i].tag == SH_TAG_TENSOR) load(d, step, step->args[i].as.tensor, i, -1);
        for (uint32_t k = 0; step->args[i].tag == SH_TAG_TENSORS && k < step->args[i].count; k++)
            load(d, step, step->args[i].as.tensors[k], i, k);
        const size_t list = step->args[i].tag == SH_TAG_INTS      ? sizeof *step->args[i].as.ints
                            : step->args[i].tag == SH_TAG_TENSORS ? sizeof *step->args[i].as.tensors
                                                                  : 0;
        void *copy = list ? sh__plan_alloc(d->plan, list * step->args[i].count + 1) : NULL;
        if (list && !copy) return SH_ERROR_MEMORY;
        if (list) step->args[i].as.ints = memcpy(copy, step->args[i].as.ints, list * step->args[i].count);
    }
    return SH_OK;
}

sh_tensor *draft_step(draft *d, const char *op, const sh_value *args, size_t n) {
    if (sh_error()) return NULL;
    sh_plan_step step = {
        .kind = SH_STEP_KERNEL, .name = op, .scope = "", .op = sh_op_find(op), .nresults = 1};
    sh_value run[SH_MAX_ARGS];
    step.schema = sh_op_schema(step.op);
    step.slot = sh__default_slot(step.op, SH_HOST);
    if (place(d, &step, args, n) < 0) return NULL;
    memcpy(run, step.args, step.nargs * sizeof *run);
    sh_tensor *t = sh__call_functional(step.op, run, -1, __builtin_frame_address(0));
    if (!t) return NULL;
    step.results[0] = d->plan->nvalues;
    if (!add(d, t, sh__plan_add_buffer(d->plan, SH_HOME_ARENA, (size_t)t->numel * t->element))) return NULL;
    return sh__plan_add_step(&d->plan->steps, &step) ? t : NULL;
}

uint32_t draft_units(const draft *d, const char *name) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->plan->steps.n; i++)
        n += d->plan->steps.at[i].kind == SH_STEP_UNIT && strcmp(d->plan->steps.at[i].type->name, name) == 0;
    return n;
}

/* ---- running ---- */

static sh_status run_kernel(const sh_plan_step *step, sh_tensor *records) {
    sh_value args[SH_MAX_ARGS], results[SH_MAX_RESULTS];
    sh_tensor *lists[SH_MAX_ARGS * 4];
    memcpy(args, step->args, step->nargs * sizeof *args);
    for (uint32_t i = 0; i < step->nloads; i++) {
        const sh_load *from = &step->loads[i];
        if (from->entry < 0) {
            args[from->argument] = sh_value_tensor(&records[from->id]);
            continue;
        }
        lists[from->entry] = &records[from->id];
        args[from->argument].as.tensors = lists;
    }
    results[0] = sh_value_tensor(&records[step->results[0]]);
    return step->op->thunk_out(step->slot->typed, results, args);
}

static sh_status run_unit(const sh_plan_step *step, sh_tensor *records) {
    const size_t size = step->type->scratch ? step->type->scratch(step->unit) : 0;
    sh_unit_frame frame = {.records = records, .scratch = aligned_alloc(64, size / 64 * 64 + 64)};
    frame.own = step->type->open ? step->type->open(step->unit) : NULL;
    memset(frame.scratch, 0xff, size);
    sh_status status = step->type->open && !frame.own ? sh_error()->code : SH_OK;
    if (status == SH_OK) status = step->type->run(step->unit, &frame);
    if (frame.own) step->type->close(frame.own);
    free(frame.scratch);
    return status;
}

static void make_record(const draft *d, uint32_t id, char *const *memory, sh_tensor *record) {
    const sh_plan_value *v = &d->plan->values[id];
    atomic_init(&record->refs, 1 << 20);
    record->dtype = (uint8_t)v->spec.dtype;
    record->ndim = (uint8_t)v->spec.ndim;
    record->element = (uint32_t)sh_dtype_size(v->spec.dtype);
    record->numel = 1;
    for (int i = 0; i < v->spec.ndim; i++) record->numel *= v->spec.sizes[i];
    memcpy(record->sizes, v->spec.sizes, sizeof record->sizes);
    memcpy(record->strides, v->strides, sizeof record->strides);
    record->flags = sh__value_is_contiguous(v) ? SH_TENSOR_CONTIGUOUS : 0;
    record->data = memory[v->buffer] + v->at;
}

static double difference(const sh_tensor *got, sh_tensor *expected) {
    SH_SCOPE_HERE;
    const float *a = (const float *)(const void *)got->data, *b = sh_tensor_data(sh_contiguous(expected));
    double most = 0, largest = 0;
    for (int64_t i = 0; i < got->numel; i++) {
        most = fmax(most, isnan((double)a[i]) ? INFINITY : fabs((double)a[i] - (double)b[i]));
        largest = fmax(largest, fabs((double)b[i]));
    }
    return largest > 0 ? most / largest : most;
}

static void fill_memory(const draft *d, char **memory) {
    for (uint32_t i = 0; i < d->plan->nbuffers; i++) {
        const sh_plan_buffer *buffer = &d->plan->buffers[i];
        memory[i] = aligned_alloc(64, buffer->size / 64 * 64 + 64);
        memset(memory[i], 0xff, buffer->size / 64 * 64 + 64);
        if (buffer->tensor) memcpy(memory[i], buffer->tensor->data, buffer->size);
    }
    for (uint32_t i = 0; i < d->plan->nvalues && i < DRAFT_VALUES; i++) {
        const sh_plan_value *v = &d->plan->values[i];
        if (d->plan->buffers[v->buffer].home == SH_HOME_INPUT)
            memcpy(memory[v->buffer], d->eager[i]->data, d->plan->buffers[v->buffer].size);
    }
}

double draft_run(const draft *d) {
    const sh_plan *plan = d->plan;
    char **memory = calloc(plan->nbuffers, sizeof *memory);
    sh_tensor *records = aligned_alloc(64, plan->nvalues * sizeof *records);
    double most = 0;
    memset(records, 0, plan->nvalues * sizeof *records);
    fill_memory(d, memory);
    for (uint32_t i = 0; i < plan->nvalues; i++) make_record(d, i, memory, &records[i]);
    for (uint32_t i = 0; i < plan->steps.n && !sh_error(); i++) {
        const sh_plan_step *step = &plan->steps.at[i];
        if (step->kind == SH_STEP_UNIT)
            run_unit(step, records);
        else
            run_kernel(step, records);
    }
    for (uint32_t i = 0; i < plan->nvalues && !sh_error(); i++)
        if (plan->values[i].output) most = fmax(most, difference(&records[i], d->eager[i]));
    for (uint32_t i = 0; i < plan->nbuffers; i++) free(memory[i]);
    free(memory);
    free(records);
    return sh_error() ? INFINITY : most;
}
