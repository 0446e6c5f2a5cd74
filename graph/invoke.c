/* invoke.c - a node's arguments become values, its target an op, and the op is called. */
#include "graph/invoke.h"

#include <string.h>

#include "dispatch/chain.h"
#include "graph/graph_impl.h"

typedef struct invocation {
    sh_resolver resolve;
    void *user;
    sh_scratch *scratch;
} invocation;

sh_value sh__literal_value(sh_arg arg) {
    switch (arg.tag) {
    case SH_ARG_INT: return sh_value_int(arg.as.i);
    case SH_ARG_FLOAT: return sh_value_float(arg.as.f);
    case SH_ARG_FLAG: return sh_value_flag(arg.as.i != 0);
    case SH_ARG_STRING: return sh_value_string(arg.as.string);
    case SH_ARG_DTYPE: return sh_value_dtype((sh_dtype)arg.as.i);
    default: return sh_none();
    }
}

static sh_status value_of(const invocation *in, sh_arg arg, sh_value *value);

/* Integers, or tensors with None between them. */
static sh_status list_value(const invocation *in, sh_arg list, sh_value *value) {
    uint64_t *const at = in->scratch->at + in->scratch->used;
    in->scratch->used += list.count;
    bool tensors = false;
    for (uint32_t i = 0; i < list.count; i++) {
        sh_value v;
        SH_TRY(value_of(in, list.as.list[i], &v));
        const bool tensor = v.tag == SH_TAG_TENSOR || v.tag == SH_TAG_NONE;
        if (!tensor && v.tag != SH_TAG_INT && v.tag != SH_TAG_FLAG)
            return sh_fail(SH_ERROR_TYPE, "entry %u of a list is neither a Tensor nor an int", i);
        if (i && tensor != tensors)
            return sh_fail(SH_ERROR_TYPE, "a list mixes tensors and integers at entry %u", i);
        tensors = tensor;
        at[i] = v.as.bits;
    }
    *value = tensors ? sh_value_tensors((sh_tensors){(sh_tensor *const *)at, list.count})
                     : sh_value_ints((sh_ints){(const int64_t *)at, list.count});
    return SH_OK;
}

static sh_status value_of(const invocation *in, sh_arg arg, sh_value *value) {
    if (arg.tag == SH_ARG_NODE) return in->resolve(in->user, arg.as.node, value);
    if (sh_arg_is_list(arg)) return list_value(in, arg, value);
    *value = sh__literal_value(arg);
    return SH_OK;
}

static size_t list_entries(sh_arg arg) {
    size_t n = sh_arg_is_list(arg) ? arg.count : 0;
    for (uint32_t i = 0; sh_arg_is_list(arg) && i < arg.count; i++) n += list_entries(arg.as.list[i]);
    return n;
}

/* One entry more than needed, so that an empty list has an address. */
static sh_status reserve(sh_scratch *scratch, const sh_node *node) {
    size_t n = 1;
    for (size_t i = 0; i < node->args.n; i++) n += list_entries(node->args.at[i]);
    for (size_t i = 0; i < node->kwargs.n; i++) n += list_entries(node->kwargs.at[i].value);
    scratch->used = 0;
    if (n <= scratch->size) return SH_OK;
    uint64_t *at = sh__realloc(scratch->at, n * sizeof *at);
    if (!at) return SH_ERROR_MEMORY;
    scratch->at = at;
    scratch->size = n;
    return SH_OK;
}

sh_status sh__node_arguments(const sh_node *node, sh_resolver resolve, void *user, sh_scratch *scratch,
                             sh_argument *arguments) {
    const invocation in = {resolve, user, scratch};
    SH_TRY(reserve(scratch, node));
    for (size_t i = 0; i < node->args.n; i++, arguments++) {
        arguments->name = NULL;
        SH_TRY(value_of(&in, node->args.at[i], &arguments->value));
    }
    for (size_t i = 0; i < node->kwargs.n; i++, arguments++) {
        arguments->name = node->kwargs.at[i].name;
        SH_TRY(value_of(&in, node->kwargs.at[i].value, &arguments->value));
    }
    return SH_OK;
}

sh_status sh__node_call(const sh_node *node, sh_resolver resolve, void *user, sh_scratch *scratch,
                        sh_value *results) {
    const void *const caller[] = {NULL, node->site}; /* findings then name the place that was recorded */
    sh_argument arguments[SH_MAX_ARGS + 1];
    const size_t n = node->args.n + node->kwargs.n;
    if (n > SH_MAX_ARGS + 1)
        return sh_fail(SH_ERROR_ARGUMENT, "%s: %zu arguments are too many", node->target, n);
    memset(results, 0, SH_MAX_RESULTS * sizeof *results);
    SH_TRY(sh__node_arguments(node, resolve, user, scratch, arguments));
    return sh__call_by_name(node->target, arguments, n, results, caller);
}

/* ---- shapes ---- */

bool sh__spec_is_known(const sh_node *node) {
    if (!node->has_spec) return false;
    for (int i = 0; i < node->spec.ndim; i++)
        if (node->spec.sizes[i] < 0) return false;
    return true;
}

sh_status sh__node_meta_value(const sh_node *node, sh_value *value) {
    const sh_spec *spec = &node->spec;
    *value =
        sh_value_tensor(sh_tensor_new_on(SH_META, spec->dtype, (sh_ints){spec->sizes, (size_t)spec->ndim}));
    return value->tag == SH_TAG_NONE ? sh_error()->code : SH_OK;
}

static sh_status resolve_meta(void *user, const sh_node *node, sh_value *value) {
    (void)user;
    return sh__node_meta_value(node, value);
}

static void take_spec(sh_node *node, sh_value result) {
    const sh_tensor *t = sh_value_as_tensor(result);
    if (!t) return;
    sh_spec spec = {.dtype = sh_tensor_dtype(t), .ndim = sh_tensor_ndim(t)};
    memcpy(spec.sizes, sh_tensor_sizes(t), (size_t)spec.ndim * sizeof *spec.sizes);
    sh_node_set_spec(node, &spec);
}

/* An op made at run time that does not say what it gives: no fault of the node's. */
static bool says_nothing(const sh_node *node) {
    sh_variant variant;
    const sh_op *op = node->opcode == SH_CALL_FUNCTION ? sh__op_named(node->target, &variant) : NULL;
    return op && sh__definition(op) &&
           !atomic_load_explicit(&op->slots[SH_BACKEND_META], memory_order_acquire);
}

sh_status sh__node_infer(sh_node *node, sh_scratch *scratch) {
    sh_value results[SH_MAX_RESULTS];
    sh_status status = SH_OK;
    node->has_spec = false;
    if (says_nothing(node)) return SH_OK;
    for (uint32_t i = 0; i < node->ninputs; i++)
        if (!sh__spec_is_known(node->uses[i].input)) return SH_OK;
    SH_SCOPE {
        sh_switch off;
        sh_switch_off(&off, SH_OFF_ALL);
        status = sh__node_call(node, resolve_meta, NULL, scratch, results);
        sh_switch_end(&off);
        if (status >= 0) take_spec(node, results[0]);
    }
    return status;
}
