/* pass.h - passes over graphs: each makes a graph another that computes the same.
 *
 *     const sh_pass passes[] = {sh_pass_cse, sh_pass_remove_identities, sh_pass_dead_code, NULL};
 *     sh_run_passes(graph, passes, &(sh_pass_options){.until_stable = true}, &changes);
 *
 * What is written to, in place or through a view, is kept as it is: two nodes are one only if nothing writes to their
 * memory, and between them nothing to what they read. Values of the same bits come out, but for what a pass says. */
#ifndef SH_GRAPH_PASS_PASS_H
#define SH_GRAPH_PASS_PASS_H

#include "graph/graph.h"

SH_BEGIN_DECLS

/* Adds to `changes`, which may be NULL, how many nodes it changed or took out. On an error the graph is valid. */
typedef sh_status (*sh_pass)(sh_graph *graph, size_t *changes);

/* Is this node meant? */
typedef bool (*sh_node_filter)(const sh_node *node, void *user);

/* Equal pure nodes become the first of them. Never two that draw random numbers, nor calls of modules, nor two that the graph
 * returns as memory of their own. */
SH_API sh_status sh_pass_cse(sh_graph *graph, size_t *changes);
/* What gives back its input: dropout and identity modules and ops that are not in training, x + 0, x - 0, x * 1, x / 1,
 * x ** 1 (where dtype and shape of both are known and equal; x + 0 makes a 0 of -0). Not where the graph returns the result
 * or a view of it, which then would be the input itself, nor modules with hooks. What reads an input of another layout may
 * round otherwise. */
SH_API sh_status sh_pass_remove_identities(sh_graph *graph, size_t *changes);
/* sh_graph_eliminate_dead_code. */
SH_API sh_status sh_pass_dead_code(sh_graph *graph, size_t *changes);
/* Writes the arguments of all calls of ops in one form: sh_node_normalize_arguments. */
SH_API sh_status sh_pass_normalize_arguments(sh_graph *graph, size_t *changes);

/* A batch norm in evaluation is folded into the linear, conv1d or conv2d in front of it, modules and ops alike: rounding
 * differs. A new module stands in the old one's place; who else holds the old one keeps it. A graph that no graph module
 * owns gets a tree of modules of its own for that (sh_graph_set_module). Left alone are: a product that is used elsewhere
 * too, or whose weight is; parameters that the graph writes to or computes; modules with hooks; ops where the rank isn't
 * known (sh_graph_propagate_shapes). */
SH_API sh_status sh_pass_fuse_conv_bn(sh_graph *graph, size_t *changes);

/* What depends on constants alone is computed once and becomes a tensor of the graph. Constants are literals, tensors of
 * the graph, and parameters and buffers while the graph's module is in evaluation; nothing that the graph writes to or
 * returns. Random ops, what fails and what is not declared pure stay. No mode sees the computation: what modes would do
 * there when the graph runs is lost. */
typedef struct sh_fold_options {
    size_t most_bytes; /* a value may be that much larger than what it is computed from; 0: SH_FOLD_BYTES */
    sh_node_filter chosen; /* may this node be computed? Optional */
    void *user;
} sh_fold_options;
enum { SH_FOLD_BYTES = 65536 };
/* `changes` and options may be NULL, for the defaults. */
SH_API sh_status sh_fold_constants(sh_graph *graph, const sh_fold_options *options, size_t *changes);
SH_API sh_status sh_pass_fold_constants(sh_graph *graph, size_t *changes);

/* Calls of modules become what they are made of: a graph module's nodes; of others the ops that a trace on the node's
 * shapes finds (sh_graph_propagate_shapes), with get_attr nodes for parameters. What is so baked in, such as whether the
 * module trains, stays. Left alone are modules with hooks, those that do more than issue ops (a batch
 * norm in training), and those that can't be traced. `chosen` is optional, `changes` may be NULL. */
SH_API sh_status sh_inline_modules(sh_graph *graph, sh_node_filter chosen, void *user, size_t *changes);
SH_API sh_status sh_pass_inline_modules(sh_graph *graph, size_t *changes);

/* Calls of composite ops (linear, addmm, outer, dropout, and those defined with a composite kernel) become the ops that
 * their kernel issues for inputs of these shapes; views stay. What fuses them rounds once where they round twice. As a
 * trace it goes through the modes that are pushed. `chosen` is optional, `changes` may be NULL. */
SH_API sh_status sh_decompose(sh_graph *graph, sh_node_filter chosen, void *user, size_t *changes);
SH_API sh_status sh_pass_decompose(sh_graph *graph, size_t *changes);

/* Pure ops write into the memory of an input that dies there (add -> add_), where shape and dtype are known and stay, and the
 * input is all of what an op of the graph made. Never into inputs, constants or what is returned. An interpreter that
 * keeps values then shows what was written over them. */
SH_API sh_status sh_pass_reinplace(sh_graph *graph, size_t *changes);

/* The other way: calls in place (add_, copy_) and into an `out` become calls that make a value, which what follows uses,
 * where shape and dtype are known and what is written to is all of what an op of the graph made, seen through no view
 * later. Where self or `out` is of another dtype than what is computed, a `to` follows. Never into inputs and constants. */
SH_API sh_status sh_pass_functionalize(sh_graph *graph, size_t *changes);

/* From f32 to f16 or bf16: modules are inlined, constants converted once (in training cast as the graph runs), inputs and
 * whatever else where they are needed. Ops that `keeps` wants stay in f32, as do factories, what names a dtype, draws or
 * writes, memory that is written to, and calls of modules and of functions. Other dtypes are left alone, and so are values
 * of unknown dtype (sh_graph_propagate_shapes). Outputs are cast back, so that only the numbers differ, by the rounding of
 * the narrow type. */
typedef struct sh_dtype_options {
    sh_dtype dtype;       /* SH_F16 or SH_BF16 */
    sh_node_filter keeps; /* NULL: sh_keeps_f32 */
    void *user;
    bool keep_outputs; /* as they are made, narrow */
} sh_dtype_options;
/* What torch.autocast computes in f32 (softmax, norms, exp, log, pow, ...), and reductions. */
SH_API bool sh_keeps_f32(const sh_node *node, void *user);
/* `changes` may be NULL. */
SH_API sh_status sh_convert_dtype(sh_graph *graph, const sh_dtype_options *options, size_t *changes);
SH_API sh_status sh_pass_to_bf16(sh_graph *graph, size_t *changes);
SH_API sh_status sh_pass_to_f16(sh_graph *graph, size_t *changes);

typedef struct sh_pass_options {
    bool until_stable; /* all of them again and again, until a round changes nothing */
    bool lint;         /* after each: an error names the pass that broke the graph by its place */
    unsigned rounds;   /* at most; 0: 100. More is an error */
} sh_pass_options;
/* In this order; NULL ends the list. `changes` becomes how many there were in all; it and options may be NULL. A pass of
 * the user's own is never given a NULL `changes`. */
SH_API sh_status sh_run_passes(sh_graph *graph, const sh_pass *passes, const sh_pass_options *options,
                               size_t *changes);

SH_END_DECLS

#endif
