/* repeats.c - finding what a graph does again and again.
 *
 * Items are compared by what they do and how far back their inputs lie, so two runs are alike only if their parts hang
 * together in the same way; what the first run gets from before it is free. For each period the longest runs are found
 * in one walk. Those that save most are folded first, and what is then left is looked at again. */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "graph/picture/picture.h"

enum { LONGEST_PERIOD = 128, ROUNDS = 8, LEAST = 4 }; /* a run of fewer items stays as it is */

typedef struct repetition {
    uint32_t start, period, times;
} repetition;

typedef struct search {
    sh_picture *p;
    uint32_t *first; /* by item: where its inputs begin, nitems + 1 of them */
    uint32_t *inputs;
    repetition *found;
    size_t nfound, capacity;
    bool *folded; /* by item */
} search;

/* ---- what items do ---- */

static uint64_t signature(const sh_picture *p, const sh_figure *item) {
    uint64_t h = item->repeats;
    for (uint32_t i = item->begin; i < item->end; i++) {
        const sh_node *node = p->order[i];
        const char *const kind = sh__node_kind(node);
        if (!sh__is_call(node)) return 0;
        h = XXH3_64bits_withSeed(kind, strlen(kind), h + node->ninputs);
    }
    return h | 1;
}

static uint32_t collect_inputs(search *s, uint32_t i, uint32_t at) {
    const sh_picture *p = s->p;
    const uint32_t begin = at;
    for (uint32_t k = p->items[i].begin; k < p->items[i].end; k++)
        for (uint32_t u = 0; u < p->order[k]->ninputs; u++) {
            const uint32_t from = p->item_of[p->order[k]->uses[u].input->id];
            bool known = !from || from - 1 == i;
            for (uint32_t m = begin; m < at && !known; m++) known = s->inputs[m] == from - 1;
            if (!known) s->inputs[at++] = from - 1;
        }
    return at;
}

static sh_status look(search *s) {
    sh_picture *p = s->p;
    size_t n = 1;
    for (uint32_t i = 0; i < p->n; i++) n += p->order[i]->ninputs;
    s->first = sh__alloc((p->nitems + 1) * sizeof *s->first);
    s->inputs = sh__alloc(n * sizeof *s->inputs);
    s->folded = sh__calloc(p->nitems, sizeof *s->folded);
    if (!s->first || !s->inputs || !s->folded) return SH_ERROR_MEMORY;
    s->first[0] = 0;
    for (uint32_t i = 0; i < p->nitems; i++) {
        p->items[i].signature = signature(p, &p->items[i]);
        s->first[i + 1] = collect_inputs(s, i, s->first[i]);
    }
    return SH_OK;
}

/* Does item j do to what lies before it what item i does, where a run begins at `start`? */
static bool alike(const search *s, uint32_t i, uint32_t j, uint32_t start) {
    const sh_figure *a = &s->p->items[i], *b = &s->p->items[j];
    const uint32_t n = s->first[i + 1] - s->first[i];
    if (!a->signature || a->signature != b->signature || n != s->first[j + 1] - s->first[j]) return false;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t x = s->inputs[s->first[i] + k], y = s->inputs[s->first[j] + k];
        if (x != y && i - x != j - y && x >= start) return false;
    }
    return true;
}

/* ---- runs ---- */

static sh_status add(search *s, repetition r) {
    if (s->nfound == s->capacity) {
        const size_t capacity = s->capacity ? s->capacity * 2 : 64;
        repetition *found = sh__realloc(s->found, capacity * sizeof *found);
        if (!found) return SH_ERROR_MEMORY;
        s->found = found;
        s->capacity = capacity;
    }
    s->found[s->nfound++] = r;
    return SH_OK;
}

static sh_status find(search *s, uint32_t period) {
    const uint32_t n = s->p->nitems;
    for (uint32_t start = 0, i = 0; i + period < n; start = ++i) {
        while (i + period < n && alike(s, i, i + period, start)) i++;
        const uint32_t times = 1 + (i - start) / period;
        if (times > 1 && times * period >= LEAST) SH_TRY(add(s, (repetition){start, period, times}));
    }
    return SH_OK;
}

static int by_savings(const void *a, const void *b) {
    const repetition *x = a, *y = b;
    const uint32_t m = x->period * x->times, n = y->period * y->times;
    if (m != n) return m < n ? 1 : -1;
    if (x->period != y->period) return x->period < y->period ? -1 : 1;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* ---- folding ---- */

/* Marks it unless part of it is in another already. */
static bool claim(search *s, const repetition *r) {
    const uint32_t n = r->period * r->times;
    for (uint32_t i = 0; i < n; i++)
        if (s->folded[r->start + i]) return false;
    memset(s->folded + r->start, true, n);
    return true;
}

static void fold(sh_picture *p, const repetition *r) {
    sh_figure *first = &p->items[r->start];
    const sh_figure *last = first + r->period * r->times - 1;
    *first = (sh_figure){.begin = first->begin, .end = last->end, .repeats = r->times};
    for (sh_figure *other = first + 1; other <= last; other++) other->end = other->begin;
}

static void drop_empty(sh_picture *p) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->nitems; i++)
        if (p->items[i].end > p->items[i].begin) p->items[n++] = p->items[i];
    p->nitems = n;
    sh__picture_index(p);
}

static sh_status run_round(search *s, bool *folded) {
    SH_TRY(look(s));
    for (uint32_t period = 1; period <= LONGEST_PERIOD && period * 2 <= s->p->nitems; period++)
        SH_TRY(find(s, period));
    if (s->nfound) qsort(s->found, s->nfound, sizeof *s->found, by_savings);
    for (size_t i = 0; i < s->nfound; i++)
        if (claim(s, &s->found[i])) fold(s->p, &s->found[i]);
    *folded = s->nfound > 0;
    drop_empty(s->p);
    return SH_OK;
}

sh_status sh__picture_fold_repeats(sh_picture *p) {
    bool folded = true;
    for (int i = 0; i < ROUNDS && folded; i++) {
        search s = {.p = p};
        const sh_status status = run_round(&s, &folded);
        sh__free(s.first);
        sh__free(s.inputs);
        sh__free(s.found);
        sh__free(s.folded);
        if (status < 0) return status;
    }
    return SH_OK;
}
