/* decompose.c - composite ops become the ops they are made of.
 *
 * What those are is what the op's composite kernel does: it runs once on tensors without data while a capture of the
 * dispatch level, where composites are split, records it. So no decomposition is written twice, and an op that is
 * defined at run time has one as soon as it has a composite kernel. */
#include "dispatch/chain.h"
#include "graph/bind.h"
#include "graph/invoke.h"
#include "graph/pass/expand.h"
#include "graph/pass/pass.h"
#include "graph/record.h"

/* The inputs of a node, each once, and what stands for them while its op runs. */
typedef struct stand_ins {
    const sh_node *node;
    sh_value values[SH_MAX_ARGS * 4];
} stand_ins;

static sh_status resolve(void *user, const sh_node *input, sh_value *value) {
    const stand_ins *s = user;
    for (uint32_t i = 0; i < s->node->ninputs; i++)
        if (s->node->uses[i].input == input) *value = s->values[i];
    return SH_OK;
}

static bool make_stand_ins(stand_ins *s, sh_capture *capture) {
    const sh_node *node = s->node;
    for (uint32_t i = 0; i < node->ninputs; i++) {
        const sh_node *input = node->uses[i].input;
        if (sh__node_meta_value(input, &s->values[i]) < 0) return false;
        if (sh_capture_input(capture, s->values[i].as.tensor, input->name->text) < 0) return false;
    }
    return true;
}

static sh_status call(const stand_ins *s, sh_capture *capture, sh_value *results) {
    sh_scratch scratch = {0};
    sh_status status = SH_OK;
    SH_WITH_MODE(sh_capture_mode(capture))
        status = sh__node_call(s->node, resolve, (void *)(uintptr_t)s, &scratch, results);
    sh__free(scratch.at);
    return sh__error_pending() ? sh_error()->code : status;
}

/* What the op did; NULL, with an error where it can't run on tensors without data. */
static sh_graph *record(const sh_node *node, sh_capture *capture) {
    stand_ins s = {.node = node};
    sh_value results[SH_MAX_RESULTS];
    sh_tensor *tensors[SH_MAX_RESULTS];
    size_t n = 0;
    if (!make_stand_ins(&s, capture) || call(&s, capture, results) < 0) return NULL;
    if (results[0].tag == SH_TAG_TENSORS) return sh_capture_graph(capture, sh_value_as_tensors(results[0]));
    while (n < SH_MAX_RESULTS && results[n].tag == SH_TAG_TENSOR) {
        tensors[n] = results[n].as.tensor;
        n++;
    }
    return sh_capture_graph(capture, (sh_tensors){tensors, n});
}

static bool is_made_of_others(const sh_node *node) {
    sh_binding b;
    if (node->opcode != SH_CALL_FUNCTION || !sh__binds(node, &b)) return false;
    if (!(b.op->tags & SH_OP_COMPOSITE) || b.op->tags & SH_OP_VIEW || b.variant != SH_FUNCTIONAL)
        return false;
    bool known = node->ninputs <= SH_MAX_ARGS * 4;
    for (uint32_t i = 0; i < node->ninputs && known; i++) known = sh__spec_is_known(node->uses[i].input);
    return known;
}

/* Is the one node of the body the op itself? Then there is nothing to gain. */
static bool is_itself(const sh_graph *body, const sh_node *node) {
    return sh_graph_find_nodes(body, SH_CALL_FUNCTION, node->target, NULL, 0) != 0;
}

static bool decompose_one(sh_node *node) {
    sh_arg inputs[SH_MAX_ARGS * 4];
    sh_capture *capture = sh_capture_new(&(sh_capture_options){.level = SH_LEVEL_DISPATCH});
    sh_graph *body = capture ? record(node, capture) : NULL;
    sh_capture_free(capture);
    for (uint32_t i = 0; i < node->ninputs; i++) inputs[i] = sh_arg_node(node->uses[i].input);
    const sh_expansion e = {body, {inputs, node->ninputs}, NULL};
    const bool done = body && !is_itself(body, node) && sh__node_expand(node, &e);
    sh_graph_free(body);
    if (sh__error_pending() && sh_error()->code != SH_ERROR_MEMORY) sh_clear_error();
    return done;
}

sh_status sh_decompose(sh_graph *graph, sh_node_filter chosen, void *user, size_t *changes) {
    size_t n = 0;
    if (sh__error_pending()) return sh_error()->code;
    if (!graph) return sh_fail(SH_ERROR_NULL, "sh_decompose: the graph is NULL");
    for (sh_node *node = sh_graph_first(graph), *next; node && !sh__error_pending(); node = next) {
        next = sh_node_next(node);
        if (!is_made_of_others(node) || (chosen && !chosen(node, user))) continue;
        SH_SCOPE n += decompose_one(node);
    }
    if (changes) *changes += n;
    return sh__error_pending() ? sh_error()->code : SH_OK;
}

sh_status sh_pass_decompose(sh_graph *graph, size_t *changes) {
    return sh_decompose(graph, NULL, NULL, changes);
}
