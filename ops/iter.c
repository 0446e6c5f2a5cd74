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

enum { GRAIN = 32768, LONG_ROW = 64, SHORT_ROW = 16, TILE_BYTES = SH_TILE * 8 };

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

/* Goes on by n along one dimension, to its end at most; those inside it are at their beginning. */
static void walk_along(walk *w, int dim, int64_t n) {
    w->at += n * w->strides[dim];
    w->index[dim] += n;
    for (int i = dim; w->index[i] == w->sizes[i]; i++) {
        w->at -= w->sizes[i] * w->strides[i];
        w->index[i] = 0;
        if (i + 1 == w->ndim) return;
        w->index[i + 1]++;
        w->at += w->strides[i + 1];
    }
}

static void walk_step(walk *w, int64_t n) { walk_along(w, 0, n); }

static int64_t walk_row(const walk *w) { return w->sizes[0] - w->index[0]; }

static bool walk_is_straight(const walk *w) { return w->strides[0] == w->element; }

/* ---- runs of elements ---- */

#define COPY_RUN(T) \
    for (int64_t i = 0; i < n; i++) memcpy(to + i * to_stride, from + i * from_stride, sizeof(T))
/* One element over and over: laid out in 16 bytes, then those. */
static void fill_run(char *to, const char *from, int64_t element, int64_t n) {
    char pattern[16];
    int64_t bytes = n * element;
    for (int64_t i = 0; i < 16; i += element) memcpy(pattern + i, from, (size_t)element);
    for (; bytes >= 16; bytes -= 16, to += 16) memcpy(to, pattern, 16);
    memcpy(to, pattern, (size_t)bytes);
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

/* Rows so short that a call for each would cost more than they. */
#define COPY_SHORT_ROWS(T)                                    \
    for (int64_t k = 0; k < rows; k++, from += w->strides[1]) \
        for (int64_t i = 0; i < row; i++, to += sizeof(T)) memcpy(to, from + i * w->strides[0], sizeof(T))

static void gather_short_rows(const walk *w, char *to, int64_t rows) {
    const char *from = w->at;
    const int64_t row = w->sizes[0];
    switch (w->element) {
    case 1: COPY_SHORT_ROWS(uint8_t); break;
    case 2: COPY_SHORT_ROWS(uint16_t); break;
    case 4: COPY_SHORT_ROWS(uint32_t); break;
    default: COPY_SHORT_ROWS(uint64_t);
    }
}

static void gather(walk *w, char *to, int64_t n) {
    while (n > 0) {
        const int64_t row = walk_row(w);
        int64_t run = n < row ? n : row;
        if (w->ndim > 1 && row < SHORT_ROW && run == w->sizes[0]) {
            const int64_t left = w->sizes[1] - w->index[1], rows = n / row < left ? n / row : left;
            gather_short_rows(w, to, rows);
            walk_along(w, 1, rows);
            run *= rows;
        } else {
            copy_run(to, w->element, w->at, w->strides[0], w->element, run);
            walk_step(w, run);
        }
        to += run * w->element;
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

/* ---- streams ---- */

/* How a stream comes by contiguous elements of the loop's type. */
typedef enum way {
    DIRECT,   /* they lie so in the tensor, at least a long row of them */
    REPEATED, /* a short pattern over and over (a number, a bias): in the tile once for all */
    HELD,     /* one element for a long row: in the tile once a row */
    GATHERED  /* through the tile */
} way;

typedef struct stream {
    walk w;
    sh_dtype stored, common, as; /* in the tensor, rounded to, in the tile */
    way way;
    bool converts;
    int64_t size; /* bytes of an element in the tile */
    int64_t period, filled,
        phase; /* REPEATED: of how many elements, how many stand in the tile, where we are */
    char *tile, *spare;
} stream;

/* Memory that one thread works in. */
typedef struct bench {
    _Alignas(64) char tiles[SH_MAP_OPERANDS + 1][TILE_BYTES];
    _Alignas(64) char spare[2][TILE_BYTES];
} bench;

/* The elements after which a walk repeats itself; 0 if it doesn't, or not within a tile. */
static int64_t period_of(const walk *w) {
    if (w->strides[w->ndim - 1] != 0) return 0;
    int64_t period = 1;
    for (int i = 0; i + 1 < w->ndim && period <= SH_TILE; i++) period *= w->sizes[i];
    return period <= SH_TILE ? period : 0;
}

static way choose_way(stream *s) {
    const bool is_long = s->w.ndim == 1 || s->w.sizes[0] >= LONG_ROW;
    if (!s->converts && walk_is_straight(&s->w) && is_long) return DIRECT;
    s->period = period_of(&s->w);
    if (s->period) return REPEATED;
    return s->w.strides[0] == 0 && is_long ? HELD : GATHERED;
}

static void stream_set(stream *s, const sh_tensor *t, const order *o, sh_dtype common, sh_dtype as) {
    walk_open(&s->w, t, o);
    s->stored = (sh_dtype)t->dtype;
    s->common = common;
    s->as = as;
    s->converts = s->stored != as || s->stored != common;
    s->size = (int64_t)sh_dtype_size(as);
}

/* ---- operands ---- */

static void convert_to_tile(stream *s, const void *raw, int64_t n) {
    if (s->stored == s->common || s->common == s->as) {
        sh__convert(s->as, s->tile, s->stored, raw, n);
        return;
    }
    sh__convert(s->common, s->spare + TILE_BYTES, s->stored, raw, n);
    sh__convert(s->as, s->tile, s->common, s->spare + TILE_BYTES, n);
}

/* The next n elements into the tile; n is at most SH_TILE. */
static void fill_tile(stream *s, int64_t n) {
    if (!s->converts) {
        gather(&s->w, s->tile, n);
        return;
    }
    if (walk_is_straight(&s->w) && walk_row(&s->w) >= n) {
        convert_to_tile(s, s->w.at, n);
        walk_step(&s->w, n);
        return;
    }
    gather(&s->w, s->spare, n);
    convert_to_tile(s, s->spare, n);
}

/* The element at hand over and over, as long as its row or the tile. */
static void hold(stream *s) {
    const int64_t row = walk_row(&s->w);
    if (s->converts) convert_to_tile(s, s->w.at, 1);
    fill_run(s->tile, s->converts ? s->tile : s->w.at, s->size, row < SH_TILE ? row : SH_TILE);
}

static void stream_open(stream *s, const sh_operand *operand, const order *o, int64_t begin) {
    stream_set(s, operand->t, o, operand->common, operand->as);
    s->way = choose_way(s);
    if (s->way == REPEATED) {
        const int64_t most = SH_TILE / s->period * s->period, total = o->shape->numel;
        s->filled = most < total ? most : total;
        s->phase = begin % s->period;
        fill_tile(s, s->filled);
        return;
    }
    walk_seek(&s->w, begin);
    if (s->way == HELD) hold(s);
}

/* How many elements can be had at once. */
static int64_t stream_reach(const stream *s) {
    switch (s->way) {
    case DIRECT: return walk_row(&s->w);
    case REPEATED: return s->filled - s->phase;
    case HELD: return walk_row(&s->w) < SH_TILE ? walk_row(&s->w) : SH_TILE;
    default: return SH_TILE;
    }
}

/* The next n elements; stream_leave goes on. */
static const void *stream_take(stream *s, int64_t n) {
    switch (s->way) {
    case DIRECT: return s->w.at;
    case REPEATED: return s->tile + s->phase * s->size;
    case HELD: return s->tile;
    default: fill_tile(s, n); return s->tile;
    }
}

static void stream_leave(stream *s, int64_t n) {
    if (s->way == REPEATED && s->period > 1) s->phase = (s->phase + n) % s->period;
    if (s->way == DIRECT || s->way == HELD) walk_step(&s->w, n);
    if (s->way == HELD && s->w.index[0] == 0) hold(s);
}

/* ---- the result: a stream the other way round ---- */

static void sink_open(stream *s, const sh_map *m, const order *o, int64_t begin) {
    stream_set(s, m->to, o, (sh_dtype)m->to->dtype, m->made);
    const bool is_long = s->w.ndim == 1 || s->w.sizes[0] >= LONG_ROW;
    s->way = !s->converts && walk_is_straight(&s->w) && is_long ? DIRECT : GATHERED;
    walk_seek(&s->w, begin);
}

static int64_t sink_reach(const stream *s) { return s->way == DIRECT ? walk_row(&s->w) : SH_TILE; }

static void *sink_place(const stream *s) { return s->way == DIRECT ? s->w.at : s->tile; }

static void sink_put(stream *s, int64_t n) {
    const bool straight = walk_is_straight(&s->w) && walk_row(&s->w) >= n;
    if (s->converts) sh__convert(s->stored, straight ? s->w.at : s->spare, s->as, s->tile, n);
    if (s->way == DIRECT || (s->converts && straight))
        walk_step(&s->w, n);
    else
        scatter(&s->w, s->converts ? s->spare : s->tile, n);
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
        stream_open(&from[k], &m->from[k], o, begin);
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
        for (int k = 0; k < m->n; k++) stream_leave(&from[k], n);
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
    SH_PARALLEL(threads)
    for (int i = 0; i < threads; i++) {
        const int64_t begin = part_begin(n, i, threads), end = part_begin(n, i + 1, threads);
        if (whole)
            map_whole(m, begin, end);
        else
            map_tiles(m, &o, begin, end);
    }
}
