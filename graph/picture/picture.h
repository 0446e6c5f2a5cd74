/* picture.h - what the parts of drawing share: the nodes that are shown, and the items they are drawn as. */
#ifndef SH_GRAPH_PICTURE_PICTURE_H
#define SH_GRAPH_PICTURE_PICTURE_H

#include "graph/graph_impl.h"
#include "graph/picture/dot.h"
#include "graph/text.h"

enum { SH__FOLDED_ABOVE = 80 };

/* One node, or a run of nodes that follow each other in the graph: so items hang together without a cycle. */
typedef struct sh_figure {
    uint32_t begin, end; /* of `order` */
    uint32_t repeats;    /* of what the run is made of; 1: it is no repetition */
    const char *scope;   /* that it is a box of, `scope_length` bytes; NULL: of none */
    size_t scope_length;
    uint64_t signature; /* equal for items that do the same; 0: like no other */
    uint32_t rank, column;
} sh_figure;

typedef struct sh_picture {
    const sh_graph *graph;
    const sh_picture_options *options;
    const sh_node **order; /* those that are shown, in the graph's order */
    uint32_t n;
    uint32_t *item_of; /* by the nodes' ids: item + 1, 0: not shown */
    sh_figure *items;
    uint32_t nitems;
    /* taken: nodes were recorded in it; count: it is opened, what is in it is drawn by itself */
    sh_symbols scopes;
    bool folded;
    uint32_t nranks, ncolumns;
    sh_text out;
} sh_picture;

static inline bool sh__is_run(const sh_figure *item) { return item->end - item->begin > 1; }

/* ---- picture.c ---- */
/* The items anew from begin and end: which node is in which. */
void sh__picture_index(sh_picture *p);
/* ---- around.c ---- */
/* `order` becomes the nodes within reach. */
sh_status sh__picture_choose_around(sh_picture *p);
/* What the arrows that lead out of the picture lead to. */
void sh__picture_put_stubs(sh_picture *p);

/* ---- scopes.c ---- */
sh_status sh__picture_note_scopes(sh_picture *p);
/* The scope that a node is drawn in a box of: the outermost that has nodes of its own; tensors belong to what uses them first.
 * Returns its length; 0: none. */
size_t sh__box_scope(const sh_picture *p, const sh_node *node, const char **scope);
bool sh__same_box(const sh_picture *p, const sh_node *a, const sh_node *b);
/* What is in one box becomes one item. */
void sh__picture_fold_scopes(sh_picture *p);

/* ---- repeats.c ---- */
/* What repeats itself becomes one item, again and again, until nothing does. */
sh_status sh__picture_fold_repeats(sh_picture *p);

/* ---- layout.c ---- */
/* Ranks by the longest way from an input, columns of ranks. */
sh_status sh__picture_lay_out(sh_picture *p);

/* ---- label.c ---- */
/* As HTML in a label: nothing in it is obeyed. */
void sh__put_html(sh_text *out, const char *text, size_t n);
/* The name after its %, of a long one the end. */
void sh__put_name(sh_text *out, const sh_node *node);
sh_status sh__put_label(sh_picture *p, const sh_figure *item);
/* What a node does in one word: the module's class, the op. */
const char *sh__node_kind(const sh_node *node);
/* The heading: title, nodes, parameters. */
sh_status sh__put_heading(sh_picture *p);

/* ---- color.c ---- */
const char *sh__item_color(const sh_picture *p, const sh_figure *item);
/* Share of a run that the item takes, in percent. */
double sh__item_share(const sh_picture *p, const sh_figure *item);
void sh__put_legend(sh_picture *p);

#endif
