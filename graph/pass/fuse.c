/* fuse.c - batch norms folded into the linear or convolution in front of them.
 *
 * In evaluation a batch norm is a scale and a shift for each channel, and so are the rows of the weight in front of it:
 * w' = w * s, b' = (b - mean) * s + beta, with s = gamma / sqrt(var + eps) (torch/nn/utils/fusion.py). That is computed
 * in f64 and rounded once. Parameters are those of a module or constants of the graph, in any mixture; what is folded
 * becomes a new module or new constants, as the old ones may be used elsewhere.
 *
 * Left alone is a weight that several calls use, which would become several weights; what is written to; modules with
 * hooks; a batch norm whose input's rank is not known, since then it is not known what its channels are. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/chain.h"
#include "graph/bind.h"
#include "graph/effects.h"
#include "graph/identity.h"
#include "graph/invoke.h"
#include "graph/module/graph_module.h"
#include "graph/module/nn_types.h"
#include "graph/pass/constant.h"
#include "graph/pass/pass.h"
#include "ops/ops.h"

/* ---- what is there ---- */

/* `bias`: where the options say that there is one. */
static const struct layer {
    const sh_module_type *type;
    const char *op;
    size_t bias;
} layers[] = {{&sh__nn_linear_type, "linear", offsetof(sh_nn_linear_options, bias)},
              {&sh__nn_conv1d_type, "conv1d", offsetof(sh_nn_conv1d_options, bias)},
              {&sh__nn_conv2d_type, "conv2d", offsetof(sh_nn_conv2d_options, bias)}};

/* A node whose rows a batch norm may scale; its weight has as many dimensions as what it gives. */
typedef struct product {
    sh_node *node;
    const struct layer *layer;
    const sh_module *module; /* NULL: the call of an op */
    sh_tensor *weight, *bias;
} product;

static const sh_module *plain_module(const sh_node *node) {
    const sh_module *module = node->opcode == SH_CALL_MODULE ? sh_node_module(node) : NULL;
    return module && !module->nhooks && node->args.n == 1 && !node->kwargs.n ? module : NULL;
}

/* The constant that is the argument of this name; `*given` is false where it is None or left out. */
static sh_tensor *bound_constant(const sh_binding *b, const char *name, bool *given) {
    const sh_arg *arg = b->args[sh_schema_find(b->schema, name)];
    *given = arg && arg->tag != SH_ARG_NONE;
    return *given ? sh__constant_of(sh__arg_node(arg)) : NULL;
}

static bool read_product_op(const sh_node *node, product *p) {
    sh_binding b;
    bool has_weight, has_bias;
    if (!sh__binds(node, &b) || b.variant != SH_FUNCTIONAL) return false;
    p->weight = bound_constant(&b, "weight", &has_weight);
    p->bias = bound_constant(&b, "bias", &has_bias);
    return p->weight && (p->bias != NULL) == has_bias;
}

static bool read_product(sh_node *node, product *p) {
    *p = (product){.node = node, .module = plain_module(node)};
    for (size_t i = 0; i < sizeof layers / sizeof *layers && !p->layer; i++) {
        const bool op = node->opcode == SH_CALL_FUNCTION && strcmp(node->target, layers[i].op) == 0;
        if (op || (p->module && p->module->type == layers[i].type)) p->layer = &layers[i];
    }
    if (!p->layer) return false;
    if (!p->module) return read_product_op(node, p);
    p->weight = sh_module_parameter(p->module, "weight");
    p->bias = sh_module_parameter(p->module, "bias");
    return p->weight != NULL;
}

typedef struct norm {
    sh_tensor *mean, *var, *gamma, *beta;
    double eps;
} norm;

static bool read_norm_module(const sh_node *node, norm *n) {
    const sh_module *module = plain_module(node);
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
    *n = (norm){bound_constant(&b, "running_mean", &mean), bound_constant(&b, "running_var", &var),
                bound_constant(&b, "weight", &gamma), bound_constant(&b, "bias", &beta),
                sh_value_as_double(v)};
    return n->mean && n->var && (n->gamma != NULL) == gamma && (n->beta != NULL) == beta;
}

static bool read_norm(const sh_node *node, norm *n) {
    return read_norm_module(node, n) || read_norm_op(node, n);
}

/* ---- may it be folded? ---- */

typedef struct fuser {
    sh_graph *graph;
    sh_seen written;       /* storages */
    sh_identities weights; /* item: how many calls use it */
} fuser;

static sh_status count_use(fuser *f, sh_tensor *weight, uint32_t calls) {
    sh_origin *known = sh__identity_find(&f->weights, weight);
    if (!known) return sh__identity_set(&f->weights, weight, NULL, calls);
    known->item += calls;
    return SH_OK;
}

static sh_status count_uses(fuser *f) {
    for (const sh_node *node = sh_graph_first(f->graph); node; node = sh_node_next(node)) {
        const sh_module *module = node->opcode == SH_CALL_MODULE ? sh_node_module(node) : NULL;
        sh_tensor *own = module ? sh_module_parameter(module, "weight") : NULL, *t = sh__constant_of(node);
        if (own) SH_TRY(count_use(f, own, 1));
        if (t) SH_TRY(count_use(f, t, node->nusers));
    }
    return SH_OK;
}

static bool may_change(const fuser *f, const sh_tensor *t) {
    return t && (!t->storage || sh__seen_holds(&f->written, t->storage));
}

static bool fits(const sh_tensor *t, int64_t channels) {
    return !t ||
           (t->ndim == 1 && t->numel == channels && sh_dtype_kind_of((sh_dtype)t->dtype) == SH_KIND_FLOAT);
}

/* The norm's channels are the weight's rows, in number and in place. */
static bool channels_meet(const product *p, const sh_node *node, const norm *n) {
    const int64_t channels = p->weight->ndim ? p->weight->sizes[0] : 0;
    const sh_spec *in = sh_node_spec(p->node), *out = sh_node_spec(node);
    const int rank = node->opcode == SH_CALL_MODULE ? 4 : in ? in->ndim : out ? out->ndim : -1;
    if (rank != p->weight->ndim || (in && out && in->dtype != out->dtype)) return false;
    return fits(p->bias, channels) && fits(n->mean, channels) && fits(n->var, channels) &&
           fits(n->gamma, channels) && fits(n->beta, channels);
}

static bool may_fold(const fuser *f, const product *p, const sh_node *node, const norm *n) {
    const sh_origin *uses = sh__identity_find(&f->weights, p->weight);
    if (p->node->nusers != 1 || (uses && uses->item > 1)) return false;
    if (sh_dtype_kind_of((sh_dtype)p->weight->dtype) != SH_KIND_FLOAT || !channels_meet(p, node, n))
        return false;
    return !may_change(f, p->weight) && !may_change(f, p->bias) && !may_change(f, n->mean) &&
           !may_change(f, n->var) && !may_change(f, n->gamma) && !may_change(f, n->beta);
}

/* ---- the numbers ---- */

static sh_tensor *wide(sh_tensor *t) { return t ? sh_to(t, SH_F64) : NULL; }

/* The folded weight and bias, the scope's. */
static sh_status fold(const product *p, const norm *n, sh_tensor **weight, sh_tensor **bias) {
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

/* ---- the new call ---- */

/* The op with these constants; the node is new and nobody uses it yet. */
static sh_node *call_op(const product *p, sh_tensor *weight, sh_tensor *bias) {
    sh_binding b;
    sh_kwarg kwargs[SH_MAX_ARGS];
    size_t n = 0;
    sh_graph *graph = p->node->graph;
    if (sh__bind(p->node, &b) < 0) return NULL;
    const char *wish = b.args[1]->as.node->target;
    sh_node *w = sh__constant_new(graph, wish, weight), *c = sh__constant_new(graph, "fused_bias", bias);
    kwargs[n++] = (sh_kwarg){"bias", sh_arg_node(c)};
    for (uint32_t i = 3; i < b.schema->nparams; i++)
        if (b.args[i]) kwargs[n++] = (sh_kwarg){b.schema->params[i].name, *b.args[i]};
    sh_node *call = w && c ? sh_graph_create_node(graph, SH_CALL_FUNCTION, p->node->target,
                                                  SH_ARGS(*b.args[0], w), (sh_kwargs){kwargs, n}, NULL)
                           : NULL;
    if (!call && c) sh__node_discard(c);
    if (!call && w) sh__node_discard(w);
    return call;
}

static sh_module *fused_module(const product *p, sh_tensor *weight, sh_tensor *bias) {
    sh_module *fused = sh__nn_new(p->layer->type, p->module->state);
    if (!fused) return NULL;
    memcpy(fused->state + p->layer->bias, &(bool){true}, sizeof(bool));
    fused->training = p->module->training;
    fused->name = p->module->name ? sh__strdup(p->module->name) : NULL;
    sh_module_set_parameter(fused, "weight", weight);
    sh_module_set_parameter(fused, "bias", bias);
    return sh__nn_finish(fused);
}

/* Hangs the module beside all others, under a name like the old one's, `*path`, for free(). */
static sh_status hang(sh_module *root, const char *old, sh_module *fused, char **path) {
    const size_t size = strlen(old) + 32;
    *path = sh__alloc(size);
    if (!*path) return SH_ERROR_MEMORY;
    snprintf(*path, size, "%s_fused", old);
    for (char *dot = *path; (dot = strchr(dot, '.')) != NULL;) *dot = '_';
    const size_t length = strlen(*path);
    for (unsigned i = 1; sh_module_child(root, *path); i++) snprintf(*path + length, size - length, "_%u", i);
    return sh_module_set(root, *path, fused);
}

/* The new module takes the old one's place where that is this graph's alone. Nothing here can fail: what is put in place
 * of another needs no memory. */
static void move_in_place(sh_node *call, const char *beside, const char *path) {
    sh_module *root = sh__graph_own_modules(call->graph), *fused = sh_module_child(root, beside);
    if (!sh__module_holds_alone(root, path)) return;
    sh_module_set(root, path, fused);
    sh_node_set_target(call, path);
    sh__module_drop(root, beside);
}

/* A call of a new module, which hangs beside the others; `*beside` is its name there, for sh__free. */
static sh_node *call_module(const product *p, sh_tensor *weight, sh_tensor *bias, char **beside) {
    sh_module *root = sh__graph_own_modules(p->node->graph);
    sh_module *fused = root ? fused_module(p, weight, bias) : NULL;
    sh_node *call = NULL;
    if (fused && hang(root, p->node->target, fused, beside) >= 0) {
        call =
            sh_graph_create_node(p->node->graph, SH_CALL_MODULE, *beside, p->node->args, SH_NO_KWARGS, NULL);
        if (!call) sh__module_drop(root, *beside);
    }
    sh_module_release(fused);
    return call;
}

/* ---- the edit ---- */

/* Until nobody uses the norm any more, both ways give the same. */
static sh_status rewire(const product *p, sh_node *norm_node, sh_node *call) {
    SH_TRY(sh__node_copy_knowledge(call, p->node));
    SH_TRY(sh_node_replace_all_uses_with(norm_node, call));
    sh__node_swap_names(call, p->node);
    sh__node_discard_with_constants(norm_node);
    sh__node_discard_with_constants(p->node);
    return SH_OK;
}

static sh_status replace(const product *p, sh_node *norm_node, sh_tensor *weight, sh_tensor *bias) {
    const char *const path = p->node->target;
    char *beside = NULL;
    sh_node *call = NULL;
    SH_INSERTING_BEFORE(p->node)
    call = p->module ? call_module(p, weight, bias, &beside) : call_op(p, weight, bias);
    sh_status status = call ? rewire(p, norm_node, call) : sh_error()->code;
    if (call && status < 0 && !call->nusers) sh__node_discard_with_constants(call);
    if (status >= 0 && beside) move_in_place(call, beside, path);
    sh__free(beside);
    return status;
}

static sh_status fold_one(fuser *f, sh_node *node, size_t *changes) {
    product p;
    norm n;
    if (!read_norm(node, &n) || !node->ninputs) return SH_OK;
    const sh_arg input = node->args.n ? node->args.at[0] : sh_node_kwarg(node, "input");
    if (!sh__arg_node(&input) || !read_product(input.as.node, &p) || !may_fold(f, &p, node, &n)) return SH_OK;
    sh_status status;
    SH_SCOPE {
        sh_tensor *weight, *bias;
        status = fold(&p, &n, &weight, &bias);
        if (status >= 0) status = replace(&p, node, weight, bias);
    }
    *changes += status >= 0;
    return status;
}

static sh_status fold_all(fuser *f, size_t *changes) {
    sh_memory_map memory;
    SH_TRY(sh__memory_map(&memory, f->graph));
    sh_status status = sh__written_constants(f->graph, &memory, &f->written);
    sh__memory_free(&memory);
    if (status >= 0) status = count_uses(f);
    if (status >= 0) SH_EACH_NODE(node, f->graph) {
            if (status >= 0) status = fold_one(f, node, changes);
        }
    return status;
}

sh_status sh_pass_fuse_conv_bn(sh_graph *graph, size_t *changes) {
    size_t ignored = 0;
    if (sh__error_pending()) return sh_error()->code;
    if (!graph) return sh_fail(SH_ERROR_NULL, "sh_pass_fuse_conv_bn: the graph is NULL");
    if (!changes) changes = &ignored;
    fuser f = {.graph = graph};
    const sh_status status = fold_all(&f, changes);
    sh__identities_free(&f.weights);
    sh__seen_free(&f.written);
    return status;
}
