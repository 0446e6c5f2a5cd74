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

/* Adds to `changes` how many nodes it changed or took out. On an error the graph is valid. */
typedef sh_status (*sh_pass)(sh_graph *graph, size_t *changes);

/* Equal pure nodes become the first of them. Never two that draw random numbers, nor calls of modules. */
SH_API sh_status sh_pass_cse(sh_graph *graph, size_t *changes);
/* What gives back its input: dropout and identity modules and ops that are not in training, x + 0, x - 0, x * 1, x / 1, x ** 1
 * (where dtype and shape of both are known and equal; x + 0 makes a 0 of -0). Not where the graph returns the result,
 * which then would be the input itself. */
SH_API sh_status sh_pass_remove_identities(sh_graph *graph, size_t *changes);
/* sh_graph_eliminate_dead_code. */
SH_API sh_status sh_pass_dead_code(sh_graph *graph, size_t *changes);
/* Writes the arguments of all calls of ops in one form: sh_node_normalize_arguments. */
SH_API sh_status sh_pass_normalize_arguments(sh_graph *graph, size_t *changes);

/* A batch norm in evaluation is folded into the linear, conv1d or conv2d in front of it, modules and ops alike: rounding
 * differs. A new module stands in the old one's place; who else holds the old one keeps it. A graph that no graph module
 * owns gets a tree of modules of its own for that (sh_graph_set_module). Left alone are: a product that is used elsewhere too, or whose
 * weight is; parameters that the graph writes to or computes; modules with hooks; ops where the rank isn't known
 * (sh_graph_propagate_shapes). */
SH_API sh_status sh_pass_fuse_conv_bn(sh_graph *graph, size_t *changes);

typedef struct sh_pass_options {
    bool until_stable; /* all of them again and again, until a round changes nothing */
    bool lint;         /* after each: an error names the pass that broke the graph by its place */
    unsigned rounds;   /* at most; 0: 100. More is an error */
} sh_pass_options;
/* In this order; NULL ends the list. `changes` and options may be NULL. */
SH_API sh_status sh_run_passes(sh_graph *graph, const sh_pass *passes, const sh_pass_options *options,
                               size_t *changes);

SH_END_DECLS

#endif
