/* record.c - the capture mode: each call that really ran becomes a node.
 *
 * A node is appended after the call has run, from the arguments as they then stand. An in-place op makes
 * its target known by the new node, so later uses of the tensor come after the write. A tensor of outside
 * is kept as it was when first met: before an op writes to its memory the graph gets a copy.
 *
 * The function-level mode brings a second one that lies at the end of the dispatch level. Each call is
 * recorded by exactly one of the two: the upper one switches the lower off while it records, and stands
 * aside where a dispatch-level mode may rewrite. */
#include "graph/record.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/byname.h"
#include "dispatch/chain.h"
#include "graph/graph_impl.h"
#include "graph/identity.h"

struct sh_capture {
    atomic_int refs;      /* the handle's and each mode's */
    sh_mode *mode;        /* the handle's reference */
    sh_mode *lower;       /* the reference is the upper mode's; NULL where there is only one */
    pthread_mutex_t lock; /* for what follows */
    sh_graph *graph;
    sh_identities origins;
    uint32_t nconstants;
    bool told;
    void (*finish)(sh_capture *capture, void *user);
    void *user;
};

/* ---- nodes of tensors ---- */

static void set_spec(sh_node *node, const sh_tensor *t) {
    sh_spec spec = {.dtype = (sh_dtype)t->dtype, .ndim = t->ndim};
    memcpy(spec.sizes, t->sizes, sizeof spec.sizes);
    sh_node_set_spec(node, &spec);
}

/* A copy that no mode sees made. */
static sh_tensor *copy_of(const sh_tensor *t) {
    sh_tensor *copy =
        sh_tensor_new_on((sh_device)t->device, (sh_dtype)t->dtype, (sh_ints){t->sizes, t->ndim});
    const sh_argument arguments[] = {{NULL, sh_value_tensor(copy)},
                                     {NULL, sh_value_tensor((sh_tensor *)(uintptr_t)t)}};
    sh_value results[SH_MAX_RESULTS];
    sh_switch off;
    if (!copy) return NULL;
    sh_switch_off(&off, SH_OFF_ALL);
    const sh_status status = sh_call_by_name("copy_", arguments, 2, results);
    sh_switch_end(&off);
    return status < 0 ? NULL : copy;
}

static sh_node *add_constant(sh_capture *c, sh_tensor *t, sh_tensor *value) {
    char name[40];
    snprintf(name, sizeof name, "_tensor_constant%" PRIu32, c->nconstants);
    if (!value || sh_graph_set_attr(c->graph, name, value) < 0) return NULL;
    c->nconstants++;
    sh_node *node = sh_graph_get_attr(c->graph, name);
    if (!node || sh__identity_set(&c->origins, t, node, -1) < 0) return NULL;
    set_spec(node, t);
    return node;
}

/* Behind the node and what was taken from it before. */
static sh_node *add_getitem(sh_capture *c, sh_origin *origin) {
    sh_node *last = origin->node, *item = NULL;
    for (sh_node *next; (next = sh_node_next(last)) && strcmp(next->target, SH_GETITEM) == 0 &&
                        next->args.n && next->args.at[0].as.node == origin->node;)
        last = next;
    SH_INSERTING_AFTER(last) {
        item = sh_graph_call_function(c->graph, SH_GETITEM, origin->node, origin->item);
    }
    if (!item) return NULL;
    set_spec(item, origin->tensor);
    item->scope = origin->node->scope;
    item->site = origin->node->site;
    origin->node = item;
    origin->item = -1;
    return item;
}

static sh_node *node_of(sh_capture *c, sh_tensor *t) {
    sh_origin *origin = sh__identity_find(&c->origins, t);
    if (!origin) return add_constant(c, t, t);
    return origin->item < 0 ? origin->node : add_getitem(c, origin);
}

/* What the graph keeps of memory that is about to be written becomes a copy. */
static sh_status before_write(sh_capture *c, sh_tensor *target) {
    if (!sh__identity_find(&c->origins, target) && !add_constant(c, target, copy_of(target)))
        return sh_error()->code;
    for (uint32_t i = 0; i < c->graph->attrs.n; i++) {
        sh_symbol *attr = c->graph->attrs.at[i];
        if (!attr->object || !sh_tensor_same_storage(attr->object, target)) continue;
        sh_tensor *copy = copy_of(attr->object);
        if (!copy) return sh_error()->code;
        sh_release(attr->object);
        attr->object = sh_keep(copy);
    }
    return SH_OK;
}

/* ---- arguments ---- */

/* The arguments of one node while it is made; lists stand in `entries`. */
typedef struct arguments {
    sh_arg args[SH_MAX_ARGS];
    sh_kwarg kwargs[SH_MAX_ARGS + 1];
    size_t nargs, nkwargs;
    sh_arg *entries, *free;
} arguments;

static sh_status tensor_arg(sh_capture *c, sh_tensor *t, sh_arg *arg) {
    *arg = sh_arg_none();
    if (!t) return SH_OK;
    if ((t->flags & SH_TENSOR_WRAPPED) && t->device == SH_HOST) {
        if (t->dtype == SH_B8)
            *arg = sh_arg_flag(sh_item_int(t) != 0);
        else if (sh_dtype_kind_of((sh_dtype)t->dtype) == SH_KIND_FLOAT)
            *arg = sh_arg_float(sh_item(t));
        else
            *arg = sh_arg_int(sh_item_int(t));
        return SH_OK;
    }
    *arg = sh_arg_node(node_of(c, t));
    return arg->as.node ? SH_OK : sh_error()->code;
}

static sh_status list_arg(sh_capture *c, arguments *to, sh_value v, sh_arg *arg) {
    sh_arg *list = to->free;
    to->free += v.count;
    for (uint32_t i = 0; i < v.count; i++) {
        if (v.tag == SH_TAG_INTS)
            list[i] = sh_arg_int(v.as.ints[i]);
        else
            SH_TRY(tensor_arg(c, v.as.tensors[i], &list[i]));
    }
    *arg = sh_arg_list((sh_args){list, v.count});
    return SH_OK;
}

static sh_status value_arg(sh_capture *c, arguments *to, sh_value v, sh_arg *arg) {
    switch (v.tag) {
    case SH_TAG_TENSOR: return tensor_arg(c, v.as.tensor, arg);
    case SH_TAG_TENSORS:
    case SH_TAG_INTS: return list_arg(c, to, v, arg);
    case SH_TAG_INT: *arg = sh_arg_int(v.as.i); break;
    case SH_TAG_FLOAT: *arg = sh_arg_float(v.as.f); break;
    case SH_TAG_FLAG: *arg = sh_arg_flag(v.as.i != 0); break;
    case SH_TAG_STRING: *arg = sh_arg_string(v.as.string); break;
    case SH_TAG_DTYPE: *arg = sh_arg_dtype((sh_dtype)v.as.i); break;
    default: *arg = sh_arg_none();
    }
    return SH_OK;
}

/* Required arguments stand in order, the others by keyword; what equals its default is left out. */
static sh_status collect_arguments(sh_capture *c, const sh_call *call, arguments *to) {
    for (uint32_t i = 0; i < call->nargs; i++) {
        const sh_param *param = &call->schema->params[i];
        if (param->has_default && sh_value_equal(call->args[i], param->value)) continue;
        const bool keyword = param->has_default || param->keyword_only;
        sh_arg *arg = keyword ? &to->kwargs[to->nkwargs].value : &to->args[to->nargs];
        SH_TRY(value_arg(c, to, call->args[i], arg));
        if (keyword)
            to->kwargs[to->nkwargs++].name = param->name;
        else
            to->nargs++;
    }
    if (call->variant != SH_OUT) return SH_OK;
    to->kwargs[to->nkwargs].name = "out";
    return tensor_arg(c, call->target, &to->kwargs[to->nkwargs++].value);
}

static sh_status allocate_entries(const sh_call *call, arguments *to) {
    size_t n = 0;
    for (uint32_t i = 0; i < call->nargs; i++) n += call->args[i].count;
    to->nargs = to->nkwargs = 0;
    to->entries = to->free = n ? sh__alloc(n * sizeof *to->entries) : NULL;
    return n && !to->entries ? SH_ERROR_MEMORY : SH_OK;
}

/* ---- the node of a call ---- */

/* Several results, and the entries of a list, are parts of the node. */
static sh_status name_results(sh_capture *c, const sh_call *call, sh_node *node) {
    const sh_value first = call->results[0];
    for (uint32_t i = 0; first.tag == SH_TAG_TENSORS && i < first.count; i++)
        SH_TRY(sh__identity_set(&c->origins, first.as.tensors[i], node, i));
    for (uint32_t i = 0; i < call->nresults; i++)
        if (call->results[i].tag == SH_TAG_TENSOR)
            SH_TRY(sh__identity_set(&c->origins, call->results[i].as.tensor, node,
                                    call->nresults > 1 ? (int64_t)i : -1));
    if (first.tag == SH_TAG_TENSOR && call->nresults == 1) set_spec(node, first.as.tensor);
    return SH_OK;
}

static sh_status append(sh_capture *c, const sh_call *call) {
    arguments a;
    SH_TRY(allocate_entries(call, &a));
    sh_status status = collect_arguments(c, call, &a);
    sh_node *node =
        status < 0 ? NULL
                   : sh_graph_create_node(c->graph, SH_CALL_FUNCTION, sh_call_name(call),
                                          (sh_args){a.args, a.nargs}, (sh_kwargs){a.kwargs, a.nkwargs}, NULL);
    sh__free(a.entries);
    if (!node) return sh_error()->code;
    node->site = call->site;
    SH_TRY(sh_node_set_scope(node, sh_scope_path()));
    return name_results(c, call, node);
}

static sh_status record(sh_capture *c, sh_call *call) {
    if (call->target) {
        pthread_mutex_lock(&c->lock);
        const sh_status status = before_write(c, call->target);
        pthread_mutex_unlock(&c->lock);
        SH_TRY(status);
    }
    SH_TRY(sh_next(call));
    pthread_mutex_lock(&c->lock);
    const sh_status status = append(c, call);
    pthread_mutex_unlock(&c->lock);
    return status < 0 ? status : SH_PASS;
}

/* ---- callbacks ---- */

static sh_status record_here(sh_mode *mode, sh_call *call) { return record(sh_mode_user(mode), call); }

/* A mode of the dispatch level that may change calls, or NULL. */
static const sh_mode *rewriter_below(const sh_call *call) {
    sh_entry *const *top = call->frame->moved ? call->frame->top : call->thread->top;
    for (int p = SH_POS_DISPATCH; p < SH_POS_COUNT; p++)
        for (const sh_entry *e = top[p]; e; e = e->below)
            if (e->mode->kind != SH_MODE_WATCHING && !sh__mode_is_off(call->thread, e->mode)) return e->mode;
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
        tell(c, rewriter);
        return SH_PASS;
    }
    sh_switch lower_off;
    sh_switch_mode_off(&lower_off, c->lower);
    const sh_status status = record(c, call);
    if (lower_off.open) sh_switch_end(&lower_off);
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
    sh__identities_free(&c->origins);
    sh_graph_free(c->graph);
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
    if (mode) atomic_fetch_add(&c->refs, 1);
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
    c->graph = sh_graph_new();
    if (!c->graph || make_modes(c, options ? options : &plain) < 0) {
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

sh_mode *sh_capture_mode(sh_capture *capture) { return capture->mode; }

/* ---- inputs and outputs ---- */

/* Behind the other inputs, before everything else. */
static sh_status add_input(sh_capture *c, sh_tensor *t, const char *name) {
    sh_node *first = sh_graph_first(c->graph), *node = NULL;
    while (first && first->opcode == SH_PLACEHOLDER) first = sh_node_next(first);
    if (!first)
        node = sh_graph_placeholder(c->graph, name);
    else
        SH_INSERTING_BEFORE(first) node = sh_graph_placeholder(c->graph, name);
    if (!node) return sh_error()->code;
    set_spec(node, t);
    return sh__identity_set(&c->origins, t, node, -1);
}

sh_status sh_capture_input(sh_capture *capture, sh_tensor *tensor, const char *name) {
    if (sh__error_pending()) return sh_error()->code;
    if (!tensor || !name)
        return sh_fail(SH_ERROR_NULL, "sh_capture_input: %s is NULL", tensor ? "name" : "tensor");
    pthread_mutex_lock(&capture->lock);
    const sh_origin *origin = sh__identity_find(&capture->origins, tensor);
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
            tensor_arg(c, outputs.at[i], &list[n++]);
        if (sh__error_pending()) return 0;
    }
    for (const sh_node *node = outputs.n ? NULL : sh_graph_first(c->graph); node; node = sh_node_next(node))
        if (node->opcode == SH_CALL_FUNCTION && !node->nusers)
            list[n++] = sh_arg_node((sh_node *)(uintptr_t)node);
    return n;
}

static sh_status add_output(sh_capture *c, sh_tensors outputs) {
    sh_arg *list = sh__alloc((c->graph->size + outputs.n + 1) * sizeof *list);
    if (!list) return SH_ERROR_MEMORY;
    const size_t n = list_outputs(c, outputs, list);
    if (!sh__error_pending())
        sh_graph_output(c->graph, n == 0   ? sh_arg_none()
                                  : n == 1 ? list[0]
                                           : sh_arg_tuple((sh_args){list, n}));
    sh__free(list);
    return sh__error_pending() ? sh_error()->code : SH_OK;
}

sh_graph *sh_capture_graph(sh_capture *capture, sh_tensors outputs) {
    if (sh__error_pending()) return NULL;
    sh_graph *fresh = sh_graph_new(), *graph = NULL;
    if (!fresh) return NULL;
    pthread_mutex_lock(&capture->lock);
    if (add_output(capture, outputs) >= 0) {
        graph = capture->graph;
        capture->graph = fresh;
        capture->nconstants = 0;
        sh__identities_free(&capture->origins);
    }
    pthread_mutex_unlock(&capture->lock);
    if (!graph) sh_graph_free(fresh);
    return graph;
}
