/* bake.h - a trace in which the modes that are pushed act as they will in every run.
 *
 * While it runs the modes themselves are switched off and a proxy stands for each, in their order. The proxy of a
 * `rewriting` mode runs its callback: what that does to the call is in the graph. That of any other mode records the call
 * as it came to the mode, and nothing of what happens below: when the plan runs, the call begins there again. */
#ifndef SH_GRAPH_COMPILE_BAKE_H
#define SH_GRAPH_COMPILE_BAKE_H

#include "dispatch/chain.h"
#include "graph/trace.h"

typedef struct sh_baked_mode {
    sh_mode *mode;            /* one reference */
    uint32_t position, index; /* where it stands: index from the bottom of its position */
    bool unseen;              /* all interception was off: it has no part in the call */
    bool baked;               /* rewriting: nothing of it is left */
    bool reads_scope;         /* what it did may depend on the names around the call */
    size_t kept;              /* how many calls of the graph go to it */
} sh_baked_mode;

typedef struct sh_baked {
    sh_graph *graph;      /* the caller's */
    sh_baked_mode *modes; /* those in sight, in the order that calls meet them */
    size_t nmodes;
} sh_baked;

/* Runs `work` with every mode in sight switched off, and whatever else was switched off on. */
typedef sh_status (*sh_work)(void *user);
sh_status sh__with_modes_off(const sh_baked *baked, sh_work work, void *user);

/* `strict`: a call that a mode would keep is an error that names both. On an error nothing is in `baked`. */
sh_status sh__bake(sh_module *module, sh_values inputs, bool strict, sh_baked *baked);
/* Did a mode that is baked in look at the names around the call? */
bool sh__baked_reads_scope(const sh_baked *baked);
void sh__baked_free(sh_baked *baked); /* the graph too, if it is still there */

#endif
