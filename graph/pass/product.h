/* product.h - linear and convolutions with constant weights, modules or calls: found, and given other weights.
 *
 * What gets another weight becomes a new module or a call with new constants, as the old ones may be used elsewhere. */
#ifndef SH_GRAPH_PASS_PRODUCT_H
#define SH_GRAPH_PASS_PRODUCT_H

#include "graph/bind.h"
#include "graph/graph_impl.h"
#include "graph/identity.h"
#include "graph/module/module_impl.h"

typedef struct sh_product_kind sh_product_kind; /* linear, conv1d, conv2d */

/* The weight's rows are the channels of what it gives. */
typedef struct sh_product {
    sh_node *node;
    const sh_product_kind *kind;
    const sh_module *module;  /* NULL: the call of an op */
    sh_tensor *weight, *bias; /* borrowed; no bias: NULL */
} sh_product;

/* Is this a product with a constant weight, and a constant bias or none? Modules with hooks are not. */
bool sh__product_at(sh_node *node, sh_product *product);
/* In how many groups its channels are; 1 for linear, 0 where that is computed. */
int64_t sh__product_groups(const sh_product *product);

/* The module that a node calls on one input, if it has no hooks; else NULL. */
const sh_module *sh__plain_module(const sh_node *node);
/* The constant that is the argument of this name; `*given` is false where it is None or left out. */
sh_tensor *sh__bound_constant(const sh_binding *binding, const char *name, bool *given);

/* ---- whose weights they are ---- */

typedef struct sh_weight_uses {
    sh_seen written;       /* storages */
    sh_identities weights; /* item: how many calls use it */
} sh_weight_uses;

/* Ended by sh__weight_uses_free, on failure too. `uses` is zero at first. */
sh_status sh__weight_uses_count(sh_weight_uses *uses, const sh_graph *graph);
void sh__weight_uses_free(sh_weight_uses *uses);
/* Is it written to somewhere in the graph, or can that not be known? */
bool sh__weight_may_change(const sh_weight_uses *uses, const sh_tensor *t);
/* Are its weight and bias floats that stay as they are, the weight this call's alone? */
bool sh__product_is_alone(const sh_weight_uses *uses, const sh_product *product);

/* ---- other weights ---- */

/* In the place of the product a call with this weight and this bias (NULL: none), which has its name and stands for `last`: the
 * product, or its only user. Both are gone then. New modules are called after the old ones and `what`. Of what fails nothing
 * stays. */
sh_status sh__product_replace(const sh_product *product, sh_node *last, sh_tensor *weight, sh_tensor *bias,
                              const char *what);

/* sh_pass_fuse_conv_bn but for what a plan folds when it packs the weights (graph/compile/unit_conv.h). */
sh_status sh__fuse_for_plan(sh_graph *graph);

#endif
