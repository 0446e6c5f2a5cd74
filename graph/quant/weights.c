/* weights.c - observe, quantise, keep as attributes of the graph, dequantise where it is used.
 *
 * No mode sees this: it is work on the graph, not the program's. */
#include "graph/quant/weights.h"

#include <stdio.h>
#include <string.h>

#include "dispatch/memory_impl.h"
#include "graph/module/module_impl.h"
#include "graph/pass/constant.h"
#include "graph/quant/grid.h"
#include "ops/ops.h"

/* ---- numbers ---- */

/* Errors name the layer. */
static sh_status choose(sh_tensor *weight, const sh_observer_options *options, const char *layer,
                        sh_qparams *q) {
    sh_module *observer = sh_observer_new(options);
    if (!observer) return sh_error()->code;
    observer->name = sh__strdup(layer);
    if (observer->name) sh_forward(observer, weight);
    const sh_status status = sh_observer_qparams(observer, q);
    sh_module_release(observer);
    return status;
}

static sh_tensor *stored(sh_tensor *weight, const sh_qparams *q) {
    weight = sh_to(weight, SH_F32);
    if (q->per_channel)
        return sh_quantize_per_channel(weight, q->scale, q->zero_point, q->axis, q->dtype,
                                       .quant_min = q->quant_min, .quant_max = q->quant_max);
    return sh_quantize_per_tensor(weight, sh_item(q->scale), sh_item_int(q->zero_point), q->dtype,
                                  .quant_min = q->quant_min, .quant_max = q->quant_max);
}

/* ---- nodes ---- */

/* A get_attr node of a new attribute like `layer_part`. */
static sh_node *attribute(sh_graph *to, const char *layer, const char *part, sh_tensor *value) {
    char wish[256];
    snprintf(wish, sizeof wish, "%.200s_%s", layer, part);
    return sh__constant_new(to, wish, value);
}

static sh_node *channel_node(sh_graph *to, sh_node *weight, const sh_qparams *q, const char *layer) {
    sh_node *scale = attribute(to, layer, "weight_scale", q->scale);
    sh_node *zero_point = scale ? attribute(to, layer, "weight_zero_point", q->zero_point) : NULL;
    if (!zero_point) return NULL;
    return sh_graph_call_function(to, SH__DEQUANTIZE_CHANNELS, weight, scale, zero_point, q->axis);
}

static sh_node *make_node(sh_graph *to, sh_tensor *weight, const sh_observer_options *options,
                          const char *layer) {
    sh_qparams q;
    if (choose(weight, options, layer, &q) < 0) return NULL;
    sh_node *node = attribute(to, layer, "weight", stored(weight, &q));
    if (!node) return NULL;
    sh_node *back = q.per_channel ? channel_node(to, node, &q, layer)
                                  : sh_graph_call_function(to, SH__DEQUANTIZE, node, sh_item(q.scale),
                                                           sh_item_int(q.zero_point));
    const sh_spec *spec = sh_node_spec(node);
    if (back) sh_node_set_spec(back, spec);
    if (back) sh__set_dtype(back, SH_F32);
    return back;
}

sh_node *sh__weight_node(sh_weight_store *store, sh_graph *to, sh_tensor *weight,
                         const sh_observer_options *options, const char *name) {
    for (size_t i = 0; i < store->n; i++)
        if (store->at[i].from == weight && memcmp(&store->at[i].options, options, sizeof *options) == 0)
            return store->at[i].dequantize;
    sh_stored_weight *at = sh__realloc(store->at, (store->n + 1) * sizeof *at);
    if (!at) return NULL;
    store->at = at;
    sh_node *node = NULL;
    sh_switch off;
    sh_switch_off(&off, SH_OFF_ALL);
    SH_SCOPE node = make_node(to, weight, options, name);
    sh_switch_end(&off);
    if (node) at[store->n++] = (sh_stored_weight){weight, *options, node};
    return node;
}
