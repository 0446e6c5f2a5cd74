/* workspace.c - workspaces made, taken and given back. */
#include "graph/compile/workspace.h"

#include <string.h>

#include "graph/held.h"

/* ---- records ---- */

static void fill_record(sh_workspace *w, const sh_plan *plan, uint32_t id) {
    const sh_plan_value *value = &plan->values[id];
    sh_tensor *record = &w->records[id];
    atomic_init(&record->refs, 1);
    if (value->buffer == SH_NO_BUFFER) return;
    const sh_plan_buffer *buffer = &plan->buffers[value->buffer];
    record->dtype = (uint8_t)value->spec.dtype;
    record->device = SH_HOST;
    record->element = (uint32_t)sh_dtype_size(value->spec.dtype);
    record->storage = &w->storage;
    sh__tensor_set_layout(record, value->spec.ndim, value->spec.sizes, value->strides, 0);
    if (buffer->home == SH_HOME_ARENA) record->data = w->arena + buffer->at + value->at;
    if (buffer->home != SH_HOME_CONSTANT || !buffer->tensor) return;
    record->flags |= buffer->tensor->flags & SH_TENSOR_WRAPPED;
    record->storage = buffer->tensor->storage;
    record->data = buffer->tensor->data + value->at;
}

static bool is_bound_late(const sh_plan *plan, uint32_t buffer) {
    return buffer != SH_NO_BUFFER &&
           (plan->buffers[buffer].home == SH_HOME_INPUT || plan->buffers[buffer].home == SH_HOME_FRESH);
}

static void fill_records(sh_workspace *w, const sh_plan *plan, sh_site *sites) {
    for (uint32_t i = 0; i < plan->nvalues; i++, sites++) {
        const uint32_t buffer = plan->values[i].buffer;
        fill_record(w, plan, i);
        w->made[i] = sh__absent();
        if (!is_bound_late(plan, buffer)) continue;
        *sites = (sh_site){w->sites[buffer], &w->records[i], plan->values[i].at};
        w->sites[buffer] = sites;
    }
    for (uint32_t i = 0; i < plan->nbuffers; i++)
        if (plan->buffers[i].home == SH_HOME_CONSTANT) w->bases[i] = plan->buffers[i].tensor;
}

/* ---- rows ---- */

/* How many values a step's row takes: arguments, results, entries of lists (two to a value). */
static size_t words_of(const sh_plan_step *step) {
    size_t n = step->nargs + (step->nresults ? step->nresults : 1);
    for (uint32_t i = 0; i < step->nargs; i++)
        if (step->args[i].tag == SH_TAG_TENSORS) n += step->args[i].count / 2 + 1;
    return n;
}

static sh_value *open_lists(const sh_plan_step *step, sh_value *args, sh_value *room) {
    for (uint32_t i = 0; i < step->nargs; i++) {
        if (args[i].tag != SH_TAG_TENSORS) continue;
        memset(room, 0, args[i].count * sizeof(sh_tensor *));
        args[i].as.tensors = (sh_tensor *const *)room;
        room += args[i].count / 2 + 1;
    }
    return room;
}

/* The arguments with records in them, which stay the same from run to run. */
static sh_value *fill_row(sh_workspace *w, const sh_plan_step *step, sh_ready *row, sh_value *room) {
    row->args = room;
    for (uint32_t i = 0; i < step->nargs; i++) row->args[i] = step->args[i];
    room = open_lists(step, row->args, room + step->nargs);
    for (uint32_t i = 0; i < step->nloads; i++) {
        const sh_load *load = &step->loads[i];
        if (load->argument >= step->nargs) continue;
        sh_value *arg = &row->args[load->argument];
        if (load->entry < 0)
            *arg = sh_value_tensor(&w->records[load->id]);
        else
            ((sh_tensor **)(uintptr_t)arg->as.tensors)[load->entry] = &w->records[load->id];
    }
    row->results = room;
    for (uint32_t i = 0; i < step->nresults; i++)
        row->results[i] = sh_value_tensor(&w->records[step->results[i]]);
    return room + (step->nresults ? step->nresults : 1);
}

static sh_status open_unit(sh_workspace *w, const sh_plan *plan, const sh_plan_step *step,
                           sh_unit_frame *frame) {
    *frame = (sh_unit_frame){.records = w->records, .step = step, .scratch = w->arena + plan->scratch_at};
    if (!step->type->open) return SH_OK;
    frame->own = step->type->open(step->unit);
    return frame->own ? SH_OK : sh__error_ensure(SH_ERROR_MEMORY);
}

static sh_status fill_rows(sh_workspace *w, const sh_plan *plan, sh_value *room) {
    for (uint32_t s = 0; s < plan->steps.n; s++) {
        const sh_plan_step *step = &plan->steps.at[s];
        if (step->kind == SH_STEP_UNIT) {
            SH_TRY(open_unit(w, plan, step, &w->frames[s]));
        } else if (!step->node) {
            room = fill_row(w, step, &w->ready[s], room);
            if (step->kind == SH_STEP_KERNEL) {
                w->ready[s].thunk = step->op->thunk_out;
                w->ready[s].kernel = step->slot->typed;
            }
        }
    }
    return SH_OK;
}

/* ---- making and ending ---- */

/* `size` bytes of the block, 64-byte aligned; counts only while `*at` is NULL. */
static void *cut(char *block, size_t *used, size_t size) {
    void *at = block ? block + *used : NULL;
    *used += (size + 63) & ~(size_t)63;
    return at;
}

typedef struct rooms {
    size_t words;
    sh_value *values;
    sh_site *sites;
} rooms;

static size_t lay_out(sh_workspace *w, const sh_plan *plan, char *block, rooms *r) {
    size_t used = 0;
    w->records = cut(block, &used, plan->nvalues * sizeof *w->records);
    w->ready = cut(block, &used, plan->steps.n * sizeof *w->ready);
    w->frames = cut(block, &used, plan->steps.n * sizeof *w->frames);
    w->sites = cut(block, &used, plan->nbuffers * sizeof *w->sites);
    w->bases = cut(block, &used, plan->nbuffers * sizeof *w->bases);
    w->made = cut(block, &used, plan->nvalues * sizeof *w->made);
    r->sites = cut(block, &used, plan->nvalues * sizeof *r->sites);
    r->values = cut(block, &used, r->words * sizeof *r->values);
    return used;
}

static sh_status allocate(sh_workspace *w, const sh_plan *plan, rooms *r) {
    for (uint32_t s = 0; s < plan->steps.n; s++) r->words += words_of(&plan->steps.at[s]);
    const size_t size = lay_out(w, plan, NULL, r) + 64;
    w->blocks = sh__calloc(1, size);
    if (!w->blocks) return SH_ERROR_MEMORY;
    lay_out(w, plan, (char *)(((uintptr_t)w->blocks + 63) & ~(uintptr_t)63), r);
    w->arena = sh__block_alloc(plan->arena ? plan->arena : 1,
                               &w->capacity); /* values without elements lie somewhere, too */
    if (!w->arena) return SH_ERROR_MEMORY;
    w->storage = (sh_storage){.kind = SH_STORAGE_EMBEDDED, .size = plan->arena, .data = w->arena};
    atomic_init(&w->storage.refs, 1);
    return SH_OK;
}

static void free_workspace(sh_workspace *w, const sh_plan *plan) {
    for (uint32_t s = 0; w->blocks && s < plan->steps.n; s++)
        if (w->frames[s].own) plan->steps.at[s].type->close(w->frames[s].own);
    if (w->arena) sh__block_free(w->arena, w->capacity);
    sh__free(w->blocks);
    sh__free(w);
}

static sh_workspace *make(const sh_plan *plan) {
    rooms r = {0};
    sh_workspace *w = sh__calloc(1, sizeof *w);
    if (!w) return NULL;
    sh_status status = allocate(w, plan, &r);
    if (status >= 0) {
        fill_records(w, plan, r.sites);
        status = fill_rows(w, plan, r.values);
    }
    if (status >= 0) return w;
    free_workspace(w, plan);
    return NULL;
}

void sh__workspaces_begin(sh_workspaces *workspaces) {
    atomic_init(&workspaces->spare, NULL);
    pthread_mutex_init(&workspaces->lock, NULL);
    workspaces->free = NULL;
}

void sh__workspaces_end(sh_workspaces *workspaces, const sh_plan *plan) {
    sh_workspace *spare = atomic_load(&workspaces->spare);
    if (spare) free_workspace(spare, plan);
    for (sh_workspace *w = workspaces->free, *next; w; w = next) {
        next = w->next;
        free_workspace(w, plan);
    }
    pthread_mutex_destroy(&workspaces->lock);
}

sh_workspace *sh__workspace_take(sh_workspaces *workspaces, const sh_plan *plan) {
    sh_workspace *w = atomic_exchange_explicit(&workspaces->spare, NULL, memory_order_acq_rel);
    if (SH_LIKELY(w != NULL)) return w;
    pthread_mutex_lock(&workspaces->lock);
    w = workspaces->free;
    if (w) workspaces->free = w->next;
    pthread_mutex_unlock(&workspaces->lock);
    return w ? w : make(plan);
}

void sh__workspace_give_back(sh_workspaces *workspaces, sh_workspace *w) {
    w = atomic_exchange_explicit(&workspaces->spare, w, memory_order_acq_rel);
    if (SH_LIKELY(!w)) return;
    pthread_mutex_lock(&workspaces->lock);
    w->next = workspaces->free;
    workspaces->free = w;
    pthread_mutex_unlock(&workspaces->lock);
}
