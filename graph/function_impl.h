/* function_impl.h - registered functions as those see them that run or record them. */
#ifndef SH_GRAPH_FUNCTION_IMPL_H
#define SH_GRAPH_FUNCTION_IMPL_H

#include <stdatomic.h>

#include "graph/function.h"

typedef struct sh_function_entry {
    atomic_int refs;
    sh_function_body body;
    sh_function_options options;
    struct sh_function_entry *next; /* in the registry, newest first; it holds one reference */
    char name[];
} sh_function_entry;

/* The newest of this name, with a reference for the caller; NULL without an error if there is none. */
sh_function_entry *sh__function_find(const char *name);
void sh__function_release(sh_function_entry *function);
/* Rises with each registration and removal: what was found before may be another now. */
uint64_t sh__functions_version(void);

/* One call on its way, as recorders get it. */
typedef struct sh_function_call_record {
    const sh_function_entry *function;
    sh_arguments args;
    sh_value *result;
    const void *site;
} sh_function_call_record;

/* Runs the body; tensors in the result are the scope's. */
sh_status sh__function_run(const sh_function_call_record *call);
/* The same, recorded where a capture is in sight. */
sh_status sh__function_call_at(const sh_function_entry *function, sh_arguments args, const void *site,
                               sh_value *result);

#endif
