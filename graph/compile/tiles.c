/* tiles.c - which steps become units of tiles.
 *
 * A unit takes the place of steps that follow one upon the other, all elementwise with results of one shape. What only
 * they read never gets into memory; the other results, four at most, are written as before. So no step moves, and what
 * others do to memory in between can't matter. */
#include "graph/compile/tiles.h"

#include <string.h>

#include "dispatch/memory_impl.h"
#include "graph/compile/tiles_impl.h"

enum { MOST_STEPS = 256, SMALL = 16 * 1024 };

typedef struct tiler {
    sh_plan *plan;
    sh_tiles_writer writer;
    uint32_t *reads;  /* by value: how often it is read */
    uint32_t *inside; /* by value: how often so by the run at hand; 0 between runs */
    bool *shared;     /* by buffer: several values are on it */
    bool *inner;      /* by value; false between runs */
    uint32_t *edge;   /* what a unit reads */
} tiler;

/* ---- a run of steps ---- */

static const sh_plan_value *result_of(const tiler *t, const sh_plan_step *step) {
    return &t->plan->values[step->results[0]];
}

/* Does nobody else read it? */
static bool is_inner(const tiler *t, uint32_t value) {
    const sh_plan_value *v = &t->plan->values[value];
    return !v->output && t->plan->buffers[v->buffer].home == SH_HOME_ARENA && !t->shared[v->buffer] &&
           t->reads[value] == t->inside[value];
}

/* How many results of the first n steps others read. */
static uint32_t count_written(const tiler *t, const sh_plan_step *steps, uint32_t n) {
    uint32_t written = 0;
    for (uint32_t i = 0; i < n; i++) written += !is_inner(t, steps[i].results[0]);
    return written;
}

static void count_inside(tiler *t, const sh_plan_step *step, uint32_t by) {
    for (uint32_t i = 0; i < step->nloads; i++) t->inside[step->loads[i].id] += by;
}

static bool reads_buffer(const tiler *t, const sh_plan_step *step, uint32_t buffer) {
    for (uint32_t i = 0; i < step->nloads; i++)
        if (t->plan->values[step->loads[i].id].buffer == buffer) return true;
    return false;
}

/* Does step n read what one before it writes as another value (a view), or write where one of them, or itself, reads or
 * writes? Steps by step that is in order; tile by tile it would not be. */
static bool crosses(const tiler *t, const sh_plan_step *steps, uint32_t n) {
    const sh_plan_step *step = &steps[n];
    const uint32_t to = result_of(t, step)->buffer;
    for (uint32_t i = 0; i < step->nloads; i++) {
        const uint32_t id = step->loads[i].id, from = t->plan->values[id].buffer;
        for (uint32_t k = 0; t->shared[from] && k < n; k++)
            if (result_of(t, &steps[k])->buffer == from && steps[k].results[0] != id) return true;
    }
    for (uint32_t k = 0; t->shared[to] && k <= n; k++)
        if (reads_buffer(t, &steps[k], to) || (k < n && result_of(t, &steps[k])->buffer == to)) return true;
    return false;
}

/* How many steps from the first on could go together. */
static uint32_t reach(const tiler *t, const sh_plan_step *steps, uint32_t left) {
    uint32_t n = 0;
    sh_tiles_op op;
    if (left > MOST_STEPS) left = MOST_STEPS;
    while (n < left && sh__tiles_describe(t->plan, &steps[n], &op) &&
           sh__same_sizes(&result_of(t, &steps[n])->spec, &result_of(t, steps)->spec) &&
           !crosses(t, steps, n))
        n++;
    return n;
}

static size_t elements(const sh_spec *spec) {
    size_t n = 1;
    for (int i = 0; i < spec->ndim; i++) n *= (size_t)spec->sizes[i];
    return n;
}

/* A unit spares memory, or the steps' own costs. One that writes nothing has no shape. */
static bool is_worth_it(const tiler *t, const sh_plan_step *steps, uint32_t n, uint32_t written) {
    return n > 1 && written > 0 && written <= SH_MAX_RESULTS &&
           (written < n || elements(&result_of(t, steps)->spec) <= SMALL);
}

/* How many steps make a unit: as many as leave few enough results to write. They are then counted as inside. 0: none. */
static uint32_t choose_run(tiler *t, const sh_plan_step *steps, uint32_t left) {
    uint32_t n = reach(t, steps, left);
    for (uint32_t i = 0; i < n; i++) count_inside(t, &steps[i], 1);
    while (n > 0 && !is_worth_it(t, steps, n, count_written(t, steps, n)))
        count_inside(t, &steps[--n], UINT32_MAX);
    return n;
}

/* ---- the unit ---- */

/* For the writer: which results of a run that is counted as inside are inner. It is counted no longer then. */
static void mark_inner(tiler *t, const sh_plan_step *steps, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) t->inner[steps[i].results[0]] = is_inner(t, steps[i].results[0]);
    for (uint32_t i = 0; i < n; i++) count_inside(t, &steps[i], UINT32_MAX);
}

/* The steps are not looked at once the unit stands in the list, where it may take the place of the first. Those of them
 * that are units are copies, which have nothing to free. */
static sh_status add_unit(tiler *t, const sh_plan_step *steps, uint32_t n) {
    sh_tiles_edges edges = {.reads = t->edge};
    const char *name = steps[n - 1].name;
    mark_inner(t, steps, n);
    sh_tiles *unit = sh__tiles_write(&t->writer, steps, n, &edges);
    for (uint32_t i = 0; i < n; i++) t->inner[steps[i].results[0]] = false;
    if (!unit) return SH_ERROR_MEMORY;
    return sh__plan_add_unit(t->plan, &t->plan->steps, name, &sh__tiles_unit, unit, edges.reads, edges.nreads,
                             edges.writes, edges.nwrites)
               ? SH_OK
               : SH_ERROR_MEMORY;
}

/* One step as it is, or several as a unit; `*n` is how many. */
static sh_status replace_next(tiler *t, const sh_plan_step *steps, uint32_t left, uint32_t *n) {
    *n = choose_run(t, steps, left);
    if (*n > 0) return add_unit(t, steps, *n);
    *n = 1;
    return sh__plan_add_step(&t->plan->steps, steps) ? SH_OK : SH_ERROR_MEMORY;
}

/* The list shrinks in place, so what is added never reaches what is still to be read. */
static sh_status replace_all(tiler *t) {
    sh_plan_steps *list = &t->plan->steps;
    const sh_plan_step *const end = list->at + list->n, *next = list->at;
    sh_status status = SH_OK;
    list->n = 0;
    for (uint32_t n; next < end && status == SH_OK; next += status == SH_OK ? n : 0)
        status = replace_next(t, next, (uint32_t)(end - next), &n);
    if (next < end) memmove(list->at + list->n, next, (size_t)(end - next) * sizeof *next);
    list->n += (uint32_t)(end - next);
    return status;
}

/* ---- the plan ---- */

static sh_status mark_shared(tiler *t) {
    uint32_t *values_on = sh__calloc(t->plan->nbuffers + 1, sizeof *values_on);
    if (!values_on) return SH_ERROR_MEMORY;
    for (uint32_t i = 0; i < t->plan->nvalues; i++) {
        const uint32_t buffer = t->plan->values[i].buffer;
        if (buffer != SH_NO_BUFFER) t->shared[buffer] = values_on[buffer]++ > 0;
    }
    sh__free(values_on);
    return SH_OK;
}

static sh_status open_tiler(tiler *t, sh_plan *plan) {
    const size_t n = plan->nvalues + 1u;
    uint32_t most = 0;
    for (uint32_t i = 0; i < plan->steps.n; i++) most += plan->steps.at[i].nloads;
    *t = (tiler){.plan = plan,
                 .reads = sh__calloc(n, sizeof *t->reads),
                 .inside = sh__calloc(n, sizeof *t->inside),
                 .shared = sh__calloc(plan->nbuffers + 1u, sizeof *t->shared),
                 .inner = sh__calloc(n, sizeof *t->inner),
                 .edge = sh__calloc(most + 1u, sizeof *t->edge)};
    t->writer = (sh_tiles_writer){
        .plan = plan, .inner = t->inner, .of_value = sh__calloc(n, sizeof *t->writer.of_value)};
    if (!t->reads || !t->inside || !t->shared || !t->inner || !t->edge || !t->writer.of_value)
        return SH_ERROR_MEMORY;
    SH_TRY(sh__plan_count_reads(plan, t->reads));
    return mark_shared(t);
}

static void close_tiler(tiler *t) {
    sh__free(t->reads);
    sh__free(t->inside);
    sh__free(t->shared);
    sh__free(t->inner);
    sh__free(t->edge);
    sh__tiles_writer_end(&t->writer);
}

sh_status sh__plan_tile(sh_plan *plan) {
    tiler t;
    sh_status status = open_tiler(&t, plan);
    if (status == SH_OK) status = replace_all(&t);
    close_tiler(&t);
    return status;
}
