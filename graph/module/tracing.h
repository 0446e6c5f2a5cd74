/* tracing.h - where a trace in progress meets the modules that are called. */
#ifndef SH_GRAPH_MODULE_TRACING_H
#define SH_GRAPH_MODULE_TRACING_H

#include "graph/module/module.h"

typedef struct sh_tracing {
    /* True: the call was answered, the result (NONE and an error if it failed) is in *output. `site` is the address in the
     * program that issued it, or NULL. */
    bool (*module_called)(struct sh_tracing *tracing, sh_module *module, sh_values inputs, const void *site,
                          sh_value *output);
} sh_tracing;

/* This thread's innermost trace, or NULL. */
extern __thread sh_tracing *sh__tracing __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The type's forward, or what its infer function says in the place of that: in the module's scopes, without hooks. */
sh_value sh__module_run(sh_module *module, sh_values inputs);
sh_value sh__module_infer(sh_module *module, sh_values inputs);
/* sh_module_call in the name of a place in the program. */
sh_value sh__module_call_at(sh_module *module, sh_values inputs, const void *site);

#endif
