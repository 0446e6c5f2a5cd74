/* split.c - the parts are built one after the other, in the order in which they run.
 *
 * `inner` and `outer` say what stands for a node of the graph in the part at hand and outside; the entries of `inner` are
 * taken back when its part is done, so that one map serves all. */
#include "graph/pass/split_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/bind.h"
#include "graph/pass/constant.h"

typedef struct splitter {
    const sh_graph *graph;
    sh_units units;
    const sh_node **members; /* by unit, in the order of nodes */
    size_t *begin;           /* by unit: its first member */
    const char *prefix;
    const int *numbers; /* of units below nparts */
    uint32_t nparts;
    sh_module *root; /* of what is built: stays, submodules */
    sh_graph *result;
    sh_node_map *outer, *inner;
    sh_arg *inputs; /* of the part at hand: nodes outside */
    size_t ninputs;
} splitter;

static uint32_t unit_of(const splitter *s, const sh_node *node) { return s->units.of[node->id]; }

/* ---- nodes outside ---- */

static sh_status bring_module(splitter *s, const sh_node *node) {
    sh_module *module = sh_node_module(node);
    if (!module)
        return sh_fail(SH_ERROR_VALUE, "%%%s calls %s, which the graph's module has not", node->name->text,
                       node->target);
    return sh_graph_module_add_submodule(s->root, node->target, module);
}

/* A constant is there as often as it is needed; others are there already. */
static sh_status ensure_outside(splitter *s, const sh_node *node) {
    if (node->opcode != SH_GET_ATTR || sh_node_map_get(s->outer, node)) return SH_OK;
    sh_tensor *t = sh__constant_of(node);
    sh_node *copy = sh_graph_node_copy(s->result, node, s->outer);
    if (!copy) return sh_error()->code;
    return t && !sh_graph_attr(s->result, copy->target) ? sh_graph_set_attr(s->result, copy->target, t)
                                                        : SH_OK;
}

static sh_status copy_outside(splitter *s, const sh_node *node) {
    for (uint32_t i = 0; i < node->ninputs; i++) SH_TRY(ensure_outside(s, node->uses[i].input));
    return sh_graph_node_copy(s->result, node, s->outer) ? SH_OK : sh_error()->code;
}

/* ---- one part ---- */

static bool gives_list(const sh_node *node) {
    sh_binding b;
    if (node->opcode != SH_CALL_FUNCTION || !sh__binds(node, &b)) return false;
    return b.schema->nreturns > 1 || b.schema->returns[0].type == SH_TYPE_TENSORS;
}

static sh_status add_input(splitter *s, sh_graph *part, const sh_node *node) {
    if (gives_list(node))
        return sh_fail(SH_ERROR_UNSUPPORTED,
                       "%%%s gives a list, which can't go from one partition to another", node->name->text);
    sh_node *input = sh_graph_placeholder(part, node->name->text);
    if (!input) return sh_error()->code;
    sh_node_set_spec(input, sh_node_spec(node));
    s->inputs[s->ninputs++] = sh_arg_node(sh_node_map_get(s->outer, node));
    return sh_node_map_set(s->inner, node, input);
}

/* Placeholders stand in front of everything else. */
static sh_status add_inputs(splitter *s, sh_graph *part, uint32_t unit) {
    s->ninputs = 0;
    for (size_t i = s->begin[unit]; i < s->begin[unit + 1]; i++)
        for (uint32_t k = 0; k < s->members[i]->ninputs; k++) {
            const sh_node *input = s->members[i]->uses[k].input;
            if (input->opcode == SH_GET_ATTR || unit_of(s, input) == unit || sh_node_map_get(s->inner, input))
                continue;
            SH_TRY(add_input(s, part, input));
        }
    return SH_OK;
}

static sh_status copy_members(splitter *s, sh_graph *part, uint32_t unit) {
    for (size_t i = s->begin[unit]; i < s->begin[unit + 1]; i++) {
        const sh_node *node = s->members[i];
        for (uint32_t k = 0; k < node->ninputs; k++) {
            const sh_node *input = node->uses[k].input;
            if (input->opcode == SH_GET_ATTR && !sh_node_map_get(s->inner, input) &&
                !sh_graph_node_copy(part, input, s->inner))
                return sh_error()->code;
        }
        if (!sh_graph_node_copy(part, node, s->inner)) return sh_error()->code;
    }
    return SH_OK;
}

static bool is_used_outside(const splitter *s, const sh_node *node) {
    for (const sh_use *use = node->first_user; use; use = use->next)
        if (unit_of(s, use->user) != unit_of(s, node)) return true;
    return false;
}

/* The members that others use; where there are none the last one, as a module returns something. */
static size_t list_outputs(const splitter *s, uint32_t unit, const sh_node **outputs) {
    size_t n = 0;
    for (size_t i = s->begin[unit]; i < s->begin[unit + 1]; i++)
        if (is_used_outside(s, s->members[i])) outputs[n++] = s->members[i];
    if (!n) outputs[n++] = s->members[s->begin[unit + 1] - 1];
    return n;
}

static sh_status add_output(const splitter *s, sh_graph *part, const sh_node *const *outputs, size_t n,
                            sh_arg *list) {
    for (size_t i = 0; i < n; i++) {
        if (gives_list(outputs[i]) && is_used_outside(s, outputs[i]))
            return sh_fail(SH_ERROR_UNSUPPORTED,
                           "%%%s gives a list, which can't go from one partition to another",
                           outputs[i]->name->text);
        list[i] = sh_arg_node(sh_node_map_get(s->inner, outputs[i]));
    }
    return sh_graph_output(part, n == 1 ? list[0] : sh_arg_tuple((sh_args){list, n})) ? SH_OK
                                                                                      : sh_error()->code;
}

/* ---- its call ---- */

static sh_status hang(splitter *s, sh_graph *part, uint32_t unit, char *name, size_t size) {
    snprintf(name, size, "%s_%d", s->prefix, s->numbers[unit]);
    for (int i = 1; sh_module_child(s->root, name); i++)
        snprintf(name, size, "%s_%d_%d", s->prefix, s->numbers[unit], i);
    sh_module *root = sh__graph_root(s->graph)->object;
    sh_module *module = sh_graph_module_new(root ? root : s->root, part);
    return sh_module_give(s->root, name, module) ? SH_OK : sh_error()->code;
}

static sh_status take_results(splitter *s, sh_node *call, const sh_node *const *outputs, size_t n) {
    if (n == 1) sh_node_set_spec(call, sh_node_spec(outputs[0]));
    if (n == 1) return sh_node_map_set(s->outer, outputs[0], call);
    for (size_t i = 0; i < n; i++) {
        sh_node *item = sh_graph_create_node(s->result, SH_CALL_FUNCTION, SH_GETITEM,
                                             SH_ARGS(call, (int64_t)i), SH_NO_KWARGS, outputs[i]->name->text);
        if (!item) return sh_error()->code;
        sh_node_set_spec(item, sh_node_spec(outputs[i]));
        SH_TRY(sh_node_map_set(s->outer, outputs[i], item));
    }
    return SH_OK;
}

static sh_status call_part(splitter *s, sh_graph *part, uint32_t unit, const sh_node *const *outputs,
                           size_t n) {
    char name[64];
    SH_TRY(hang(s, part, unit, name, sizeof name));
    sh_node *call = sh_graph_create_node(s->result, SH_CALL_MODULE, name, (sh_args){s->inputs, s->ninputs},
                                         SH_NO_KWARGS, NULL);
    return call ? take_results(s, call, outputs, n) : sh_error()->code;
}

/* What this part's nodes were in it means nothing in the next. */
static void forget(splitter *s, uint32_t unit) {
    for (size_t i = s->begin[unit]; i < s->begin[unit + 1]; i++) {
        sh_node_map_set(s->inner, s->members[i], NULL);
        for (uint32_t k = 0; k < s->members[i]->ninputs; k++)
            sh_node_map_set(s->inner, s->members[i]->uses[k].input, NULL);
    }
}

static sh_status build_part(splitter *s, uint32_t unit) {
    const size_t members = s->begin[unit + 1] - s->begin[unit];
    sh_graph *part = sh_graph_new();
    sh_arg *list = sh__alloc(members * (sizeof *list + sizeof(sh_node *)));
    const sh_node **outputs = list ? (const sh_node **)(list + members) : NULL;
    size_t n = 0;
    sh_status status = part && list ? add_inputs(s, part, unit) : SH_ERROR_MEMORY;
    if (status >= 0) status = copy_members(s, part, unit);
    if (status >= 0) status = add_output(s, part, outputs, n = list_outputs(s, unit, outputs), list);
    if (status >= 0)
        status = call_part(s, part, unit, outputs, n); /* which takes the part over */
    else
        sh_graph_free(part);
    sh__free(list);
    if (status >= 0) forget(s, unit);
    return status;
}

/* ---- all of it ---- */

static sh_status sort_members(splitter *s) {
    size_t *to = sh__calloc(s->units.n + 1, 2 * sizeof *to);
    s->begin = to;
    s->members = sh__alloc((s->graph->size + 1) * sizeof *s->members);
    if (!to || !s->members) return SH_ERROR_MEMORY;
    for (const sh_node *node = sh_graph_first(s->graph); node; node = sh_node_next(node))
        if (unit_of(s, node) != SH__NO_UNIT) s->begin[unit_of(s, node) + 1]++;
    for (uint32_t i = 0; i < s->units.n; i++) s->begin[i + 1] += s->begin[i];
    to += s->units.n + 1;
    memcpy(to, s->begin, s->units.n * sizeof *to);
    for (const sh_node *node = sh_graph_first(s->graph); node; node = sh_node_next(node))
        if (unit_of(s, node) != SH__NO_UNIT) s->members[to[unit_of(s, node)]++] = node;
    return SH_OK;
}

static sh_status copy_placeholders(splitter *s) {
    for (const sh_node *node = sh_graph_first(s->graph); node; node = sh_node_next(node))
        if (node->opcode == SH_PLACEHOLDER && !sh_graph_node_copy(s->result, node, s->outer))
            return sh_error()->code;
    return SH_OK;
}

static sh_status build(splitter *s) {
    const sh_node *output = sh_graph_output_node(s->graph);
    size_t most = 1;
    SH_TRY(sh__units_order(&s->units));
    SH_TRY(sort_members(s));
    for (const sh_node *node = sh_graph_first(s->graph); node; node = sh_node_next(node))
        most += node->ninputs;
    s->inputs = sh__alloc(most * sizeof *s->inputs);
    if (!s->inputs) return SH_ERROR_MEMORY;
    SH_TRY(copy_placeholders(s));
    for (uint32_t i = s->nparts; i < s->units.n; i++)
        if (s->members[s->begin[i]]->opcode == SH_CALL_MODULE)
            SH_TRY(bring_module(s, s->members[s->begin[i]]));
    for (uint32_t i = 0; i < s->units.n; i++) {
        const uint32_t unit = s->units.order[i];
        SH_TRY(unit < s->nparts ? build_part(s, unit) : copy_outside(s, s->members[s->begin[unit]]));
    }
    return output ? copy_outside(s, output) : SH_OK;
}

sh_module *sh__split(const sh_graph *graph, const sh_parts *parts) {
    static const sh_module_type type = {.name = "Module"};
    const sh_module *root = sh__graph_root(graph)->object;
    splitter s = {.graph = graph,
                  .units = {.graph = graph, .n = parts->nunits, .of = parts->of},
                  .prefix = parts->prefix,
                  .numbers = parts->numbers,
                  .nparts = parts->nparts,
                  .root = sh_module_new(&type),
                  .result = sh_graph_new(),
                  .outer = sh_node_map_new(graph),
                  .inner = sh_node_map_new(graph)};
    if (s.root && root) sh_module_train(s.root, sh_module_is_training(root));
    const bool done = !sh__error_pending() && build(&s) >= 0;
    sh_module *module = NULL;
    if (done)
        module = sh_graph_module_new(s.root, s.result);
    else
        sh_graph_free(s.result);
    sh_node_map_free(s.outer);
    sh_node_map_free(s.inner);
    sh__units_free(&s.units);
    sh__free((void *)s.members);
    sh__free(s.begin);
    sh__free(s.inputs);
    sh_module_release(s.root);
    return module;
}
