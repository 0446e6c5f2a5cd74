/* lower.c - each node of a graph becomes values and at most one step.
 *
 * What a step's arguments are is read off the graph's program, whose loads then name values in the place of nodes. A view
 * is made here, once, on models. Steps that a kernel can do on plain memory are KERNEL; the others, and all of them where
 * a tensor is on another device than the host, go through the dispatcher or make their own results. */
#include "graph/compile/lower.h"

#include <string.h>

#include "graph/compile/lower_impl.h"
#include "graph/effects.h"
#include "graph/invoke.h"
#include "graph/root.h"

/* ---- values ---- */

static uint32_t add_value(sh_lowering *l, const sh_node *node, const sh_spec *spec, uint32_t buffer) {
    const uint32_t id = sh__plan_add_value(l->plan, node->name->text, spec, buffer);
    if (id == UINT32_MAX) return id;
    sh_tensor *model = spec ? sh__model_new(&l->models, spec, NULL) : NULL;
    if ((spec && !model) || sh__models_set(&l->models, id, model) < 0) return UINT32_MAX;
    return id;
}

uint32_t sh__lower_arena_value(sh_lowering *l, const sh_node *node, const sh_spec *spec) {
    const uint32_t buffer = sh__plan_add_buffer(l->plan, SH_HOME_ARENA, sh__spec_bytes(spec));
    return buffer == UINT32_MAX ? buffer : add_value(l, node, spec, buffer);
}

uint32_t sh__lower_made_value(sh_lowering *l, const sh_node *node, const sh_spec *spec) {
    return add_value(l, node, spec, SH_NO_BUFFER);
}

uint32_t sh__lower_constant(sh_lowering *l, const char *name, sh_tensor *tensor) {
    const uint32_t id = sh__plan_add_constant(l->plan, name, tensor);
    return id == UINT32_MAX || sh__models_set(&l->models, id, tensor) < 0 ? UINT32_MAX : id;
}

uint32_t sh__lower_view(sh_lowering *l, const sh_node *node, uint32_t base, sh_tensor *model) {
    sh_spec spec = {.dtype = (sh_dtype)model->dtype, .ndim = model->ndim};
    const uint32_t buffer = l->plan->values[base].buffer;
    const size_t at = l->plan->values[base].at + (size_t)(model->data - sh__model(&l->models, base)->data);
    memcpy(spec.sizes, model->sizes, sizeof spec.sizes);
    const uint32_t id = sh__plan_add_value(l->plan, node->name->text, &spec, buffer);
    if (id == UINT32_MAX || sh__models_set(&l->models, id, model) < 0) return UINT32_MAX;
    l->plan->values[id].at = at;
    memcpy(l->plan->values[id].strides, model->strides, sizeof model->strides);
    return id;
}

sh_status sh__lowered_as(sh_lowering *l, const sh_node *node, uint32_t first, uint32_t n) {
    if (first == UINT32_MAX) return sh__error_ensure(SH_ERROR_MEMORY);
    l->nodes[node->id] = (sh_lowered){first, n};
    return SH_OK;
}

/* ---- inputs, constants ---- */

static sh_status lower_placeholder(sh_lowering *l, const sh_node *node) {
    if (l->ninputs == l->inputs.n)
        return sh_fail(SH_ERROR_ARGUMENT, "sh_compile: input %s of the graph is given no tensor",
                       node->target);
    const sh_tensor *t = l->inputs.at[l->ninputs];
    sh_spec spec = {.dtype = (sh_dtype)t->dtype, .ndim = t->ndim};
    memcpy(spec.sizes, t->sizes, sizeof spec.sizes);
    if (t->device != SH_HOST) l->calls_all = true;
    const uint32_t buffer = t->device == SH_HOST
                                ? sh__plan_add_buffer(l->plan, SH_HOME_INPUT, sh__spec_bytes(&spec))
                                : SH_NO_BUFFER;
    const uint32_t id = sh__plan_add_value(l->plan, node->name->text, &spec, buffer);
    if (id == UINT32_MAX) return sh__error_ensure(SH_ERROR_MEMORY);
    if (buffer != SH_NO_BUFFER) l->plan->buffers[buffer].input = l->ninputs;
    sh_plan_value *value = &l->plan->values[id];
    memcpy(value->strides, t->strides, sizeof t->strides);
    sh_tensor *model = sh__model_new(&l->models, &spec, value->strides);
    if (!model || sh__models_set(&l->models, id, model) < 0) return sh__error_ensure(SH_ERROR_MEMORY);
    l->plan->inputs[l->ninputs++] = id;
    return sh__lowered_as(l, node, id, 1);
}

static sh_status lower_attr(sh_lowering *l, const sh_node *node) {
    sh_tensor *t = sh__graph_tensor(l->graph, node->target);
    if (!t) return sh_fail(SH_ERROR_VALUE, "the graph has no attribute %s", node->target);
    if (t->device != SH_HOST) l->calls_all = true;
    return sh__lowered_as(l, node, sh__lower_constant(l, node->target, t), 1);
}

/* ---- results of steps ---- */

/* One value for each result, one for a list; `specs` NULL: they are made as the step runs. */
static sh_status add_results(sh_lowering *l, const sh_node *node, sh_plan_step *step, const sh_spec *specs,
                             bool in_arena) {
    const bool list =
        step->schema && step->schema->nreturns && step->schema->returns[0].type == SH_TYPE_TENSORS;
    const sh_spec *own = node->has_spec && sh__spec_is_known(node) ? &node->spec : NULL;
    uint32_t n = step->schema ? step->schema->nreturns : 1;
    for (uint32_t i = 0; i < n; i++) {
        const sh_spec *spec = specs ? &specs[i] : n == 1 && !list ? own : NULL;
        const uint32_t id =
            in_arena ? sh__lower_arena_value(l, node, spec) : sh__lower_made_value(l, node, spec);
        if (id == UINT32_MAX) return sh__error_ensure(SH_ERROR_MEMORY);
        step->results[i] = id;
        l->plan->values[id].is_list = list;
    }
    step->nresults = n;
    return n ? sh__lowered_as(l, node, step->results[0], n) : SH_OK;
}

static sh_status add_step(sh_lowering *l, const sh_node *node, sh_plan_step *step, const sh_spec *specs) {
    SH_TRY(add_results(l, node, step, specs, step->kind == SH_STEP_KERNEL));
    return sh__plan_add_step(&l->plan->steps, step) ? SH_OK : SH_ERROR_MEMORY;
}

/* ---- calls ---- */

/* What the op's results will be, from models of its arguments. */
static sh_status infer(sh_lowering *l, const sh_plan_step *step, sh_spec *specs) {
    sh_value args[SH_MAX_ARGS];
    if (!sh__lower_model_args(l, step, args)) return sh__error_ensure(SH_ERROR_VALUE);
    const sh_call call = {.op = step->op,
                          .schema = step->schema,
                          .args = args,
                          .nargs = (uint8_t)step->nargs,
                          .nresults = step->schema->nreturns};
    SH_TRY(sh__call_infer(&call, args, specs));
    for (uint32_t i = 0; i < step->schema->nreturns; i++) sh__spec_fill(&specs[i]);
    return SH_OK;
}

/* The slot that every call of this op gets, and that needs nothing but its arguments; NULL: there is none. */
static const sh_slot *fixed_slot(const sh_lowering *l, const sh_plan_step *step) {
    if (l->calls_all || step->variant != SH_FUNCTIONAL || (step->op->tags & SH_OP_CUSTOM)) return NULL;
    const sh_slot *slot = sh__slot_here(step->op, SH_HOST);
    return slot && slot->typed && slot->leaf && !slot->ruled && !slot->composite ? slot : NULL;
}

static bool reads_models(const sh_lowering *l, const sh_plan_step *step) {
    for (uint32_t i = 0; i < step->nloads; i++)
        if (!sh__model(&l->models, step->loads[i].id)) return false;
    return true;
}

static sh_status lower_op(sh_lowering *l, const sh_node *node, sh_plan_step *step) {
    sh_spec specs[SH_MAX_RESULTS] = {{0}};
    bool done = false;
    const sh_slot *slot = fixed_slot(l, step);
    step->slot = slot;
    if (!l->calls_all && (step->op->tags & SH_OP_VIEW)) SH_TRY(sh__lower_as_view(l, node, step, &done));
    if (done) return SH_OK;
    step->kind = slot && slot->form == SH_FORM_RETURNS ? SH_STEP_MAKER : SH_STEP_CALL;
    if (!slot || slot->form != SH_FORM_OUT || !sh__op_infers(step->op) || !reads_models(l, step))
        return add_step(l, node, step, NULL);
    step->kind = SH_STEP_KERNEL;
    SH_TRY(infer(l, step, specs));
    return add_step(l, node, step, specs);
}

/* What the program couldn't place, and functions: by name, with arguments from the node, which then is kept. */
static sh_status lower_by_node(sh_lowering *l, const sh_node *node) {
    sh_plan_step step = {.kind = SH_STEP_CALL, .node = node};
    SH_TRY(sh__lower_place(l, node, &step));
    SH_TRY(sh__lower_inputs(l, node, &step));
    l->keeps_graph = true;
    return add_step(l, node, &step, NULL);
}

static sh_status lower_item(sh_lowering *l, const sh_node *node) {
    const sh_node *list =
        node->args.n == 2 && node->args.at[0].tag == SH_ARG_NODE ? node->args.at[0].as.node : NULL;
    if (!list || node->args.at[1].tag != SH_ARG_INT || !l->nodes[list->id].n) return lower_by_node(l, node);
    const sh_lowered from = l->nodes[list->id];
    int64_t i = node->args.at[1].as.i;
    if (!l->plan->values[from.first].is_list) {
        if (i < 0) i += from.n;
        if (i < 0 || i >= from.n)
            return sh_fail(SH_ERROR_INDEX, "%%%s: there is no entry %lld in %u", node->name->text,
                           (long long)i, from.n);
        return sh__lowered_as(l, node, from.first + (uint32_t)i, 1);
    }
    sh_plan_step step = {.kind = SH_STEP_ITEM, .item = i};
    SH_TRY(sh__lower_place(l, node, &step));
    SH_TRY(sh__lower_inputs(l, node, &step));
    return add_step(l, node, &step, NULL);
}

static sh_status lower_call(sh_lowering *l, const sh_step *from) {
    const sh_node *node = from->node;
    const sh_meta kept = sh_node_meta(node, SH_META_KEPT);
    sh_plan_step step = {.kind = SH_STEP_CALL};
    bool placed = false;
    if (strcmp(node->target, SH_GETITEM) == 0) return lower_item(l, node);
    if (from->op) SH_TRY(sh__lower_arguments(l, from, &step, &placed));
    if (!placed) return lower_by_node(l, node);
    if (kept.kind == SH_META_INT) {
        step.kind = SH_STEP_KEPT;
        step.kept = (uint64_t)kept.as.i;
        return add_step(l, node, &step, NULL);
    }
    return lower_op(l, node, &step);
}

/* ---- the output ---- */

static sh_status add_output(sh_lowering *l, uint32_t id) {
    uint32_t *outputs = sh__realloc(l->plan->outputs, (l->plan->noutputs + 1) * sizeof *outputs);
    if (!outputs) return SH_ERROR_MEMORY;
    outputs[l->plan->noutputs++] = id;
    l->plan->outputs = outputs;
    l->plan->values[id].output = true;
    return SH_OK;
}

/* Lists in lists are opened, None is left out: as an interpreter gives them. */
static sh_status lower_output(sh_lowering *l, sh_arg arg, bool outermost) {
    if (arg.tag == SH_ARG_NODE) {
        const sh_lowered from = l->nodes[arg.as.node->id];
        if (outermost && from.n > 1) l->plan->output_is_list = true;
        for (uint32_t i = 0; i < from.n; i++) SH_TRY(add_output(l, from.first + i));
        return from.n ? SH_OK
                      : sh_fail(SH_ERROR_TYPE, "sh_compile: %%%s has no value to return",
                                arg.as.node->name->text);
    }
    if (sh_arg_is_list(arg)) {
        l->plan->output_is_list = true;
        for (uint32_t i = 0; i < arg.count; i++) SH_TRY(lower_output(l, arg.as.list[i], false));
        return SH_OK;
    }
    if (arg.tag == SH_ARG_NONE) return SH_OK;
    return sh_fail(SH_ERROR_TYPE,
                   "sh_compile: what is compiled must return tensors, not a number or a string");
}

/* ---- the graph ---- */

static sh_status lower_node(sh_lowering *l, const sh_step *from) {
    const sh_node *node = from->node;
    switch (node->opcode) {
    case SH_PLACEHOLDER: return lower_placeholder(l, node);
    case SH_GET_ATTR: return lower_attr(l, node);
    case SH_CALL_FUNCTION: return lower_call(l, from);
    case SH_OUTPUT: return lower_output(l, sh_node_arg(node, 0), true);
    default:
        return sh_fail(SH_ERROR_UNSUPPORTED, "sh_compile: %%%s calls module %s, which can't be opened",
                       node->name->text, node->target);
    }
}

static sh_status lower_all(sh_lowering *l, const sh_program *program) {
    l->nodes = sh__calloc(program->nids + 1, sizeof *l->nodes);
    l->plan->inputs = sh__calloc(l->inputs.n + 1, sizeof *l->plan->inputs);
    if (!l->nodes || !l->plan->inputs) return SH_ERROR_MEMORY;
    for (uint32_t i = 0; i < program->nsteps; i++) SH_TRY(lower_node(l, &program->steps[i]));
    l->plan->ninputs = l->ninputs;
    sh__plan_note_written(l->plan);
    return SH_OK;
}

sh_plan *sh__plan_lower(sh_graph *graph, sh_tensors inputs) {
    sh_lowering l = {.graph = graph, .inputs = inputs, .plan = sh__plan_new()};
    sh_program *program = l.plan ? sh__program_of(graph) : NULL;
    sh_status status = program ? SH_OK : SH_ERROR_MEMORY;
    SH_SCOPE {
        if (status >= 0) status = lower_all(&l, program);
    }
    sh__models_free(&l.models);
    sh__free(l.nodes);
    if (program) sh__program_release(program);
    if (status >= 0 && l.keeps_graph)
        l.plan->graph = graph;
    else
        sh_graph_free(graph);
    if (status >= 0) return l.plan;
    sh__plan_free(l.plan);
    return NULL;
}
