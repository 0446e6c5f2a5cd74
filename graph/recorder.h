/* recorder.h - a graph in the making, from calls that run. */
#ifndef SH_GRAPH_RECORDER_H
#define SH_GRAPH_RECORDER_H

#include <pthread.h>

#include "dispatch/call.h"
#include "graph/function_impl.h"
#include "graph/identity.h"

typedef struct sh_recorder {
    sh_graph *graph;
    sh_identities origins;
    uint32_t nconstants;
    /* A trace's, NULL for a capture: the node of a tensor that no node gave. What it records has no data, so nothing is
     * ever written. */
    sh_node *(*outside)(struct sh_recorder *r, sh_tensor *t);
    void *user; /* for it */
} sh_recorder;

/* Before an op writes to `target`: what the graph keeps of its memory becomes a copy. */
sh_status sh__recorder_before_write(sh_recorder *r, sh_tensor *target);
/* The call, which has run, as a node. */
sh_status sh__recorder_append(sh_recorder *r, const sh_call *call);
/* A tensor as an argument: its node, made if it comes from outside; a number as a literal; NULL as None. */
sh_status sh__recorder_arg(sh_recorder *r, sh_tensor *t, sh_arg *arg);
/* A value as an argument; the entries of a list are written to `*entries`, which moves on by their count. */
sh_status sh__recorder_value(sh_recorder *r, sh_value v, sh_arg **entries, sh_arg *arg);
/* Where the node was recorded, and that the results are its. The pending error where `node` is NULL. */
sh_status sh__recorder_finish(sh_recorder *r, sh_node *node, const void *site, const sh_value *results,
                              uint32_t n);
/* A call of a user function, run while nothing of it is recorded, as one node. `lock` guards the recorder; NULL: none. */
sh_status sh__recorder_call_function(sh_recorder *r, const sh_function_call_record *call,
                                     pthread_mutex_t *lock);
void sh__recorder_set_spec(sh_node *node, const sh_tensor *t);
/* The node of a tensor that the graph keeps. */
sh_node *sh__recorder_constant(sh_recorder *r, sh_tensor *t);

#endif
