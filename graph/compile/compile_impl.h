/* compile_impl.h - a compiled object in memory. */
#ifndef SH_GRAPH_COMPILE_COMPILE_IMPL_H
#define SH_GRAPH_COMPILE_COMPILE_IMPL_H

#include "graph/compile/batch.h"
#include "graph/compile/compile.h"
#include "graph/compile/guard.h"
#include "graph/compile/workspace.h"

enum { SH_STAMPS = 4 }; /* threads that call one plan in turn without looking at the whole guard each time */

/* One plan and what it was made for. */
typedef struct sh_compiled_entry {
    struct sh_compiled_entry *next; /* used less recently */
    uint32_t users;                 /* runs that go on; under the lock */
    bool resized;                   /* made of a trace that was there */
    bool gone;                      /* out of the list: the last user ends it */
    sh_guard guard;
    atomic_uint_fast64_t stamps[SH_STAMPS]; /* under which the guard's first sections hold */
    sh_plan *plan;
    sh_workspaces workspaces;
    struct {
        sh_tensor *tensor;
        uint64_t version;
    } * watched; /* tensors from outside the module that the plan was made from; kept */
    size_t nwatched;
    char *inputs, *modes; /* in words; free() them */
    const char *why;
    uint64_t calls, trace_ns, compile_ns;
} sh_compiled_entry;

/* A trace that plans for several batch sizes are made of. */
typedef struct sh_compiled_batch {
    struct sh_compiled_batch *next;
    sh_guard guard;
    sh_batch batch;
    uint64_t trace_ns;
} sh_compiled_batch;

struct sh_compiled {
    pthread_mutex_t lock;         /* for the list, and what is counted */
    pthread_mutex_t compile_lock; /* one plan is made at a time */
    sh_module *module;            /* NULL once it is frozen: from the trace on */
    bool is_function;             /* it stands for one */
    bool is_owned;                /* by the module, of which no reference is held then */
    char *name;
    sh_compile_options options;
    sh_compiled_entry *entries; /* used last first */
    size_t nentries;
    sh_compiled_batch *batches; /* under the compile lock */
    uint64_t compilations, hits, eager, resized;
};

/* ---- compile.c ---- */
/* False: the call must go the eager way. Else `result` is what it gave, NONE and an error if it failed. */
bool sh__compiled_try(sh_compiled *c, sh_values inputs, sh_value *result);

/* ---- entry.c ---- */
/* The tensors among them, entries of lists too, as a trace makes placeholders of them; at most `room` are written. */
size_t sh__open_inputs(sh_values inputs, sh_tensor **tensors, size_t room);
/* A plan for these inputs as things stand, by a trace or, where it is given, from one for any batch. NULL and an error, or,
 * where a tensor that it would be made of carries an override, `*eager`. */
sh_compiled_entry *sh__entry_compile(sh_compiled *c, sh_values inputs, const sh_compiled_batch *batch,
                                     bool *eager);
/* A trace for any batch size of such inputs. NULL and an error. */
sh_compiled_batch *sh__compiled_batch_new(sh_compiled *c, sh_values inputs);
void sh__compiled_batch_free(sh_compiled_batch *batch);
void sh__compiled_entry_free(sh_compiled_entry *entry);

/* ---- prepare.c ---- */
/* What the graph reads of its modules becomes its own, under the same names, and it lets go of them. */
sh_status sh__graph_take_tensors(sh_graph *graph);
/* The passes between trace and lowering. `shared`: inputs share memory, so that what is written to one may be read of another. */
sh_status sh__graph_prepare(sh_graph *graph, const sh_compile_options *options, bool shared);

#endif
