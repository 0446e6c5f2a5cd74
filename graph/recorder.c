/* recorder.c - calls become nodes.
 *
 * A node is appended after the call has run, from the arguments as they then stand. An in-place op makes
 * its target known by the new node, so later uses of the tensor come after the write. A tensor of outside
 * is kept as it was when first met: before an op writes to its memory the graph gets a copy. */
#include "graph/recorder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/chain.h"
#include "graph/graph_impl.h"

/* ---- nodes of tensors ---- */

void sh__recorder_set_spec(sh_node *node, const sh_tensor *t) {
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

static sh_node *add_constant(sh_recorder *r, sh_tensor *t, sh_tensor *value) {
    char name[40];
    snprintf(name, sizeof name, "_tensor_constant%" PRIu32, r->nconstants);
    if (!value || sh_graph_set_attr(r->graph, name, value) < 0) return NULL;
    r->nconstants++;
    sh_node *node = sh_graph_get_attr(r->graph, name);
    if (!node || sh__identity_set(&r->origins, t, node, -1) < 0) return NULL;
    sh__recorder_set_spec(node, t);
    return node;
}

sh_node *sh__recorder_constant(sh_recorder *r, sh_tensor *t) { return add_constant(r, t, t); }

/* Behind the node and what was taken from it before. */
static sh_node *add_getitem(sh_recorder *r, sh_origin *origin) {
    sh_node *last = origin->node, *item = NULL;
    for (sh_node *next; (next = sh_node_next(last)) && strcmp(next->target, SH_GETITEM) == 0 &&
                        next->args.n && next->args.at[0].as.node == origin->node;)
        last = next;
    SH_INSERTING_AFTER(last) {
        item = sh_graph_call_function(r->graph, SH_GETITEM, origin->node, origin->item);
    }
    if (!item) return NULL;
    sh__recorder_set_spec(item, origin->tensor);
    item->scope = origin->node->scope;
    item->site = origin->node->site;
    origin->node = item;
    origin->item = -1;
    return item;
}

static sh_node *node_of(sh_recorder *r, sh_tensor *t) {
    sh_origin *origin = sh__identity_find(&r->origins, t);
    if (!origin) return r->outside ? r->outside(r, t) : add_constant(r, t, t);
    return origin->item < 0 ? origin->node : add_getitem(r, origin);
}

/* What the graph keeps of memory that is about to be written becomes a copy. */
sh_status sh__recorder_before_write(sh_recorder *r, sh_tensor *target) {
    if (r->outside) return SH_OK;
    if (!sh__identity_find(&r->origins, target) && !add_constant(r, target, copy_of(target)))
        return sh_error()->code;
    for (uint32_t i = 0; i < r->graph->attrs.n; i++) {
        sh_symbol *attr = r->graph->attrs.at[i];
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

sh_status sh__recorder_arg(sh_recorder *r, sh_tensor *t, sh_arg *arg) {
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
    *arg = sh_arg_node(node_of(r, t));
    return arg->as.node ? SH_OK : sh_error()->code;
}

static sh_status list_arg(sh_recorder *r, sh_value v, sh_arg **entries, sh_arg *arg) {
    sh_arg *list = *entries;
    *entries += v.count;
    for (uint32_t i = 0; i < v.count; i++) {
        if (v.tag == SH_TAG_INTS)
            list[i] = sh_arg_int(v.as.ints[i]);
        else
            SH_TRY(sh__recorder_arg(r, v.as.tensors[i], &list[i]));
    }
    *arg = sh_arg_list((sh_args){list, v.count});
    return SH_OK;
}

sh_status sh__recorder_value(sh_recorder *r, sh_value v, sh_arg **entries, sh_arg *arg) {
    switch (v.tag) {
    case SH_TAG_TENSOR: return sh__recorder_arg(r, v.as.tensor, arg);
    case SH_TAG_TENSORS:
    case SH_TAG_INTS: return list_arg(r, v, entries, arg);
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
static sh_status collect_arguments(sh_recorder *r, const sh_call *call, arguments *to) {
    for (uint32_t i = 0; i < call->nargs; i++) {
        const sh_param *param = &call->schema->params[i];
        if (param->has_default && sh_value_equal(call->args[i], param->value)) continue;
        const bool keyword = param->has_default || param->keyword_only;
        sh_arg *arg = keyword ? &to->kwargs[to->nkwargs].value : &to->args[to->nargs];
        SH_TRY(sh__recorder_value(r, call->args[i], &to->free, arg));
        if (keyword)
            to->kwargs[to->nkwargs++].name = param->name;
        else
            to->nargs++;
    }
    if (call->variant != SH_OUT) return SH_OK;
    to->kwargs[to->nkwargs].name = "out";
    return sh__recorder_arg(r, call->target, &to->kwargs[to->nkwargs++].value);
}

static sh_status allocate_entries(const sh_call *call, arguments *to) {
    size_t n = 0;
    for (uint32_t i = 0; i < call->nargs; i++) n += call->args[i].count;
    to->nargs = to->nkwargs = 0;
    to->entries = to->free = n ? sh__alloc(n * sizeof *to->entries) : NULL;
    return n && !to->entries ? SH_ERROR_MEMORY : SH_OK;
}

/* ---- the node of a call ---- */

/* From now on the tensor stands for the node. In a trace it also says so. */
static sh_status name_result(sh_recorder *r, sh_tensor *t, sh_node *node, int64_t item) {
    if (r->outside && t->device == SH_META) t->flags |= SH_TENSOR_UNBOUND;
    return sh__identity_set(&r->origins, t, node, item);
}

/* Several results, and the entries of a list, are parts of the node. */
static sh_status name_results(sh_recorder *r, const sh_value *results, uint32_t n, sh_node *node) {
    const sh_value first = results[0];
    for (uint32_t i = 0; first.tag == SH_TAG_TENSORS && i < first.count; i++)
        SH_TRY(name_result(r, first.as.tensors[i], node, i));
    for (uint32_t i = 0; i < n; i++)
        if (results[i].tag == SH_TAG_TENSOR)
            SH_TRY(name_result(r, results[i].as.tensor, node, n > 1 ? (int64_t)i : -1));
    if (first.tag == SH_TAG_TENSOR && n == 1) sh__recorder_set_spec(node, first.as.tensor);
    return SH_OK;
}

sh_status sh__recorder_finish(sh_recorder *r, sh_node *node, const void *site, const sh_value *results,
                              uint32_t n) {
    if (!node) return sh_error()->code;
    node->site = site;
    SH_TRY(sh_node_set_scope(node, sh__scope_path()));
    return name_results(r, results, n, node);
}

sh_status sh__recorder_append(sh_recorder *r, const sh_call *call) {
    arguments a;
    SH_TRY(allocate_entries(call, &a));
    sh_status status = collect_arguments(r, call, &a);
    sh_node *node =
        status < 0 ? NULL
                   : sh_graph_create_node(r->graph, SH_CALL_FUNCTION, sh_call_name(call),
                                          (sh_args){a.args, a.nargs}, (sh_kwargs){a.kwargs, a.nkwargs}, NULL);
    sh__free(a.entries);
    return sh__recorder_finish(r, node, sh_call_site(call), call->results, call->nresults);
}
