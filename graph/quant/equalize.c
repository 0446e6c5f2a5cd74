/* equalize.c - the pairs of products are found, the channels between them observed, and each product gets its new weight
 * once: its rows divided for the pair that it begins, its columns multiplied for the pair that it ends.
 *
 * Ranges of weights are those of the module as it came, so no pair depends on another. Computed in f64, rounded once. */
#include "graph/quant/equalize.h"

#include <math.h>
#include <string.h>

#include "dispatch/chain.h"
#include "dispatch/device.h"
#include "graph/interpreter.h"
#include "graph/pass/pass.h"
#include "graph/pass/product.h"
#include "graph/quant/candidate.h"
#include "graph/quant/observer.h"
#include "graph/quant/quant_impl.h"
#include "ops/ops.h"

typedef struct pair {
    sh_product from, to;
    sh_node *value;      /* what `to` reads */
    sh_module *observer; /* of its channels; NULL before its first value */
} pair;

typedef struct pairs {
    sh_graph *graph;
    double alpha;
    pair *at; /* of the nodes that were there at first */
    uint32_t n, ids;
    uint32_t *begins, *ends,
        *value; /* by id of a node: 1 + the pair that it begins, ends, whose value it gives */
} pairs;

/* ---- finding ---- */

static bool is_one_of(const char *name, const char *const *names) {
    while (*names && strcmp(name, *names) != 0) names++;
    return *names != NULL;
}

/* Does f(s * x) equal s * f(x) in each channel, for s > 0? */
static bool commutes(sh_node *node, int rank) {
    static const char *const any[] = {"relu",       "leaky_relu", "identity", "dropout",
                                      "contiguous", "clone",      NULL};
    static const char *const pools[] = {"max_pool2d", "avg_pool2d", "adaptive_avg_pool2d", NULL};
    sh_candidate c;
    if (!sh__candidate_at(node, &c)) return false;
    return is_one_of(c.op, any) || (rank == 4 && is_one_of(c.op, pools));
}

static sh_node *only_user(const sh_node *node) { return node->nusers == 1 ? node->first_user->user : NULL; }

/* Its columns are the other's rows. */
static bool channels_meet(const sh_product *from, const sh_product *to) {
    return from->kind == to->kind && from->weight->sizes[0] == to->weight->sizes[1] * sh__product_groups(to);
}

static bool find_pair(const sh_weight_uses *uses, sh_node *node, pair *found) {
    *found = (pair){.value = node};
    if (!sh__product_at(node, &found->from) || !sh__product_is_alone(uses, &found->from)) return false;
    sh_node *user = only_user(node);
    while (user && commutes(user, found->from.weight->ndim)) {
        found->value = user;
        user = only_user(user);
    }
    return user && sh__product_at(user, &found->to) && sh__product_is_alone(uses, &found->to) &&
           channels_meet(&found->from, &found->to);
}

static void add_pair(pairs *p, const pair *found) {
    p->at[p->n++] = *found;
    p->begins[found->from.node->id] = p->ends[found->to.node->id] = p->value[found->value->id] = p->n;
}

static sh_status find_pairs(pairs *p) {
    sh_weight_uses uses = {0};
    pair found;
    p->ids = p->graph->next_id + 1;
    p->begins = sh__calloc(p->ids, 3 * sizeof *p->begins);
    p->at = p->begins ? sh__calloc(sh_graph_size(p->graph) + 1, sizeof *p->at) : NULL;
    if (!p->at) return SH_ERROR_MEMORY;
    p->ends = p->begins + p->ids;
    p->value = p->ends + p->ids;
    const sh_status status = sh__weight_uses_count(&uses, p->graph);
    for (sh_node *node = sh_graph_first(p->graph); node && status >= 0; node = sh_node_next(node))
        if (find_pair(&uses, node, &found)) add_pair(p, &found);
    sh__weight_uses_free(&uses);
    return status;
}

/* ---- observing ---- */

/* A linear's channels come last, those of a convolution in front of what it slides over. */
static sh_status take_in(pair *p, sh_tensor *value) {
    if (!p->observer) {
        const sh_observer_options o = {.kind = SH_PER_CHANNEL_MIN_MAX_OBSERVER,
                                       .qscheme = SH_PER_CHANNEL_AFFINE,
                                       .ch_axis = sh_tensor_ndim(value) - (p->from.weight->ndim - 1)};
        p->observer = sh_observer_new(&o);
        if (!p->observer) return SH_ERROR_MEMORY;
    }
    return sh_forward(p->observer, value) ? SH_OK : sh_error()->code;
}

static sh_status run_node(sh_interpreter *in, sh_node *node, sh_value *result) {
    pairs *p = sh_interpreter_user(in);
    SH_TRY(sh_interpreter_run_node(in, node, result));
    const uint32_t which = p->value[node->id];
    return which && result->tag == SH_TAG_TENSOR ? take_in(&p->at[which - 1], result->as.tensor) : SH_OK;
}

static sh_status observe(pairs *p, const sh_arguments *batches, size_t n) {
    sh_interpreter *in =
        sh_interpreter_new(p->graph, &(sh_interpreter_options){.user = p, .run_node = run_node});
    sh_status status = in ? SH_OK : SH_ERROR_MEMORY;
    sh_value ignored;
    for (size_t i = 0; i < n && status >= 0; i++)
        SH_SCOPE status = sh_interpreter_run(in, batches[i], &ignored);
    sh_interpreter_free(in);
    return status;
}

/* ---- the numbers ---- */

/* Columns of a weight of groups, one after the other, as the input has its channels: g x out/g x in/g x the rest. */
static sh_tensor *by_group(sh_tensor *weight, int64_t groups) {
    return sh_reshape(sh_to(weight, SH_F64),
                      SH_SIZES(groups, sh_tensor_size(weight, 0) / groups, sh_tensor_size(weight, 1), -1));
}

/* An entry for each channel between the two; the scope's. A channel that is always 0, or whose weights are, has 1. */
static sh_tensor *scales_of(const pair *p, double alpha) {
    sh_tensor *min = sh_to(sh_module_buffer(p->observer, "min_val"), SH_F64);
    sh_tensor *max = sh_to(sh_module_buffer(p->observer, "max_val"), SH_F64);
    sh_tensor *range = sh_sub(sh_clamp(max, .min = 0), sh_clamp(min, .max = 0));
    sh_tensor *largest =
        sh_amax(sh_abs(by_group(p->to.weight, sh__product_groups(&p->to))), .dim = SH_DIMS(1, 3));
    sh_tensor *s = sh_div(sh_pow(range, alpha), sh_pow(sh_flatten(largest), 1 - alpha));
    if (s) s = sh_tensor_to(s, SH_HOST);
    if (!s) return NULL;
    double *at = sh_tensor_data(s);
    for (int64_t i = 0; i < sh_tensor_numel(s); i++)
        if (!(at[i] > 0) || !isfinite(at[i])) at[i] = 1;
    return s;
}

static sh_tensor *divide_rows(sh_tensor *t, sh_tensor *s) {
    int64_t sizes[SH_MAX_DIMS];
    for (int i = 0; i < sh_tensor_ndim(t); i++) sizes[i] = i ? 1 : sh_tensor_size(t, 0);
    const sh_ints shape = {sizes, sh_tensor_ndim(t)};
    return sh_div(sh_to(t, SH_F64), sh_reshape(s, shape));
}

static sh_tensor *multiply_columns(sh_tensor *weight, int64_t groups, sh_tensor *s) {
    sh_tensor *product =
        sh_mul(by_group(weight, groups), sh_reshape(s, SH_SIZES(groups, 1, sh_tensor_size(weight, 1), 1)));
    const sh_ints shape = {sh_tensor_sizes(weight), sh_tensor_ndim(weight)};
    return sh_reshape(product, shape);
}

/* ---- the edit ---- */

/* `begins` and `ends`: the pairs that the product is in, or NULL. */
static sh_status change(const sh_product *product, double alpha, const pair *begins, const pair *ends) {
    sh_tensor *weight = product->weight, *bias = product->bias;
    sh_switch off;
    sh_switch_off(&off, SH_OFF_ALL);
    if (ends) weight = multiply_columns(weight, sh__product_groups(product), scales_of(ends, alpha));
    if (begins) weight = divide_rows(weight, scales_of(begins, alpha));
    if (begins && bias) bias = divide_rows(bias, scales_of(begins, alpha));
    weight = sh_to(weight, sh_tensor_dtype(product->weight));
    if (bias) bias = sh_to(bias, sh_tensor_dtype(product->bias));
    sh_switch_end(&off);
    SH_TRY(sh__error_pending() ? sh_error()->code : SH_OK);
    return sh__product_replace(product, product->node, weight, bias, "equalized");
}

/* NULL where nothing was seen that could be measured. */
static const pair *seen_pair(const pairs *p, uint32_t which) {
    const pair *found = which ? &p->at[which - 1] : NULL;
    return found && found->observer && sh_observer_is_calibrated(found->observer) ? found : NULL;
}

static sh_status change_all(const pairs *p) {
    sh_status status = SH_OK;
    SH_EACH_NODE(node, p->graph) {
        if (node->id >= p->ids || status < 0) continue;
        const pair *begins = seen_pair(p, p->begins[node->id]), *ends = seen_pair(p, p->ends[node->id]);
        if (!begins && !ends) continue;
        SH_SCOPE status = change(begins ? &begins->from : &ends->to, p->alpha, begins, ends);
    }
    return status;
}

static void end_pairs(pairs *p) {
    for (uint32_t i = 0; i < p->n; i++) sh_module_release(p->at[i].observer);
    sh__free(p->at);
    sh__free(p->begins);
}

/* ---- all of it ---- */

static sh_status check(const sh_module *module, const sh_arguments *batches, size_t n, double alpha) {
    SH_TRY(sh__check_graph_module(module, "sh_quantize_equalize"));
    if (!(alpha > 0 && alpha <= 1))
        return sh_fail(SH_ERROR_VALUE, "sh_quantize_equalize: alpha is %g, expected above 0 and up to 1",
                       alpha);
    return batches && n ? SH_OK : sh_fail(SH_ERROR_ARGUMENT, "sh_quantize_equalize: there are no batches");
}

static sh_status equalize(sh_graph *graph, const sh_arguments *batches, size_t n, double alpha) {
    pairs p = {.graph = graph, .alpha = alpha};
    sh_status status = sh_pass_fuse_conv_bn(graph, NULL);
    if (status >= 0) status = find_pairs(&p);
    if (status >= 0 && p.n) status = observe(&p, batches, n);
    if (status >= 0) status = change_all(&p);
    end_pairs(&p);
    return status;
}

sh_module *sh_quantize_equalize(sh_module *module, const sh_arguments *batches, size_t n,
                                const sh_equalize_options *options) {
    const double alpha = options && options->alpha != 0 ? options->alpha : 0.5;
    if (check(module, batches, n, alpha) < 0) return NULL;
    sh_graph *graph = sh_graph_clone(sh_graph_module_graph(module));
    sh_module *equal = graph ? sh_graph_module_new(module, graph) : NULL;
    if (equal && equalize(sh_graph_module_graph(equal), batches, n, alpha) >= 0) return equal;
    sh_module_release(equal);
    return NULL;
}
