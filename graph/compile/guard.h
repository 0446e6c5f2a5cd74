/* guard.h - what a plan was made for, as words that are compared before each run.
 *
 * Sections in order: the table and what functions are registered; this thread's switches and backends; the modes in sight,
 * each by place, serial number and configuration version; the names around the call, if a mode that is baked in looked at
 * them; the module's tree; what hangs in it, each tensor and module by the serial number of its place there and the version of
 * its memory, which never come back; the inputs by dtype, shape, layout and which of them share memory. The first three are looked at again only when something was pushed, popped or configured: a stamp says so. */
#ifndef SH_GRAPH_COMPILE_GUARD_H
#define SH_GRAPH_COMPILE_GUARD_H

#include "graph/module/module_impl.h"

enum { SH_MOST_INPUTS = 256 }; /* tensors among the inputs of a call, entries of lists too */

typedef enum sh_guard_section {
    SH_GUARD_TABLE,
    SH_GUARD_THREAD,
    SH_GUARD_MODES,
    SH_GUARD_SCOPE,
    SH_GUARD_MODULE,
    SH_GUARD_CONTENTS,
    SH_GUARD_INPUTS,
    SH_GUARD_SECTIONS
} sh_guard_section;

typedef struct sh_guard {
    uint64_t *at;
    size_t n, room;
    size_t ends[SH_GUARD_SECTIONS]; /* where each section ends */
    sh_tensor **written; /* tensors that the plan itself writes to, whose version doesn't count; kept */
    size_t nwritten;
    bool scoped;    /* the names around the call count */
    bool any_batch; /* dimension 0 may be another, if it is so in all inputs that share it: batch.h */
} sh_guard;

/* As things stand on this thread; `guard` is empty but for `written` and what counts. The module may be NULL: then nothing is said of it. */
sh_status sh__guard_take(sh_guard *guard, const sh_module *module, sh_values inputs);
/* The tensors that one plan of a trace writes to all plans of it do. Before the guard is taken anew. */
sh_status sh__guard_share_written(sh_guard *to, const sh_guard *from);
void sh__guard_free(sh_guard *guard);
/* Does it hold now? `stamped`: its first three sections are known to. */
bool sh__guard_holds(const sh_guard *guard, const sh_module *module, sh_values inputs, bool stamped);
/* False: what hangs in the module has changed since, so that it never will. */
bool sh__guard_may_hold(const sh_guard *guard, const sh_module *module);
/* The first section in which they differ. */
sh_guard_section sh__guard_difference(const sh_guard *a, const sh_guard *b);

/* Can what is written to one be read of the other? */
bool sh__share_memory(const sh_tensor *a, const sh_tensor *b);

/* A number that no other state of modes and configuration ever had or will have, on any thread; 0: that can't be told, look. */
uint64_t sh__guard_stamp(void);

#endif
