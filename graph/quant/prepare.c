/* prepare.c - first it is decided what is observed, with whom, in one walk over the nodes; then observers are put in.
 *
 * An observation is of a node's value. One of a layer's output stands for the value in all its users; one that only an
 * input needs (of a placeholder, of a float op), in the users that are quantised. Those that share an observer are a
 * set, joined as the walk goes; each set gets one module, under the path of each of its observations. */
#include <stdio.h>
#include <string.h>

#include "graph/module/module_impl.h"
#include "graph/pass/pass.h"
#include "graph/quant/candidate.h"
#include "graph/quant/quant_impl.h"

typedef struct observation {
    sh_node *value;
    sh_observer_options options;
    bool of_output;
    uint32_t set;      /* the first of its set, or one nearer to it */
    sh_node *root;     /* of the layer whose output it is */
    const char *op;    /* of it */
    sh_module *module; /* of the first of a set: one reference */
} observation;

typedef struct plan {
    sh_graph *graph;
    const sh_graph *original;
    const sh_qconfig_mapping *mapping;
    bool separate_add_inputs;
    uint32_t ids;       /* of the nodes that were there at first: below this */
    bool *written;      /* by id */
    bool *reads;        /* by id: its inputs are quantised */
    bool *inner;        /* by id: the tail of a pattern */
    uint32_t *observer; /* by id of the value: 1 + which observation */
    observation *at;
    uint32_t n, capacity;
    sh_node **inputs; /* of the candidate at hand */
    size_t ninputs, room;
} plan;

/* ---- sets ---- */

static uint32_t set_of(const plan *p, uint32_t i) {
    while (p->at[i].set != i) i = p->at[i].set = p->at[p->at[i].set].set;
    return i;
}

static void join(plan *p, uint32_t a, uint32_t b) {
    const uint32_t x = set_of(p, a), y = set_of(p, b);
    p->at[x > y ? x : y].set = x > y ? y : x;
}

/* ---- deciding ---- */

static sh_status observe(plan *p, sh_node *value, const sh_observer_options *options, uint32_t *which) {
    if (p->observer[value->id]) {
        *which = p->observer[value->id] - 1;
        return SH_OK;
    }
    if (p->n == p->capacity) {
        const uint32_t capacity = 2 * p->capacity + 16;
        observation *at = sh__realloc(p->at, capacity * sizeof *at);
        if (!at) return SH_ERROR_MEMORY;
        p->at = at;
        p->capacity = capacity;
    }
    p->at[p->n] = (observation){.value = value, .options = *options, .set = p->n};
    *which = p->n++;
    p->observer[value->id] = p->n;
    return SH_OK;
}

/* A fixed range is that of an op's output and says nothing of its input. */
static sh_observer_options options_of_input(const plan *p, const sh_node *value, const sh_qconfig *q) {
    if (q->activation.type || q->activation.kind != SH_FIXED_QPARAMS_OBSERVER) return q->activation;
    const sh_qconfig *own = sh_qconfig_mapping_find(p->mapping, value);
    const bool fits = own && (own->activation.type || own->activation.kind != SH_FIXED_QPARAMS_OBSERVER);
    return fits ? own->activation : sh_get_default_qconfig(NULL).activation;
}

static sh_status find_inputs(plan *p, const sh_candidate *c) {
    p->ninputs = sh__candidate_inputs(c, p->inputs, p->room);
    if (p->ninputs <= p->room) return SH_OK;
    sh_node **inputs = sh__realloc((void *)p->inputs, p->ninputs * sizeof(sh_node *));
    if (!inputs) return SH_ERROR_MEMORY;
    p->inputs = inputs;
    p->room = p->ninputs;
    sh__candidate_inputs(c, p->inputs, p->room);
    return SH_OK;
}

/* quantize_per_tensor takes f32. */
static bool may_be_stored(const plan *p, const sh_node *value) {
    return !p->written[value->id] && (!value->has_spec || value->spec.dtype == SH_F32);
}

static bool has_constant_weight(const plan *p, const sh_node *root) {
    const sh_node *weight = sh__weight_of_call(root);
    return root->opcode == SH_CALL_MODULE ||
           (weight && weight->opcode == SH_GET_ATTR && !p->written[weight->id]);
}

static bool is_wanted(const plan *p, const sh_candidate *c) {
    if (!p->ninputs || !may_be_stored(p, c->tail) || p->inner[c->root->id]) return false;
    if (c->how == SH__WEIGHTS && !has_constant_weight(p, c->root)) return false;
    for (size_t i = 0; i < p->ninputs; i++)
        if (!may_be_stored(p, p->inputs[i])) return false;
    return c->how < SH__SHARES || p->observer[p->inputs[0]->id];
}

static sh_status keep_qconfig(sh_node *node, const sh_qconfig *q) {
    sh_qconfig *copy = sh__alloc(sizeof *copy);
    if (!copy) return SH_ERROR_MEMORY;
    *copy = *q;
    const sh_status status = sh_node_set_meta_pointer(node, SH__QCONFIG, copy, sh__free);
    if (status < 0) sh__free(copy);
    return status;
}

/* The name of the node that gives this value in the graph that was prepared: the last of the batch norms that were folded. */
static const char *float_name(const plan *p, const sh_node *value) {
    const sh_node *at = sh_graph_find(p->original, value->name->text);
    while (at && at->nusers == 1) {
        sh_node *user = at->first_user->user;
        sh_candidate c;
        if (sh_graph_find(p->graph, user->name->text) || !sh__candidate_at(user, &c) ||
            strcmp(c.op, "batch_norm") != 0)
            break;
        at = user;
    }
    return at ? at->name->text : value->name->text;
}

static sh_status note_product(const plan *p, sh_node *node, const sh_qconfig *q) {
    SH_TRY(sh_node_set_meta_string(node, SH__FLOAT_PRODUCT, float_name(p, node)));
    return keep_qconfig(node, q);
}

static sh_status plan_inputs(plan *p, const sh_candidate *c, const sh_qconfig *q, uint32_t *first) {
    const bool share = c->how == SH__CONCATENATES || (c->how == SH__SUMS && !p->separate_add_inputs);
    for (size_t i = 0; i < p->ninputs; i++) {
        uint32_t which;
        const sh_observer_options options = options_of_input(p, p->inputs[i], q);
        SH_TRY(observe(p, p->inputs[i], &options, &which));
        if (i == 0) *first = which;
        if (share) join(p, *first, which);
    }
    return SH_OK;
}

static sh_status plan_node(plan *p, sh_node *node) {
    sh_candidate c;
    uint32_t first = 0, out;
    if (!sh__candidate_at(node, &c)) return SH_OK;
    const sh_qconfig *q = sh_qconfig_mapping_find(p->mapping, node);
    if (!q) return SH_OK;
    SH_TRY(find_inputs(p, &c));
    if (!is_wanted(p, &c)) return SH_OK;
    SH_TRY(plan_inputs(p, &c, q, &first));
    SH_TRY(observe(p, c.tail, &q->activation, &out));
    p->at[out].of_output = true;
    p->at[out].root = c.root;
    p->at[out].op = c.op;
    if (c.how >= SH__CONCATENATES) join(p, first, out);
    p->reads[node->id] = true;
    p->inner[c.tail->id] = c.tail != c.root;
    return c.how == SH__WEIGHTS ? note_product(p, node, q) : SH_OK;
}

static sh_status make_plan(plan *p) {
    const size_t n = p->ids = p->graph->next_id + 1;
    p->observer = sh__calloc(n, sizeof *p->observer + 2 * sizeof *p->reads);
    if (!p->observer) return SH_ERROR_MEMORY;
    p->reads = (bool *)(p->observer + n);
    p->inner = p->reads + n;
    p->written = sh__written_values(p->graph);
    if (!p->written) return SH_ERROR_MEMORY;
    for (sh_node *node = sh_graph_first(p->graph); node; node = sh_node_next(node)) {
        if (sh__node_observer(node))
            return sh_fail(SH_ERROR_VALUE, "sh_quantize_prepare: %%%s is an observer: it is prepared already",
                           node->name->text);
        SH_TRY(plan_node(p, node));
    }
    return SH_OK;
}

/* ---- putting in ---- */

/* A set that holds a fixed range and others is observed. */
static void choose_options(plan *p) {
    for (uint32_t i = 0; i < p->n; i++) {
        sh_observer_options *first = &p->at[set_of(p, i)].options;
        if (!first->type && first->kind == SH_FIXED_QPARAMS_OBSERVER) *first = p->at[i].options;
    }
}

static sh_status note_layer(const plan *p, const observation *o, sh_node *node) {
    char op[64];
    const bool relu = o->root != o->value;
    snprintf(op, sizeof op, "%s%s", o->op, relu ? " + relu" : "");
    SH_TRY(sh_node_set_meta_string(node, SH__FLOAT_NODE, float_name(p, o->value)));
    SH_TRY(sh_node_set_meta_string(
        node, SH__LAYER, o->root->opcode == SH_CALL_MODULE ? o->root->target : o->root->name->text));
    return sh_node_set_meta_string(node, SH__LAYER_OP, op);
}

static bool is_quantized_user(sh_node *user, void *data) {
    const plan *p = data;
    return user->id < p->ids && p->reads[user->id];
}

static sh_status insert(plan *p, const observation *o, const char *path) {
    sh_node *node = NULL;
    SH_INSERTING_AFTER(o->value)
    node = sh_graph_create_node(p->graph, SH_CALL_MODULE, path, SH_ARGS(o->value), SH_NO_KWARGS, NULL);
    if (!node) return sh_error()->code;
    sh_node_set_spec(node, sh_node_spec(o->value));
    if (!o->of_output) return sh_node_replace_uses_where(o->value, node, is_quantized_user, p);
    SH_TRY(note_layer(p, o, node));
    return sh_node_replace_all_uses_with(o->value, node);
}

/* The path with the next free number from *number on. */
static void next_path(const sh_module *module, unsigned *number, char *path, size_t size) {
    do snprintf(path, size, "activation_post_process_%u", (*number)++);
    while (sh_module_child(module, path));
}

static sh_status put_in(plan *p, sh_module *module) {
    unsigned number = 0;
    char path[48];
    choose_options(p);
    for (uint32_t i = 0; i < p->n; i++) {
        observation *first = &p->at[set_of(p, i)];
        if (!first->module) first->module = sh_observer_new(&first->options);
        if (!first->module) return sh_error()->code;
        next_path(module, &number, path, sizeof path);
        SH_TRY(sh_module_set(module, path, first->module));
        SH_TRY(insert(p, &p->at[i], path));
    }
    return SH_OK;
}

static void end_plan(plan *p) {
    for (uint32_t i = 0; i < p->n; i++) sh_module_release(p->at[i].module);
    sh__free(p->at);
    sh__free(p->observer);
    sh__free(p->written);
    sh__free((void *)p->inputs);
}

/* ---- all of it ---- */

sh_module *sh__node_observer(const sh_node *node) {
    if (sh_node_opcode(node) != SH_CALL_MODULE) return NULL;
    sh_module *module = sh_node_module(node);
    return sh_is_observer(module) ? module : NULL;
}

sh_status sh__check_graph_module(const sh_module *module, const char *function) {
    if (sh__error_pending()) return sh_error()->code;
    if (!module || !sh_graph_module_graph(module))
        return sh_fail(module ? SH_ERROR_TYPE : SH_ERROR_NULL,
                       "%s: %s is no graph module: trace it first (sh_symbolic_trace)", function,
                       module ? sh_module_type_of(module)->name : "NULL");
    if (sh_module_is_training(module))
        return sh_fail(SH_ERROR_VALUE, "%s: the module is in training mode: call sh_module_eval first",
                       function);
    return SH_OK;
}

static sh_status prepare(sh_module *prepared, const sh_graph *original, const sh_qconfig_mapping *mapping,
                         const sh_quantize_options *options) {
    plan p = {.graph = sh_graph_module_graph(prepared),
              .original = original,
              .mapping = mapping,
              .separate_add_inputs = options && options->separate_add_inputs};
    size_t folded = 0;
    sh_status status = sh_pass_fuse_conv_bn(p.graph, &folded);
    if (status >= 0) status = make_plan(&p);
    if (status >= 0) status = put_in(&p, prepared);
    end_plan(&p);
    return status;
}

sh_module *sh_quantize_prepare(sh_module *module, const sh_qconfig_mapping *mapping,
                               const sh_quantize_options *options) {
    if (sh__check_graph_module(module, "sh_quantize_prepare") < 0) return NULL;
    const sh_graph *original = sh_graph_module_graph(module);
    sh_qconfig_mapping *own = mapping ? NULL : sh_get_default_qconfig_mapping(NULL);
    sh_graph *graph = mapping || own ? sh_graph_clone(original) : NULL;
    sh_module *prepared = graph ? sh_graph_module_new(module, graph) : NULL;
    const bool done = prepared && prepare(prepared, original, mapping ? mapping : own, options) >= 0;
    sh_qconfig_mapping_free(own);
    if (done) return prepared;
    sh_module_release(prepared);
    return NULL;
}

sh_status sh_quantize_calibrate(sh_module *prepared, sh_values inputs) {
    if (sh__error_pending()) return sh_error()->code;
    if (!prepared) return sh_fail(SH_ERROR_NULL, "sh_quantize_calibrate: the module is NULL");
    SH_SCOPE sh_module_call(prepared, inputs);
    return sh__error_pending() ? sh_error()->code : SH_OK;
}

static sh_status reset(sh_module *module, void *user) {
    (void)user;
    return sh_is_observer(module) ? sh_observer_reset(module) : SH_OK;
}

sh_status sh_quantize_reset(sh_module *prepared) {
    if (sh__error_pending()) return sh_error()->code;
    if (!prepared) return sh_fail(SH_ERROR_NULL, "sh_quantize_reset: the module is NULL");
    return sh_module_apply(prepared, reset, NULL);
}
