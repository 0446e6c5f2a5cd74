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
/* A get_attr node for an attribute that must be there, or a parameter or buffer of the graph's module. */
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

/* Each node in order. Nodes may be erased, moved and added on the way, the one at hand too: the loop goes on behind where
 * that stood. What is put behind that place is met, a node that moves there once more. NULL is an error and has none. */
#define SH_EACH_NODE(n, graph) SH__EACH_NODE(n, SH__UNIQUE(sh__c), graph)
#define SH__EACH_NODE(n, c, graph)                                                 \
    for (sh_cursor c __attribute__((cleanup(sh_cursor_end))) = {NULL, NULL, NULL}, \
                     *SH__CAT(c, p) = sh__cursor_begin(&c, graph);                 \
         SH__CAT(c, p); SH__CAT(c, p) = NULL)                                      \
        for (sh_node * n; (n = sh__cursor_next(SH__CAT(c, p))) != NULL;)
/* Lives until sh_cursor_end. */
typedef struct sh_cursor {
    sh_graph *graph;
    sh_node *at; /* met last, or where it stood */
    struct sh_cursor *outer;
} sh_cursor;
SH_API sh_cursor *sh__cursor_begin(sh_cursor *cursor, const sh_graph *graph);
SH_API sh_node *sh__cursor_next(sh_cursor *cursor);
SH_API void sh_cursor_end(sh_cursor *cursor);

/* The nodes of this opcode and target (NULL: any) in order; at most `capacity` are written. Returns how many there are. */
SH_API size_t sh_graph_find_nodes(const sh_graph *graph, sh_opcode opcode, const char *target,
                                  sh_node **nodes, size_t capacity);

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

/* ---- copies ---- */
/* A graph of its own: nodes with all that is known about them, and the attributes, their data too. The caller's. */
SH_API sh_graph *sh_graph_clone(const sh_graph *graph);
/* Which nodes stand for those of another graph, for copies from it. Ended by sh_node_map_free. */
typedef struct sh_node_map sh_node_map;
SH_API sh_node_map *sh_node_map_new(const sh_graph *from);
SH_API void sh_node_map_free(sh_node_map *map);
SH_API sh_status sh_node_map_set(sh_node_map *map, const sh_node *node, sh_node *copy);
/* A literal, or a list with nodes in it, in place of a node. What it points to is borrowed while copies are made. */
SH_API sh_status sh_node_map_set_arg(sh_node_map *map, const sh_node *node, sh_arg copy);
SH_API sh_node *sh_node_map_get(const sh_node_map *map, const sh_node *node); /* NULL if there is none */
/* A copy of `node` at the insertion point, its arguments those that the map gives, and the map gives the copy from then
 * on. A tensor that a get_attr node needs comes along, shared; under another name if that one is taken. */
SH_API sh_node *sh_graph_node_copy(sh_graph *graph, const sh_node *node, sh_node_map *map);
/* Copies of all nodes of the map's graph that it doesn't know yet, at the insertion point, but for the output node: what
 * that returns is in `*output` (optional), in terms of the copies, and lives as long as the map. */
SH_API sh_status sh_graph_graph_copy(sh_graph *graph, sh_node_map *map, sh_arg *output);

/* ---- cleaning ---- */
/* Erases the nodes that nobody uses and that are not impure (sh_node_is_impure), and those that only they used. Returns how
 * many went. `keeps` may hold more nodes back; optional. */
SH_API size_t sh_graph_eliminate_dead_code(sh_graph *graph, bool (*keeps)(const sh_node *node, void *user),
                                           void *user);
/* Is it a graph that can run? An error that names the node at fault: used before it is defined, of another graph, of a name that
 * another has, users or inputs out of step with arguments, no such op or arguments that don't fit it, no such attribute
 * or submodule, several outputs or one that is not last. */
SH_API sh_status sh_graph_lint(const sh_graph *graph);

/* ---- attributes ---- tensors that the graph keeps, by name */
SH_API sh_status sh_graph_set_attr(sh_graph *graph, const char *name, sh_tensor *value);
SH_API sh_tensor *sh_graph_attr(const sh_graph *graph,
                                const char *name); /* borrowed; NULL if there is none */
SH_API size_t sh_graph_attr_count(const sh_graph *graph);
SH_API const char *sh_graph_attr_name(const sh_graph *graph, size_t i);
/* Gives up those that no get_attr node of the graph gets, as passes leave them behind. `count` (or NULL) gets how many. */
SH_API sh_status sh_graph_delete_all_unused_attrs(sh_graph *graph, size_t *count);

/* ---- looking at all of it ---- texts are the caller's to free(); NULL and an error when memory is out */
SH_API char *sh_graph_text(const sh_graph *graph);    /* as torch 2.x prints it, no newline at the end */
SH_API char *sh_node_text(const sh_node *node);       /* one line of it */
SH_API char *sh_graph_tabular(const sh_graph *graph); /* a table: opcode name target args kwargs */
/* As code to read: a line each with dtype and shape, under the scope and the place (file:line) that it was recorded at. */
SH_API char *sh_graph_readable(const sh_graph *graph);
/* A C file with one function of this name (NULL: forward) that does what a run of the graph does, for gcc and clang against
 * <shunt.h>. It is what a sh_module_type takes: forward, where one tensor goes in and one comes out, else forward_values.
 * Submodules, parameters and tensors that the graph keeps come from `self`: hand it a graph module of the graph. An error
 * where lint finds one, where the name can't be a function's, or C can't say what a node does. */
SH_API char *sh_graph_code(const sh_graph *graph, const char *name);

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
#else
template <class... A> sh_node *sh_graph_call_function(sh_graph *graph, const char *target, const A &...a) {
    return sh_graph_create_node(graph, SH_CALL_FUNCTION, target, ::sh__cxx::args(a...), SH_NO_KWARGS,
                                nullptr);
}
#endif

#endif
