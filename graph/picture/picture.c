/* picture.c - the picture as a whole: what is shown, and its text.
 *
 * Labels are HTML whose every character from outside is escaped: a hostile name is drawn, never obeyed. */
#include "graph/picture/picture.h"

#include <inttypes.h>
#include <string.h>

#include "graph/print.h"

/* ---- what is shown ---- */

/* In a folded picture tensors belong to what uses them, unless they are given out. */
static bool is_shown(const sh_picture *p, const sh_node *node) {
    if (!p->folded || node->opcode != SH_GET_ATTR) return true;
    for (const sh_use *use = node->first_user; use; use = use->next)
        if (use->user->opcode == SH_OUTPUT) return true;
    return false;
}

void sh__picture_index(sh_picture *p) {
    for (uint32_t i = 0; i < p->nitems; i++)
        for (uint32_t k = p->items[i].begin; k < p->items[i].end; k++) p->item_of[p->order[k]->id] = i + 1;
}

/* Each node as an item. */
static sh_status choose(sh_picture *p) {
    p->order = sh__alloc((p->graph->size + 1) * sizeof *p->order);
    p->items = sh__calloc(p->graph->size + 1, sizeof *p->items);
    p->item_of = sh__calloc(p->graph->next_id + 1, sizeof *p->item_of);
    if (!p->order || !p->items || !p->item_of) return SH_ERROR_MEMORY;
    if (p->options->around)
        SH_TRY(sh__picture_choose_around(p));
    else
        for (const sh_node *node = sh_graph_first(p->graph); node; node = sh_node_next(node))
            if (is_shown(p, node)) p->order[p->n++] = node;
    for (; p->nitems < p->n; p->nitems++)
        p->items[p->nitems] = (sh_figure){.begin = p->nitems, .end = p->nitems + 1, .repeats = 1};
    sh__picture_index(p);
    return SH_OK;
}

/* ---- arrows ---- */

static void put_arrow(sh_picture *p, uint32_t from, uint32_t to, const sh_node *node) {
    const bool across = p->items[from].column != p->items[to].column;
    sh__text_put(&p->out, "    n%u -> n%u", p->order[p->items[from].begin]->id,
                 p->order[p->items[to].begin]->id);
    if (across) sh__text_put(&p->out, " [constraint=false, color=\"#8a8a8a\"");
    if (p->folded && node->has_spec) {
        sh__text_put(&p->out, across ? ", label=< " : " [label=< ");
        sh__print_spec(&p->out, &node->spec);
        sh__text_put(&p->out, ">");
    }
    sh__text_put(&p->out, across || (p->folded && node->has_spec) ? "];\n" : ";\n");
}

/* `met`: by item, the item + 1 that an arrow from it was drawn to last. */
static void put_arrows_to(sh_picture *p, uint32_t to, uint32_t *met) {
    const sh_figure *item = &p->items[to];
    for (uint32_t k = item->begin; k < item->end; k++)
        for (uint32_t i = 0; i < p->order[k]->ninputs; i++) {
            const sh_node *input = p->order[k]->uses[i].input;
            const uint32_t from = p->item_of[input->id];
            if (!from || from - 1 == to || met[from - 1] == to + 1) continue;
            met[from - 1] = to + 1;
            put_arrow(p, from - 1, to, input);
        }
}

static sh_status put_arrows(sh_picture *p) {
    uint32_t *met = sh__calloc(p->nitems + 1, sizeof *met);
    if (!met) return SH_ERROR_MEMORY;
    for (uint32_t to = 0; to < p->nitems; to++) put_arrows_to(p, to, met);
    sh__free(met);
    return SH_OK;
}

/* ---- items ---- */

static sh_status put_item(sh_picture *p, const sh_figure *item) {
    const sh_node *first = p->order[item->begin];
    sh__text_put(&p->out, "    n%u [label=<", first->id);
    SH_TRY(sh__put_label(p, item));
    sh__text_put(&p->out, ">, fillcolor=\"%s\", tooltip=\"", sh__item_color(p, item));
    sh__put_html(&p->out, first->name->text, SIZE_MAX);
    sh__text_put(&p->out, "\"");
    if (sh__is_run(item)) sh__text_put(&p->out, item->repeats > 1 ? ", peripheries=2" : ", penwidth=2");
    if (first == p->options->around) sh__text_put(&p->out, ", penwidth=3");
    sh__text_put(&p->out, "];\n");
    return SH_OK;
}

/* The items of one column from those of a frame, or from a single one; each is put once. */
static sh_status put_frame(sh_picture *p, uint32_t begin, uint32_t end, uint32_t column) {
    const char *scope;
    uint32_t n = 0;
    for (uint32_t i = begin; i < end; i++) n += p->items[i].column == column;
    const sh_node *first = p->order[p->items[begin].begin];
    if (n > 1) {
        const size_t length = sh__box_scope(p, first, &scope);
        sh__text_put(&p->out,
                     "    subgraph cluster_%u_%u {\n    style=\"rounded\"; color=\"#9a9a9a\"; label=<",
                     first->id, column);
        sh__put_html(&p->out, scope, length);
        sh__text_put(&p->out, ">;\n");
    }
    for (uint32_t i = begin; i < end; i++)
        if (p->items[i].column == column) SH_TRY(put_item(p, &p->items[i]));
    sh__text_put(&p->out, n > 1 ? "    }\n" : "");
    return SH_OK;
}

/* In a picture that isn't folded, a frame around the nodes of each scope. */
static sh_status put_items(sh_picture *p) {
    for (uint32_t i = 0, end; i < p->nitems; i = end) {
        uint32_t least = p->items[i].column, most = least;
        for (end = i + 1; !p->folded && end < p->nitems; end++) {
            if (!sh__same_box(p, p->order[p->items[i].begin], p->order[p->items[end].begin])) break;
            if (p->items[end].column < least) least = p->items[end].column;
            if (p->items[end].column > most) most = p->items[end].column;
        }
        for (uint32_t column = least; column <= most; column++) SH_TRY(put_frame(p, i, end, column));
    }
    return SH_OK;
}

/* The heads of the columns stand side by side, in order. */
static void put_columns(sh_picture *p) {
    if (p->ncolumns < 2) return;
    sh__text_put(&p->out, "    {rank=same; edge [style=invis]; ");
    for (uint32_t column = 0; column < p->ncolumns; column++) {
        const sh_figure *head = NULL;
        for (uint32_t i = 0; i < p->nitems; i++)
            if (p->items[i].column == column && (!head || p->items[i].rank < head->rank)) head = &p->items[i];
        if (head) sh__text_put(&p->out, column ? " -> n%u" : "n%u", p->order[head->begin]->id);
    }
    sh__text_put(&p->out, "}\n");
}

/* ---- all of it ---- */

static sh_status put_all(sh_picture *p) {
    sh__text_put(
        &p->out,
        "digraph graph_ {\n    rankdir=TB; newrank=true; compound=true; labelloc=t; fontname=\"Helvetica\"; "
        "fontsize=14; nodesep=0.25; ranksep=%s;\n    label=<",
        p->folded ? "0.35" : "0.25");
    SH_TRY(sh__put_heading(p));
    sh__text_put(&p->out,
                 ">;\n    node [shape=box, style=\"filled,rounded\", fontname=\"Helvetica\", fontsize=10, "
                 "margin=\"0.08,0.04\", height=0.3];\n"
                 "    edge [fontname=\"Helvetica\", fontsize=9, arrowsize=0.6];\n");
    sh__put_legend(p);
    SH_TRY(put_items(p));
    put_columns(p);
    SH_TRY(put_arrows(p));
    if (p->options->around) sh__picture_put_stubs(p);
    sh__text_put(&p->out, "}\n");
    return SH_OK;
}

static sh_status draw(sh_picture *p) {
    SH_TRY(choose(p));
    SH_TRY(sh__picture_note_scopes(p));
    if (p->folded) sh__picture_fold_scopes(p);
    if (p->folded && p->nitems > SH__FOLDED_ABOVE) SH_TRY(sh__picture_fold_repeats(p));
    SH_TRY(sh__picture_lay_out(p));
    return put_all(p);
}

static sh_status check(const sh_graph *graph, const sh_picture_options *o) {
    if (sh__error_pending()) return sh_error()->code;
    if (!graph) return sh_fail(SH_ERROR_NULL, "sh_graph_dot: graph is NULL");
    if (o->around && o->around->graph != graph)
        return sh_fail(SH_ERROR_VALUE, "sh_graph_dot: around: %%%s is of another graph",
                       o->around->name->text);
    if (o->depth < 0)
        return sh_fail(SH_ERROR_VALUE, "sh_graph_dot: depth is %" PRId64 ", expected 0 or more", o->depth);
    if (o->color == SH_COLOR_TIME && (!o->timing || !sh_timing_runs(o->timing)))
        return sh_fail(SH_ERROR_VALUE, "sh_graph_dot: color by time: %s",
                       o->timing ? "nothing has run" : "timing is NULL");
    return SH_OK;
}

char *sh_graph_dot(const sh_graph *graph, const sh_picture_options *options) {
    static const sh_picture_options plain = {0};
    const sh_picture_options *o = options ? options : &plain;
    if (check(graph, o) < 0) return NULL;
    sh_picture p = {.graph = graph, .options = o};
    p.folded = !o->full && !o->around && graph->size > SH__FOLDED_ABOVE;
    const sh_status status = draw(&p);
    sh__free(p.order);
    sh__free(p.items);
    sh__free(p.item_of);
    sh__symbols_free(&p.scopes);
    if (status >= 0) return sh__text_take(&p.out);
    sh__text_drop(&p.out);
    return NULL;
}
