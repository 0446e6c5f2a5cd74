/* identity.h - which node a tensor came from.
 *
 * A hash table by address. It holds a reference to each tensor in it, so an address stands for one tensor
 * as long as the table lives. Not thread-safe. */
#ifndef SH_GRAPH_IDENTITY_H
#define SH_GRAPH_IDENTITY_H

#include "graph/graph.h"

typedef struct sh_origin {
    sh_tensor *tensor; /* NULL: a free place */
    sh_node *node;
    int64_t item; /* which of the node's several results; -1: the node is the tensor */
} sh_origin;

typedef struct sh_identities {
    sh_origin *at;
    size_t n, capacity; /* a power of two */
} sh_identities;

/* NULL if it is not there; no error. Good until the next sh__identity_set. */
sh_origin *sh__identity_find(const sh_identities *identities, const sh_tensor *tensor);
sh_status sh__identity_set(sh_identities *identities, sh_tensor *tensor, sh_node *node, int64_t item);
void sh__identities_free(sh_identities *identities);

#endif
