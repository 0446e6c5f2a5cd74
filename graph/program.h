/* program.h - a graph made ready to run: ops found, arguments placed, last uses known.
 *
 * One step a node, in order. A program never changes; runs share it, and it is made anew when the graph, an
 * op's schema or a registered function has changed since. What doesn't fit is left to the moment when the
 * node runs, so that its error comes where the program stands. */
#ifndef SH_GRAPH_PROGRAM_H
#define SH_GRAPH_PROGRAM_H

#include "graph/function_impl.h"
#include "graph/graph_impl.h"

/* The value of node `id` goes to argument `argument`, or to that entry of the list that stands there. */
typedef struct sh_load {
    uint32_t id, argument;
    int64_t entry; /* -1: the argument itself */
} sh_load;

enum { SH__TARGET = SH_MAX_ARGS }; /* the `argument` of `out` */

typedef struct sh_step {
    sh_node *node;
    const sh_op *op;             /* NULL: no op, or one that the node's arguments don't fit */
    const sh_schema *schema;     /* what the arguments are placed by */
    sh_function_entry *function; /* one reference */
    sh_variant variant;
    uint32_t nargs;
    sh_value *args; /* in schema order; a list with nodes in it: TENSORS or INTS with what else is in it */
    sh_load *loads;
    uint32_t nloads;
    size_t size;      /* of the block that begins with args */
    uint32_t numbers; /* bit i: argument i is a number that becomes a tensor */
    uint32_t words;   /* entries of the lists that loads go to */
    uint32_t *ends;   /* the nodes whose values are not needed after this step */
    uint32_t nends;
    uint32_t input; /* which placeholder it is */
} sh_step;

typedef struct sh_program {
    atomic_int refs;
    uint64_t graph_version, functions_version;
    uint32_t nsteps, nids; /* ids of nodes are below nids */
    uint32_t ninputs;      /* placeholders of the graph, those left out too */
    uint32_t words;        /* the most that a step needs */
    sh_step *steps;        /* one block with `ends` behind them */
    uint32_t *ends;
    size_t capacity; /* of that block */
    sh_pool pool;    /* of what steps point to */
} sh_program;

/* The graph's program, made or remade if need be, with a reference for the caller. NULL and an error. */
sh_program *sh__program_of(const sh_graph *graph);
/* One for a run that leaves out the nodes of which `skipped` (by id) is set; not kept by the graph. */
sh_program *sh__program_without(const sh_graph *graph, const bool *skipped);
void sh__program_release(sh_program *program);

#endif
