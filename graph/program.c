/* program.c - making programs.
 *
 * A step's arguments are a template: literals and defaults as values, and a list of loads for what nodes
 * give. All that a step points to is in one block of the program's pool. */
#include "graph/program.h"

#include <string.h>

#include "dispatch/chain.h"
#include "graph/bind.h"
#include "graph/invoke.h"

/* ---- a step's arguments ---- */

typedef struct room {
    size_t loads, words; /* words: entries of all lists */
} room;

static bool has_node(const sh_arg *list) {
    for (uint32_t i = 0; i < list->count; i++)
        if (list->as.list[i].tag == SH_ARG_NODE) return true;
    return false;
}

static room measure(const sh_binding *b) {
    room need = {b->out != NULL, 0};
    for (uint32_t i = 0; i < b->schema->nparams; i++) {
        const sh_arg *arg = b->args[i];
        if (!arg) continue;
        need.loads += arg->tag == SH_ARG_NODE;
        need.words += b->schema->params[i].type == SH_TYPE_INTS && arg->tag == SH_ARG_INT;
        for (uint32_t k = 0; sh_arg_is_list(*arg) && k < arg->count; k++)
            need.loads += arg->as.list[k].tag == SH_ARG_NODE;
        if (sh_arg_is_list(*arg)) need.words += arg->count + 1; /* an empty list has an address too */
    }
    return need;
}

typedef struct writer {
    sh_step *step;
    uint64_t *words;
} writer;

static void load(writer *w, const sh_arg *from, uint32_t argument, int64_t entry) {
    w->step->loads[w->step->nloads++] = (sh_load){from->as.node->id, argument, entry};
}

static void write_list(writer *w, const sh_param *param, const sh_arg *from, uint32_t i) {
    uint64_t *const at = w->words;
    const bool ints = param->type == SH_TYPE_INTS;
    w->words += from->count + 1;
    if (has_node(from)) w->step->words += from->count;
    for (uint32_t k = 0; k < from->count; k++) {
        const sh_arg *entry = &from->as.list[k];
        at[k] = ints && entry->tag != SH_ARG_NODE ? (uint64_t)entry->as.i : 0;
        if (entry->tag == SH_ARG_NODE) load(w, entry, i, k);
    }
    w->step->args[i] = ints ? sh_value_ints((sh_ints){(const int64_t *)at, from->count})
                            : sh_value_tensors((sh_tensors){(sh_tensor *const *)at, from->count});
}

static void write_literal(writer *w, const sh_param *param, const sh_arg *from, uint32_t i) {
    sh_value v = sh__literal_value(*from);
    if (param->type == SH_TYPE_INTS && v.tag == SH_TAG_INT) {
        *w->words = v.as.bits;
        v = sh_value_ints((sh_ints){(const int64_t *)w->words++, 1});
    }
    if (param->type == SH_TYPE_TENSOR && sh_value_is_number(v)) w->step->numbers |= 1u << i;
    if (param->type == SH_TYPE_FLOAT && v.tag == SH_TAG_INT) v = sh_value_float((double)v.as.i);
    w->step->args[i] = v;
}

static void write_arg(writer *w, const sh_binding *b, uint32_t i) {
    const sh_param *param = &b->schema->params[i];
    const sh_arg *arg = b->args[i];
    w->step->args[i] = arg ? sh_none() : param->value;
    if (sh__arg_node(arg))
        load(w, arg, i, -1);
    else if (arg && sh_arg_is_list(*arg))
        write_list(w, param, arg, i);
    else if (arg)
        write_literal(w, param, arg, i);
}

static sh_status place_arguments(sh_program *p, sh_step *step, const sh_binding *b) {
    const room need = measure(b);
    const uint32_t nargs = b->schema->nparams;
    step->size =
        nargs * sizeof *step->args + need.loads * sizeof *step->loads + need.words * sizeof(uint64_t);
    step->args = sh__pool_alloc(&p->pool, step->size);
    if (!step->args) return SH_ERROR_MEMORY;
    step->nargs = nargs;
    step->loads = (sh_load *)(step->args + nargs);
    writer w = {step, (uint64_t *)(step->loads + need.loads)};
    for (uint32_t i = 0; i < nargs; i++) write_arg(&w, b, i);
    if (b->out) load(&w, b->out, SH__TARGET, -1);
    step->op = b->op;
    step->schema = b->schema;
    step->variant = b->variant;
    return SH_OK;
}

/* A node that fits no op is left for the run to find out. */
static sh_status make_step(sh_program *p, sh_step *step, sh_node *node) {
    sh_binding binding;
    *step = (sh_step){.node = node};
    if (node->opcode != SH_CALL_FUNCTION || strcmp(node->target, SH_GETITEM) == 0) return SH_OK;
    if (sh__bind(node, &binding) >= 0) return place_arguments(p, step, &binding);
    if (sh_error()->code == SH_ERROR_MEMORY) return SH_ERROR_MEMORY;
    sh_clear_error();
    step->function = sh__function_find(node->target);
    return SH_OK;
}

/* ---- last uses ---- */

/* Backwards, the first step that uses a node is the last one to need it; a node that no step uses ends at its own. */
static uint32_t list_ends(const sh_program *p, const sh_step *step, bool *seen, uint32_t *ends) {
    uint32_t n = 0;
    const sh_node *node = step->node;
    if (!seen[node->id]) ends[n++] = node->id;
    seen[node->id] = true;
    for (uint32_t i = 0; i < node->ninputs; i++) {
        const uint32_t id = node->uses[i].input->id;
        if (id < p->nids && !seen[id]) {
            seen[id] = true;
            ends[n++] = id;
        }
    }
    return n;
}

static sh_status find_ends(sh_program *p) {
    bool *seen = sh__calloc(p->nids + 1, sizeof *seen);
    uint32_t *ends = p->ends;
    for (uint32_t i = p->nsteps; seen && i-- > 0;) {
        p->steps[i].ends = ends;
        p->steps[i].nends = list_ends(p, &p->steps[i], seen, ends);
        ends += p->steps[i].nends;
    }
    sh__free(seen);
    return seen ? SH_OK : SH_ERROR_MEMORY;
}

/* ---- making and ending ---- */

static sh_status fill(sh_program *p, const sh_graph *graph, const bool *skipped) {
    for (sh_node *node = graph->root.next; node != &graph->root; node = node->next) {
        const uint32_t input = p->ninputs;
        p->ninputs += node->opcode == SH_PLACEHOLDER;
        if (skipped && skipped[node->id]) continue;
        sh_step *step = &p->steps[p->nsteps++];
        SH_TRY(make_step(p, step, node));
        step->input = input;
        if (step->words > p->words) p->words = step->words;
    }
    return find_ends(p);
}

sh_program *sh__program_without(const sh_graph *graph, const bool *skipped) {
    sh_program *p = sh__calloc(1, sizeof *p);
    if (!p) return NULL;
    atomic_init(&p->refs, 1);
    p->graph_version = graph->version;
    p->functions_version = sh__functions_version();
    p->nids = graph->next_id;
    p->steps =
        sh__block_alloc(graph->size * sizeof *p->steps + (p->nids + 1) * sizeof *p->ends, &p->capacity);
    if (p->steps) p->ends = (uint32_t *)(p->steps + graph->size);
    if (p->steps && fill(p, graph, skipped) >= 0) return p;
    sh__program_release(p);
    return NULL;
}

void sh__program_release(sh_program *p) {
    if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1) return;
    for (uint32_t i = 0; i < p->nsteps; i++) {
        if (p->steps[i].size > SH_POOL_LARGEST) sh__pool_free(&p->pool, p->steps[i].args, p->steps[i].size);
        sh__function_release(p->steps[i].function);
    }
    sh__pool_end(&p->pool);
    if (p->steps) sh__block_free(p->steps, p->capacity);
    sh__free(p);
}

/* An op that was defined anew is noticed by each step, for it costs one comparison there. */
static bool is_current(const sh_program *p, const sh_graph *graph) {
    return p && p->graph_version == graph->version && p->functions_version == sh__functions_version();
}

sh_program *sh__program_of(const sh_graph *graph) {
    sh_program_cache *cache = (sh_program_cache *)(uintptr_t)&graph->program;
    pthread_mutex_lock(&cache->lock);
    if (!is_current(cache->made, graph)) {
        sh__program_release(cache->made);
        cache->made = sh__program_without(graph, NULL);
    }
    sh_program *p = cache->made;
    if (p) atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    pthread_mutex_unlock(&cache->lock);
    return p;
}
