/* shapes.c - an interpreter that notes what it sees.
 *
 * Where only shapes are wanted, memory that the graph writes to has no data either: its tensors and parameters stay as they
 * are, and what has none can be written there. Nor do random draws count. */
#include "graph/shapes.h"

#include <string.h>

#include "graph/graph_impl.h"
#include "graph/interpreter.h"
#include "graph/invoke.h"
#include "graph/pass/memory.h"
#include "ops/random.h"

typedef struct search {
    size_t ninputs;
    bool hidden;          /* no call is anybody's business: shapes only */
    sh_memory_map memory; /* where it is hidden */
} search;

static sh_status note(sh_interpreter *in, sh_node *node, sh_value *result) {
    SH_TRY(sh_interpreter_run_node(in, node, result));
    const sh_tensor *t = sh_value_as_tensor(*result);
    sh_spec spec = {0};
    if (t) {
        spec.dtype = sh_tensor_dtype(t);
        spec.ndim = sh_tensor_ndim(t);
        memcpy(spec.sizes, sh_tensor_sizes(t), (size_t)spec.ndim * sizeof *spec.sizes);
    }
    sh_node_set_spec(node, t ? &spec : NULL);
    const search *s = sh_interpreter_user(in);
    const bool keeps_out =
        t && s->hidden && sh_tensor_device(t) != SH_META && sh__is_written(&s->memory, node);
    return keeps_out ? sh__node_meta_value(node, result) : SH_OK;
}

/* A placeholder that is given nothing is a tensor of its spec. */
static sh_status from_spec(sh_interpreter *in, sh_node *node, sh_arguments args, sh_value *result) {
    const search *s = sh_interpreter_user(in);
    if (s->ninputs || !node->has_spec) return sh_interpreter_placeholder(in, node, args, result);
    const sh_ints sizes = {node->spec.sizes, (size_t)node->spec.ndim};
    for (size_t i = 0; i < sizes.n; i++)
        if (sizes.at[i] < 0)
            return sh_fail(SH_ERROR_SHAPE, "input %s has a size that is not known", node->target);
    *result = sh_value_tensor(sh_tensor_new_on(SH_META, node->spec.dtype, sizes));
    return SH_OK;
}

static sh_status infer_module(sh_interpreter *in, sh_node *node, sh_arguments args, sh_value *result) {
    const search *s = sh_interpreter_user(in);
    const sh_graph_root *root = sh__graph_root(node->graph);
    if (!s->hidden || !root->object || !root->infer)
        return sh_interpreter_call_module(in, node, args, result);
    return root->infer(root->object, node->target, args, result);
}

/* On the meta device the result of a node depends on no data, so nobody needs to see the calls. */
static bool needs_no_data(sh_arguments inputs) {
    for (size_t i = 0; i < inputs.n; i++) {
        const sh_tensor *t = sh_value_as_tensor(inputs.at[i].value);
        if (t && sh_tensor_device(t) != SH_META) return false;
        if (inputs.at[i].value.tag == SH_TAG_TENSORS) return false;
    }
    return true;
}

static sh_status run(const search *s, sh_interpreter *in, sh_arguments inputs) {
    const sh_rng_state random = sh_get_rng_state();
    sh_status status = SH_OK;
    sh_switch off;
    if (s->hidden) sh_switch_off(&off, SH_OFF_ALL);
    SH_SCOPE {
        sh_value result;
        status = sh_interpreter_run(in, inputs, &result);
    }
    if (s->hidden) {
        sh_switch_end(&off);
        sh_set_rng_state(random);
    }
    return status;
}

sh_status sh_graph_propagate_shapes(sh_graph *graph, sh_arguments inputs) {
    search s = {.ninputs = inputs.n, .hidden = needs_no_data(inputs)};
    sh_interpreter *in = sh_interpreter_new(
        graph, &(sh_interpreter_options){
                   .user = &s, .run_node = note, .placeholder = from_spec, .call_module = infer_module});
    if (!in) return sh_error()->code;
    sh_status status = s.hidden ? sh__memory_map(&s.memory, graph) : SH_OK;
    if (status >= 0) status = run(&s, in, inputs);
    sh__memory_free(&s.memory);
    sh_interpreter_free(in);
    return status;
}
