/* convert.c - from observers to quantize and dequantize nodes, the reference form: each quantised value is stored in 8 bits
 * and brought back to reals before it is used, so that every op is the float one. lower.c makes integer ops of it.
 *
 * A product that is quantised becomes a call of its op, with a weight brought back from 8 bits, whether it was a call or
 * a module. What an observer's dtype can hold is used whole, as torch does: quant_min and quant_max choose the scale
 * only. */
#include <stdio.h>

#include "dispatch/chain.h"
#include "graph/bind.h"
#include "graph/module/module_impl.h"
#include "graph/module/nn_types.h"
#include "graph/pass/constant.h"
#include "graph/quant/candidate.h"
#include "graph/quant/grid.h"
#include "graph/quant/quant_impl.h"
#include "graph/quant/rebuild.h"
#include "graph/quant/weights.h"

typedef struct chosen {
    const sh_module *observer;
    sh_node_grid grid;
} chosen;

typedef struct conversion {
    sh_weight_store weights;
    chosen *at; /* one for each observer met */
    size_t n;
} conversion;

static bool is_quantized(const sh_node *node) {
    return sh_node_meta(node, SH__QCONFIG).kind == SH_META_POINTER;
}

/* ---- observers ---- */

static sh_status read_grid(const sh_module *observer, const sh_node *node, sh_node_grid *grid) {
    sh_qparams q;
    if (!sh_observer_is_calibrated(observer))
        return sh_fail(SH_ERROR_VALUE,
                       "sh_quantize_convert: %%%s, which observes %%%s, has seen nothing: run the "
                       "prepared module on some inputs first",
                       sh_node_name(node), sh_node_name(sh_node_arg(node, 0).as.node));
    SH_TRY(sh_observer_qparams(observer, &q));
    *grid = (sh_node_grid){sh_item(q.scale), sh_item_int(q.zero_point), q.dtype};
    return SH_OK;
}

static sh_status grid_for(conversion *c, const sh_module *observer, const sh_node *node, sh_node_grid *grid) {
    for (size_t i = 0; i < c->n; i++)
        if (c->at[i].observer == observer) {
            *grid = c->at[i].grid;
            return SH_OK;
        }
    chosen *at = sh__realloc(c->at, (c->n + 1) * sizeof *at);
    if (!at) return SH_ERROR_MEMORY;
    c->at = at;
    sh_status status = SH_OK;
    SH_SCOPE status = read_grid(observer, node, grid);
    if (status >= 0) at[c->n++] = (chosen){observer, *grid};
    return status;
}

/* What compare needs goes from the observer to the node that stores the value. */
static sh_status note_grid(sh_node *quantize, const sh_node *observer, const sh_node_grid *grid) {
    SH_TRY(sh__node_copy_knowledge(quantize, observer));
    sh__set_dtype(quantize, grid->dtype);
    SH_TRY(sh_node_set_meta_float(quantize, SH__SCALE, grid->scale));
    return sh_node_set_meta_int(quantize, SH__ZERO_POINT, grid->zero_point);
}

static sh_status emit_observer(conversion *c, sh_graph *to, const sh_node *node, sh_node_map *map,
                               const sh_module *observer) {
    sh_node_grid grid = {0}, before;
    sh_node *x = sh_node_map_get(map, sh__arg_node(node->args.at));
    SH_TRY(grid_for(c, observer, node, &grid));
    if (sh__quantize_before(x, &before) && sh__same_grid(&before, &grid))
        return sh_node_map_set(map, node, x);
    sh_node *quantize =
        sh_graph_call_function(to, SH__QUANTIZE, x, grid.scale, grid.zero_point, sh_arg_dtype(grid.dtype));
    if (!quantize) return sh_error()->code;
    SH_TRY(note_grid(quantize, node, &grid));
    sh_node *back = sh_graph_call_function(to, SH__DEQUANTIZE, quantize, grid.scale, grid.zero_point);
    if (!back) return sh_error()->code;
    sh_node_set_spec(back, sh_node_spec(node));
    return sh_node_map_set(map, node, back);
}

/* ---- products ---- */

/* A call of the op with what the module has as its options. `args` holds input and weight. */
static sh_node *call_of_linear(sh_graph *to, const sh_node *node, sh_args args) {
    return sh_graph_create_node(to, SH_CALL_FUNCTION, "linear", args, SH_NO_KWARGS, sh_node_name(node));
}

static sh_node *call_of_conv1d(sh_graph *to, const sh_node *node, sh_args args) {
    const sh_nn_conv1d_options *o = sh_module_state(sh_node_module(node));
    return sh_graph_create_node(to, SH_CALL_FUNCTION, "conv1d", args,
                                SH_KWARGS(SH_KWARG("stride", sh_arg_list(SH_ARGS(o->stride))),
                                          SH_KWARG("padding", sh_arg_list(SH_ARGS(o->padding))),
                                          SH_KWARG("dilation", sh_arg_list(SH_ARGS(o->dilation))),
                                          SH_KWARG("groups", o->groups)),
                                sh_node_name(node));
}

static sh_node *call_of_conv2d(sh_graph *to, const sh_node *node, sh_args args) {
    const sh_nn_conv2d_options *o = sh_module_state(sh_node_module(node));
    const sh_pair stride = sh__nn_pair(o->stride), padding = sh__nn_pair(o->padding),
                  dilation = sh__nn_pair(o->dilation);
    return sh_graph_create_node(
        to, SH_CALL_FUNCTION, "conv2d", args,
        SH_KWARGS(SH_KWARG("stride", sh_arg_list(SH_ARGS(stride.at[0], stride.at[1]))),
                  SH_KWARG("padding", sh_arg_list(SH_ARGS(padding.at[0], padding.at[1]))),
                  SH_KWARG("dilation", sh_arg_list(SH_ARGS(dilation.at[0], dilation.at[1]))),
                  SH_KWARG("groups", o->groups)),
        sh_node_name(node));
}

static const struct {
    const char *type;
    sh_node *(*call)(sh_graph *to, const sh_node *node, sh_args args);
} calls[] = {{"Linear", call_of_linear}, {"Conv1d", call_of_conv1d}, {"Conv2d", call_of_conv2d}};

/* The bias of the module stays where it is. */
static sh_status add_bias(sh_graph *to, const sh_node *node, sh_node *call) {
    char path[512];
    if (!sh_module_parameter(sh_node_module(node), "bias")) return SH_OK;
    const int n = snprintf(path, sizeof path, "%s.bias", sh_node_target(node));
    if (n >= (int)sizeof path)
        return sh_fail(SH_ERROR_VALUE, "the path of %%%s is too long", sh_node_name(node));
    SH_INSERTING_BEFORE(call) {
        sh_node *bias = sh_graph_create_node(to, SH_GET_ATTR, path, SH_NO_ARGS, SH_NO_KWARGS, NULL);
        if (!bias) return sh_error()->code;
        SH_TRY(sh_node_set_kwarg(call, "bias", sh_arg_node(bias)));
    }
    return SH_OK;
}

static sh_status emit_module(sh_graph *to, const sh_node *node, sh_node_map *map, sh_node *weight) {
    const sh_module *module = sh_node_module(node);
    sh_node *input = sh_node_map_get(map, sh__arg_node(node->args.at)), *call = NULL;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (sh_module_is(module, calls[i].type)) call = calls[i].call(to, node, SH_ARGS(input, weight));
    if (!call) return sh_error()->code;
    SH_TRY(add_bias(to, node, call));
    SH_TRY(sh__node_copy_knowledge(call, node));
    SH_TRY(sh_node_normalize_arguments(call, SH_POSITIONAL_FORM));
    return sh_node_map_set(map, node, call);
}

static sh_status emit_call(sh_graph *to, const sh_node *node, sh_node_map *map, const sh_node *weight,
                           sh_node *stored) {
    sh_node *before = sh_node_map_get(map, weight);
    SH_TRY(sh_node_map_set(map, weight, stored));
    sh_node *call = sh_graph_node_copy(to, node, map);
    if (!call) return sh_error()->code;
    return before ? sh_node_map_set(map, weight, before) : SH_OK;
}

static sh_status emit_product(conversion *c, sh_graph *to, const sh_node *node, sh_node_map *map) {
    const sh_qconfig *q = sh_node_meta(node, SH__QCONFIG).as.pointer;
    sh_node *get_attr = sh__weight_of_call(node);
    sh_tensor *weight =
        get_attr ? sh__constant_of(get_attr) : sh_module_parameter(sh_node_module(node), "weight");
    if (!weight) return sh_fail(SH_ERROR_VALUE, "sh_quantize_convert: %%%s has no weight", node->name->text);
    sh_node *stored = sh__weight_node(&c->weights, to, weight, &q->weight, node->name->text);
    if (!stored) return sh_error()->code;
    SH_TRY(get_attr ? emit_call(to, node, map, get_attr, stored) : emit_module(to, node, map, stored));
    sh_node_drop_meta(sh_node_map_get(map, node), SH__QCONFIG);
    return SH_OK;
}

/* ---- all of it ---- */

/* A weight that only products in 8 bits read is not copied. */
static bool is_stored(const sh_node *get_attr) {
    for (const sh_use *use = get_attr->first_user; use; use = use->next)
        if (!is_quantized(use->user) || sh__weight_of_call(use->user) != get_attr) return false;
    return get_attr->nusers > 0;
}

static sh_status emit(sh_graph *to, const sh_node *node, sh_node_map *map, void *user) {
    const sh_module *observer = sh__node_observer(node);
    if (observer) return emit_observer(user, to, node, map, observer);
    if (is_quantized(node)) return emit_product(user, to, node, map);
    return node->opcode == SH_GET_ATTR && is_stored(node) ? SH_OK : SH_PASS;
}

sh_module *sh_quantize_convert_to_reference(sh_module *prepared) {
    const sh_graph *graph = prepared && !sh_error() ? sh_graph_module_graph(prepared) : NULL;
    if (!graph) {
        sh_fail(prepared ? SH_ERROR_TYPE : SH_ERROR_NULL,
                "sh_quantize_convert: %s is no graph module that was prepared",
                prepared ? sh_module_type_of(prepared)->name : "NULL");
        return NULL;
    }
    conversion c = {{0}, NULL, 0};
    sh_graph *converted = sh__graph_rebuild(graph, emit, &c);
    sh__free(c.weights.at);
    sh__free(c.at);
    return converted ? sh_graph_module_new(prepared, converted) : NULL;
}

sh_module *sh_quantize_convert(sh_module *prepared) {
    sh_module *reference = sh_quantize_convert_to_reference(prepared);
    sh_module *lowered = reference ? sh_quantize_lower(reference) : NULL;
    sh_module_release(reference);
    return lowered;
}
