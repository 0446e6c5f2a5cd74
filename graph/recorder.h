/* recorder.h - a graph in the making, from calls that run. */
#ifndef SH_GRAPH_RECORDER_H
#define SH_GRAPH_RECORDER_H

#include "dispatch/call.h"
#include "graph/identity.h"

typedef struct sh_recorder {
    sh_graph *graph;
    sh_identities origins;
    uint32_t nconstants;
} sh_recorder;

/* Before an op writes to `target`: what the graph keeps of its memory becomes a copy. */
sh_status sh__recorder_before_write(sh_recorder *r, sh_tensor *target);
/* The call, which has run, as a node. */
sh_status sh__recorder_append(sh_recorder *r, const sh_call *call);
/* A tensor as an argument: its node, made if it comes from outside; a number as a literal; NULL as None. */
sh_status sh__recorder_arg(sh_recorder *r, sh_tensor *t, sh_arg *arg);
void sh__recorder_set_spec(sh_node *node, const sh_tensor *t);

#endif
