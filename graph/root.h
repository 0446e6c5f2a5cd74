/* root.h - what a graph looks up beside its own attributes: a tree of modules, given by whoever owns both.
 *
 * call_module nodes and get_attr targets that the graph has no tensor for go there by their dotted path. The graph
 * keeps the table by value; the object must outlive it unless the table says how to release it. */
#ifndef SH_GRAPH_ROOT_H
#define SH_GRAPH_ROOT_H

#include "graph/graph.h"

typedef struct sh_graph_root {
    void *object; /* NULL: there is none */
    /* Runs the submodule at `path`; tensors in the result are arguments or the scope's. */
    sh_status (*call)(void *object, const char *path, sh_arguments args, sh_value *result);
    /* The same for shapes only, in the place of which a type may say what it gives and write nothing. Optional. */
    sh_status (*infer)(void *object, const char *path, sh_arguments args, sh_value *result);
    /* The parameter or buffer at `path`, borrowed; NULL without an error if there is none. */
    sh_tensor *(*tensor)(void *object, const char *path);
    bool (*has_module)(void *object, const char *path);
    /* Does running it do more than give a value, so that it must stay though nobody uses that? Optional: no. */
    bool (*is_impure)(void *object, const char *path);
    /* Is its value memory of its own, nothing that it was given? Optional: no. */
    bool (*is_fresh)(void *object, const char *path);
    /* Where the graph holds a reference: how to add one for a copy of the graph, and to end it. A graph that its own root
     * owns has none (`held` is false), a copy of it has. Optional, both or neither. */
    void (*keep)(void *object);
    void (*release)(void *object);
    bool held;
} sh_graph_root;

void sh__graph_set_root(sh_graph *graph, sh_graph_root root);
const sh_graph_root *sh__graph_root(const sh_graph *graph);
/* What a get_attr node of this target gives: the graph's own tensor, else the root's; NULL without an error if there is none. */
sh_tensor *sh__graph_tensor(const sh_graph *graph, const char *name);
/* `to` looks where `from` does. */
void sh__graph_share_root(sh_graph *to, const sh_graph *from);

#endif
