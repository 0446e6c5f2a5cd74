/* convert.c - from f32 to a narrow float, node by node.
 *
 * A value that was f32 has a dtype that it is made in, and is there in the other one too where somebody wants that: a
 * constant as another constant, anything else through a `to` behind it, once. In memory that is written to everything stays in
 * f32, and a `to` from there stands where it is read. */
#include <stdlib.h>
#include <string.h>

#include "dispatch/chain.h"
#include "graph/bind.h"
#include "graph/effects.h"
#include "graph/identity.h"
#include "graph/pass/constant.h"
#include "graph/pass/pass.h"
#include "ops/ops.h"

typedef struct converter {
    sh_graph *graph;
    const sh_dtype_options *options;
    sh_memory_map memory;
    sh_seen written;         /* storages */
    uint32_t n;              /* ids of the nodes that were there */
    bool *narrow;            /* by id: it is made narrow */
    bool *was_f32;           /* by id */
    sh_node **other;         /* by id: the value in the dtype that it isn't made in */
    sh_identities constants; /* node: the narrow form */
    bool in_training;
    size_t changes;
} converter;

/* ---- what stays in f32 ---- */

/* Sorted. What torch.autocast runs in f32, and reductions. */
static const char *const kept[] = {
    "acos",       "asin",  "batch_norm", "cosh",        "cumsum",    "exp",  "expm1", "layer_norm", "log",
    "log10",      "log1p", "log2",       "log_softmax", "logsumexp", "mean", "norm",  "pow",        "prod",
    "reciprocal", "rsqrt", "sinh",       "softmax",     "softplus",  "std",  "sum",   "tan",        "var"};

static int compare_names(const void *a, const void *b) { return strcmp(a, *(const char *const *)b); }

bool sh_keeps_f32(const sh_node *node, void *user) {
    (void)user;
    return sh_node_opcode(node) == SH_CALL_FUNCTION &&
           bsearch(sh_node_target(node), kept, sizeof kept / sizeof *kept, sizeof *kept, compare_names);
}

static bool is_written(const converter *c, const sh_node *node) {
    return node->id < c->n && sh__is_written(&c->memory, node);
}

/* A constant that can be one in another dtype. */
static bool is_fixed(const converter *c, const sh_node *node) {
    const sh_tensor *t = sh__constant_of(node);
    if (!t || !t->storage || t->dtype != SH_F32 || sh__seen_holds(&c->written, t->storage)) return false;
    return !c->in_training || sh_graph_attr(c->graph, node->target);
}

static bool names_dtype(const sh_binding *b) {
    for (uint32_t i = 0; i < b->schema->nparams; i++)
        if (b->schema->params[i].type == SH_TYPE_DTYPE && b->args[i] && b->args[i]->tag != SH_ARG_NONE)
            return true;
    return false;
}

/* Are its floats all f32, and is there one? */
static bool is_of_f32(const converter *c, const sh_node *node) {
    bool any = false;
    for (uint32_t i = 0; i < node->ninputs; i++) {
        const sh_node *input = node->uses[i].input;
        const bool f32 = input->id < c->n && c->was_f32[input->id];
        if (!f32 && (!input->has_spec || sh_dtype_kind_of(input->spec.dtype) == SH_KIND_FLOAT)) return false;
        any |= f32;
    }
    return any && node->has_spec;
}

/* A view is made in what it is a view of. */
static bool follows_narrow(const converter *c, const sh_node *input) {
    return input->id < c->n && (c->narrow[input->id] || is_fixed(c, input));
}

static bool becomes_narrow(const converter *c, const sh_node *node) {
    const sh_effects effects = sh__node_effects(node);
    sh_binding b;
    if (node->opcode != SH_CALL_FUNCTION || effects.what || is_written(c, node) || !is_of_f32(c, node))
        return false;
    const bool item = strcmp(node->target, SH_GETITEM) == 0;
    if (!item && (!sh__binds(node, &b) || b.op->tags & SH_OP_CUSTOM || names_dtype(&b))) return false;
    if (effects.alias) return follows_narrow(c, effects.alias);
    const sh_node_filter keeps = c->options->keeps ? c->options->keeps : sh_keeps_f32;
    return !keeps(node, c->options->user);
}

/* ---- a value in the other dtype ---- */

static sh_dtype dtype_of(const converter *c, bool narrow) { return narrow ? c->options->dtype : SH_F32; }

/* The tensor of a constant, made narrow once however many nodes get it. */
static sh_node *narrow_constant(converter *c, sh_node *node) {
    sh_tensor *t = sh__constant_of(node);
    const sh_origin *known = sh__identity_find(&c->constants, t);
    if (known) return known->node;
    sh_node *other = NULL;
    SH_SCOPE {
        sh_switch off;
        sh_switch_off(&off, SH_OFF_ALL);
        sh_tensor *narrow = sh_to(t, c->options->dtype);
        sh_switch_end(&off);
        SH_INSERTING_BEFORE(node) other = narrow ? sh__constant_new(c->graph, node->target, narrow) : NULL;
    }
    return other && sh__identity_set(&c->constants, t, other, -1) >= 0 ? other : NULL;
}

/* Where a cast of `node` goes: behind it, inputs stay together; in front of the user where the memory changes. */
static sh_node *place_of(const converter *c, sh_node *node, sh_node *user) {
    sh_node *place = sh_node_next(node);
    while (node->opcode == SH_PLACEHOLDER && place && place->opcode == SH_PLACEHOLDER)
        place = sh_node_next(place);
    return is_written(c, node) || !place ? user : place;
}

static sh_node *cast(converter *c, sh_node *node, sh_node *user, bool narrow) {
    sh_node *to = NULL;
    SH_INSERTING_BEFORE(place_of(c, node, user))
    to = sh_graph_create_node(c->graph, SH_CALL_FUNCTION, "to",
                              SH_ARGS(node, sh_arg_dtype(dtype_of(c, narrow))), SH_NO_KWARGS,
                              user->opcode == SH_OUTPUT ? node->name->text : NULL);
    if (!to) return NULL;
    to->site = node->site;
    to->scope = node->scope;
    if (node->has_spec) {
        sh_node_set_spec(to, &node->spec);
        to->spec.dtype = dtype_of(c, narrow);
    }
    if (user->opcode == SH_OUTPUT && node->opcode == SH_CALL_FUNCTION) sh__node_swap_names(node, to);
    c->changes++;
    return to;
}

/* The value as `user` wants it, in a node of its own where it is made otherwise. */
static sh_node *version(converter *c, sh_node *node, sh_node *user, bool narrow) {
    if (c->narrow[node->id] == narrow) return node;
    if (c->other[node->id]) return c->other[node->id];
    sh_node *made = narrow && is_fixed(c, node) ? narrow_constant(c, node) : cast(c, node, user, narrow);
    if (!is_written(c, node)) c->other[node->id] = made;
    return made;
}

static sh_status give_inputs(converter *c, sh_node *node, bool narrow) {
    for (uint32_t i = 0; i < node->ninputs; i++) {
        sh_node *input = node->uses[i].input;
        if (input->id >= c->n || !c->was_f32[input->id]) continue;
        sh_node *wanted = version(c, input, node, narrow);
        if (!wanted) return sh_error()->code;
        if (wanted == input) continue;
        SH_TRY(sh_node_replace_input_with(node, input, wanted));
        if (input->opcode == SH_GET_ATTR && !input->nusers) sh__node_discard(input);
        i = UINT32_MAX; /* the list is another one now */
    }
    return SH_OK;
}

/* ---- the walk ---- */

static bool has_narrow_input(const converter *c, const sh_node *node) {
    for (uint32_t i = 0; i < node->ninputs; i++)
        if (node->uses[i].input->id < c->n && c->narrow[node->uses[i].input->id]) return true;
    return false;
}

static sh_status visit(converter *c, sh_node *node) {
    const bool is_output = node->opcode == SH_OUTPUT;
    const bool narrow = becomes_narrow(c, node);
    if (!narrow && (!has_narrow_input(c, node) || (is_output && c->options->keep_outputs))) return SH_OK;
    SH_TRY(give_inputs(c, node, narrow));
    c->narrow[node->id] = narrow;
    if (narrow && c->was_f32[node->id]) node->spec.dtype = c->options->dtype;
    c->changes += narrow;
    return SH_OK;
}

static sh_status begin(converter *c) {
    const sh_module *root = sh__graph_root(c->graph)->object;
    c->n = c->graph->next_id;
    c->in_training = root && sh_module_is_training(root);
    SH_TRY(sh__memory_map(&c->memory, c->graph));
    SH_TRY(sh__written_constants(c->graph, &c->memory, &c->written));
    c->other = sh__calloc(c->n + 1, sizeof *c->other + 2 * sizeof *c->narrow);
    if (!c->other) return SH_ERROR_MEMORY;
    c->narrow = (bool *)(c->other + c->n + 1);
    c->was_f32 = c->narrow + c->n + 1;
    for (const sh_node *node = sh_graph_first(c->graph); node; node = sh_node_next(node)) {
        const sh_tensor *t = sh__constant_of(node);
        c->was_f32[node->id] = t ? t->dtype == SH_F32 : node->has_spec && node->spec.dtype == SH_F32;
    }
    return SH_OK;
}

static sh_status convert(converter *c) {
    SH_TRY(sh_inline_modules(c->graph, NULL, NULL, &c->changes));
    SH_TRY(begin(c));
    SH_EACH_NODE(node, c->graph)
    if (node->id < c->n) SH_TRY(visit(c, node));
    return SH_OK;
}

sh_status sh_convert_dtype(sh_graph *graph, const sh_dtype_options *options, size_t *changes) {
    if (sh__error_pending()) return sh_error()->code;
    if (!graph || !options)
        return sh_fail(SH_ERROR_NULL, "sh_convert_dtype: %s NULL", graph ? "options is" : "the graph is");
    if (options->dtype != SH_F16 && options->dtype != SH_BF16)
        return sh_fail(SH_ERROR_DTYPE, "sh_convert_dtype: got %s, expected f16 or bf16",
                       sh_dtype_name(options->dtype));
    converter c = {.graph = graph, .options = options};
    const sh_status status = convert(&c);
    sh__memory_free(&c.memory);
    sh__seen_free(&c.written);
    sh__identities_free(&c.constants);
    sh__free(c.other);
    if (changes) *changes += c.changes;
    return status;
}

sh_status sh_pass_to_bf16(sh_graph *graph, size_t *changes) {
    return sh_convert_dtype(graph, &(sh_dtype_options){.dtype = SH_BF16}, changes);
}

sh_status sh_pass_to_f16(sh_graph *graph, size_t *changes) {
    return sh_convert_dtype(graph, &(sh_dtype_options){.dtype = SH_F16}, changes);
}
