/* interpreter.h - running a graph node by node, with a hand in every step.
 *
 *     static sh_status prune(sh_interpreter *in, sh_node *node, sh_arguments args, sh_value *result) {
 *         SH_TRY(sh_interpreter_call_module(in, node, args, result));       // as it would have run
 *         *result = sh_value_tensor(sh_mul(result->as.tensor, mask));      // and then this
 *         return SH_OK;
 *     }
 *     sh_interpreter *in = sh_interpreter_new(graph, &(sh_interpreter_options){.call_module = prune});
 *     sh_interpreter_run(in, SH_ARGUMENTS(x), &y);
 *
 * Each op is a call like any other, inside a named scope of the node's name, so modes see it. A node's value is freed
 * after its last use. An error says which node failed and where it was recorded. One thread at a time uses an
 * interpreter; several may run the same graph. The graph must outlive it and stay unedited while it runs; between
 * runs it may be edited, the next run is of what it then is. */
#ifndef SH_GRAPH_INTERPRETER_H
#define SH_GRAPH_INTERPRETER_H

#include "graph/graph.h"

SH_BEGIN_DECLS

typedef struct sh_interpreter sh_interpreter;

/* A whole run, as sh_interpreter_run. */
typedef sh_status (*sh_run_graph)(sh_interpreter *in, sh_arguments inputs, sh_value *result);
/* A whole node: its arguments are still to be fetched. Tensors in the result are the scope's or somebody else's; the
 * interpreter takes its own reference. */
typedef sh_status (*sh_run_node)(sh_interpreter *in, sh_node *node, sh_value *result);
/* A node of one opcode with the values of its arguments, borrowed: positional ones, then keywords. A placeholder has
 * its default, if there is one, the output what is returned, as one tensor, list or number. */
typedef sh_status (*sh_run_opcode)(sh_interpreter *in, sh_node *node, sh_arguments args, sh_value *result);

/* What stands in for the interpreter's own ways; NULL: they stay. */
typedef struct sh_interpreter_options {
    void *user;
    sh_run_graph run;
    sh_run_node run_node;
    sh_run_opcode placeholder, get_attr, call_function, call_module, output;
    bool keep_values; /* values stay until the next run, instead of until their last use */
} sh_interpreter_options;

/* The caller ends it by sh_interpreter_free. options may be NULL. */
SH_API sh_interpreter *sh_interpreter_new(sh_graph *graph, const sh_interpreter_options *options);
SH_API void sh_interpreter_free(sh_interpreter *in);
SH_API void *sh_interpreter_user(const sh_interpreter *in);
SH_API sh_graph *sh_interpreter_graph(const sh_interpreter *in);

/* Inputs go to the placeholders by place, or by the name of their target (SH_NAMED("k", 3)). What the output node
 * returns (a tensor; a list, opened, of tensors; a number; None) is owned by the current scope. The node that fails is
 * named in the error. */
SH_API sh_status sh_interpreter_run(sh_interpreter *in, sh_arguments inputs, sh_value *result);

/* Gives a node its value before the next run, or in the middle of one. A node that has its value isn't run, and neither is
 * what only it needed; placeholders among these need no input. Tensors are retained, lists of integers and strings must
 * live until the run ends. */
SH_API sh_status sh_interpreter_set_value(sh_interpreter *in, const sh_node *node, sh_value value);
/* What the node gave, borrowed; NONE and an error if it has no value: not yet, or not any more. */
SH_API sh_value sh_interpreter_value(const sh_interpreter *in, const sh_node *node);

/* ---- the interpreter's own ways ---- for hooks to fall back on, with other arguments if they like */
SH_API sh_status sh_interpreter_run_graph(sh_interpreter *in, sh_arguments inputs, sh_value *result);
SH_API sh_status sh_interpreter_run_node(sh_interpreter *in, sh_node *node, sh_value *result);
SH_API sh_status sh_interpreter_placeholder(sh_interpreter *in, sh_node *node, sh_arguments args,
                                            sh_value *result);
SH_API sh_status sh_interpreter_get_attr(sh_interpreter *in, sh_node *node, sh_arguments args,
                                         sh_value *result);
SH_API sh_status sh_interpreter_call_function(sh_interpreter *in, sh_node *node, sh_arguments args,
                                              sh_value *result);
SH_API sh_status sh_interpreter_call_module(sh_interpreter *in, sh_node *node, sh_arguments args,
                                            sh_value *result);
SH_API sh_status sh_interpreter_output(sh_interpreter *in, sh_node *node, sh_arguments args,
                                       sh_value *result);

SH_END_DECLS

#endif
