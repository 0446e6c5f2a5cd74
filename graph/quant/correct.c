/* correct.c - biases that make the mean of each channel what it was in float.
 *
 * The float graph runs on one batch after the other and leaves the mean of each product's channels. The reference form runs on
 * all batches in step: as soon as a product has its values, its error is known and taken from all of them, so that what
 * follows is measured behind products that are right on average, and everything runs once. */
#include <stdio.h>
#include <string.h>

#include "dispatch/chain.h"
#include "graph/bind.h"
#include "graph/interpreter_impl.h"
#include "graph/pass/constant.h"
#include "graph/quant/candidate.h"
#include "graph/quant/equalize.h"
#include "graph/quant/quant_impl.h"
#include "ops/ops.h"

typedef struct layer {
    sh_node *node;   /* of the reference form */
    int inner;       /* dimensions behind the channels */
    sh_tensor *sum;  /* of each channel in float, f64; NULL before the first batch */
    int64_t count;   /* of its terms */
    sh_tensor *less; /* what each channel gets more in float; NULL before it is known */
} layer;

typedef struct correction {
    sh_graph *graph, *reference;
    layer *at;
    uint32_t n;
    uint32_t *in_float, *in_reference; /* by id of a node: 1 + which layer */
    sh_interpreter **runs;             /* of the reference form, one for each batch */
    size_t nruns;
} correction;

/* ---- layers ---- */

/* -1: no product on reals of what was stored. */
static int inner_dimensions(const sh_node *node) {
    static const char *const ops[] = {"linear", "conv1d", "conv2d"};
    if (sh_node_meta(node, SH__FLOAT_PRODUCT).kind != SH_META_STRING) return -1;
    for (int i = 0; i < 3; i++)
        if (node->opcode == SH_CALL_FUNCTION && strcmp(node->target, ops[i]) == 0) return i;
    return -1;
}

static sh_status add_layer(correction *c, sh_node *node, int inner) {
    const char *name = sh_node_meta(node, SH__FLOAT_PRODUCT).as.string;
    const sh_node *in_float = sh_graph_find(c->graph, name);
    if (!in_float)
        return sh_fail(
            SH_ERROR_VALUE,
            "sh_quantize_correct_bias: the float graph has no %%%s: was the reference form prepared "
            "from it?",
            name);
    c->at[c->n++] = (layer){.node = node, .inner = inner};
    c->in_float[in_float->id] = c->in_reference[node->id] = c->n;
    return SH_OK;
}

static sh_status find_layers(correction *c) {
    const size_t ids = c->graph->next_id + 1, reference_ids = c->reference->next_id + 1;
    c->in_float = sh__calloc(ids + reference_ids, sizeof *c->in_float);
    c->at = c->in_float ? sh__calloc(sh_graph_size(c->reference) + 1, sizeof *c->at) : NULL;
    if (!c->at) return SH_ERROR_MEMORY;
    c->in_reference = c->in_float + ids;
    for (sh_node *node = sh_graph_first(c->reference); node; node = sh_node_next(node)) {
        const int inner = inner_dimensions(node);
        if (inner >= 0) SH_TRY(add_layer(c, node, inner));
        if (strncmp(node->target, "quantized_", 10) == 0)
            return sh_fail(
                SH_ERROR_VALUE,
                "sh_quantize_correct_bias: %%%s is on integers already: biases are corrected before "
                "sh_quantize_lower",
                node->name->text);
    }
    return SH_OK;
}

/* ---- means ---- */

/* Sums over all but the channels, f64; how many terms each has goes to `count` as well. */
static sh_tensor *channel_sums(const layer *l, sh_tensor *value, int64_t *count) {
    const int axis = sh_tensor_ndim(value) - 1 - l->inner;
    const int64_t channels = axis < 0 ? 0 : sh_tensor_size(value, axis);
    int64_t inner = 1;
    if (!channels || !sh_tensor_numel(value)) return sh_zeros(SH_SIZES(channels), .dtype = SH_F64);
    for (int i = axis + 1; i < sh_tensor_ndim(value); i++) inner *= sh_tensor_size(value, i);
    *count += sh_tensor_numel(value) / channels;
    return sh_sum(sh_reshape(sh_to(value, SH_F64), SH_SIZES(-1, channels, inner)), .dim = SH_DIMS(0, 2));
}

/* Adds to `*sum`, which is kept. */
static sh_status add_sums(const layer *l, sh_tensor *value, sh_tensor **sum, int64_t *count) {
    sh_tensor *more = channel_sums(l, value, count);
    sh_tensor *both = *sum ? sh_add(*sum, more) : more;
    if (!both) return sh_error()->code;
    sh_release(*sum);
    *sum = sh_keep(both);
    return SH_OK;
}

static sh_status quietly_add_sums(const layer *l, sh_tensor *value, sh_tensor **sum, int64_t *count) {
    sh_status status = SH_OK;
    sh_switch off;
    sh_switch_off(&off, SH_OFF_ALL);
    SH_SCOPE status = add_sums(l, value, sum, count);
    sh_switch_end(&off);
    return status;
}

static sh_status run_float_node(sh_interpreter *in, sh_node *node, sh_value *result) {
    const correction *c = sh_interpreter_user(in);
    SH_TRY(sh_interpreter_run_node(in, node, result));
    const uint32_t which = c->in_float[node->id];
    layer *l = which ? &c->at[which - 1] : NULL;
    return l && result->tag == SH_TAG_TENSOR ? quietly_add_sums(l, result->as.tensor, &l->sum, &l->count)
                                             : SH_OK;
}

static sh_status run_float(correction *c, const sh_arguments *batches) {
    sh_interpreter *in =
        sh_interpreter_new(c->graph, &(sh_interpreter_options){.user = c, .run_node = run_float_node});
    sh_status status = in ? SH_OK : SH_ERROR_MEMORY;
    sh_value ignored;
    for (size_t i = 0; i < c->nruns && status >= 0; i++)
        SH_SCOPE status = sh_interpreter_run(in, batches[i], &ignored);
    sh_interpreter_free(in);
    return status;
}

/* ---- errors ---- */

static sh_status find_error(const correction *c, layer *l) {
    sh_tensor *sum = NULL;
    int64_t count = 0;
    sh_status status = SH_OK;
    for (size_t i = 0; i < c->nruns && status >= 0; i++) {
        sh_tensor *value = sh_value_as_tensor(sh_interpreter_value(c->runs[i], l->node));
        status = value ? add_sums(l, value, &sum, &count) : sh_error()->code;
    }
    if (status >= 0 && l->count && count)
        l->less = sh_keep(sh_sub(sh_div(l->sum, (double)l->count), sh_div(sum, (double)count)));
    sh_release(sum);
    return sh__error_pending() ? sh_error()->code : status;
}

static sh_status correct_values(const correction *c, const layer *l) {
    const int64_t sizes[3] = {sh_tensor_size(l->less, 0), 1, 1};
    const sh_ints shape = {sizes, 1 + l->inner};
    sh_tensor *less = sh_reshape(l->less, shape);
    for (size_t i = 0; i < c->nruns; i++) {
        sh_tensor *value = sh_value_as_tensor(sh_interpreter_value(c->runs[i], l->node));
        sh_tensor *corrected = sh_add(value, sh_to(less, sh_tensor_dtype(value)));
        if (!corrected) return sh_error()->code;
        SH_TRY(sh_interpreter_set_value(c->runs[i], l->node, sh_value_tensor(corrected)));
    }
    return SH_OK;
}

static sh_status correct_layer(const correction *c, layer *l) {
    sh_status status = SH_OK;
    sh_switch off;
    sh_switch_off(&off, SH_OFF_ALL);
    SH_SCOPE {
        status = find_error(c, l);
        if (status >= 0 && l->less) status = correct_values(c, l);
    }
    sh_switch_end(&off);
    return status;
}

/* The graph is the same for all runs, and so are the steps. */
static sh_status run_in_step(correction *c) {
    const sh_program *program = c->runs[0]->program;
    for (uint32_t k = 0; k < program->nsteps; k++) {
        const sh_step *step = &program->steps[k];
        for (size_t i = 0; i < c->nruns; i++) SH_TRY(sh__run_step(c->runs[i], step));
        const uint32_t which = c->in_reference[step->node->id];
        if (which) SH_TRY(correct_layer(c, &c->at[which - 1]));
    }
    return SH_OK;
}

static sh_status run_reference(correction *c, const sh_arguments *batches) {
    sh_status status = SH_OK;
    sh_value ignored;
    c->runs = sh__calloc(c->nruns, sizeof(sh_interpreter *));
    if (!c->runs) return SH_ERROR_MEMORY;
    for (size_t i = 0; i < c->nruns && status >= 0; i++) {
        c->runs[i] = sh_interpreter_new(c->reference, NULL);
        status = c->runs[i] ? sh__run_begin(c->runs[i], batches[i]) : SH_ERROR_MEMORY;
    }
    if (status >= 0) status = run_in_step(c);
    SH_SCOPE for (size_t i = 0; i < c->nruns && c->runs[i]; i++) sh__run_end(c->runs[i], status, &ignored);
    return status;
}

/* ---- the edit ---- */

/* The bias that the call is to have, the scope's. NULL without an error: it is computed, and stays. */
static sh_tensor *corrected_bias(const layer *l, const sh_arg *bias) {
    const bool given = bias && bias->tag != SH_ARG_NONE;
    sh_tensor *old = given ? sh__constant_of(sh__arg_node(bias)) : NULL;
    if (!given) return sh_to(l->less, SH_F32);
    return old ? sh_to(sh_add(sh_to(old, SH_F64), l->less), sh_tensor_dtype(old)) : NULL;
}

static sh_status set_bias(const layer *l, sh_node *node) {
    sh_binding b;
    char wish[256];
    sh_node *constant = NULL;
    SH_TRY(sh__bind(node, &b));
    sh_switch off;
    sh_switch_off(&off, SH_OFF_ALL);
    sh_tensor *bias = corrected_bias(l, b.args[sh_schema_find(b.schema, "bias")]);
    sh_switch_end(&off);
    if (!bias) return sh__error_pending() ? sh_error()->code : SH_OK;
    snprintf(wish, sizeof wish, "%.240s_bias", node->name->text);
    SH_INSERTING_BEFORE(node)
    constant = sh__constant_new(node->graph, wish, bias);
    if (!constant) return sh_error()->code;
    return node->args.n > 2 ? sh_node_set_arg(node, 2, sh_arg_node(constant))
                            : sh_node_set_kwarg(node, "bias", sh_arg_node(constant));
}

/* In the graph, a copy of the reference form. */
static sh_status set_biases(const correction *c, sh_graph *graph) {
    sh_status status = SH_OK;
    for (uint32_t i = 0; i < c->n && status >= 0; i++) {
        sh_node *node = sh_graph_find(graph, c->at[i].node->name->text);
        if (c->at[i].less) SH_SCOPE status = set_bias(&c->at[i], node);
    }
    if (status < 0) return status;
    sh_graph_eliminate_dead_code(graph, NULL, NULL);
    return sh_graph_delete_all_unused_attrs(graph, NULL);
}

static void end_correction(correction *c) {
    for (size_t i = 0; c->runs && i < c->nruns; i++) sh_interpreter_free(c->runs[i]);
    for (uint32_t i = 0; i < c->n; i++) {
        sh_release(c->at[i].sum);
        sh_release(c->at[i].less);
    }
    sh__free((void *)c->runs);
    sh__free(c->at);
    sh__free(c->in_float);
}

/* ---- all of it ---- */

static sh_status check(const sh_module *module, const sh_module *reference, const sh_arguments *batches,
                       size_t n) {
    SH_TRY(sh__check_graph_module(module, "sh_quantize_correct_bias"));
    SH_TRY(sh__check_graph_module(reference, "sh_quantize_correct_bias"));
    return batches && n ? SH_OK
                        : sh_fail(SH_ERROR_ARGUMENT, "sh_quantize_correct_bias: there are no batches");
}

static sh_status correct(correction *c, const sh_arguments *batches, sh_graph *graph) {
    SH_TRY(find_layers(c));
    if (!c->n) return SH_OK;
    SH_TRY(run_float(c, batches));
    SH_TRY(run_reference(c, batches));
    return set_biases(c, graph);
}

sh_module *sh_quantize_correct_bias(sh_module *module, sh_module *reference, const sh_arguments *batches,
                                    size_t n) {
    if (check(module, reference, batches, n) < 0) return NULL;
    correction c = {
        .graph = sh_graph_module_graph(module), .reference = sh_graph_module_graph(reference), .nruns = n};
    sh_graph *graph = sh_graph_clone(c.reference);
    sh_module *corrected = graph ? sh_graph_module_new(reference, graph) : NULL;
    const sh_status status =
        corrected ? correct(&c, batches, sh_graph_module_graph(corrected)) : SH_ERROR_MEMORY;
    end_correction(&c);
    if (status >= 0) return corrected;
    sh_module_release(corrected);
    return NULL;
}
