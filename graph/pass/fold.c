/* fold.c - what depends on constants alone is computed once.
 *
 * An interpreter goes over the graph and runs only nodes that are pure and whose inputs it has values of. Then the graph
 * is edited: of the nodes with a value those that others still need become tensors of the graph, the rest goes.
 *
 * Neither do modes see the computation nor do they change it: what a pass bakes in must not depend on who watches. A mode
 * whose rewriting is to be in the graph is pushed while the graph is recorded. */
#include <string.h>

#include "dispatch/chain.h"
#include "graph/bind.h"
#include "graph/effects.h"
#include "graph/interpreter_impl.h"
#include "graph/invoke.h"
#include "graph/module/graph_module.h"
#include "graph/module/nn_types.h"
#include "graph/pass/constant.h"
#include "graph/pass/pass.h"
#include "graph/recorder.h"

typedef struct folder {
    sh_graph *graph;
    const sh_fold_options *options;
    sh_memory_map memory;
    sh_seen written; /* storages */
    uint32_t end;    /* of the ids of the nodes that were there */
    bool *constant;  /* by id: it has a value */
    bool *needed;    /* by id: it, or its value, stays */
    bool *lost;      /* by id: a user went */
    sh_scratch scratch;
    bool in_training; /* parameters may still change */
} folder;

/* ---- what is constant ---- */

/* Its memory is nobody's but the graph's. */
static bool is_untouched(const folder *f, const sh_node *node) {
    return !sh__is_written(&f->memory, node) && !sh__is_returned(&f->memory, node);
}

static bool is_constant_tensor(const folder *f, const sh_node *node) {
    const sh_tensor *t = sh__constant_of(node);
    if (!t || !t->storage || sh__seen_holds(&f->written, t->storage)) return false;
    return !f->in_training || sh_graph_attr(f->graph, node->target);
}

static bool is_pure_function(const sh_node *node) {
    sh_variant variant;
    const sh_op *op = sh__op_named(node->target, &variant);
    if (sh__node_effects(node).what) return false;
    return !op || (variant == SH_FUNCTIONAL && (sh_op_tags(op) & SH_OP_PURE));
}

static bool is_pure_module(const folder *f, const sh_node *node) {
    const sh_module *module = sh_node_module(node);
    return module && !f->in_training && !module->training && !module->nhooks &&
           sh__nn_is_built_in(module->type) && !sh_node_is_impure(node);
}

static bool is_pure(const folder *f, const sh_node *node) {
    return node->opcode == SH_CALL_FUNCTION ? is_pure_function(node)
                                            : node->opcode == SH_CALL_MODULE && is_pure_module(f, node);
}

static bool may_compute(const folder *f, const sh_node *node) {
    for (uint32_t i = 0; i < node->ninputs; i++)
        if (!f->constant[node->uses[i].input->id]) return false;
    return is_pure(f, node) && is_untouched(f, node) &&
           (!f->options->chosen || f->options->chosen(node, f->options->user));
}

/* ---- growth ---- */

static double spec_bytes(const sh_spec *spec) {
    double n = (double)sh_dtype_size(spec->dtype);
    for (int i = 0; i < spec->ndim; i++) n *= (double)spec->sizes[i];
    return n;
}

/* Would the value take much more room than what it is computed from? One of unknown size is no more than a few times that. */
static bool grows(folder *f, sh_node *node) {
    double from = 0;
    if (!node->has_spec && node->opcode == SH_CALL_FUNCTION && strcmp(node->target, SH_GETITEM) != 0 &&
        sh__node_infer(node, &f->scratch) < 0)
        sh_clear_error();
    for (uint32_t i = 0; i < node->ninputs; i++)
        if (node->uses[i].input->has_spec) from += spec_bytes(&node->uses[i].input->spec);
    const size_t most = f->options->most_bytes ? f->options->most_bytes : SH_FOLD_BYTES;
    return node->has_spec && spec_bytes(&node->spec) > from + (double)most;
}

/* ---- computing ---- */

static sh_status take_constant(folder *f, sh_interpreter *in, sh_node *node, sh_value *result) {
    if (!is_constant_tensor(f, node)) return SH_OK;
    SH_TRY(sh_interpreter_run_node(in, node, result));
    f->constant[node->id] = true;
    if (!node->has_spec) sh__recorder_set_spec(node, result->as.tensor);
    return SH_OK;
}

/* A node that fails stays, to fail when the graph runs. */
static sh_status compute(sh_interpreter *in, sh_node *node, sh_value *result) {
    folder *f = sh_interpreter_user(in);
    *result = sh_none();
    if (node->opcode == SH_GET_ATTR) return take_constant(f, in, node, result);
    if (!may_compute(f, node) || grows(f, node)) return SH_OK;
    f->constant[node->id] = sh_interpreter_run_node(in, node, result) >= 0;
    if (f->constant[node->id]) return SH_OK;
    if (sh_error()->code == SH_ERROR_MEMORY) return SH_ERROR_MEMORY;
    sh_clear_error();
    *result = sh_none();
    return SH_OK;
}

static sh_status compute_all(sh_interpreter *in) {
    sh_value result;
    sh_status status;
    sh_switch off;
    sh_switch_off(&off, SH_OFF_ALL);
    SH_SCOPE status = sh_interpreter_run(in, (sh_arguments){NULL, 0}, &result);
    sh_switch_end(&off);
    return status;
}

/* ---- the edit ---- */

static bool becomes_tensor(const folder *f, const sh_interpreter *in, const sh_node *node) {
    return f->constant[node->id] && in->values[node->id].tag == SH_TAG_TENSOR;
}

/* Backwards from what is no constant, up to the values that take over. */
static void find_needed(folder *f, const sh_interpreter *in) {
    for (const sh_node *node = sh_graph_last(f->graph); node; node = sh_node_prev(node)) {
        const bool stays = !f->constant[node->id] || (f->needed[node->id] && !becomes_tensor(f, in, node));
        for (uint32_t i = 0; stays && i < node->ninputs; i++) f->needed[node->uses[i].input->id] = true;
    }
}

static void discard(folder *f, sh_node *node, size_t *changes) {
    for (uint32_t i = 0; i < node->ninputs; i++)
        if (node->uses[i].input->id < f->end) f->lost[node->uses[i].input->id] = true;
    sh__node_discard(node);
    ++*changes;
}

static sh_status replace(folder *f, const sh_interpreter *in, sh_node *node, size_t *changes) {
    sh_node *value = NULL;
    SH_INSERTING_BEFORE(node)
    value = sh__constant_new(f->graph, node->target, in->values[node->id].as.tensor);
    if (!value) return sh_error()->code;
    const sh_spec spec = value->spec;
    sh_status status = sh__node_copy_knowledge(value, node);
    sh_node_set_spec(value, &spec);
    if (status >= 0) status = sh_node_replace_all_uses_with(node, value);
    if (status < 0) return status;
    sh__node_swap_names(value, node);
    discard(f, node, changes);
    return SH_OK;
}

static sh_status edit(folder *f, const sh_interpreter *in, size_t *changes) {
    find_needed(f, in);
    SH_EACH_NODE(node, f->graph) {
        const bool call = node->id < f->end && node->opcode != SH_GET_ATTR;
        if (call && f->needed[node->id] && becomes_tensor(f, in, node)) SH_TRY(replace(f, in, node, changes));
    }
    for (sh_node *node = sh_graph_last(f->graph), *before; node; node = before) {
        before = sh_node_prev(node);
        if (node->id < f->end && f->constant[node->id] && f->lost[node->id] && !node->nusers)
            discard(f, node, changes);
    }
    return SH_OK;
}

/* ---- the pass ---- */

static sh_status begin(folder *f) {
    const size_t n = (f->end = f->graph->next_id) + 1;
    const sh_module *root = sh__graph_root(f->graph)->object;
    f->in_training = root && sh_module_is_training(root);
    SH_TRY(sh__memory_map(&f->memory, f->graph));
    SH_TRY(sh__written_constants(f->graph, &f->memory, &f->written));
    f->constant = sh__calloc(n, 3 * sizeof *f->constant);
    if (!f->constant) return SH_ERROR_MEMORY;
    f->needed = f->constant + n;
    f->lost = f->needed + n;
    return SH_OK;
}

static sh_status fold(folder *f, size_t *changes) {
    const sh_interpreter_options how = {.user = f, .run_node = compute, .keep_values = true};
    SH_TRY(begin(f));
    sh_interpreter *in = sh_interpreter_new(f->graph, &how);
    sh_status status = in ? compute_all(in) : SH_ERROR_MEMORY;
    if (status >= 0) status = edit(f, in, changes);
    sh_interpreter_free(in);
    return status;
}

sh_status sh_fold_constants(sh_graph *graph, const sh_fold_options *options, size_t *changes) {
    static const sh_fold_options defaults = {0};
    size_t n = 0;
    if (sh__error_pending()) return sh_error()->code;
    if (!graph) return sh_fail(SH_ERROR_NULL, "sh_fold_constants: the graph is NULL");
    if (!sh_graph_output_node(graph)) return SH_OK;
    folder f = {.graph = graph, .options = options ? options : &defaults};
    const sh_status status = fold(&f, &n);
    sh__memory_free(&f.memory);
    sh__seen_free(&f.written);
    sh__free(f.constant);
    sh__free(f.scratch.at);
    if (changes) *changes += n;
    return status;
}

sh_status sh_pass_fold_constants(sh_graph *graph, size_t *changes) {
    return sh_fold_constants(graph, NULL, changes);
}
