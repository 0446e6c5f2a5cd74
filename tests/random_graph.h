/* random_graph.h - random graphs with inputs that they run on, and the smallest graph that still fails.
 *
 *     random_graph r = random_graph_new(seed, &(random_graph_how){.nodes = 20});
 *     sh_list *out = sh_graph_run(r.graph, random_copies((sh_tensors){r.inputs, r.ninputs}, room));
 *     random_graph_free(&r);
 *
 * A seed gives the same graph in every run. Each node was run when it was made, and one that failed is not there: the
 * graphs run without an error. Numbers stay finite and moderate but where a write made them otherwise. Where memory is out,
 * or a graph is none, it aborts: it serves tests. */
#ifndef SH_TESTS_RANDOM_GRAPH_H
#define SH_TESTS_RANDOM_GRAPH_H

#include "shunt.h"

enum {
    RANDOM_INPUTS = 3,
    RANDOM_INPUTS_MOST = 16
}; /* as many are made, as many may be there when it was shrunk */

typedef struct random_graph_how {
    int nodes;      /* about as many; 0: 16 */
    sh_module *net; /* whose children, called on f32 with 4 columns, are called as well; NULL: no modules */
    bool smooth;    /* f32 and continuous functions alone: small errors stay small */
    bool draws;     /* random ops too */
    bool guards;    /* inputs are never written to */
    bool constants; /* of the graph may be written to */
} random_graph_how;

typedef struct random_graph {
    uint64_t seed;
    sh_graph *graph;
    sh_tensor *inputs[RANDOM_INPUTS_MOST]; /* of any layout; one reference each */
    size_t ninputs;
} random_graph;

random_graph random_graph_new(uint64_t seed, const random_graph_how *how);
void random_graph_free(random_graph *r);
/* Copies in the same layouts, the scope's, in `room` for RANDOM_INPUTS_MOST: runs may write to them. */
sh_tensors random_copies(sh_tensors tensors, sh_tensor **room);
/* The same numbers, bit for bit; one NaN is as good as another. */
bool random_same(const sh_tensor *a, const sh_tensor *b);

/* Does it fail on this graph? It may change both, which are copies. An error that it leaves is cleared. */
typedef bool (*random_graph_check)(sh_graph *graph, sh_tensors inputs, void *user);
/* Makes `r` smaller while it runs and `fails` says so: outputs and nodes go, sizes become 1 or 2. */
void random_graph_shrink(random_graph *r, random_graph_check fails, void *user);
/* The seed, the graph as text (graph/ir) and what its inputs are; the caller's to free(). */
char *random_graph_text(const random_graph *r);

/* The loop of most tests: each seed's graph up to `seeds` must not fail; of the first that does, the smallest form is
 * printed. How many failed. */
size_t random_graphs_failing(uint64_t first, uint64_t seeds, const random_graph_how *how,
                             random_graph_check fails, void *user);

#endif
