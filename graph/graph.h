/* graph.h - a program as data: nodes in the order they run, as in torch.fx.
 *
 *     graph():
 *         %x : [num_users=1] = placeholder[target=x]
 *         %relu : [num_users=1] = call_function[target=relu](args = (%x,), kwargs = {})
 *         return relu
 *
 * A node has an opcode, a target (an op, an attribute, an input's name), arguments that refer to other
 * nodes, and the set of nodes that use it; the setters keep both sides of that in step. Names are unique
 * and follow torch.fx's rules. The graph also owns named tensors, its attributes, that get_attr nodes read.
 *
 *     sh_graph *g = sh_graph_new();
 *     sh_node *x = sh_graph_placeholder(g, "x");
 *     sh_node *y = sh_graph_call_function(g, "add", x, 2.0);
 *     sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "relu", y)));
 *     puts(text = sh_graph_text(g));
 *
 * The graph owns its nodes; sh_graph_free ends them all. Nodes are borrowed. One thread at a time edits. */
#ifndef SH_GRAPH_GRAPH_H
#define SH_GRAPH_GRAPH_H

#include "graph/node.h"

SH_BEGIN_DECLS

/* ---- graphs ---- */
SH_API sh_graph *sh_graph_new(void);
SH_API void sh_graph_free(sh_graph *graph);
SH_API size_t sh_graph_size(const sh_graph *graph); /* nodes in it */

/* A new node at the insertion point. Args and kwargs are copied; the nodes in them must be this graph's. `name` is a
 * wish (NULL: the target's). NULL and an error if an argument is NULL or of another graph. */
SH_API sh_node *sh_graph_create_node(sh_graph *graph, sh_opcode opcode, const char *target, sh_args args,
                                     sh_kwargs kwargs, const char *name);
SH_API sh_node *sh_graph_placeholder(sh_graph *graph, const char *name);
/* A get_attr node for an attribute that must be there. */
SH_API sh_node *sh_graph_get_attr(sh_graph *graph, const char *name);
SH_API sh_node *sh_graph_output(sh_graph *graph, sh_arg value);
/* Refused while the node has users: the error lists them. */
SH_API sh_status sh_graph_erase_node(sh_node *node);
/* The node of this name, or NULL. */
SH_API sh_node *sh_graph_find(const sh_graph *graph, const char *name);
SH_API sh_node *sh_graph_first(const sh_graph *graph);
SH_API sh_node *sh_graph_last(const sh_graph *graph);
/* The output node, or NULL. */
SH_API sh_node *sh_graph_output_node(const sh_graph *graph);

/* How output i is called: by entry i of the output node's keyword `names` (a model's own names), else as the node that
 * gives it. NULL past the last. */
SH_API const char *sh_graph_output_name(const sh_graph *graph, size_t i);

/* Each node in order; the one at hand may be erased. */
#define SH_EACH_NODE(n, graph)                                                                   \
    for (sh_node *n = sh_graph_first(graph), *SH__CAT(n, _next) = n ? sh_node_next(n) : NULL; n; \
         n = SH__CAT(n, _next), SH__CAT(n, _next) = n ? sh_node_next(n) : NULL)

/* ---- where new nodes go ---- at the end, unless inside one of these:
 *     SH_INSERTING_BEFORE(node) { ... }     SH_INSERTING_AFTER(node) { ... } */
typedef struct sh_insertion {
    sh_graph *graph;
    sh_node *before; /* NULL: at the end */
    struct sh_insertion *outer;
} sh_insertion;
/* `insertion` lives until sh_insertion_end. */
SH_API sh_insertion *sh__insert_before(sh_insertion *insertion, sh_node *node);
SH_API sh_insertion *sh__insert_after(sh_insertion *insertion, sh_node *node);
SH_API void sh_insertion_end(sh_insertion *insertion);
#define SH_INSERTING_BEFORE(node) SH__INSERTING(SH__UNIQUE(sh__i), sh__insert_before, node)
#define SH_INSERTING_AFTER(node) SH__INSERTING(SH__UNIQUE(sh__i), sh__insert_after, node)
#define SH__INSERTING(v, enter, node)                                                    \
    for (sh_insertion v __attribute__((cleanup(sh_insertion_end))) = {NULL, NULL, NULL}, \
                        *SH__CAT(v, p) = enter(&v, node);                                \
         SH__CAT(v, p); SH__CAT(v, p) = NULL)

/* ---- attributes ---- tensors that the graph keeps, by name */
SH_API sh_status sh_graph_set_attr(sh_graph *graph, const char *name, sh_tensor *value);
SH_API sh_tensor *sh_graph_attr(const sh_graph *graph,
                                const char *name); /* borrowed; NULL if there is none */
SH_API size_t sh_graph_attr_count(const sh_graph *graph);
SH_API const char *sh_graph_attr_name(const sh_graph *graph, size_t i);

/* ---- looking at all of it ---- texts are the caller's to free(); NULL and an error when memory is out */
SH_API char *sh_graph_text(const sh_graph *graph);    /* as torch 2.x prints it, no newline at the end */
SH_API char *sh_node_text(const sh_node *node);       /* one line of it */
SH_API char *sh_graph_tabular(const sh_graph *graph); /* a table: opcode name target args kwargs */
SH_API char *sh_graph_dot(const sh_graph *graph);     /* for Graphviz */
SH_API char *sh_graph_svg(const sh_graph *graph); /* drawn by Graphviz's `dot`; an error if it is not there */

/* ---- running it ---- */
/* The values of the placeholders in, what the output node returns out (one tensor or the tensors of its list,
 * opened), owned by the scope. Each op is a call like any other, inside a named scope of the node's name, so modes
 * see it. A value is freed after its last use. NULL and an error that names the node. */
SH_API sh_list *sh_graph_run(const sh_graph *graph, sh_tensors inputs);

SH_END_DECLS

#ifndef __cplusplus
/* A call_function node, 1 to 12 positional arguments, each expanded once so that calls may nest. */
#define sh_graph_call_function(graph, target, ...) \
    SH__CALL_FUNCTION(SH__UNIQUE(sh__a), graph, target, __VA_ARGS__)
#define SH__CALL_FUNCTION(v, graph, target, ...)                                                    \
    __extension__({                                                                                 \
        SH__BOUND(SH__BIND, v, __VA_ARGS__)                                                         \
        const sh_arg SH__CAT(v, _)[] = {SH__BOUND(SH__BOUND_ARG, v, __VA_ARGS__)};                  \
        sh_graph_create_node(graph, SH_CALL_FUNCTION, target,                                       \
                             (sh_args){SH__CAT(v, _), SH__COUNT(__VA_ARGS__)}, SH_NO_KWARGS, NULL); \
    })
#define SH__BOUND_ARG(v, x) SH_ARG(v),
#endif

#endif
