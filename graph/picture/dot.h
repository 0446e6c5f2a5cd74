/* dot.h - pictures of graphs, drawn by Graphviz.
 *
 *     free(text = sh_graph_svg(graph, NULL));
 *     text = sh_graph_dot(graph, &(sh_picture_options){.around = node, .depth = 2});
 *     text = sh_graph_dot(graph, &(sh_picture_options){.color = SH_COLOR_TIME, .timing = timing});
 *
 * A graph of more than 80 nodes is folded: what was recorded in one scope is one box, that of the outermost scope with
 * nodes of its own (layer1.0, not layer1 nor layer1.0.downsample); where there are none, or too many, what repeats
 * itself is one box that says how often. Boxes tell what is in them; the shapes of what passes stand at the arrows. What is
 * long is set in columns, to be read like a page. */
#ifndef SH_GRAPH_PICTURE_DOT_H
#define SH_GRAPH_PICTURE_DOT_H

#include "graph/timing.h"

SH_BEGIN_DECLS

typedef enum sh_picture_color {
    SH_COLOR_OPCODE,
    SH_COLOR_DTYPE, /* of what a node gives */
    SH_COLOR_TIME   /* its share of a run */
} sh_picture_color;

typedef struct sh_picture_options {
    const char *title; /* optional */
    bool full;         /* every node, however many there are */
    /* Only what is up to `depth` arrows away from this node, and stubs of what follows; never folded. Optional. */
    const sh_node *around;
    int64_t depth;
    sh_picture_color color;
    const sh_timing *timing; /* needed for SH_COLOR_TIME: runs of this graph */
} sh_picture_options;

/* For Graphviz; the caller's to free(). `options` may be NULL. NULL and an error if `around` is of another graph, `depth`
 * is negative, `timing` is missing, or memory is out. */
SH_API char *sh_graph_dot(const sh_graph *graph, const sh_picture_options *options);
/* Drawn by Graphviz's `dot`; an error if that is not there. */
SH_API char *sh_graph_svg(const sh_graph *graph, const sh_picture_options *options);

SH_END_DECLS

#endif
