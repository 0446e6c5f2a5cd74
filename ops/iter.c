/* iter.c - tensors before loops: whole where they are contiguous, else through streams (stream.h), tile by tile. */
#include "ops/iter.h"

#include <pthread.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "ops/stream.h"

enum { GRAIN = 32768 };

/* ---- threads ---- */

static bool forked; /* OpenMP's threads are gone in a child, and its runtime would wait for them */
static void note_fork(void) { forked = true; }
__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, note_fork); }

int sh__threads(int64_t n) {
#ifdef _OPENMP
    if (SH_LIKELY(n < 2 * GRAIN) || forked) return 1;
    const int64_t most = omp_get_max_threads(), useful = n / GRAIN;
    return (int)(useful < most ? useful : most);
#else
    (void)n;
    return 1;
#endif
}

/* ---- notes ---- */

static __thread sh_map_note *noting;

void sh__map_note(sh_map_note *note) { noting = note; }

bool sh__map_noted(const sh_map *m) {
    sh_map_note *note = noting;
    if (SH_LIKELY(!note)) return false;
    note->map = *m;
    note->maps++;
    if (!m->parameters || !m->to) return true;
    memcpy(note->parameters, m->parameters, sizeof note->parameters);
    note->map.parameters = note->parameters;
    return true;
}

/* ---- the map ---- */

/* Memory that one thread works in. */
typedef struct bench {
    _Alignas(64) char tiles[SH_MAP_OPERANDS + 1][SH_TILE_BYTES];
    _Alignas(64) char spare[2][SH_TILE_BYTES];
} bench;

static void open_all(const sh_map *m, const sh_order *o, int64_t begin, bench *memory, sh_stream *from,
                     sh_stream *to) {
    if (m->to) sh__sink_open(to, m->to, m->made, o, begin);
    to->tile = memory->tiles[SH_MAP_OPERANDS];
    to->spare = memory->spare[0];
    for (int k = 0; k < m->n; k++) {
        from[k].tile = memory->tiles[k];
        from[k].spare = memory->spare[0];
        sh__stream_open(&from[k], &m->from[k], o, begin);
    }
}

static int64_t reach_of_all(const sh_map *m, const sh_stream *from, const sh_stream *to) {
    int64_t n = m->to ? sh__sink_reach(to) : INT64_MAX;
    for (int k = 0; k < m->n; k++) {
        const int64_t reach = sh__stream_reach(&from[k]);
        if (reach < n) n = reach;
    }
    return n;
}

static void map_tiles(const sh_map *m, const sh_order *o, int64_t begin, int64_t end) {
    bench memory;
    sh_stream from[SH_MAP_OPERANDS], to;
    const void *at[SH_MAP_OPERANDS] = {NULL};
    open_all(m, o, begin, &memory, from, &to);
    for (int64_t n; begin < end; begin += n) {
        n = reach_of_all(m, from, &to);
        if (n > end - begin) n = end - begin;
        for (int k = 0; k < m->n; k++) at[k] = sh__stream_take(&from[k], n);
        m->loop(m->to ? sh__sink_place(&to) : NULL, at[0], at[1], at[2], n, m->parameters);
        if (m->to) sh__sink_put(&to, n);
        for (int k = 0; k < m->n; k++) sh__stream_leave(&from[k], n);
    }
}

static bool is_whole(const sh_tensor *t, sh_dtype dtype, int64_t numel) {
    return (t->flags & SH_TENSOR_CONTIGUOUS) && t->numel == numel && t->dtype == dtype;
}

static bool all_whole(const sh_map *m, int64_t numel) {
    if (m->to && !is_whole(m->to, m->made, numel)) return false;
    for (int k = 0; k < m->n; k++)
        if (!is_whole(m->from[k].t, m->from[k].as, numel) || m->from[k].common != m->from[k].as) return false;
    return true;
}

static void map_whole(const sh_map *m, int64_t begin, int64_t end) {
    const void *at[SH_MAP_OPERANDS] = {NULL};
    char *to = m->to ? m->to->data + begin * (int64_t)m->to->element : NULL;
    for (int k = 0; k < m->n; k++) at[k] = m->from[k].t->data + begin * (int64_t)m->from[k].t->element;
    m->loop(to, at[0], at[1], at[2], end - begin, m->parameters);
}

void sh__map(const sh_map *m) {
    const sh_tensor *shape = m->to ? m->to : m->from[0].t;
    const int64_t n = shape->numel;
    if (sh__map_noted(m) || n == 0) return;
    const bool whole = all_whole(m, n);
    const int threads = sh__threads(n);
    if (threads == 1 && whole) {
        map_whole(m, 0, n);
        return;
    }
    const sh_order o = sh__order_of(shape);
    if (threads == 1) {
        map_tiles(m, &o, 0, n);
        return;
    }
    SH_PARALLEL(threads)
    for (int i = 0; i < threads; i++) {
        const int64_t begin = sh__part_begin(n, i, threads), end = sh__part_begin(n, i + 1, threads);
        if (whole)
            map_whole(m, begin, end);
        else
            map_tiles(m, &o, begin, end);
    }
}
