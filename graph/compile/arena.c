/* arena.c - a place for each buffer in one block of memory, by lifetimes.
 *
 * Greedy by size (Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020): the largest
 * first, each at the lowest gap that its neighbours in time leave. Near the optimum for nets, and quadratic in the
 * number of buffers only among those that are alive together. */
#include <stdlib.h>
#include <string.h>

#include "dispatch/memory_impl.h"
#include "graph/compile/seal.h"

enum { ALIGNMENT = 64 };

static size_t rounded(size_t size) { return (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1); }

/* Largest first, then by first use, so that the order is the same each time. */
static int by_size(const void *a, const void *b, void *user) {
    const sh_plan_buffer *buffers = user;
    const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    if (buffers[i].size != buffers[k].size) return buffers[i].size > buffers[k].size ? -1 : 1;
    return buffers[i].first != buffers[k].first ? (buffers[i].first < buffers[k].first ? -1 : 1)
                                                : (i > k) - (i < k);
}

static bool live_together(const sh_plan_buffer *a, const sh_plan_buffer *b) {
    return a->first <= b->last && b->first <= a->last;
}

/* `placed` is in the order of places. The lowest gap that holds the buffer. */
static size_t find_gap(const sh_plan *plan, const uint32_t *placed, uint32_t n,
                       const sh_plan_buffer *buffer) {
    size_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        const sh_plan_buffer *other = &plan->buffers[placed[i]];
        if (!live_together(other, buffer)) continue;
        if (other->at >= at + rounded(buffer->size)) break;
        const size_t end = other->at + rounded(other->size);
        if (end > at) at = end;
    }
    return at;
}

static void insert_by_place(const sh_plan *plan, uint32_t *placed, uint32_t n, uint32_t id) {
    uint32_t i = n;
    for (; i && plan->buffers[placed[i - 1]].at > plan->buffers[id].at; i--) placed[i] = placed[i - 1];
    placed[i] = id;
}

sh_status sh__arena_place(sh_plan *plan) {
    uint32_t n = 0;
    uint32_t *order = sh__alloc((2 * (size_t)plan->nbuffers + 1) * sizeof *order),
             *placed = order + plan->nbuffers;
    if (!order) return SH_ERROR_MEMORY;
    for (uint32_t i = 0; i < plan->nbuffers; i++)
        if (plan->buffers[i].home == SH_HOME_ARENA && plan->buffers[i].first <= plan->buffers[i].last)
            order[n++] = i;
    qsort_r(order, n, sizeof *order, by_size, plan->buffers);
    plan->scratch_at = 0;
    for (uint32_t i = 0; i < n; i++) {
        sh_plan_buffer *buffer = &plan->buffers[order[i]];
        buffer->at = find_gap(plan, placed, i, buffer);
        insert_by_place(plan, placed, i, order[i]);
        const size_t end = buffer->at + rounded(buffer->size);
        if (end > plan->scratch_at) plan->scratch_at = end;
    }
    sh__free(order);
    return SH_OK;
}
