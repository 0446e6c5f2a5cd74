/* batch.h - one trace for every batch size.
 *
 * A forward is traced at three sizes N. What differs must be integers of the form a*N + b: the first two say which, the
 * third is the proof. From then on a graph for another N is the first one with its integers and shapes worked out. Sizes 0
 * and 1 are not of this kind: broadcasting and squeeze treat them otherwise. */
#ifndef SH_GRAPH_COMPILE_BATCH_H
#define SH_GRAPH_COMPILE_BATCH_H

#include "graph/compile/bake.h"

typedef struct sh_batch {
    sh_baked baked; /* at `size` */
    int64_t size;
    int64_t *slopes; /* of each integer in the graph, in order of the nodes: args, kwargs, shape */
    size_t nslopes;
} sh_batch;

/* The batch size of these inputs: that of dimension 0 of the first tensor that has one; 0: none, or one that can't be any. */
int64_t sh__batch_size(sh_values inputs);
/* Traces. An error names the call that differs otherwise than as a*N + b. */
sh_status sh__batch_take(sh_batch *batch, sh_module *module, sh_values inputs, bool strict);
/* The graph for another size; the caller's. NULL and an error. */
sh_graph *sh__batch_graph(const sh_batch *batch, int64_t size);
void sh__batch_free(sh_batch *batch);

#endif
