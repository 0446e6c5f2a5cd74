/* match.h - one try to find a pattern, and what it has found. */
#ifndef SH_GRAPH_REWRITE_MATCH_H
#define SH_GRAPH_REWRITE_MATCH_H

#include "graph/graph_impl.h"
#include "graph/rewrite/rewrite.h"

struct sh_match {
    const sh_graph *pattern;
    sh_graph *graph;
    const sh_pattern_options *options;
    const sh_node **order;   /* the pattern's nodes but placeholders and output, the last first */
    const sh_node **anchors; /* those in its output */
    sh_arg *values;          /* by the id of the pattern's node; TAG_UNBOUND: nothing yet */
    uint32_t *trail;         /* the ids that are bound, in order */
    bool *taken;             /* by the id of the graph's node: part of an earlier match */
    uint32_t norder, nanchors, ntrail;
    uint32_t limit; /* nodes of the graph from this id on were put in by the rewriting */
    sh_node *point; /* of a match: where a replacement goes */
};

/* Nothing is matched yet. The pattern and the graph must outlive it. */
sh_status sh__match_begin(sh_match *m, sh_graph *graph, const sh_graph *pattern,
                          const sh_pattern_options *options);
void sh__match_end(sh_match *m);
/* With the pattern's last node at `node`. Filters have been asked. */
bool sh__match_at(sh_match *m, sh_node *node);
/* Do its nodes and the place of a replacement allow it? Sets `point`. */
bool sh__match_placed(sh_match *m);
static inline bool sh__is_bound(const sh_arg *value) { return value->tag != UINT32_MAX; }

#endif
