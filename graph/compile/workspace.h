/* workspace.h - what one run of a plan writes: the arena, a record a value, each kernel's arguments made ready.
 *
 * Records of the arena and of constants never change after they are made, so that a kernel's row needs nothing done to it
 * when it runs; those on inputs and fresh memory get their address at the beginning of each run. One run at a time uses a
 * workspace; a run takes one that is free, or makes one. */
#ifndef SH_GRAPH_COMPILE_WORKSPACE_H
#define SH_GRAPH_COMPILE_WORKSPACE_H

#include <pthread.h>

#include "graph/compile/plan.h"

/* A step as a run finds it. */
typedef struct sh_ready {
    sh_thunk thunk; /* KERNEL; NULL: another kind */
    sh_function kernel;
    sh_value *args, *results;
} sh_ready;

/* A record that gets its address from its buffer's tensor, once that is there. */
typedef struct sh_site {
    struct sh_site *next; /* on the same buffer */
    sh_tensor *record;
    size_t at;
} sh_site;

typedef struct sh_workspace {
    struct sh_workspace *next; /* of those that are free */
    sh_tensor *records;        /* by value */
    sh_ready *ready;           /* by step */
    sh_unit_frame *frames;     /* by step; of units alone */
    sh_site **sites;           /* by buffer, of those bound late */
    sh_tensor *
        *bases; /* by buffer, while a run goes: inputs borrowed, fresh ones held, constants the plan's */
    sh_value
        *made; /* by value, held: what steps made, and tensors that stand for a value outside; absent else */
    sh_storage storage; /* of the arena, as the records see it */
    char *arena;
    size_t capacity;

    void *blocks; /* of what rows and sites point to, and the records */
} sh_workspace;

typedef struct sh_workspaces {
    _Atomic(sh_workspace *) spare; /* the one that was free last */
    pthread_mutex_t lock;
    sh_workspace *free;
} sh_workspaces;

void sh__workspaces_begin(sh_workspaces *workspaces);
void sh__workspaces_end(sh_workspaces *workspaces, const sh_plan *plan);
/* NULL and an error. */
sh_workspace *sh__workspace_take(sh_workspaces *workspaces, const sh_plan *plan);
void sh__workspace_give_back(sh_workspaces *workspaces, sh_workspace *workspace);

#endif
