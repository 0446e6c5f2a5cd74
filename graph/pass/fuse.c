/* fuse.c - batch norms folded into the linear or convolution in front of them.
 *
 * In evaluation a batch norm is a scale and a shift for each channel, and so are the rows of the weight in front of it:
 * w' = w * s, b' = (b - mean) * s + beta, with s = gamma / sqrt(var + eps) (torch/nn/utils/fusion.py). That is computed
 * in f64 and rounded once. product.h has what may be folded into.
 *
 * Left alone is a weight that several calls use, which would become several weights; what is written to; modules with
 * hooks; a batch norm whose input's rank is not known, since then it is not known what its channels are. */
#include <string.h>

#include "dispatch/chain.h"
#include "graph/bind.h"
#include "graph/effects.h"
#include "graph/invoke.h"
#include "graph/module/nn_types.h"
#include "graph/pass/pass.h"
#include "graph/pass/product.h"
#include "ops/ops.h"

/* ---- what is there ---- */

typedef struct norm {
    sh_tensor *mean, *var, *gamma, *beta;
    double eps;
} norm;

static bool read_norm_module(const sh_node *node, norm *n) {
    const sh_module *module = sh__plain_module(node);
    if (!module || module->type != &sh__nn_batch_norm2d_type || module->training) return false;
    const sh_nn_batch_norm2d_options *o = sh_module_state(module);
    *n = (norm){sh_module_buffer(module, "running_mean"), sh_module_buffer(module, "running_var"),
                sh_module_parameter(module, "weight"), sh_module_parameter(module, "bias"), o->eps};
    return n->mean && n->var;
}

static bool read_norm_op(const sh_node *node, norm *n) {
    sh_binding b;
    bool gamma, beta, mean, var;
    if (node->opcode != SH_CALL_FUNCTION || strcmp(node->target, "batch_norm") != 0) return false;
    if (!sh__binds(node, &b) || sh__node_effects(node).what) return false;
    const int eps = sh_schema_find(b.schema, "eps"), training = sh_schema_find(b.schema, "training");
    if (b.args[training] && (b.args[training]->tag != SH_ARG_FLAG || b.args[training]->as.i)) return false;
    if (sh__arg_node(b.args[eps])) return false;
    const sh_value v = b.args[eps] ? sh__literal_value(*b.args[eps]) : b.schema->params[eps].value;
    *n = (norm){sh__bound_constant(&b, "running_mean", &mean), sh__bound_constant(&b, "running_var", &var),
                sh__bound_constant(&b, "weight", &gamma), sh__bound_constant(&b, "bias", &beta),
                sh_value_as_double(v)};
    return n->mean && n->var && (n->gamma != NULL) == gamma && (n->beta != NULL) == beta;
}

static bool read_norm(const sh_node *node, norm *n) {
    return read_norm_module(node, n) || read_norm_op(node, n);
}

/* ---- may it be folded? ---- */

static bool fits(const sh_tensor *t, int64_t channels) {
    return !t ||
           (t->ndim == 1 && t->numel == channels && sh_dtype_kind_of((sh_dtype)t->dtype) == SH_KIND_FLOAT);
}

/* The norm's channels are the weight's rows, in number and in place. */
static bool channels_meet(const sh_product *p, const sh_node *node, const norm *n) {
    const int64_t channels = p->weight->ndim ? p->weight->sizes[0] : 0;
    const sh_spec *in = sh_node_spec(p->node), *out = sh_node_spec(node);
    const int rank = node->opcode == SH_CALL_MODULE ? 4 : in ? in->ndim : out ? out->ndim : -1;
    if (rank != p->weight->ndim || (in && out && in->dtype != out->dtype)) return false;
    return fits(p->bias, channels) && fits(n->mean, channels) && fits(n->var, channels) &&
           fits(n->gamma, channels) && fits(n->beta, channels);
}

static bool may_fold(const sh_weight_uses *u, const sh_product *p, const sh_node *node, const norm *n) {
    return p->node->nusers == 1 && sh__product_is_alone(u, p) && channels_meet(p, node, n) &&
           !sh__weight_may_change(u, n->mean) && !sh__weight_may_change(u, n->var) &&
           !sh__weight_may_change(u, n->gamma) && !sh__weight_may_change(u, n->beta);
}

/* ---- the numbers ---- */

static sh_tensor *wide(sh_tensor *t) { return t ? sh_to(t, SH_F64) : NULL; }

/* The folded weight and bias, the scope's. */
static sh_status fold(const sh_product *p, const norm *n, sh_tensor **weight, sh_tensor **bias) {
    const sh_dtype dtype = (sh_dtype)p->weight->dtype;
    int64_t sizes[SH_MAX_DIMS] = {p->weight->sizes[0]};
    for (int i = 1; i < p->weight->ndim; i++) sizes[i] = 1;
    const sh_ints shape = {sizes, p->weight->ndim};
    sh_switch off;
    sh_switch_off(&off, SH_OFF_ALL);
    sh_tensor *scale = sh_rsqrt(sh_add(wide(n->var), n->eps));
    if (n->gamma) scale = sh_mul(scale, wide(n->gamma));
    sh_tensor *shift = p->bias ? sh_sub(wide(p->bias), wide(n->mean)) : sh_neg(wide(n->mean));
    shift = sh_mul(shift, scale);
    if (n->beta) shift = sh_add(shift, wide(n->beta));
    *weight = sh_to(sh_mul(wide(p->weight), sh_reshape(scale, shape)), dtype);
    *bias = sh_to(shift, dtype);
    sh_switch_end(&off);
    return *weight && *bias ? SH_OK : sh_error()->code;
}

/* ---- the edit ---- */

/* What a plan folds by itself, without a copy of the weight in between. */
static bool is_planned(const sh_product *p) {
    return p->node->opcode == SH_CALL_FUNCTION && strcmp(p->node->target, "conv2d") == 0 &&
           p->weight->dtype == SH_F32;
}

static sh_status fold_one(const sh_weight_uses *u, sh_node *node, bool planned, size_t *changes) {
    sh_product p;
    norm n;
    if (!read_norm(node, &n) || !node->ninputs) return SH_OK;
    const sh_arg input = node->args.n ? node->args.at[0] : sh_node_kwarg(node, "input");
    if (!sh__arg_node(&input) || !sh__product_at(input.as.node, &p) || !may_fold(u, &p, node, &n))
        return SH_OK;
    if (planned && is_planned(&p)) return SH_OK;
    sh_status status;
    SH_SCOPE {
        sh_tensor *weight, *bias;
        status = fold(&p, &n, &weight, &bias);
        if (status >= 0) status = sh__product_replace(&p, node, weight, bias, "fused");
    }
    *changes += status >= 0;
    return status;
}

static sh_status fold_all(sh_graph *graph, bool planned, size_t *changes) {
    sh_weight_uses uses = {0};
    sh_status status = sh__weight_uses_count(&uses, graph);
    if (status >= 0) SH_EACH_NODE(node, graph) {
            if (status >= 0) status = fold_one(&uses, node, planned, changes);
        }
    sh__weight_uses_free(&uses);
    return status;
}

sh_status sh_pass_fuse_conv_bn(sh_graph *graph, size_t *changes) {
    size_t ignored = 0;
    if (sh__error_pending()) return sh_error()->code;
    if (!graph) return sh_fail(SH_ERROR_NULL, "sh_pass_fuse_conv_bn: the graph is NULL");
    return fold_all(graph, false, changes ? changes : &ignored);
}

sh_status sh__fuse_for_plan(sh_graph *graph) {
    size_t ignored = 0;
    return fold_all(graph, true, &ignored);
}
