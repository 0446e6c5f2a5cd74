/* plan.c - a plan as a draft: entries are added and looked up, steps exchanged.
 *
 * Arrays double as they grow. Names, loads and argument templates are cut from the plan's pool and end with it, whatever
 * list their step stands in by then; a step's unit alone has an owner of its own, the list in which the step stands. */
#include "graph/compile/plan.h"

#include <string.h>

#include "dispatch/memory_impl.h"
#include "dispatch/tensor_impl.h"

enum { FIRST_ROOM = 16 };

typedef struct sh_plan_large {
    struct sh_plan_large *next;
} __attribute__((aligned(SH_POOL_UNIT))) sh_plan_large;

/* ---- memory ---- */

sh_plan *sh__plan_new(void) { return sh__calloc(1, sizeof(sh_plan)); }

static void free_units(const sh_plan_steps *steps) {
    for (uint32_t i = 0; i < steps->n; i++)
        if (steps->at[i].kind == SH_STEP_UNIT) steps->at[i].type->free(steps->at[i].unit);
}

void sh__plan_free(sh_plan *plan) {
    if (!plan) return;
    free_units(&plan->steps);
    for (uint32_t i = 0; i < plan->nbuffers; i++)
        if (plan->buffers[i].tensor) sh__release(plan->buffers[i].tensor);
    for (sh_plan_large *block = plan->large, *next; block; block = next) {
        next = block->next;
        sh__free(block);
    }
    sh__pool_end(&plan->pool);
    sh__free(plan->steps.at);
    sh__free(plan->buffers);
    sh__free(plan->values);
    sh__free(plan->inputs);
    sh__free(plan->outputs);
    sh__free(plan->fresh);
    sh_graph_free(plan->graph);
    sh__free(plan);
}

void *sh__plan_alloc(sh_plan *plan, size_t size) {
    if (size <= SH_POOL_LARGEST) return sh__pool_alloc(&plan->pool, size);
    sh_plan_large *block = sh__alloc(sizeof *block + size);
    if (!block) return NULL;
    block->next = plan->large;
    plan->large = block;
    return block + 1;
}

const char *sh__plan_text(sh_plan *plan, const char *text) {
    if (!text || !*text) return "";
    const size_t size = strlen(text) + 1;
    char *own = sh__plan_alloc(plan, size);
    return own ? memcpy(own, text, size) : NULL;
}

/* Room for one more entry; the array, which may have moved, or NULL. */
static void *grow(void *array, uint32_t n, uint32_t *room, size_t entry) {
    if (n < *room) return array;
    const uint32_t more = *room ? 2 * *room : FIRST_ROOM;
    void *moved = sh__realloc(array, more * entry);
    if (moved) *room = more;
    return moved;
}

/* ---- entries ---- */

uint32_t sh__plan_add_buffer(sh_plan *plan, sh_home home, size_t size) {
    sh_plan_buffer *moved = grow(plan->buffers, plan->nbuffers, &plan->buffers_room, sizeof *plan->buffers);
    if (!moved) return UINT32_MAX;
    plan->buffers = moved;
    plan->buffers[plan->nbuffers] = (sh_plan_buffer){.home = home, .size = size};
    return plan->nbuffers++;
}

static void set_contiguous(sh_plan_value *value) {
    int64_t stride = 1;
    for (int i = value->spec.ndim - 1; i >= 0; i--) {
        value->strides[i] = stride;
        stride *= value->spec.sizes[i] > 1 ? value->spec.sizes[i] : 1;
    }
}

uint32_t sh__plan_add_value(sh_plan *plan, const char *name, const sh_spec *spec, uint32_t buffer) {
    sh_plan_value *moved = grow(plan->values, plan->nvalues, &plan->values_room, sizeof *plan->values);
    if (!moved) return UINT32_MAX;
    plan->values = moved;
    const char *own = sh__plan_text(plan, name);
    if (!own) return UINT32_MAX;
    sh_plan_value *value = &plan->values[plan->nvalues];
    *value = (sh_plan_value){.name = own, .buffer = buffer};
    if (spec) {
        value->spec = *spec;
        value->spec.like = NULL; /* a tensor of the one who inferred it */
        value->known = true;
        set_contiguous(value);
    }
    return plan->nvalues++;
}

uint32_t sh__plan_add_constant(sh_plan *plan, const char *name, sh_tensor *tensor) {
    sh_spec spec = {.dtype = (sh_dtype)tensor->dtype, .ndim = tensor->ndim};
    int64_t low = 0, high = 0;
    memcpy(spec.sizes, tensor->sizes, sizeof spec.sizes);
    const bool any =
        tensor->numel && sh__layout_reach(tensor->ndim, tensor->sizes, tensor->strides, &low, &high);
    const size_t size = any ? (size_t)(high + 1) * tensor->element : 0;
    const uint32_t buffer = sh__plan_add_buffer(plan, SH_HOME_CONSTANT, size);
    if (buffer == UINT32_MAX) return UINT32_MAX;
    plan->buffers[buffer].tensor = sh_keep(tensor);
    const uint32_t id = sh__plan_add_value(plan, name, &spec, buffer);
    if (id != UINT32_MAX) memcpy(plan->values[id].strides, tensor->strides, sizeof tensor->strides);
    return id;
}

/* ---- steps ---- */

sh_plan_step *sh__plan_add_step(sh_plan_steps *steps, const sh_plan_step *step) {
    sh_plan_step *moved = grow(steps->at, steps->n, &steps->capacity, sizeof *steps->at);
    if (!moved) return NULL;
    steps->at = moved;
    steps->at[steps->n] = *step;
    return &steps->at[steps->n++];
}

static sh_status fill_unit_step(sh_plan *plan, sh_plan_step *step, const char *name, const uint32_t *reads,
                                const uint32_t *writes) {
    step->name = sh__plan_text(plan, name);
    step->scope = "";
    step->loads = sh__plan_alloc(plan, step->nloads * sizeof *step->loads);
    if (!step->name || !step->loads) return SH_ERROR_MEMORY;
    for (uint32_t i = 0; i < step->nloads; i++) step->loads[i] = (sh_load){reads[i], i, -1};
    memcpy(step->results, writes, step->nresults * sizeof *writes);
    return SH_OK;
}

sh_plan_step *sh__plan_add_unit(sh_plan *plan, sh_plan_steps *steps, const char *name,
                                const sh_unit_type *type, void *unit, const uint32_t *reads, uint32_t nreads,
                                const uint32_t *writes, uint32_t nwrites) {
    sh_plan_step step = {
        .kind = SH_STEP_UNIT, .type = type, .unit = unit, .nloads = nreads, .nresults = nwrites};
    sh_plan_step *added = NULL;
    if (fill_unit_step(plan, &step, name, reads, writes) == SH_OK) added = sh__plan_add_step(steps, &step);
    if (!added) type->free(unit);
    return added;
}

void sh__plan_set_steps(sh_plan *plan, sh_plan_steps *steps) {
    sh__free(plan->steps.at);
    plan->steps = *steps;
    *steps = (sh_plan_steps){NULL, 0, 0};
}

/* ---- questions ---- */

/* Values on a buffer that another value is on too count as read twice. */
static void mark_shared(const sh_plan *plan, uint32_t *counts, const uint32_t *values_on) {
    for (uint32_t i = 0; i < plan->nvalues; i++) {
        const uint32_t buffer = plan->values[i].buffer;
        if (buffer != SH_NO_BUFFER && values_on[buffer] > 1 && counts[i] < 2) counts[i] = 2;
    }
}

sh_status sh__plan_count_reads(const sh_plan *plan, uint32_t *counts) {
    uint32_t *values_on = sh__calloc(plan->nbuffers + 1, sizeof *values_on);
    if (!values_on) return SH_ERROR_MEMORY;
    for (uint32_t i = 0; i < plan->nvalues; i++) {
        const sh_plan_value *value = &plan->values[i];
        counts[i] = value->output;
        if (value->buffer != SH_NO_BUFFER) values_on[value->buffer]++;
    }
    for (uint32_t i = 0; i < plan->steps.n; i++)
        for (uint32_t k = 0; k < plan->steps.at[i].nloads; k++) counts[plan->steps.at[i].loads[k].id]++;
    mark_shared(plan, counts, values_on);
    sh__free(values_on);
    return SH_OK;
}

uint32_t sh__step_value(const sh_plan_step *step, const char *param) {
    const int argument = step->schema ? sh_schema_find(step->schema, param) : -1;
    for (uint32_t i = 0; argument >= 0 && i < step->nloads; i++)
        if (step->loads[i].argument == (uint32_t)argument && step->loads[i].entry < 0)
            return step->loads[i].id;
    return UINT32_MAX;
}

size_t sh__spec_bytes(const sh_spec *spec) {
    size_t n = sh_dtype_size(spec->dtype);
    for (int i = 0; i < spec->ndim; i++) n *= (size_t)spec->sizes[i];
    return n;
}

bool sh__same_sizes(const sh_spec *a, const sh_spec *b) {
    return a->ndim == b->ndim && memcmp(a->sizes, b->sizes, (size_t)a->ndim * sizeof *a->sizes) == 0;
}

bool sh__value_is_contiguous(const sh_plan_value *value) {
    sh_plan_value plain = *value;
    set_contiguous(&plain);
    for (int i = 0; i < value->spec.ndim; i++) {
        if (value->spec.sizes[i] == 0) return true;
        if (value->spec.sizes[i] > 1 && value->strides[i] != plain.strides[i]) return false;
    }
    return true;
}

/* A flag `training` that is off: nothing is written, whatever the schema says. */
static bool is_at_rest(const sh_plan_step *step) {
    const int i = sh_schema_find(step->schema, "training");
    return i >= 0 && step->args[i].tag == SH_TAG_FLAG && !step->args[i].as.i;
}

static bool writes(const sh_plan_step *step, const sh_load *load) {
    if (!step->schema) return step->node != NULL;
    if (load->argument == SH__TARGET || (step->variant == SH_INPLACE && load->argument == 0)) return true;
    return step->schema->params[load->argument].written && !is_at_rest(step);
}

static void note_written(sh_plan *plan, uint32_t value) {
    const uint32_t buffer = plan->values[value].buffer;
    const sh_tensor *t = buffer == SH_NO_BUFFER ? NULL : plan->buffers[buffer].tensor;
    for (uint32_t i = 0; t && i < plan->nbuffers; i++) {
        sh_plan_buffer *other = &plan->buffers[i];
        if (other->tensor && other->tensor->storage == t->storage) other->written = true;
    }
}

void sh__plan_note_written(sh_plan *plan) {
    for (uint32_t s = 0; s < plan->steps.n; s++) {
        const sh_plan_step *step = &plan->steps.at[s];
        for (uint32_t i = 0; i < step->nloads; i++)
            if (writes(step, &step->loads[i])) note_written(plan, step->loads[i].id);
    }
}

const sh_tensor *sh__value_constant(const sh_plan *plan, uint32_t value) {
    if (value == UINT32_MAX || plan->values[value].buffer == SH_NO_BUFFER) return NULL;
    if (plan->buffers[plan->values[value].buffer].written) return NULL;
    const sh_plan_value *v = &plan->values[value];
    const sh_tensor *t = plan->buffers[v->buffer].tensor;
    const size_t bytes = (size_t)v->spec.ndim * sizeof *t->sizes;
    const bool whole = t && v->at == 0 && v->spec.dtype == (sh_dtype)t->dtype && v->spec.ndim == t->ndim &&
                       memcmp(v->spec.sizes, t->sizes, bytes) == 0 &&
                       memcmp(v->strides, t->strides, bytes) == 0;
    return whole ? t : NULL;
}
