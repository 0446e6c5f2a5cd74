/* entry.c - one plan made: the trace, the passes, the plan, what it depends on, and the words for the report. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "graph/compile/blocked.h"
#include "graph/compile/compile_impl.h"
#include "graph/compile/lower.h"
#include "graph/compile/seal.h"
#include "graph/compile/tiles.h"
#include "graph/root.h"
#include "graph/text.h"

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- inputs, opened ---- */

/* As the trace makes placeholders: tensors, and the entries of lists. */
size_t sh__open_inputs(sh_values inputs, sh_tensor **tensors, size_t room) {
    size_t n = 0;
    for (size_t i = 0; i < inputs.n; i++) {
        const sh_value v = inputs.at[i];
        if (v.tag == SH_TAG_TENSOR && n++ < room) tensors[n - 1] = v.as.tensor;
        for (uint32_t k = 0; v.tag == SH_TAG_TENSORS && k < v.count; k++)
            if (n++ < room) tensors[n - 1] = v.as.tensors[k];
    }
    return n;
}

/* ---- the plan ---- */

typedef struct making {
    sh_compiled *c;
    sh_compiled_entry *entry;
    sh_values given;
    sh_graph *graph;       /* till the plan takes it over */
    const sh_baked *modes; /* what the trace did with them */
    sh_tensor *inputs[SH_MOST_INPUTS];
    size_t ninputs;
} making;

static bool share_memory(const making *m) {
    for (size_t i = 0; i < m->ninputs; i++)
        for (size_t k = 0; k < i; k++)
            if (sh__share_memory(m->inputs[i], m->inputs[k])) return true;
    return false;
}

static sh_status watch(sh_compiled_entry *entry, const sh_graph *graph) {
    const size_t n = sh_graph_attr_count(graph);
    entry->watched = sh__calloc(n + 1, sizeof *entry->watched);
    if (!entry->watched) return SH_ERROR_MEMORY;
    for (size_t i = 0; i < n; i++) {
        sh_tensor *t = sh_graph_attr(graph, sh_graph_attr_name(graph, i));
        entry->watched[entry->nwatched].tensor = sh_keep(t);
        entry->watched[entry->nwatched++].version = sh_tensor_version(t);
    }
    return SH_OK;
}

static sh_status lower(void *user) {
    making *m = user;
    const sh_compile_options *o = &m->c->options;
    sh_graph *graph = m->graph;
    SH_TRY(sh__graph_prepare(graph, o, share_memory(m)));
    m->graph = NULL;
    m->entry->plan = sh__plan_lower(graph, (sh_tensors){m->inputs, m->ninputs});
    if (!m->entry->plan) return sh__error_ensure(SH_ERROR_MEMORY);
    return SH_OK;
}

/* ---- what it writes to ---- */

static bool is_noted(const sh_guard *guard, const sh_tensor *t) {
    for (size_t i = 0; i < guard->nwritten; i++)
        if (guard->written[i] == t) return true;
    return false;
}

static sh_status note_written(sh_compiled_entry *entry, sh_tensor *t) {
    if (!t || is_noted(&entry->guard, t)) return SH_OK;
    sh_tensor **moved = sh__realloc(entry->guard.written, (entry->guard.nwritten + 1) * sizeof *moved);
    if (!moved) return SH_ERROR_MEMORY;
    entry->guard.written = moved;
    moved[entry->guard.nwritten++] = sh_keep(t);
    return SH_OK;
}

/* What the plan writes to itself it reads anew in each run. */
static void watch_no_written(sh_compiled_entry *entry) {
    size_t kept = 0;
    for (size_t i = 0; i < entry->nwatched; i++) {
        if (is_noted(&entry->guard, entry->watched[i].tensor))
            sh_release(entry->watched[i].tensor);
        else
            entry->watched[kept++] = entry->watched[i];
    }
    entry->nwatched = kept;
}

/* Constants that steps write to (a running mean): their versions rise with each run. */
static sh_status note_all_written(sh_compiled_entry *entry) {
    const sh_plan *plan = entry->plan;
    for (uint32_t i = 0; i < plan->nbuffers; i++)
        if (plan->buffers[i].written) SH_TRY(note_written(entry, plan->buffers[i].tensor));
    watch_no_written(entry);
    return SH_OK;
}

/* ---- words ---- */

static char *describe_inputs(const making *m) {
    sh_text text = {0};
    for (size_t i = 0; i < m->ninputs; i++) {
        const sh_tensor *t = m->inputs[i];
        char type[160];
        sh__tensor_print_type(t, type, sizeof type);
        sh__text_put(&text, "%s%s%s", i ? ", " : "", type, t->flags & SH_TENSOR_CONTIGUOUS ? "" : " strided");
    }
    if (!m->ninputs) sh__text_put(&text, "none");
    return sh__text_take(&text);
}

static char *describe_modes(const making *m) {
    sh_text text = {0};
    for (size_t i = 0; i < m->modes->nmodes; i++) {
        const sh_baked_mode *mode = &m->modes->modes[i];
        sh__text_put(&text, "%s%s ", i ? ", " : "", mode->mode->name);
        if (mode->unseen)
            sh__text_put(&text, "(off)");
        else if (mode->baked)
            sh__text_put(&text, "(baked in)");
        else
            sh__text_put(&text, "(kept for %zu call%s)", mode->kept, mode->kept == 1 ? "" : "s");
    }
    if (!m->modes->nmodes) sh__text_put(&text, "none");
    return sh__text_take(&text);
}

/* ---- an entry ---- */

static sh_status make_plan(making *m) {
    const sh_compile_options *o = &m->c->options;
    sh_compiled_entry *e = m->entry;
    if (!o->frozen) SH_TRY(watch(e, m->graph));
    SH_TRY(sh__with_modes_off(m->modes, lower, m));
    if (!o->exact) SH_TRY(sh__plan_block(e->plan, &(sh_block_options){.winograd = o->winograd}));
    SH_TRY(note_all_written(e)); /* not what is folded: a written mean makes another plan */
    if (!o->unfused) SH_TRY(sh__plan_tile(e->plan));
    SH_TRY(sh__plan_seal(e->plan));
    e->guard.scoped = sh__baked_reads_scope(m->modes);
    return sh__guard_take(&e->guard, m->c->module, m->given);
}

static sh_status make(making *m, uint64_t trace_ns) {
    const uint64_t start = now_ns();
    sh_compiled_entry *e = m->entry;
    sh__workspaces_begin(&e->workspaces);
    m->ninputs = sh__open_inputs(m->given, m->inputs, SH_MOST_INPUTS);
    const sh_status status = make_plan(m);
    sh_graph_free(m->graph);
    SH_TRY(status);
    e->inputs = describe_inputs(m);
    e->modes = describe_modes(m);
    e->trace_ns = trace_ns;
    e->compile_ns = trace_ns + now_ns() - start;
    return e->inputs && e->modes ? SH_OK : SH_ERROR_MEMORY;
}

/* Does a weight, or a tensor from elsewhere that it uses, carry one? */
static bool meets_override(sh_graph *graph) {
    bool meets = false;
    for (sh_node *node = graph->root.next; node != &graph->root; node = node->next) {
        const sh_tensor *t = node->opcode == SH_GET_ATTR ? sh__graph_tensor(graph, node->target) : NULL;
        meets |= t && (t->flags & SH_TENSOR_OVERRIDE);
    }
    return meets;
}

/* Takes the graph over, on failure too. */
static sh_compiled_entry *compile(sh_compiled *c, sh_values inputs, sh_graph *graph, const sh_baked *modes,
                                  uint64_t trace_ns) {
    making m = {.c = c, .given = inputs, .graph = graph, .modes = modes};
    m.entry = graph ? sh__calloc(1, sizeof *m.entry) : NULL;
    if (!m.entry) {
        sh_graph_free(graph);
        return NULL;
    }
    if (make(&m, trace_ns) >= 0) return m.entry;
    sh__compiled_entry_free(m.entry);
    return NULL;
}

/* From here on the graph holds what it reads, and each stage lets go of what it has used. */
static sh_status freeze(sh_compiled *c, sh_graph *graph) {
    SH_TRY(sh__graph_take_tensors(graph));
    pthread_mutex_lock(&c->lock);
    sh_module *module = c->module;
    c->module = NULL;
    pthread_mutex_unlock(&c->lock);
    sh_module_release(module);
    return SH_OK;
}

static sh_compiled_entry *trace_and_compile(sh_compiled *c, sh_values inputs, bool *eager) {
    const uint64_t start = now_ns();
    sh_compiled_entry *e = NULL;
    sh_baked baked;
    if (sh__bake(c->module, inputs, c->options.strict, &baked) < 0) return NULL;
    *eager = meets_override(baked.graph);
    if (!*eager && (!c->options.frozen || freeze(c, baked.graph) >= 0)) {
        sh_graph *graph = baked.graph;
        baked.graph = NULL;
        e = compile(c, inputs, graph, &baked, now_ns() - start);
    }
    sh__baked_free(&baked);
    return e;
}

static sh_compiled_entry *compile_resized(sh_compiled *c, sh_values inputs, const sh_compiled_batch *batch,
                                          bool *eager) {
    *eager = meets_override(batch->batch.baked.graph);
    if (*eager) return NULL;
    return compile(c, inputs, sh__batch_graph(&batch->batch, sh__batch_size(inputs)), &batch->batch.baked,
                   batch->trace_ns);
}

sh_compiled_entry *sh__entry_compile(sh_compiled *c, sh_values inputs, const sh_compiled_batch *batch,
                                     bool *eager) {
    const size_t cached = sh__blocks_cached();
    sh_compiled_entry *e =
        batch ? compile_resized(c, inputs, batch, eager) : trace_and_compile(c, inputs, eager);
    sh__blocks_trim(cached);
    return e;
}

/* ---- any batch ---- */

sh_compiled_batch *sh__compiled_batch_new(sh_compiled *c, sh_values inputs) {
    const uint64_t start = now_ns();
    sh_compiled_batch *b = sh__calloc(1, sizeof *b);
    if (!b) return NULL;
    b->guard.any_batch = true;
    sh_status status = sh__batch_take(&b->batch, c->module, inputs, c->options.strict);
    b->guard.scoped = status >= 0 && sh__baked_reads_scope(&b->batch.baked);
    if (status >= 0) status = sh__guard_take(&b->guard, c->module, inputs);
    b->trace_ns = now_ns() - start;
    if (status >= 0) return b;
    sh__compiled_batch_free(b);
    return NULL;
}

void sh__compiled_batch_free(sh_compiled_batch *b) {
    sh__batch_free(&b->batch);
    sh__guard_free(&b->guard);
    sh__free(b);
}

/* ---- ending ---- */

void sh__compiled_entry_free(sh_compiled_entry *e) {
    sh__workspaces_end(&e->workspaces, e->plan);
    sh__plan_free(e->plan);
    for (size_t i = 0; i < e->nwatched; i++) sh_release(e->watched[i].tensor);
    sh__free(e->watched);
    sh__guard_free(&e->guard);
    free(e->inputs);
    free(e->modes);
    sh__free(e);
}
