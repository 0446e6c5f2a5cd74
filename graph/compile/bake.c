/* bake.c - proxies in the place of modes, for the time of one trace.
 *
 * A proxy has its mode's level, interest and flags, so that it sees the calls that the mode would see. Proxies are pushed in
 * the order of the chain from its end, global modes first, for those lie below a thread's own. */
#include "graph/compile/bake.h"

#include <string.h>

#include "graph/effects.h"
#include "graph/trace_impl.h"

typedef struct proxy {
    sh_baked_mode *mode;
    bool strict;
} proxy;

typedef struct bake {
    sh_baked *baked;
    proxy *proxies;
    sh_mode **pushed; /* by mode of `baked`; NULL: not yet */
    sh_module *module;
    sh_values inputs;
    bool strict;
} bake;

/* ---- callbacks ---- */

/* As a chain would run it. */
static sh_status run_rewriting(sh_mode *mode, sh_call *call) {
    const proxy *p = sh_mode_user(mode);
    const uint32_t paths_read = sh__thread.cold->paths_read;
    atomic_fetch_add_explicit(&p->mode->mode->calls, 1, memory_order_relaxed);
    const sh_status status = p->mode->mode->callback(p->mode->mode, call);
    p->mode->reads_scope |= sh__thread.cold->paths_read != paths_read;
    return status;
}

/* Shapes come from below, where nothing is recorded meanwhile. */
static sh_status record_here(sh_tracer *tracer, sh_call *call, const sh_baked_mode *mode) {
    tracer->capture->paused++;
    sh_status status = sh_next(call);
    tracer->capture->paused--;
    if (status >= 0) status = sh__trace_part_results(tracer, call);
    if (status >= 0) status = sh__recorder_append(tracer->recorder, call);
    if (status < 0) return status;
    sh_node *node = sh_graph_last(tracer->recorder->graph);
    SH_TRY(sh_node_set_meta_int(node, SH_META_KEPT, (int64_t)((uint64_t)mode->position << 32 | mode->index)));
    return SH_PASS;
}

static sh_status keep(sh_mode *mode, sh_call *call) {
    const proxy *p = sh_mode_user(mode);
    sh_tracer *tracer = (sh_tracer *)sh__tracing;
    if (!tracer || tracer->capture->paused) return SH_PASS;
    if (p->strict)
        return sh_fail(
            SH_ERROR_UNSUPPORTED,
            "sh_compile: mode %s wants %s and is not declared rewriting, so it can't be baked in (strict)",
            p->mode->mode->name, sh_call_name(call));
    p->mode->kept++;
    return record_here(tracer, call, p->mode);
}

/* ---- proxies ---- */

static sh_status copy_interest(sh_mode *to, const sh_mode *from) {
    memcpy(to->wants, from->wants, sizeof to->wants);
    to->unusual |= atomic_load(&from->unusual) & SH_MODE_IS_INEXACT;
    if (!from->nfamilies) return SH_OK;
    to->families = sh__alloc(from->nfamilies * sizeof *to->families);
    if (!to->families) return SH_ERROR_MEMORY;
    memcpy(to->families, from->families, from->nfamilies * sizeof *to->families);
    to->nfamilies = from->nfamilies;
    return SH_OK;
}

/* Never a watching one: a capture then looks where the proxy stands for what it records. Nor one that runs last: the trace
 * records last of all, and the order of the pushes keeps such a proxy below the others. */
static sh_mode *make_proxy(proxy *p) {
    const sh_mode *mode = p->mode->mode;
    const uint32_t flags = (mode->flags & (SH_MODE_KEEPS_COMPOSITES | SH_MODE_FIRST)) | SH_MODE_STANDS_IN;
    sh_mode *made =
        sh_mode_new(p->mode->baked ? run_rewriting : keep,
                    &(sh_mode_options){.name = mode->name,
                                       .level = mode->level,
                                       .kind = p->mode->baked ? SH_MODE_REWRITING : SH_MODE_STATEFUL,
                                       .flags = flags,
                                       .user = p});
    if (made && copy_interest(made, mode) >= 0) return made;
    sh_mode_release(made);
    return NULL;
}

/* Of one level and place before and behind others: those that are met last are pushed first. */
static sh_status push_proxies(bake *b) {
    for (size_t i = b->baked->nmodes; i-- > 0;) {
        if (b->baked->modes[i].unseen) continue;
        b->proxies[i] = (proxy){&b->baked->modes[i], b->strict};
        sh_mode *made = make_proxy(&b->proxies[i]);
        if (!made) return sh__error_ensure(SH_ERROR_MEMORY);
        const sh_status status = sh_push_mode(made);
        if (status >= 0) b->pushed[i] = made;
        if (status < 0) sh_mode_release(made);
        SH_TRY(status);
    }
    return SH_OK;
}

static void pop_proxies(bake *b) {
    for (size_t i = 0; i < b->baked->nmodes; i++) {
        if (!b->pushed[i]) continue;
        sh_pop_mode(b->pushed[i]);
        sh_mode_release(b->pushed[i]);
    }
}

/* ---- the modes in sight ---- */

static size_t list_position(sh_thread *thread, uint32_t p, sh_baked_mode *modes) {
    uint32_t below = 0;
    size_t n = 0;
    for (const sh_entry *e = sh__seen_from_here(thread, p); e; e = e->below) below++;
    for (const sh_entry *e = sh__seen_from_here(thread, p); e; e = e->below) {
        below--;
        if (sh__mode_is_off(thread, e->mode)) continue;
        if (modes)
            modes[n] = (sh_baked_mode){.mode = sh_mode_keep(e->mode),
                                       .position = p,
                                       .index = below,
                                       .unseen = (thread->state.switches & SH_OFF_ALL) != 0,
                                       .baked = e->mode->kind == SH_MODE_REWRITING};
        n++;
    }
    return n;
}

static size_t list_all(sh_thread *thread, sh_baked_mode *modes) {
    size_t n = 0;
    for (uint32_t p = 0; p < SH_POS_COUNT; p++) n += list_position(thread, p, modes ? modes + n : NULL);
    return n;
}

static sh_status list_modes(sh_baked *baked) {
    sh_thread *thread = &sh__thread;
    const bool pinned = !thread->depth && sh__globals_any();
    if (pinned) sh__globals_pin(thread);
    const size_t n = list_all(thread, NULL);
    baked->modes = n ? sh__calloc(n, sizeof *baked->modes) : NULL;
    if (baked->modes) baked->nmodes = list_all(thread, baked->modes);
    if (pinned) sh__globals_release(thread);
    return n && !baked->modes ? SH_ERROR_MEMORY : SH_OK;
}

/* ---- the trace ---- */

/* Nodes say what names are open within the call: around it there may be others next time. */
static sh_status strip_scopes(sh_graph *graph) {
    const char *around = sh__scope_path();
    const size_t n = strlen(around);
    for (sh_node *node = graph->root.next; n && node != &graph->root; node = node->next) {
        const char *scope = node->scope;
        if (strncmp(scope, around, n) != 0 || (scope[n] && scope[n] != '.')) continue;
        SH_TRY(sh_node_set_scope(node, scope + n + (scope[n] == '.')));
    }
    return SH_OK;
}

static sh_status trace(void *user) {
    bake *b = user;
    sh_switch off;
    const sh_status status = push_proxies(b);
    sh_switch_off(&off, SH_OFF_OVERRIDES); /* those of constants: a graph with such is not for a plan */
    if (status >= 0) b->baked->graph = sh_trace(b->module, b->inputs, &(sh_trace_options){.no_leaves = true});
    sh_switch_end(&off);
    pop_proxies(b);
    return b->baked->graph ? strip_scopes(b->baked->graph) : sh__error_ensure(SH_ERROR_VALUE);
}

/* A trace is a mode itself, so it can't do with all of them off at once. */
sh_status sh__with_modes_off(const sh_baked *baked, sh_work work, void *user) {
    const size_t n = baked->nmodes;
    sh_switch on, *off = sh__calloc(n + 1, sizeof *off);
    if (!off) return SH_ERROR_MEMORY;
    sh_switch_on(&on);
    for (size_t i = 0; i < n; i++) sh_switch_mode_off(&off[i], baked->modes[i].mode);
    const sh_status status = work(user);
    for (size_t i = n; i-- > 0;) sh_switch_end(&off[i]);
    sh_switch_end(&on);
    sh__free(off);
    return status;
}

sh_status sh__bake(sh_module *module, sh_values inputs, bool strict, sh_baked *baked) {
    *baked = (sh_baked){0};
    sh_status status = list_modes(baked);
    bake b = {.baked = baked, .module = module, .inputs = inputs, .strict = strict};
    b.proxies = sh__calloc(baked->nmodes + 1, sizeof *b.proxies);
    b.pushed = sh__calloc(baked->nmodes + 1, sizeof *b.pushed);
    if (status >= 0) status = b.proxies && b.pushed ? sh__with_modes_off(baked, trace, &b) : SH_ERROR_MEMORY;
    sh__free(b.proxies);
    sh__free(b.pushed);
    if (status < 0) sh__baked_free(baked);
    return status;
}

bool sh__baked_reads_scope(const sh_baked *baked) {
    bool reads = false;
    for (size_t i = 0; i < baked->nmodes; i++) reads |= baked->modes[i].reads_scope;
    return reads;
}

void sh__baked_free(sh_baked *baked) {
    for (size_t i = 0; i < baked->nmodes; i++) sh_mode_release(baked->modes[i].mode);
    sh__free(baked->modes);
    sh_graph_free(baked->graph);
    *baked = (sh_baked){0};
}
