/* rewrite.h - finding a pattern in a graph, and putting something else in its place: torch.fx's subgraph_rewriter.
 *
 *     static sh_value relu_twice(sh_values in, void *user) { return SH_VALUE(sh_relu(sh_relu(in.at[0].as.tensor))); }
 *     ...
 *     sh_replace_traced(graph, relu_twice, relu_once, SH_INPUTS(x), NULL, &count);
 *
 * A pattern is a graph. Its placeholders stand for anything, the same one for the same thing each time; its output
 * names the nodes whose uses are replaced. All other nodes must be found with the same target and arguments, however
 * those are written: by place or by name, a default left out or spelled. A node inside the pattern (not in its output)
 * that is used elsewhere too is no match. Matches are looked for from the first node to the last; one that shares a
 * node with an earlier one is none, and what was put in is not looked at again.
 *
 * A replacement is a graph with as many placeholders and outputs. It is put where all its inputs are there already
 * and nobody has used its results. A match is left alone where that can't be, or where something is written to in
 * between. */
#ifndef SH_GRAPH_REWRITE_REWRITE_H
#define SH_GRAPH_REWRITE_REWRITE_H

#include "graph/trace.h"

SH_BEGIN_DECLS

typedef struct sh_match sh_match;

/* What stands for this node of the pattern: a node, for a placeholder any argument. None if there is nothing. */
SH_API sh_arg sh_match_value(const sh_match *match, const sh_node *of_pattern);
/* The node for the pattern's node of this name, or NULL. */
SH_API sh_node *sh_match_node(const sh_match *match, const char *name);
SH_API const sh_graph *sh_match_pattern(const sh_match *match);

typedef bool (*sh_match_filter)(const sh_match *match, void *user);

typedef struct sh_pattern_options {
    const sh_match_filter *filters; /* NULL-terminated: all must want a match; optional */
    bool ignore_literals;           /* any number, string or dtype stands for any other */
    bool commutative;               /* operands of add, mul, maximum, eq, ... in either order */
    /* Makes the replacement for one match, which is freed when it was put in; NULL and an error, or NULL: none for this one.
     * Optional: instead of one replacement for all. */
    sh_graph *(*replacement)(const sh_match *match, void *user);
    void *user;
} sh_pattern_options;

/* Replaces all matches, `count` (or NULL) gets how many. On an error the graph is valid and what was replaced stays so. The
 * tensors of get_attr nodes in the replacement come along; what its call_module nodes name must be there. */
SH_API sh_status sh_replace_pattern(sh_graph *graph, const sh_graph *pattern, const sh_graph *replacement,
                                    const sh_pattern_options *options, size_t *count);
/* The same, both traced on these inputs. */
SH_API sh_status sh_replace_traced(sh_graph *graph, sh_traceable pattern, sh_traceable replacement,
                                   sh_values inputs, const sh_pattern_options *options, size_t *count);
/* Shows each match to `visit`, which may return an error to stop. */
SH_API sh_status sh_find_pattern(sh_graph *graph, const sh_graph *pattern, const sh_pattern_options *options,
                                 sh_status (*visit)(const sh_match *match, void *user), void *user);

SH_END_DECLS

#endif
