/* trace_call.c - a call while it is traced: shapes in, shapes out, values only where all are concrete.
 *
 * Among tensors without data the others don't count (D2: meta wins). Where none is without, as for factories and what
 * is made of parameters alone, stand-ins take their places for the time of the run. */
#include <string.h>

#include "dispatch/chain.h"
#include "graph/trace_impl.h"

/* In the same layout, which decides what a view can be made of. */
sh_tensor *sh__trace_stand_in(const sh_tensor *t) {
    sh_tensor *made = sh_tensor_new_on(SH_META, (sh_dtype)t->dtype, sh_ints_of(t->sizes, t->ndim));
    if (made) sh__tensor_set_layout(made, t->ndim, t->sizes, t->strides, 0);
    return made;
}

/* ---- running ---- */

static sh_status replace(sh_tensor *const *tensor, sh_tensor **with) {
    if (!*tensor || ((*tensor)->flags & SH_TENSOR_WRAPPED)) {
        *with = *tensor;
        return SH_OK;
    }
    *with = sh__trace_stand_in(*tensor);
    return *with ? SH_OK : sh_error()->code;
}

/* `room` takes the entries of lists and moves on. */
static sh_status replace_value(sh_value *value, sh_tensor ***room) {
    if (value->tag == SH_TAG_TENSOR) return replace(&value->as.tensor, &value->as.tensor);
    if (value->tag != SH_TAG_TENSORS) return SH_OK;
    sh_tensor **list = *room;
    *room += value->count;
    for (uint32_t i = 0; i < value->count; i++) SH_TRY(replace(&value->as.tensors[i], &list[i]));
    value->as.tensors = list;
    return SH_OK;
}

static sh_status replace_all(sh_call *call, sh_tensor **room) {
    for (uint32_t i = 0; i < call->nargs; i++) SH_TRY(replace_value(&call->args[i], &room));
    if (call->variant == SH_INPLACE)
        call->target = call->args[0].as.tensor;
    else if (call->target)
        SH_TRY(replace(&call->target, &call->target));
    return SH_OK;
}

static sh_status run_on_stand_ins(sh_call *call) {
    sh_value args[SH_MAX_ARGS];
    sh_tensor *const target = call->target;
    size_t entries = 0;
    for (uint32_t i = 0; i < call->nargs; i++) entries += call->args[i].count;
    sh_tensor **room = sh__alloc((entries + 1) * sizeof *room);
    if (!room) return SH_ERROR_MEMORY;
    memcpy(args, call->args, call->nargs * sizeof *args);
    sh__before_edit(call);
    sh_status status = replace_all(call, room);
    call->device = SH_META;
    call->special = 0;
    call->scanned = 1;
    if (status >= 0) status = sh_next(call);
    memcpy(call->args, args, call->nargs * sizeof *args);
    call->target = target;
    call->scanned = 0;
    if (target && status >= 0) call->results[0] = sh_value_tensor(target);
    sh__free(room);
    return status;
}

/* A result that is an argument itself becomes a tensor of its own: it will stand for this node. */
sh_status sh__trace_part_results(const sh_tracer *t, sh_call *call) {
    if (call->variant != SH_FUNCTIONAL) return SH_OK;
    for (uint32_t i = 0; i < call->nresults; i++) {
        const sh_value result = call->results[i];
        if (result.tag != SH_TAG_TENSOR || !sh__identity_find(&t->recorder->origins, result.as.tensor))
            continue;
        sh_tensor *view = sh__tensor_view(result.as.tensor);
        if (!view || !sh__own(view)) return SH_ERROR_MEMORY;
        call->results[i] = sh_value_tensor(view);
    }
    return SH_OK;
}

/* ---- concrete values ---- */

/* Has it tensors, and are all of them concrete? */
static bool is_concrete(const sh_tracer *t, const sh_call *call) {
    sh_tensor *tensors[SH_MAX_ARGS * 4];
    const size_t n = t->concrete.n ? sh_call_tensors(call, tensors, SH_MAX_ARGS * 4) : 0;
    bool any = false;
    if (n > SH_MAX_ARGS * 4) return false;
    for (size_t i = 0; i < n; i++) {
        if (tensors[i]->flags & SH_TENSOR_WRAPPED) continue;
        if (!sh__identity_find(&t->concrete, tensors[i])) return false;
        any = true;
    }
    return any && (!call->target || sh__identity_find(&t->concrete, call->target));
}

static sh_status keep_concrete(sh_tracer *t, const sh_call *call) {
    const sh_value first = call->results[0];
    for (uint32_t i = 0; first.tag == SH_TAG_TENSORS && i < first.count; i++)
        SH_TRY(sh__identity_set(&t->concrete, first.as.tensors[i], NULL, 0));
    for (uint32_t i = 0; i < call->nresults; i++)
        if (call->results[i].tag == SH_TAG_TENSOR)
            SH_TRY(sh__identity_set(&t->concrete, call->results[i].as.tensor, NULL, 0));
    return SH_OK;
}

/* ---- a call ---- */

static void mark(const sh_call *call) {
    const sh_value first = call->results[0];
    for (uint32_t i = 0; first.tag == SH_TAG_TENSORS && i < first.count; i++)
        first.as.tensors[i]->flags |= SH_TENSOR_UNBOUND;
    for (uint32_t i = 0; i < call->nresults; i++)
        if (call->results[i].tag == SH_TAG_TENSOR && call->results[i].as.tensor->device == SH_META)
            call->results[i].as.tensor->flags |= SH_TENSOR_UNBOUND;
}

/* Where no tensor is without data, and where one that has data is written to: a trace writes nothing. */
static sh_status needs_stand_ins(sh_call *call, bool *needed) {
    *needed = call->target && call->target->device != SH_META;
    if (*needed) return SH_OK;
    if (!call->scanned) SH_TRY(sh__call_scan(call));
    *needed = call->device != SH_META;
    return SH_OK;
}

sh_status sh__trace_call(sh_call *call, void *tracer) {
    sh_tracer *t = tracer;
    bool stand_in;
    if (is_concrete(t, call)) {
        SH_TRY(sh_next(call));
        return keep_concrete(t, call) < 0 ? sh_error()->code : SH_PASS;
    }
    SH_TRY(needs_stand_ins(call, &stand_in));
    SH_TRY(stand_in ? run_on_stand_ins(call) : sh_next(call));
    mark(call);
    if (t->capture->paused) return SH_PASS;
    return sh__trace_part_results(t, call) < 0 ? sh_error()->code : SH_OK;
}

/* ---- tensors from outside ---- */

sh_node *sh__trace_outside(sh_recorder *recorder, sh_tensor *tensor) {
    sh_tracer *t = recorder->user;
    if (!t->tensors_known && sh__paths_of_tensors(&t->tensors, t->root) < 0) return NULL;
    t->tensors_known = true;
    const char *path = sh__path_of(&t->tensors, tensor);
    if (!path) return sh__recorder_constant(recorder, tensor);
    sh_node *node = sh_graph_create_node(recorder->graph, SH_GET_ATTR, path, SH_NO_ARGS, SH_NO_KWARGS, NULL);
    if (!node || sh__identity_set(&recorder->origins, tensor, node, -1) < 0) return NULL;
    sh__recorder_set_spec(node, tensor);
    return node;
}

/* ---- reads ---- */

#define WAYS_OUT                                                                                    \
    "give what decides as a concrete argument, make the module that reads it a leaf of the trace, " \
    "or choose with where"

sh_status sh__trace_read(const sh_tensor *tensor, const char *what) {
    const sh_tracer *t = (const sh_tracer *)sh__tracing;
    if (t && t->capture->paused)
        return sh_fail(
            SH_ERROR_UNSUPPORTED,
            "%s: leaf %s reads data, and a graph is being traced: its type needs an infer function", what,
            t->leaf);
    const sh_origin *origin = t ? sh__identity_find(&t->recorder->origins, tensor) : NULL;
    if (!origin)
        return sh_fail(SH_ERROR_UNSUPPORTED, "%s: a tensor of a trace has no data; %s", what, WAYS_OUT);
    const sh_node *node = origin->node;
    if (node->opcode == SH_PLACEHOLDER)
        return sh_fail(SH_ERROR_UNSUPPORTED, "%s: input %s has no data while a graph is traced; %s", what,
                       node->target, WAYS_OUT);
    return sh_fail(SH_ERROR_UNSUPPORTED,
                   "%s: the result of %s (%%%s) has no data while a graph is traced; %s", what, node->target,
                   node->name->text, WAYS_OUT);
}
