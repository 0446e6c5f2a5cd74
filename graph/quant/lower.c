/* lower.c - from the reference form to integer ops: what stands between dequantize and quantize nodes, where there is an
 * op on integers that does the same.
 *
 *     dequantize -> conv2d or linear, with a weight from 8 bits -> relu -> quantize        quantized_conv2d, quantized_linear
 *     dequantize, dequantize -> add -> relu -> quantize                                    quantized_add
 *     dequantize -> what only moves values -> quantize, all on one grid                    that op on the integers
 *
 * Other ops keep the reference form and run on reals. A layer is made where its root stands; what is behind that, up to the
 * quantize node, is passed over. */
#include <stdio.h>
#include <string.h>

#include "dispatch/chain.h"
#include "dispatch/device.h"
#include "graph/bind.h"
#include "graph/module/module_impl.h"
#include "graph/pass/constant.h"
#include "graph/quant/candidate.h"
#include "graph/quant/grid.h"
#include "graph/quant/quant_impl.h"
#include "graph/quant/rebuild.h"

/* A quantize node and the layer in front of it. */
typedef struct layer {
    const sh_node *quantize;
    sh_node_grid out;
    sh_candidate c;
    bool relu;
} layer;

/* The quantize node that alone uses a value, or NULL. */
static const sh_node *quantize_behind(const sh_node *value, sh_node_grid *grid) {
    const sh_node *user = value->nusers == 1 ? value->first_user->user : NULL;
    return user && sh__grid_of(user, grid) ? user : NULL;
}

static bool find_layer(const sh_node *root, layer *l) {
    if (!sh__candidate_at((sh_node *)(uintptr_t)root, &l->c)) return false;
    l->relu = l->c.tail != root;
    l->quantize = quantize_behind(l->c.tail, &l->out);
    return l->quantize != NULL;
}

/* ---- inputs ---- */

/* An argument that is dequantised: the node that stores it, in the new graph. */
static sh_node *stored_input(const sh_arg *arg, sh_node_map *map, sh_node_grid *grid) {
    const sh_node *quantize = sh__quantize_before(sh__arg_node(arg), grid);
    return quantize ? sh_node_map_get(map, quantize) : NULL;
}

static bool all_zero(const sh_tensor *t) {
    const int64_t *at =
        t && sh_tensor_device(t) == SH_HOST && sh_tensor_dtype(t) == SH_I64 ? sh_tensor_data(t) : NULL;
    for (int64_t i = 0; at && i < sh_tensor_numel(t); i++)
        if (at[i]) return false;
    return at != NULL;
}

static bool is_stored_weight(const sh_node *node) {
    const sh_tensor *t =
        node && node->opcode == SH_GET_ATTR ? sh_graph_attr(node->graph, node->target) : NULL;
    return t && sh_tensor_dtype(t) == SH_I8;
}

/* The scales of a weight that has one: a constant with one entry. */
static sh_node *single_scale(sh_graph *to, const char *weight, double scale) {
    char wish[256];
    sh_node *node = NULL;
    snprintf(wish, sizeof wish, "%.200s_scale", weight);
    SH_SCOPE node = sh__constant_new(to, wish, SH_FLOATS((float)scale));
    return node;
}

/* The integers and the scales of a weight from 8 bits around 0, in the new graph. False if it is none. */
static bool stored_weight(sh_graph *to, const sh_arg *arg, sh_node_map *map, sh_node **weight,
                          sh_node **scales) {
    const sh_node *back = sh__arg_node(arg);
    const bool channels = sh__calls(back, SH__DEQUANTIZE_CHANNELS);
    if (!channels && !sh__calls(back, SH__DEQUANTIZE)) return false;
    const sh_node *stored = sh__arg_node(&back->args.at[0]);
    if (!is_stored_weight(stored)) return false;
    *weight = sh_node_map_get(map, stored);
    if (!channels) {
        const sh_arg scale = back->args.at[1], zero_point = back->args.at[2];
        if (scale.tag != SH_ARG_FLOAT || zero_point.tag != SH_ARG_INT || zero_point.as.i) return false;
        *scales = single_scale(to, stored->target, scale.as.f);
        return *scales != NULL;
    }
    const sh_node *zeros = sh__arg_node(&back->args.at[2]);
    const bool first = back->args.n == 4 && back->args.at[3].tag == SH_ARG_INT && !back->args.at[3].as.i;
    if (!first || !zeros || !all_zero(sh_graph_attr(zeros->graph, zeros->target))) return false;
    *scales = sh_node_map_get(map, sh__arg_node(&back->args.at[1]));
    return *scales != NULL;
}

/* ---- what comes out ---- */

enum { OUTPUT_ARGUMENTS = 4 };

static sh_kwarg *output_arguments(const layer *l, sh_kwarg *at) {
    *at++ = SH_KWARG("output_scale", l->out.scale);
    *at++ = SH_KWARG("output_zero_point", l->out.zero_point);
    *at++ = SH_KWARG("output_dtype", sh_arg_dtype(l->out.dtype));
    *at++ = SH_KWARG("relu", l->relu);
    return at;
}

/* `node` stands for the quantize node from here on. */
static sh_status stand_in(const layer *l, sh_node *node, sh_node_map *map) {
    if (!node) return sh_error()->code;
    SH_TRY(sh__node_copy_knowledge(node, l->quantize));
    sh__set_dtype(node, l->out.dtype);
    return sh_node_map_set(map, l->quantize, node);
}

static sh_status finish_call(const layer *l, sh_node *node, sh_node_map *map) {
    if (!node) return sh_error()->code;
    SH_TRY(sh_node_normalize_arguments(node, SH_POSITIONAL_FORM));
    return stand_in(l, node, map);
}

/* ---- products ---- */

/* stride, padding, dilation and groups, as the call has them. */
static sh_kwarg *window_arguments(const sh_binding *b, sh_kwarg *at) {
    static const char *const names[] = {"stride", "padding", "dilation", "groups"};
    for (int i = 0; i < 4; i++) {
        const int place = sh_schema_find(b->schema, names[i]);
        if (place >= 0 && b->args[place]) *at++ = (sh_kwarg){names[i], *b->args[place]};
    }
    return at;
}

static sh_status lower_product(sh_graph *to, const layer *l, sh_node_map *map) {
    sh_binding b;
    sh_node_grid in;
    sh_node *weight, *scales;
    char op[32];
    if (!sh__binds(l->c.root, &b)) return SH_PASS;
    sh_node *input = stored_input(b.args[0], map, &in);
    if (!input || !stored_weight(to, b.args[1], map, &weight, &scales))
        return sh_error() ? sh_error()->code : SH_PASS;
    const sh_node *bias = sh__arg_node(b.args[2]);
    const sh_arg bias_arg = bias ? sh_arg_node(sh_node_map_get(map, bias)) : sh_arg_none();
    sh_kwarg kwargs[OUTPUT_ARGUMENTS + 4];
    const size_t n = (size_t)(output_arguments(l, window_arguments(&b, kwargs)) - kwargs);
    snprintf(op, sizeof op, "quantized_%s", l->c.op);
    return finish_call(l,
                       sh_graph_create_node(to, SH_CALL_FUNCTION, op,
                                            SH_ARGS(input, in.scale, in.zero_point, weight, scales, bias_arg),
                                            (sh_kwargs){kwargs, n}, sh_node_name(l->c.root)),
                       map);
}

static sh_status lower_sum(sh_graph *to, const layer *l, sh_node_map *map) {
    sh_binding b;
    sh_node_grid a_grid, b_grid;
    if (!sh__binds(l->c.root, &b) || (b.args[2] && !sh__arg_is_default(&b.schema->params[2], b.args[2])))
        return SH_PASS;
    sh_node *x = stored_input(b.args[0], map, &a_grid), *y = stored_input(b.args[1], map, &b_grid);
    if (!x || !y) return SH_PASS;
    sh_kwarg kwargs[OUTPUT_ARGUMENTS];
    output_arguments(l, kwargs);
    return finish_call(
        l,
        sh_graph_create_node(to, SH_CALL_FUNCTION, "quantized_add",
                             SH_ARGS(x, a_grid.scale, a_grid.zero_point, y, b_grid.scale, b_grid.zero_point),
                             (sh_kwargs){kwargs, OUTPUT_ARGUMENTS}, sh_node_name(l->c.root)),
        map);
}

/* ---- moves ---- */

/* Do all inputs come from the grid that the output is stored on? */
static bool stays_on_grid(const layer *l, const sh_node_map *map) {
    for (uint32_t i = 0; i < l->c.root->ninputs; i++) {
        sh_node_grid in;
        const sh_node *stored = sh__quantize_before(l->c.root->uses[i].input, &in);
        if (!stored || !sh__same_grid(&in, &l->out) || !sh_node_map_get(map, stored)) return false;
    }
    return l->c.root->ninputs > 0;
}

/* A copy whose inputs are the stored values. */
static sh_node *copy_on_integers(sh_graph *to, const layer *l, sh_node_map *map) {
    const sh_node *root = l->c.root;
    sh_node_grid in;
    sh_node *copy = NULL;
    sh_status status = SH_OK;
    sh_node **reals = sh__alloc(root->ninputs * sizeof(sh_node *));
    if (!reals) return NULL;
    for (uint32_t i = 0; i < root->ninputs; i++) {
        const sh_node *back = root->uses[i].input;
        reals[i] = sh_node_map_get(map, back);
        status = sh_node_map_set(map, back, sh_node_map_get(map, sh__quantize_before(back, &in)));
    }
    if (status >= 0) copy = sh_graph_node_copy(to, root, map);
    for (uint32_t i = 0; i < root->ninputs; i++) sh_node_map_set(map, root->uses[i].input, reals[i]);
    sh__free((void *)reals);
    return copy;
}

static sh_node *lower_relu(sh_graph *to, const layer *l, sh_node_map *map) {
    sh_node_grid in;
    const sh_node *stored = sh__quantize_before(l->c.root->uses[0].input, &in);
    return sh_graph_create_node(to, SH_CALL_FUNCTION, "clamp", SH_ARGS(sh_node_map_get(map, stored)),
                                SH_KWARGS(SH_KWARG("min", l->out.zero_point)), sh_node_name(l->c.root));
}

static sh_status lower_move(sh_graph *to, const layer *l, sh_node_map *map) {
    if (!stays_on_grid(l, map)) return SH_PASS;
    if (strcmp(l->c.op, "relu") == 0) return stand_in(l, lower_relu(to, l, map), map);
    sh_node *copy = copy_on_integers(to, l, map);
    if (copy && strcmp(l->c.op, "pad") == 0)
        sh_node_set_kwarg(copy, "value", sh_arg_float((double)l->out.zero_point));
    return stand_in(l, copy, map);
}

/* ---- all of it ---- */

static bool is_done(const sh_node *node, const sh_node_map *map) {
    sh_node_grid grid;
    const sh_node *quantize = quantize_behind(node, &grid);
    return sh_node_map_get(map, node) || (quantize && sh_node_map_get(map, quantize));
}

static sh_status emit(sh_graph *to, const sh_node *node, sh_node_map *map, void *user) {
    layer l;
    (void)user;
    if (is_done(node, map)) return SH_OK;
    if (!find_layer(node, &l)) return SH_PASS;
    switch (l.c.how) {
    case SH__WEIGHTS: return lower_product(to, &l, map);
    case SH__SUMS: return lower_sum(to, &l, map);
    case SH__CONCATENATES:
    case SH__MOVES: return l.relu ? SH_PASS : lower_move(to, &l, map);
    default: return SH_PASS;
    }
}

sh_module *sh_quantize_lower(sh_module *reference) {
    const sh_graph *graph = reference && !sh_error() ? sh_graph_module_graph(reference) : NULL;
    if (!graph) {
        sh_fail(reference ? SH_ERROR_TYPE : SH_ERROR_NULL, "sh_quantize_lower: %s is no graph module",
                reference ? sh_module_type_of(reference)->name : "NULL");
        return NULL;
    }
    sh_graph *lowered = sh__graph_rebuild(graph, emit, NULL);
    return lowered ? sh_graph_module_new(reference, lowered) : NULL;
}
