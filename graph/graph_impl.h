/* graph_impl.h - how graphs lie in memory.
 *
 * Nodes are a ring through the graph's `root`. A node's arguments, with all that they point to, are one
 * block. For each node that it uses it has one sh_use, which is also a link in that node's list of users:
 * so both sides are always in step, and adding or taking away a use costs the same however many there are.
 * Strings (names, targets, scopes) are symbols of the graph and live as long as it. */
#ifndef SH_GRAPH_GRAPH_IMPL_H
#define SH_GRAPH_GRAPH_IMPL_H

#include <pthread.h>

#include "dispatch/memory_impl.h"
#include "dispatch/symbols.h"
#include "dispatch/thread.h"
#include "graph/graph.h"
#include "graph/root.h"

typedef struct sh_use {
    sh_node *user, *input;
    struct sh_use *prev, *next; /* in the input's list of users */
} sh_use;

struct sh_node {
    sh_graph *graph;
    sh_node *prev, *next;
    sh_opcode opcode;
    uint32_t id;    /* never used again in this graph; below graph->next_id */
    uint64_t stamp; /* equals graph->stamp when met in the walk at hand */
    sh_symbol *name;
    const char *target, *scope;
    void *block; /* holds args and kwargs and what they point to */
    size_t block_size;
    sh_args args;
    sh_kwargs kwargs;
    sh_use *uses; /* one for each input */
    uint32_t ninputs, nusers;
    uint32_t uses_room; /* ninputs, till they are dropped */
    sh_use *first_user, *last_user;
    const char *type; /* NULL: none */
    struct sh_meta_entry *meta;
    const void *site;
    bool has_spec;
    sh_spec spec;
};

/* The graph made ready to run, kept from run to run: program.h. */
typedef struct sh_program_cache {
    pthread_mutex_t lock;
    struct sh_program *made;
} sh_program_cache;

struct sh_graph {
    sh_node root; /* before the first and behind the last */
    size_t size;
    uint32_t next_id;
    uint64_t stamp;
    uint64_t version;       /* rises with every edit that a run would notice */
    uint64_t attrs_version; /* rises when an attribute is set */
    uint64_t serial;        /* never used twice in a process */
    sh_program_cache program;
    sh_graph_root modules;
    sh_insertion *insertion; /* the innermost one open */
    sh_cursor *cursor;       /* the innermost loop over the nodes */
    sh_symbols names; /* of nodes; object: the node, NULL when gone; count: highest number on this base */
    sh_symbols attrs; /* object: the tensor, one reference held */
    sh_symbols strings;
    sh_pool pool; /* of nodes and what they hold */
};

/* ---- names.c ---- */
/* A free name as near to `wish` as torch.fx's rules allow. */
sh_symbol *sh__name_create(sh_graph *graph, const char *wish);
/* A node that stands for another takes its name over; the other one gets the new one's. */
void sh__node_swap_names(sh_node *a, sh_node *b);
/* A string that lives as long as the graph. */
const char *sh__graph_string(sh_graph *graph, const char *text);

/* ---- meta.c ---- */
void sh__meta_free(sh_node *node);
/* `to` gets what `from` has under every key; may be of another graph. */
sh_status sh__meta_copy(sh_node *to, const sh_node *from);

/* Where it was recorded, in words: "net.c:12 in forward", "" if nobody knows. A loaded node has it as the key stack_trace. */
void sh__node_place(const sh_node *node, char *text, size_t size);

/* ---- copy.c ---- */
/* What the target of a copy of `node` in `graph` is; the tensor of a get_attr node comes along. NULL and an error. */
const char *sh__copied_target(sh_graph *graph, const sh_node *node);
/* `to` gets all that is known about `from`, which may be of another graph. */
sh_status sh__node_copy_knowledge(sh_node *to, const sh_node *from);

/* ---- lint.c ---- */
/* Is there what the node calls or gets, and do its arguments fit? An error that names the node. */
sh_status sh__node_check_target(const sh_node *node);

/* ---- graph.c ---- */
/* Puts the node, which is in no ring, in front of `place` (the root: at the end), or takes it out of its ring. Loops over the nodes
 * go on behind where it stood. */
void sh__node_link(sh_node *node, sh_node *place);
void sh__node_unlink(sh_node *node);
/* Ends a node that nobody uses. */
void sh__node_discard(sh_node *node);

/* ---- args.c ---- */
typedef struct sh_arg_block {
    void *block; /* of a pool */
    size_t size;
    sh_args args;
    sh_kwargs kwargs;
} sh_arg_block;
/* Copies both and all that they point to into one block of the pool; strings become the graph's. */
sh_status sh__args_copy(sh_graph *graph, sh_args args, sh_kwargs kwargs, sh_pool *pool, sh_arg_block *copy);
/* Calls `visit` on each argument that is a node, in order; it may replace it. Stops at the first error. */
typedef sh_status (*sh_arg_visit)(sh_arg *arg, void *user);
sh_status sh__args_visit(sh_args args, sh_kwargs kwargs, sh_arg_visit visit, void *user);

/* ---- node.c ---- */
/* Does it do something when it runs: no input, constant or output? */
static inline bool sh__is_call(const sh_node *node) {
    return node->opcode == SH_CALL_FUNCTION || node->opcode == SH_CALL_MODULE;
}
/* Are dtype and shape of both known, and the same? */
bool sh__node_has_spec_of(const sh_node *node, const sh_node *other);
/* Takes the node out of the lists of users of all that it uses. */
void sh__uses_drop(sh_node *node);

#endif
