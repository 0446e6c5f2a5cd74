/* record.c - the capture mode: each call that really ran becomes a node.
 *
 * The function-level mode brings a second one that lies at the end of the dispatch level. Each call is
 * recorded by exactly one of the two: the upper one switches the lower off while it records, and stands
 * aside where a dispatch-level mode may rewrite. */
#include "graph/record.h"

#include "dispatch/chain.h"
#include "graph/given.h"
#include "graph/graph_impl.h"
#include "graph/record_impl.h"

/* An op with a flag `training` that is off writes nothing but its target. */
static bool is_at_rest(const sh_call *call) {
    const sh_value training = sh_call_arg_named(call, "training");
    return training.tag == SH_TAG_FLAG && !training.as.i;
}

static sh_status before_writes(sh_recorder *r, const sh_call *call) {
    if (call->target) SH_TRY(sh__recorder_before_write(r, call->target));
    for (uint32_t i = 0; i < call->nargs && !is_at_rest(call); i++) {
        const sh_value *v = &call->args[i];
        if (!call->schema->params[i].written) continue;
        if (v->tag == SH_TAG_TENSOR) SH_TRY(sh__recorder_before_write(r, v->as.tensor));
        for (uint32_t k = 0; v->tag == SH_TAG_TENSORS && k < v->count; k++)
            if (v->as.tensors[k]) SH_TRY(sh__recorder_before_write(r, v->as.tensors[k]));
    }
    return SH_OK;
}

/* SH_OK: it ran; SH_PASS: it ran, and is not to be recorded. */
static sh_status run(sh_capture *c, sh_call *call) {
    if (c->run) return c->run(call, c->run_user);
    pthread_mutex_lock(&c->lock);
    const sh_status status = before_writes(&c->recorder, call);
    pthread_mutex_unlock(&c->lock);
    return status < 0 ? status : sh_next(call);
}

static sh_status record(sh_capture *c, sh_call *call) {
    const sh_status ran = run(c, call);
    if (ran != SH_OK) return ran;
    pthread_mutex_lock(&c->lock);
    const sh_status status = sh__recorder_append(&c->recorder, call);
    pthread_mutex_unlock(&c->lock);
    return status < 0 ? status : SH_PASS;
}

/* ---- callbacks ---- */

static sh_status record_here(sh_mode *mode, sh_call *call) { return record(sh_mode_user(mode), call); }

/* A mode of the dispatch level that may change calls, or NULL. */
static const sh_mode *rewriter_below(const sh_call *call) {
    sh_entry *const *top = call->frame->changed & SH_FRAME_MOVED ? call->frame->top : sh__thread.top;
    for (int p = SH_POS_DISPATCH; p < SH_POS_COUNT; p++)
        for (const sh_entry *e = top[p]; e; e = e->below)
            if (e->mode->kind != SH_MODE_WATCHING && !sh__mode_is_off(&sh__thread, e->mode)) return e->mode;
    return NULL;
}

static void tell(sh_capture *c, const sh_mode *rewriter) {
    pthread_mutex_lock(&c->lock);
    const bool first = !c->told;
    c->told = true;
    pthread_mutex_unlock(&c->lock);
    if (first)
        sh_warn(
            "capture: mode %s may rewrite at dispatch level, so that level is recorded: composite ops as what they are made of",
            rewriter->name);
}

static sh_status record_whole(sh_mode *mode, sh_call *call) {
    sh_capture *c = sh_mode_user(mode);
    const sh_mode *rewriter = rewriter_below(call);
    if (rewriter) {
        if (!(rewriter->flags & SH_MODE_STANDS_IN)) tell(c, rewriter);
        return SH_PASS;
    }
    sh_switch lower_off;
    sh_switch_mode_off(&lower_off, c->lower);
    const sh_status status = record(c, call);
    if (lower_off.open) sh_switch_end(&lower_off);
    return status;
}

/* A user function: neither mode sees what its body issues. */
static sh_status record_function(sh_mode *mode, const void *called) {
    sh_capture *c = sh_mode_user(mode);
    if (c->paused) return sh__function_run(called);
    sh_switch upper, lower;
    sh_switch_mode_off(&upper, c->mode);
    sh_switch_mode_off(&lower, c->lower);
    sh_status status = sh__recorder_call_function(&c->recorder, called, &c->lock);
    if (sh_switch_end(&lower) < 0 || sh_switch_end(&upper) < 0) status = sh_error()->code;
    return status;
}

static sh_status push_lower(sh_mode *mode, bool global) {
    const sh_capture *c = sh_mode_user(mode);
    return global ? sh_push_mode_global(c->lower) : sh_push_mode(c->lower);
}

static void pop_lower(sh_mode *mode, bool global) {
    const sh_capture *c = sh_mode_user(mode);
    if (global)
        sh_pop_mode_global(c->lower);
    else
        sh_pop_mode(c->lower);
}

/* ---- making and ending ---- */

static void drop(sh_capture *c) {
    if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1) return;
    sh__identities_free(&c->recorder.origins);
    sh_graph_free(c->recorder.graph);
    pthread_mutex_destroy(&c->lock);
    sh__free(c);
}

static void drop_lower(void *user) { drop(user); }

static void drop_upper(void *user) {
    sh_capture *c = user;
    if (c->finish) c->finish(c, c->user);
    sh_mode_release(c->lower);
    drop(c);
}

static sh_mode *make_mode(sh_capture *c, sh_callback callback, sh_mode_options options) {
    options.kind = SH_MODE_WATCHING;
    options.user = c;
    sh_mode *mode = sh_mode_new(callback, &options);
    if (!mode) return NULL;
    mode->record = record_function;
    atomic_fetch_add(&c->refs, 1);
    return mode;
}

static sh_status make_modes(sh_capture *c, const sh_capture_options *o) {
    const uint32_t flags = SH_MODE_CAPTURES | (o->shared ? SH_MODE_SHARED : 0);
    sh_mode_options one = {.name = "capture", .level = o->level, .destroy = drop_upper};
    one.flags = flags | (o->asked ? SH_MODE_FIRST : SH_MODE_LAST);
    if (o->asked || o->level == SH_LEVEL_DISPATCH) {
        c->mode = make_mode(c, record_here, one);
        return c->mode ? SH_OK : sh_error()->code;
    }
    sh_mode_options lower = {
        .name = "capture (dispatch level)", .level = SH_LEVEL_DISPATCH, .destroy = drop_lower};
    lower.flags = flags | SH_MODE_LAST | SH_MODE_KEEPS_COMPOSITES;
    c->lower = make_mode(c, record_here, lower);
    one.pushed = push_lower;
    one.popped = pop_lower;
    if (c->lower) c->mode = make_mode(c, record_whole, one);
    if (c->mode) return SH_OK;
    sh_mode_release(c->lower);
    return sh_error()->code;
}

sh_capture *sh_capture_new(const sh_capture_options *options) {
    static const sh_capture_options plain = {0};
    if (sh__error_pending()) return NULL;
    sh_capture *c = sh__calloc(1, sizeof *c);
    if (!c) return NULL;
    atomic_init(&c->refs, 1);
    pthread_mutex_init(&c->lock, NULL);
    c->recorder.graph = sh_graph_new();
    if (!c->recorder.graph || make_modes(c, options ? options : &plain) < 0) {
        drop(c);
        return NULL;
    }
    if (options) {
        c->finish = options->finish;
        c->user = options->user;
    }
    return c;
}

void sh_capture_free(sh_capture *capture) {
    if (!capture) return;
    sh_mode_release(capture->mode);
    drop(capture);
}

sh_mode *sh_capture_mode(sh_capture *capture) {
    SH_GIVEN(capture, NULL);
    return capture->mode;
}

/* ---- inputs and outputs ---- */

/* Behind the other inputs, before everything else. */
static sh_status add_input(sh_capture *c, sh_tensor *t, const char *name) {
    sh_node *first = sh_graph_first(c->recorder.graph), *node = NULL;
    while (first && first->opcode == SH_PLACEHOLDER) first = sh_node_next(first);
    if (!first)
        node = sh_graph_placeholder(c->recorder.graph, name);
    else
        SH_INSERTING_BEFORE(first) node = sh_graph_placeholder(c->recorder.graph, name);
    if (!node) return sh_error()->code;
    sh__recorder_set_spec(node, t);
    return sh__identity_set(&c->recorder.origins, t, node, -1);
}

sh_status sh_capture_input(sh_capture *capture, sh_tensor *tensor, const char *name) {
    if (sh__error_pending()) return sh_error()->code;
    if (!tensor || !name)
        return sh_fail(SH_ERROR_NULL, "sh_capture_input: %s is NULL", tensor ? "name" : "tensor");
    pthread_mutex_lock(&capture->lock);
    const sh_origin *origin = sh__identity_find(&capture->recorder.origins, tensor);
    const sh_status status = origin ? sh_fail(SH_ERROR_VALUE, "sh_capture_input: %s is known already as %%%s",
                                              name, sh_node_name(origin->node))
                                    : add_input(capture, tensor, name);
    pthread_mutex_unlock(&capture->lock);
    return status;
}

/* Fills `list` with the nodes of the outputs, or with those that nothing uses. Returns how many. */
static size_t list_outputs(sh_capture *c, sh_tensors outputs, sh_arg *list) {
    size_t n = 0;
    for (size_t i = 0; i < outputs.n; i++) {
        if (!outputs.at[i])
            sh_fail(SH_ERROR_NULL, "sh_capture_graph: output %zu is NULL", i);
        else
            sh__recorder_arg(&c->recorder, outputs.at[i], &list[n++]);
        if (sh__error_pending()) return 0;
    }
    for (const sh_node *node = outputs.n ? NULL : sh_graph_first(c->recorder.graph); node;
         node = sh_node_next(node))
        if (node->opcode == SH_CALL_FUNCTION && !node->nusers)
            list[n++] = sh_arg_node((sh_node *)(uintptr_t)node);
    return n;
}

static sh_status add_output(sh_capture *c, sh_tensors outputs) {
    sh_arg *list = sh__alloc((c->recorder.graph->size + outputs.n + 1) * sizeof *list);
    if (!list) return SH_ERROR_MEMORY;
    const size_t n = list_outputs(c, outputs, list);
    if (!sh__error_pending())
        sh_graph_output(c->recorder.graph, n == 0   ? sh_arg_none()
                                           : n == 1 ? list[0]
                                                    : sh_arg_tuple((sh_args){list, n}));
    sh__free(list);
    return sh__error_pending() ? sh_error()->code : SH_OK;
}

sh_graph *sh_capture_graph(sh_capture *capture, sh_tensors outputs) {
    if (sh__error_pending()) return NULL;
    SH_GIVEN(capture, NULL);
    sh_graph *fresh = sh_graph_new(), *graph = NULL;
    if (!fresh) return NULL;
    pthread_mutex_lock(&capture->lock);
    if (add_output(capture, outputs) >= 0) {
        graph = capture->recorder.graph;
        capture->recorder.graph = fresh;
        capture->recorder.nconstants = 0;
        sh__identities_free(&capture->recorder.origins);
    }
    pthread_mutex_unlock(&capture->lock);
    if (!graph) sh_graph_free(fresh);
    return graph;
}
