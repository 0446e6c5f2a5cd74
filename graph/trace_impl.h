/* trace_impl.h - a trace in progress. */
#ifndef SH_GRAPH_TRACE_IMPL_H
#define SH_GRAPH_TRACE_IMPL_H

#include "graph/graph_impl.h"
#include "graph/module/module_impl.h"
#include "graph/module/tracing.h"
#include "graph/paths.h"
#include "graph/record_impl.h"
#include "graph/trace.h"

typedef struct sh_tracer {
    sh_tracing tracing;
    sh_tracing *outer;
    sh_capture *capture;
    sh_recorder *recorder; /* the capture's */
    sh_module *root;
    const sh_trace_options *options;
    sh_paths modules, tensors;
    bool tensors_known;     /* `tensors` is filled at the first need */
    sh_identities concrete; /* tensors that were given as they are, and what was computed from them alone */
    const char *leaf;       /* the path of the innermost one */
} sh_tracer;

/* trace_call.c: how a call runs while it is traced (record_impl.h), and who answers for reads. */
sh_status sh__trace_call(sh_call *call, void *tracer);
/* Of a call that ran: what it gives stands for its node alone. */
sh_status sh__trace_part_results(const sh_tracer *t, sh_call *call);
sh_status sh__trace_read(const sh_tensor *t, const char *what);
/* A tensor of the same dtype and shape without data, owned by the scope. */
sh_tensor *sh__trace_stand_in(const sh_tensor *t);
/* The node of a tensor that comes from outside the trace. */
sh_node *sh__trace_outside(sh_recorder *recorder, sh_tensor *t);

/* trace.c: a module whose forward is the function; NULL and an error. */
sh_module *sh__module_of_function(sh_traceable function, void *user);

/* trace_module.c */
bool sh__trace_module(sh_tracing *tracing, sh_module *module, sh_values inputs, const void *site,
                      sh_value *output);

#endif
