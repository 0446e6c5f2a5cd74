/* stream.c - walks over a tensor in the order of another's shape, and the ways of handing out what lies there. */
#include "ops/stream.h"

#include <string.h>

enum { LONG_ROW = 64, SHORT_ROW = 16 };

/* ---- a walk ---- */

sh_order sh__order_of(const sh_tensor *shape) {
    sh_order o = {.shape = shape, .ndim = shape->ndim};
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

static void walk_add(sh_walk *w, int64_t size, int64_t stride) {
    const int last = w->ndim - 1;
    if (last >= 0 && w->strides[last] * w->sizes[last] == stride) {
        w->sizes[last] *= size;
        return;
    }
    w->sizes[w->ndim] = size;
    w->strides[w->ndim] = stride;
    w->index[w->ndim++] = 0;
}

static void walk_open(sh_walk *w, const sh_tensor *t, const sh_order *o) {
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

static void walk_seek(sh_walk *w, int64_t position) {
    for (int i = 0; i < w->ndim; i++) {
        w->index[i] = position % w->sizes[i];
        position /= w->sizes[i];
        w->at += w->index[i] * w->strides[i];
    }
}

/* Goes on by n along one dimension, to its end at most; those inside it are at their beginning. */
static void walk_along(sh_walk *w, int dim, int64_t n) {
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

static void walk_step(sh_walk *w, int64_t n) { walk_along(w, 0, n); }

static bool walk_is_straight(const sh_walk *w) { return w->strides[0] == w->element; }

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

static void gather_short_rows(const sh_walk *w, char *to, int64_t rows) {
    const char *from = w->at;
    const int64_t row = w->sizes[0];
    switch (w->element) {
    case 1: COPY_SHORT_ROWS(uint8_t); break;
    case 2: COPY_SHORT_ROWS(uint16_t); break;
    case 4: COPY_SHORT_ROWS(uint32_t); break;
    default: COPY_SHORT_ROWS(uint64_t);
    }
}

static void gather(sh_walk *w, char *to, int64_t n) {
    while (n > 0) {
        const int64_t row = sh__walk_row(w);
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

static void scatter(sh_walk *w, const char *from, int64_t n) {
    while (n > 0) {
        const int64_t row = sh__walk_row(w), run = n < row ? n : row;
        copy_run(w->at, w->strides[0], from, w->element, w->element, run);
        from += run * w->element;
        walk_step(w, run);
        n -= run;
    }
}

/* ---- streams ---- */

/* The elements after which a walk repeats itself; 0 if it doesn't, or not within a tile. */
static int64_t period_of(const sh_walk *w) {
    if (w->strides[w->ndim - 1] != 0) return 0;
    int64_t period = 1;
    for (int i = 0; i + 1 < w->ndim && period <= SH_TILE; i++) period *= w->sizes[i];
    return period <= SH_TILE ? period : 0;
}

static sh_way choose_way(sh_stream *s) {
    const bool is_long = s->w.ndim == 1 || s->w.sizes[0] >= LONG_ROW;
    if (!s->converts && walk_is_straight(&s->w) && is_long) return SH_WAY_DIRECT;
    s->period = period_of(&s->w);
    if (s->period) return SH_WAY_REPEATED;
    return s->w.strides[0] == 0 && is_long ? SH_WAY_HELD : SH_WAY_GATHERED;
}

static void stream_set(sh_stream *s, const sh_tensor *t, const sh_order *o, sh_dtype common, sh_dtype as) {
    walk_open(&s->w, t, o);
    s->stored = (sh_dtype)t->dtype;
    s->common = common;
    s->as = as;
    s->converts = s->stored != as || s->stored != common;
    s->size = (int64_t)sh_dtype_size(as);
}

/* ---- operands ---- */

static void convert_to_tile(sh_stream *s, const void *raw, int64_t n) {
    if (s->stored == s->common || s->common == s->as) {
        sh__convert(s->as, s->tile, s->stored, raw, n);
        return;
    }
    sh__convert(s->common, s->spare + SH_TILE_BYTES, s->stored, raw, n);
    sh__convert(s->as, s->tile, s->common, s->spare + SH_TILE_BYTES, n);
}

/* The next n elements into the tile; n is at most SH_TILE. */
void sh__stream_fill(sh_stream *s, int64_t n) {
    if (!s->converts) {
        gather(&s->w, s->tile, n);
        return;
    }
    if (walk_is_straight(&s->w) && sh__walk_row(&s->w) >= n) {
        convert_to_tile(s, s->w.at, n);
        walk_step(&s->w, n);
        return;
    }
    gather(&s->w, s->spare, n);
    convert_to_tile(s, s->spare, n);
}

/* The element at hand over and over, as long as its row or the tile. */
static void hold(sh_stream *s) {
    const int64_t row = sh__walk_row(&s->w);
    if (s->converts) convert_to_tile(s, s->w.at, 1);
    fill_run(s->tile, s->converts ? s->tile : s->w.at, s->size, row < SH_TILE ? row : SH_TILE);
}

void sh__stream_open(sh_stream *s, const sh_operand *operand, const sh_order *o, int64_t position) {
    stream_set(s, operand->t, o, operand->common, operand->as);
    s->way = choose_way(s);
    if (s->way == SH_WAY_REPEATED) {
        const int64_t most = SH_TILE / s->period * s->period, total = o->shape->numel;
        s->filled = most < total ? most : total;
        s->phase = position % s->period;
        sh__stream_fill(s, s->filled);
        return;
    }
    walk_seek(&s->w, position);
    if (s->way == SH_WAY_HELD) hold(s);
}

void sh__stream_step(sh_stream *s, int64_t n) {
    walk_step(&s->w, n);
    if (s->way == SH_WAY_HELD && s->w.index[0] == 0) hold(s);
}

/* ---- the result: a stream the other way round ---- */

void sh__sink_open(sh_stream *s, const sh_tensor *to, sh_dtype made, const sh_order *o, int64_t position) {
    stream_set(s, to, o, (sh_dtype)to->dtype, made);
    const bool is_long = s->w.ndim == 1 || s->w.sizes[0] >= LONG_ROW;
    s->way = !s->converts && walk_is_straight(&s->w) && is_long ? SH_WAY_DIRECT : SH_WAY_GATHERED;
    walk_seek(&s->w, position);
}

void sh__sink_scatter(sh_stream *s, int64_t n) {
    const bool straight = walk_is_straight(&s->w) && sh__walk_row(&s->w) >= n;
    if (s->converts) sh__convert(s->stored, straight ? s->w.at : s->spare, s->as, s->tile, n);
    if (s->converts && straight)
        walk_step(&s->w, n);
    else
        scatter(&s->w, s->converts ? s->spare : s->tile, n);
}
