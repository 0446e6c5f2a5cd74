/* layout.c - a long graph is set in columns, read downwards and then to the right.
 *
 * The rank of an item is the longest way to it. The page is to be a bit wider than high; the columns end near where
 * they would if they were equal, at the rank that the fewest arrows cross. Arrows between columns don't take part in
 * Graphviz's ranking, so each column begins at the top. */
#include <math.h>

#include "graph/picture/picture.h"

enum { ONE_COLUMN = 14 }; /* ranks that always fit */

static void rank_items(sh_picture *p) {
    for (uint32_t i = 0; i < p->nitems; i++) {
        sh_figure *item = &p->items[i];
        for (uint32_t k = item->begin; k < item->end; k++)
            for (uint32_t u = 0; u < p->order[k]->ninputs; u++) {
                const uint32_t from = p->item_of[p->order[k]->uses[u].input->id];
                if (from && from - 1 < i && p->items[from - 1].rank >= item->rank)
                    item->rank = p->items[from - 1].rank + 1;
            }
        if (item->rank >= p->nranks) p->nranks = item->rank + 1;
    }
}

/* What needs nothing but isn't an input stands above what uses it first. */
static void lower_constants(sh_picture *p) {
    for (uint32_t i = 0; i < p->nitems; i++) {
        const sh_node *node = p->order[p->items[i].begin];
        const bool constant = !sh__is_run(&p->items[i]) && !node->ninputs && node->opcode != SH_PLACEHOLDER;
        const uint32_t to = constant && node->first_user ? p->item_of[node->first_user->user->id] : 0;
        if (to && p->items[to - 1].rank) p->items[i].rank = p->items[to - 1].rank - 1;
    }
}

/* A frame that a cut would go through counts as this many arrows. */
enum { FRAME = 8 };

/* Frames are what isn't folded: nodes of one box that follow each other. */
static void count_frames(const sh_picture *p, int32_t *crossing) {
    for (uint32_t i = 0, end; i < p->nitems && !p->folded; i = end) {
        uint32_t first = p->items[i].rank, last = first;
        for (end = i + 1; end < p->nitems && sh__same_box(p, p->order[i], p->order[end]); end++) {
            if (p->items[end].rank < first) first = p->items[end].rank;
            if (p->items[end].rank > last) last = p->items[end].rank;
        }
        crossing[first + 1] += FRAME;
        crossing[last + 1] -= FRAME;
    }
}

/* crossing[r]: arrows from above rank r to r or below. */
static void count_crossings(const sh_picture *p, int32_t *crossing) {
    for (uint32_t i = 0; i < p->nitems; i++)
        for (uint32_t k = p->items[i].begin; k < p->items[i].end; k++)
            for (uint32_t u = 0; u < p->order[k]->ninputs; u++) {
                const uint32_t from = p->item_of[p->order[k]->uses[u].input->id];
                if (!from || from - 1 == i) continue;
                crossing[p->items[from - 1].rank + 1]++;
                crossing[p->items[i].rank + 1]--;
            }
    count_frames(p, crossing);
    for (uint32_t r = 1; r < p->nranks; r++) crossing[r] += crossing[r - 1];
}

static uint32_t choose_cut(const sh_picture *p, const int32_t *crossing, uint32_t wanted, uint32_t slack) {
    uint32_t best = wanted;
    for (uint32_t r = wanted > slack ? wanted - slack : 1; r <= wanted + slack && r < p->nranks; r++) {
        const uint32_t far = r > wanted ? r - wanted : wanted - r,
                       best_far = best > wanted ? best - wanted : wanted - best;
        if (crossing[r] < crossing[best] || (crossing[r] == crossing[best] && far < best_far)) best = r;
    }
    return best;
}

/* A column is between as wide as its ranks are on average and as the fullest is; a node is near twice as wide as a rank is
 * high. */
static uint32_t count_columns(const sh_picture *p, uint32_t fullest) {
    const double height = p->nranks, width = 1.7 * (p->nitems / height + fullest) / 2;
    const double columns = sqrt(1.4 * height / width);
    return columns < 1.5 ? 1 : (uint32_t)(columns + 0.5);
}

static uint32_t count_fullest(const sh_picture *p, int32_t *counts) {
    int32_t most = 0;
    for (uint32_t i = 0; i < p->nitems; i++)
        if (++counts[p->items[i].rank] > most) most = counts[p->items[i].rank];
    return (uint32_t)most;
}

static void cut_columns(sh_picture *p, const int32_t *crossing) {
    const uint32_t height = p->nranks / p->ncolumns;
    for (uint32_t column = 1, begin = 0; column < p->ncolumns; column++) {
        const uint32_t cut =
            choose_cut(p, crossing, (uint32_t)((uint64_t)column * p->nranks / p->ncolumns), height / 2);
        if (cut <= begin) continue;
        begin = cut;
        for (uint32_t i = 0; i < p->nitems; i++)
            if (p->items[i].rank >= cut) p->items[i].column = column;
    }
}

sh_status sh__picture_lay_out(sh_picture *p) {
    p->ncolumns = 1;
    rank_items(p);
    lower_constants(p);
    if (p->nranks <= ONE_COLUMN) return SH_OK;
    int32_t *counts = sh__calloc(2 * ((size_t)p->nranks + 2), sizeof *counts);
    if (!counts) return SH_ERROR_MEMORY;
    int32_t *const crossing = counts + p->nranks + 2;
    p->ncolumns = count_columns(p, count_fullest(p, counts));
    count_crossings(p, crossing);
    cut_columns(p, crossing);
    sh__free(counts);
    return SH_OK;
}
