/* trace.h - a graph from a forward function that runs on tensors without data: torch.fx's symbolic_trace.
 *
 *     sh_module *traced = sh_symbolic_trace(net, SH_INPUTS(x), NULL);     // x gives shape and dtype only
 *     puts(text = sh_graph_text(sh_graph_module_graph(traced)));
 *     y = sh_forward(traced, x);
 *
 * Nothing is computed: each op gives a tensor that has a shape and a dtype, and becomes a node; factories too. What a
 * forward does in C is run once and baked in: loops are unrolled, branches on shapes and configuration taken. Reading a
 * traced tensor's data (sh_item, printing, saving, nonzero) is an error that names the op whose result was read.
 *
 * Built-in modules are leaves, one call_module node each, unless they contain others. A leaf is traced through where a
 * mode that is pushed and not declared `watching` wants one of its ops, so that the mode's rewriting is in the graph.
 * Modes act while the trace runs as they always do. Parameters and buffers that forward itself uses become get_attr
 * nodes of their path; other tensors with data are kept by the graph as `_tensor_constant0` and so on. */
#ifndef SH_GRAPH_TRACE_H
#define SH_GRAPH_TRACE_H

#include "graph/graph.h"
#include "graph/module/module.h"

SH_BEGIN_DECLS

typedef struct sh_trace_options {
    /* Of the inputs, NULL-terminated; else those of the module's type, else x, x_1, ... */
    const char *const *names;
    /* Names of inputs that forward gets as they are given: the trace is for these values, and the graph doesn't take them.
     * What is computed from them alone is computed, and no node. Inputs that are no tensors always are concrete.
     * NULL-terminated. */
    const char *const *concrete;
    /* Is this module, at this path, to be one node? Optional; else what its type says. */
    bool (*is_leaf)(const char *path, const sh_module *module, void *user);
    bool
        no_leaves; /* every module is traced through, those that are not in `root` too; is_leaf is not asked */
    void *user;
} sh_trace_options;

/* The inputs of `root`'s forward: tensors, whose data is not looked at, numbers, lists; the entries of a list of tensors
 * become a placeholder each, name_1, name_2, .... What forward returns is what the graph returns.
 * options may be NULL. A new graph, the caller's, that keeps `root`. */
SH_API sh_graph *sh_trace(sh_module *root, sh_values inputs, const sh_trace_options *options);
/* The same of a function. */
typedef sh_value (*sh_traceable)(sh_values inputs, void *user);
SH_API sh_graph *sh_trace_function(sh_traceable function, void *user, sh_values inputs,
                                   const sh_trace_options *options);
/* The same as a module to call, with the modules and tensors that the graph uses; the caller's. */
SH_API sh_module *sh_symbolic_trace(sh_module *root, sh_values inputs, const sh_trace_options *options);

SH_END_DECLS

#endif
