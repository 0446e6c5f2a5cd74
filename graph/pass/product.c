/* product.c - see product.h. Parameters are those of a module or constants of the graph, in any mixture. */
#include "graph/pass/product.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/chain.h"
#include "graph/module/graph_module.h"
#include "graph/module/nn_types.h"
#include "graph/pass/constant.h"

/* ---- what is there ---- */

/* Offsets of the options `bias`, a flag, and `groups`. */
struct sh_product_kind {
    const sh_module_type *type;
    const char *op;
    size_t bias, groups;
};

enum { NO_GROUPS = 0 }; /* no option lies there: the first member is unnamed */

#define SH_CONV(type, options) \
    { &sh__nn_##type##_type, #type, offsetof(options, bias), offsetof(options, groups) }
static const sh_product_kind kinds[] = {
    {&sh__nn_linear_type, "linear", offsetof(sh_nn_linear_options, bias), NO_GROUPS},
    SH_CONV(conv1d, sh_nn_conv1d_options),
    SH_CONV(conv2d, sh_nn_conv2d_options),
};

const sh_module *sh__plain_module(const sh_node *node) {
    const sh_module *module = node->opcode == SH_CALL_MODULE ? sh_node_module(node) : NULL;
    return module && !module->nhooks && node->args.n == 1 && !node->kwargs.n ? module : NULL;
}

sh_tensor *sh__bound_constant(const sh_binding *b, const char *name, bool *given) {
    const sh_arg *arg = b->args[sh_schema_find(b->schema, name)];
    *given = arg && arg->tag != SH_ARG_NONE;
    return *given ? sh__constant_of(sh__arg_node(arg)) : NULL;
}

static bool read_product_op(const sh_node *node, sh_product *p) {
    sh_binding b;
    bool has_weight, has_bias;
    if (!sh__binds(node, &b) || b.variant != SH_FUNCTIONAL) return false;
    p->weight = sh__bound_constant(&b, "weight", &has_weight);
    p->bias = sh__bound_constant(&b, "bias", &has_bias);
    return p->weight && (p->bias != NULL) == has_bias;
}

bool sh__product_at(sh_node *node, sh_product *p) {
    *p = (sh_product){.node = node, .module = sh__plain_module(node)};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !p->kind; i++) {
        const bool op = node->opcode == SH_CALL_FUNCTION && strcmp(node->target, kinds[i].op) == 0;
        if (op || (p->module && p->module->type == kinds[i].type)) p->kind = &kinds[i];
    }
    if (!p->kind) return false;
    if (!p->module) return read_product_op(node, p);
    p->weight = sh_module_parameter(p->module, "weight");
    p->bias = sh_module_parameter(p->module, "bias");
    return p->weight != NULL;
}

int64_t sh__product_groups(const sh_product *p) {
    sh_binding b;
    if (p->kind->groups == NO_GROUPS) return 1;
    if (p->module) return *(const int64_t *)(p->module->state + p->kind->groups);
    if (!sh__binds(p->node, &b)) return 0;
    const int place = sh_schema_find(b.schema, "groups");
    const sh_arg *groups = b.args[place];
    if (!groups) return b.schema->params[place].value.as.i;
    return groups->tag == SH_ARG_INT ? groups->as.i : 0;
}

/* ---- whose weights they are ---- */

static sh_status count_use(sh_weight_uses *u, sh_tensor *weight, uint32_t calls) {
    sh_origin *known = sh__identity_find(&u->weights, weight);
    if (!known) return sh__identity_set(&u->weights, weight, NULL, calls);
    known->item += calls;
    return SH_OK;
}

static sh_status count_uses(sh_weight_uses *u, const sh_graph *graph) {
    for (const sh_node *node = sh_graph_first(graph); node; node = sh_node_next(node)) {
        const sh_module *module = node->opcode == SH_CALL_MODULE ? sh_node_module(node) : NULL;
        sh_tensor *own = module ? sh_module_parameter(module, "weight") : NULL, *t = sh__constant_of(node);
        if (own) SH_TRY(count_use(u, own, 1));
        if (t) SH_TRY(count_use(u, t, node->nusers));
    }
    return SH_OK;
}

bool sh__weight_may_change(const sh_weight_uses *u, const sh_tensor *t) {
    return t && (!t->storage || sh__seen_holds(&u->written, t->storage));
}

sh_status sh__weight_uses_count(sh_weight_uses *u, const sh_graph *graph) {
    sh_memory_map memory;
    SH_TRY(sh__memory_map(&memory, graph));
    const sh_status status = sh__written_constants(graph, &memory, &u->written);
    sh__memory_free(&memory);
    return status < 0 ? status : count_uses(u, graph);
}

void sh__weight_uses_free(sh_weight_uses *u) {
    sh__identities_free(&u->weights);
    sh__seen_free(&u->written);
}

bool sh__product_is_alone(const sh_weight_uses *u, const sh_product *p) {
    const sh_origin *uses = sh__identity_find(&u->weights, p->weight);
    if ((uses && uses->item > 1) || sh_dtype_kind_of((sh_dtype)p->weight->dtype) != SH_KIND_FLOAT)
        return false;
    return !sh__weight_may_change(u, p->weight) && !sh__weight_may_change(u, p->bias);
}

/* ---- the new call ---- */

/* What a call that failed has left. */
static sh_node *give_up(sh_node *weight, sh_node *bias) {
    if (bias) sh__node_discard(bias);
    if (weight) sh__node_discard(weight);
    return NULL;
}

/* The op with these constants; the node is new and nobody uses it yet. */
static sh_node *call_op(const sh_product *p, sh_tensor *weight, sh_tensor *bias, const char *what) {
    sh_binding b;
    sh_kwarg kwargs[SH_MAX_ARGS];
    char wish[64];
    size_t n = 0;
    sh_graph *graph = p->node->graph;
    if (sh__bind(p->node, &b) < 0) return NULL;
    snprintf(wish, sizeof wish, "%s_bias", what);
    sh_node *w = sh__constant_new(graph, b.args[1]->as.node->target, weight);
    sh_node *c = w && bias ? sh__constant_new(graph, wish, bias) : NULL;
    if (!w || (bias && !c)) return give_up(w, c);
    if (c) kwargs[n++] = (sh_kwarg){"bias", sh_arg_node(c)};
    for (uint32_t i = 3; i < b.schema->nparams; i++)
        if (b.args[i]) kwargs[n++] = (sh_kwarg){b.schema->params[i].name, *b.args[i]};
    sh_node *call = sh_graph_create_node(graph, SH_CALL_FUNCTION, p->node->target, SH_ARGS(*b.args[0], w),
                                         (sh_kwargs){kwargs, n}, NULL);
    return call ? call : give_up(w, c);
}

static sh_module *changed_module(const sh_product *p, sh_tensor *weight, sh_tensor *bias) {
    sh_module *changed = sh__nn_new(p->kind->type, p->module->state);
    if (!changed) return NULL;
    memcpy(changed->state + p->kind->bias, &(bool){bias != NULL}, sizeof(bool));
    changed->training = p->module->training;
    changed->name = p->module->name ? sh__strdup(p->module->name) : NULL;
    sh_module_set_parameter(changed, "weight", weight);
    if (bias) sh_module_set_parameter(changed, "bias", bias);
    return sh__nn_finish(changed);
}

/* Hangs the module beside all others, under a name like the old one's, `*path`, for sh__free. */
static sh_status hang(sh_module *root, const char *old, const char *what, sh_module *module, char **path) {
    const size_t size = strlen(old) + strlen(what) + 32;
    *path = sh__alloc(size);
    if (!*path) return SH_ERROR_MEMORY;
    snprintf(*path, size, "%s_%s", old, what);
    for (char *dot = *path; (dot = strchr(dot, '.')) != NULL;) *dot = '_';
    const size_t length = strlen(*path);
    for (unsigned i = 1; sh_module_child(root, *path); i++) snprintf(*path + length, size - length, "_%u", i);
    return sh_module_set(root, *path, module);
}

/* The new module takes the old one's place where that is this graph's alone. Nothing here can fail: what is put in place
 * of another needs no memory. */
static void move_in_place(sh_node *call, const char *beside, const char *path) {
    sh_module *root = sh__graph_own_modules(call->graph), *module = sh_module_child(root, beside);
    if (!sh__module_holds_alone(root, path)) return;
    sh_module_set(root, path, module);
    sh_node_set_target(call, path);
    sh__module_drop(root, beside);
}

/* A call of a new module, which hangs beside the others; `*beside` is its name there, for sh__free. */
static sh_node *call_module(const sh_product *p, sh_tensor *weight, sh_tensor *bias, const char *what,
                            char **beside) {
    sh_module *root = sh__graph_own_modules(p->node->graph);
    sh_module *changed = root ? changed_module(p, weight, bias) : NULL;
    sh_node *call = NULL;
    if (changed && hang(root, p->node->target, what, changed, beside) >= 0) {
        call =
            sh_graph_create_node(p->node->graph, SH_CALL_MODULE, *beside, p->node->args, SH_NO_KWARGS, NULL);
        if (!call) sh__module_drop(root, *beside);
    }
    sh_module_release(changed);
    return call;
}

/* ---- the edit ---- */

/* Until nobody uses `last` any more, both ways give the same. */
static sh_status rewire(const sh_product *p, sh_node *last, sh_node *call) {
    SH_TRY(sh__node_copy_knowledge(call, p->node));
    SH_TRY(sh_node_replace_all_uses_with(last, call));
    sh__node_swap_names(call, p->node);
    if (last != p->node) sh__node_discard_with_constants(last);
    sh__node_discard_with_constants(p->node);
    return SH_OK;
}

sh_status sh__product_replace(const sh_product *p, sh_node *last, sh_tensor *weight, sh_tensor *bias,
                              const char *what) {
    const char *const path = p->node->target;
    char *beside = NULL;
    sh_node *call = NULL;
    SH_INSERTING_BEFORE(p->node)
    call = p->module ? call_module(p, weight, bias, what, &beside) : call_op(p, weight, bias, what);
    sh_status status = call ? rewire(p, last, call) : sh_error()->code;
    if (call && status < 0 && !call->nusers) sh__node_discard_with_constants(call);
    if (status >= 0 && beside) move_in_place(call, beside, path);
    sh__free(beside);
    return status;
}
