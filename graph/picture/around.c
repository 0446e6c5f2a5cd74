/* around.c - the neighbourhood of a node: breadth first, along the arrows and against them. */
#include "graph/picture/picture.h"

/* The nodes met so far are those with the graph's stamp; `order` is the queue. */
static void meet(sh_picture *p, const sh_node *node) {
    if (node->stamp == p->graph->stamp) return;
    ((sh_node *)(uintptr_t)node)->stamp = p->graph->stamp;
    p->order[p->n++] = node;
}

static void meet_neighbours(sh_picture *p, const sh_node *node) {
    for (uint32_t i = 0; i < node->ninputs; i++) meet(p, node->uses[i].input);
    for (const sh_use *use = node->first_user; use; use = use->next) meet(p, use->user);
}

sh_status sh__picture_choose_around(sh_picture *p) {
    ((sh_graph *)(uintptr_t)p->graph)->stamp++;
    meet(p, p->options->around);
    uint32_t begin = 0;
    for (int64_t depth = 0; depth < p->options->depth && begin < p->n; depth++) {
        const uint32_t end = p->n;
        for (; begin < end; begin++) meet_neighbours(p, p->order[begin]);
    }
    p->n = 0;
    for (const sh_node *node = sh_graph_first(p->graph); node; node = sh_node_next(node))
        if (node->stamp == p->graph->stamp) p->order[p->n++] = node;
    return SH_OK;
}

/* ---- stubs ---- */

enum { NAMED = 4 }; /* as many neighbours of a node by name */

static void put_stub(sh_picture *p, const sh_node *at, const sh_node *other, bool input) {
    sh__text_put(&p->out, "    s%u_%u [label=<", at->id, other->id);
    sh__put_name(&p->out, other);
    sh__text_put(&p->out, " \u2026>, tooltip=\"");
    sh__put_html(&p->out, other->name->text, SIZE_MAX);
    sh__text_put(&p->out, "\", style=\"dashed\", color=\"#7a7a7a\", fontcolor=\"#505050\"];\n");
    if (input)
        sh__text_put(&p->out, "    s%u_%u -> n%u [style=dashed];\n", at->id, other->id, at->id);
    else
        sh__text_put(&p->out, "    n%u -> s%u_%u [style=dashed];\n", at->id, at->id, other->id);
}

static void put_rest(sh_picture *p, const sh_node *at, uint32_t more, bool input) {
    const char *const side = input ? "in" : "out";
    if (!more) return;
    sh__text_put(
        &p->out,
        "    s%u_%s [label=\"%u more \u2026\", style=\"dashed\", color=\"#7a7a7a\", fontcolor=\"#505050\"];\n",
        at->id, side, more);
    if (input)
        sh__text_put(&p->out, "    s%u_in -> n%u [style=dashed];\n", at->id, at->id);
    else
        sh__text_put(&p->out, "    n%u -> s%u_out [style=dashed];\n", at->id, at->id);
}

static void put_stubs_of(sh_picture *p, const sh_node *node) {
    uint32_t inputs = 0, users = 0;
    for (uint32_t i = 0; i < node->ninputs; i++)
        if (!p->item_of[node->uses[i].input->id] && ++inputs <= NAMED)
            put_stub(p, node, node->uses[i].input, true);
    for (const sh_use *use = node->first_user; use; use = use->next)
        if (!p->item_of[use->user->id] && ++users <= NAMED) put_stub(p, node, use->user, false);
    put_rest(p, node, inputs > NAMED ? inputs - NAMED : 0, true);
    put_rest(p, node, users > NAMED ? users - NAMED : 0, false);
}

void sh__picture_put_stubs(sh_picture *p) {
    for (uint32_t i = 0; i < p->n; i++) put_stubs_of(p, p->order[i]);
}
