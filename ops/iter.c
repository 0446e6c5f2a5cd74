/* iter.c - tensors before loops: whole where they are contiguous, else in tiles.
 *
 * Each operand is a stream that yields its elements in the order of the result. A stream has a walk of its
 * own: the result's dimensions with this operand's strides, those that join made one. So operands need not
 * agree on anything. A stream hands out memory as it lies where a row is long and of the right dtype; a short
 * pattern that repeats (a number, a bias) is laid into the tile once; the rest is gathered and converted tile by
 * tile. The order is row-major, or by falling strides of a result that is not contiguous. */
#include "ops/iter.h"

#include <pthread.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum { GRAIN = 32768, LONG_ROW = 64, TILE_BYTES = SH_TILE * 8 };

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

/* Where part `i` of `parts` begins; on a multiple of 64 elements, so that no two parts share a line. */
static int64_t part_begin(int64_t n, int i, int parts) {
    return i == parts ? n : (n / parts * i) & ~INT64_C(63);
}

/* ---- a walk ---- */

/* The result's shape, its dimensions innermost first. */
typedef struct order {
    const sh_tensor *shape;
    int ndim, dims[SH_MAX_DIMS];
} order;

typedef struct walk {
    char *at;
    int64_t element;
    int ndim;
    int64_t sizes[SH_MAX_DIMS], strides[SH_MAX_DIMS],
        index[SH_MAX_DIMS]; /* strides in bytes, innermost first */
} walk;

static order order_of(const sh_tensor *shape) {
    order o = {.shape = shape, .ndim = shape->ndim};
    for (int i = 0; i < o.ndim; i++) o.dims[i] = o.ndim - 1 - i;
    if (shape->flags & SH_TENSOR_CONTIGUOUS) return o;
    for (int i = 1; i < o.ndim; i++)
        for (int k = i; k > 0 && shape->strides[o.dims[k - 1]] > shape->strides[o.dims[k]]; k--) {
            const int dim = o.dims[k];
            o.dims[k] = o.dims[k - 1];
            o.dims[k - 1] = dim;
        }
    return o;
}

static void walk_add(walk *w, int64_t size, int64_t stride) {
    const int last = w->ndim - 1;
    if (last >= 0 && w->strides[last] * w->sizes[last] == stride) {
        w->sizes[last] *= size;
        return;
    }
    w->sizes[w->ndim] = size;
    w->strides[w->ndim] = stride;
    w->index[w->ndim++] = 0;
}

static void walk_open(walk *w, const sh_tensor *t, const order *o) {
    w->at = t->data;
    w->element = t->element;
    w->ndim = 0;
    for (int i = 0; i < o->ndim; i++) {
        const int64_t size = o->shape->sizes[o->dims[i]];
        const int dim = o->dims[i] - (o->ndim - t->ndim);
        if (size == 1) continue;
        walk_add(w, size, dim < 0 || t->sizes[dim] == 1 ? 0 : t->strides[dim] * w->element);
    }
    if (w->ndim == 0) walk_add(w, 1, 0);
}

static void walk_seek(walk *w, int64_t position) {
    for (int i = 0; i < w->ndim; i++) {
        w->index[i] = position % w->sizes[i];
        position /= w->sizes[i];
        w->at += w->index[i] * w->strides[i];
    }
}

/* Goes on by n elements of the innermost row, to its end at most. */
static void walk_step(walk *w, int64_t n) {
    w->at += n * w->strides[0];
    w->index[0] += n;
    for (int i = 0; w->index[i] == w->sizes[i]; i++) {
        w->at -= w->sizes[i] * w->strides[i];
        w->index[i] = 0;
        if (i + 1 == w->ndim) return;
        w->index[i + 1]++;
        w->at += w->strides[i + 1];
    }
}

static int64_t walk_row(const walk *w) { return w->sizes[0] - w->index[0]; }

static bool walk_is_straight(const walk *w) { return w->strides[0] == w->element; }

/* ---- runs of elements ---- */

#define COPY_RUN(T) \
    for (int64_t i = 0; i < n; i++) memcpy(to + i * to_stride, from + i * from_stride, sizeof(T))
#define FILL_RUN(T)                                                                             \
    do {                                                                                        \
        T value;                                                                                \
        memcpy(&value, from, sizeof value);                                                     \
        for (int64_t i = 0; i < n; i++) memcpy(to + i * (int64_t)sizeof(T), &value, sizeof(T)); \
    } while (0)

static void fill_run(char *to, const char *from, int64_t element, int64_t n) {
    switch (element) {
    case 1: memset(to, *from, (size_t)n); break;
    case 2: FILL_RUN(uint16_t); break;
    case 4: FILL_RUN(uint32_t); break;
    default: FILL_RUN(uint64_t);
    }
}

static void copy_run(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t element,
                     int64_t n) {
    if (to_stride == element && from_stride == element) {
        memcpy(to, from, (size_t)(n * element));
        return;
    }
    if (to_stride == element && from_stride == 0) {
        fill_run(to, from, element, n);
        return;
    }
    switch (element) {
    case 1: COPY_RUN(uint8_t); break;
    case 2: COPY_RUN(uint16_t); break;
    case 4: COPY_RUN(uint32_t); break;
    default: COPY_RUN(uint64_t);
    }
}

static void gather(walk *w, char *to, int64_t n) {
    while (n > 0) {
        const int64_t row = walk_row(w), run = n < row ? n : row;
        copy_run(to, w->element, w->at, w->strides[0], w->element, run);
        to += run * w->element;
        walk_step(w, run);
        n -= run;
    }
}

static void scatter(walk *w, const char *from, int64_t n) {
    while (n > 0) {
        const int64_t row = walk_row(w), run = n < row ? n : row;
        copy_run(w->at, w->strides[0], from, w->element, w->element, run);
        from += run * w->element;
        walk_step(w, run);
        n -= run;
    }
}

/* ---- operands ---- */

typedef struct stream {
    walk w;
    sh_dtype stored, common, as;
    int64_t period, filled, phase; /* a pattern that repeats: `filled` elements of it stand in the tile */
    char *tile, *spare;
} stream;

/* Memory that one thread works in. */
typedef struct bench {
    _Alignas(64) char tiles[SH_MAP_OPERANDS + 1][TILE_BYTES];
    _Alignas(64) char spare[2][TILE_BYTES];
} bench;

static bool needs_no_tile(const stream *s) {
    return s->stored == s->as && s->stored == s->common && walk_is_straight(&s->w) &&
           (s->w.ndim == 1 || s->w.sizes[0] >= LONG_ROW);
}

static void *converted(const stream *s, const void *raw, int64_t n) {
    if (s->stored != s->common && s->common != s->as) {
        sh__convert(s->common, s->spare + TILE_BYTES, s->stored, raw, n);
        sh__convert(s->as, s->tile, s->common, s->spare + TILE_BYTES, n);
    } else {
        sh__convert(s->as, s->tile, s->stored, raw, n);
    }
    return s->tile;
}

/* The next n elements, as the loop reads them, in the tile; n is at most SH_TILE. */
static void *to_tile(stream *s, int64_t n) {
    const bool converts = s->stored != s->as || s->stored != s->common;
    if (converts && walk_is_straight(&s->w) && walk_row(&s->w) >= n) {
        const char *at = s->w.at;
        walk_step(&s->w, n);
        return converted(s, at, n);
    }
    char *raw = converts ? s->spare : s->tile;
    gather(&s->w, raw, n);
    return converts ? converted(s, raw, n) : raw;
}

static void stream_open(stream *s, const sh_operand *operand, const order *o, int64_t begin, int64_t total) {
    walk *w = &s->w;
    walk_open(w, operand->t, o);
    s->stored = (sh_dtype)operand->t->dtype;
    s->common = operand->common;
    s->as = operand->as;
    int64_t period = w->strides[w->ndim - 1] == 0 ? 1 : 0;
    for (int i = 0; i + 1 < w->ndim && period && period <= SH_TILE; i++) period *= w->sizes[i];
    s->period = period <= SH_TILE ? period : 0;
    if (!s->period) {
        walk_seek(w, begin);
        return;
    }
    s->filled = SH_TILE / period * period;
    if (s->filled > total) s->filled = total;
    to_tile(s, s->filled);
    s->phase = begin % period;
}

/* How many elements can be had at once. */
static int64_t stream_reach(const stream *s) {
    if (s->period) return s->filled - s->phase;
    if (!needs_no_tile(s)) return SH_TILE;
    return walk_row(&s->w);
}

static const void *stream_take(stream *s, int64_t n) {
    if (s->period) {
        const char *at = s->tile + s->phase * (int64_t)sh_dtype_size(s->as);
        if (s->period > 1) s->phase = (s->phase + n) % s->period;
        return at;
    }
    if (!needs_no_tile(s)) return to_tile(s, n);
    const char *at = s->w.at;
    walk_step(&s->w, n);
    return at;
}

/* ---- the result ---- */

/* A stream the other way round: `stored` in the tensor, `as` what the loop writes. */
static int64_t sink_reach(const stream *s) { return needs_no_tile(s) ? walk_row(&s->w) : SH_TILE; }

static void *sink_place(const stream *s) { return needs_no_tile(s) ? s->w.at : s->tile; }

static void sink_put(stream *s, int64_t n) {
    if (needs_no_tile(s)) {
        walk_step(&s->w, n);
        return;
    }
    const char *made = s->tile;
    if (s->stored != s->as && walk_is_straight(&s->w) && walk_row(&s->w) >= n) {
        sh__convert(s->stored, s->w.at, s->as, made, n);
        walk_step(&s->w, n);
        return;
    }
    if (s->stored != s->as) {
        sh__convert(s->stored, s->spare, s->as, made, n);
        made = s->spare;
    }
    scatter(&s->w, made, n);
}

static void sink_open(stream *s, const sh_map *m, const order *o, int64_t begin) {
    walk_open(&s->w, m->to, o);
    s->stored = s->common = (sh_dtype)m->to->dtype;
    s->as = m->made;
    walk_seek(&s->w, begin);
}

/* ---- the map ---- */

static void open_all(const sh_map *m, const order *o, int64_t begin, bench *memory, stream *from,
                     stream *to) {
    if (m->to) sink_open(to, m, o, begin);
    to->tile = memory->tiles[SH_MAP_OPERANDS];
    to->spare = memory->spare[0];
    for (int k = 0; k < m->n; k++) {
        from[k].tile = memory->tiles[k];
        from[k].spare = memory->spare[0];
        stream_open(&from[k], &m->from[k], o, begin, o->shape->numel);
    }
}

static int64_t reach_of_all(const sh_map *m, const stream *from, const stream *to) {
    int64_t n = m->to ? sink_reach(to) : INT64_MAX;
    for (int k = 0; k < m->n; k++) {
        const int64_t reach = stream_reach(&from[k]);
        if (reach < n) n = reach;
    }
    return n;
}

static void map_tiles(const sh_map *m, const order *o, int64_t begin, int64_t end) {
    bench memory;
    stream from[SH_MAP_OPERANDS], to;
    const void *at[SH_MAP_OPERANDS] = {NULL};
    open_all(m, o, begin, &memory, from, &to);
    for (int64_t n; begin < end; begin += n) {
        n = reach_of_all(m, from, &to);
        if (n > end - begin) n = end - begin;
        for (int k = 0; k < m->n; k++) at[k] = stream_take(&from[k], n);
        m->loop(m->to ? sink_place(&to) : NULL, at[0], at[1], at[2], n, m->parameters);
        if (m->to) sink_put(&to, n);
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
    if (n == 0) return;
    const bool whole = all_whole(m, n);
    const int threads = sh__threads(n);
    if (threads == 1 && whole) {
        map_whole(m, 0, n);
        return;
    }
    const order o = order_of(shape);
    if (threads == 1) {
        map_tiles(m, &o, 0, n);
        return;
    }
#pragma omp parallel for num_threads(threads)
    for (int i = 0; i < threads; i++) {
        const int64_t begin = part_begin(n, i, threads), end = part_begin(n, i + 1, threads);
        if (whole)
            map_whole(m, begin, end);
        else
            map_tiles(m, &o, begin, end);
    }
}
