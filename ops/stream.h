/* stream.h - the elements of a tensor one after the other, whatever its layout: what maps (iter.h) and the tiles of
 * plans read and write through.
 *
 * A stream yields contiguous elements of one dtype in the order of a shape that its tensor broadcasts to. It has a walk
 * of its own: the shape's dimensions with this tensor's strides, those that join made one; so streams that go together
 * need not agree on anything. It hands out memory as it lies where a row is long and of the right dtype; a short pattern
 * that repeats (a number, a bias) is laid into the tile once; the rest is gathered and converted tile by tile. The order
 * is row-major, or by falling strides of a shape that is not contiguous.
 *
 *     s.tile = ..., s.spare = ...;
 *     sh__stream_open(&s, &operand, &order, begin);
 *     for (...; n is at most sh__stream_reach(&s)) { use sh__stream_take(&s, n); sh__stream_leave(&s, n); }
 *
 * A sink is a stream the other way round: write to its place, then put. */
#ifndef SH_OPS_STREAM_H
#define SH_OPS_STREAM_H

#include "ops/iter.h"

enum { SH_TILE_BYTES = SH_TILE * 8 };

/* A shape, its dimensions innermost first. */
typedef struct sh_order {
    const sh_tensor *shape;
    int ndim, dims[SH_MAX_DIMS];
} sh_order;

sh_order sh__order_of(const sh_tensor *shape);

/* Strides in bytes, innermost first. */
typedef struct sh_walk {
    char *at;
    int64_t element;
    int ndim;
    int64_t sizes[SH_MAX_DIMS], strides[SH_MAX_DIMS], index[SH_MAX_DIMS];
} sh_walk;

/* How a stream comes by contiguous elements of the loop's type. */
typedef enum sh_way {
    SH_WAY_DIRECT,   /* they lie so in the tensor, at least a long row of them */
    SH_WAY_REPEATED, /* a short pattern over and over (a number, a bias): in the tile once for all */
    SH_WAY_HELD,     /* one element for a long row: in the tile once a row */
    SH_WAY_GATHERED  /* through the tile */
} sh_way;

typedef struct sh_stream {
    sh_walk w;
    sh_dtype stored, common, as; /* in the tensor, rounded to, in the tile */
    sh_way way;
    bool converts;
    int64_t size; /* bytes of an element in the tile */
    int64_t period, filled,
        phase;   /* REPEATED: of how many elements, how many stand in the tile, where we are */
    char *tile;  /* the caller's, of SH_TILE_BYTES, 64-byte aligned */
    char *spare; /* twice as many, which streams may share; needed where it converts, or writes */
} sh_stream;

/* `position`: how many elements come before the first. */
void sh__stream_open(sh_stream *s, const sh_operand *operand, const sh_order *o, int64_t position);
/* Elements of `made` into `to`. */
void sh__sink_open(sh_stream *s, const sh_tensor *to, sh_dtype made, const sh_order *o, int64_t position);

/* What the functions below leave aside: the tile filled with the next n elements, n elements gone over in memory, the
 * tile's n elements put where they belong. */
void sh__stream_fill(sh_stream *s, int64_t n);
void sh__stream_step(sh_stream *s, int64_t n);
void sh__sink_scatter(sh_stream *s, int64_t n);

static inline int64_t sh__walk_row(const sh_walk *w) { return w->sizes[0] - w->index[0]; }

/* How many elements can be had at once. */
static inline int64_t sh__stream_reach(const sh_stream *s) {
    switch (s->way) {
    case SH_WAY_DIRECT: return sh__walk_row(&s->w);
    case SH_WAY_REPEATED: return s->filled - s->phase;
    case SH_WAY_HELD: return sh__walk_row(&s->w) < SH_TILE ? sh__walk_row(&s->w) : SH_TILE;
    default: return SH_TILE;
    }
}

/* The next n of them; sh__stream_leave goes on. */
static inline const void *sh__stream_take(sh_stream *s, int64_t n) {
    if (s->way == SH_WAY_DIRECT) return s->w.at;
    if (s->way == SH_WAY_REPEATED) return s->tile + s->phase * s->size;
    if (s->way == SH_WAY_GATHERED) sh__stream_fill(s, n);
    return s->tile;
}

static inline void sh__stream_leave(sh_stream *s, int64_t n) {
    if (s->way == SH_WAY_REPEATED && s->period > 1) s->phase = (s->phase + n) % s->period;
    if (s->way == SH_WAY_DIRECT || s->way == SH_WAY_HELD) sh__stream_step(s, n);
}

static inline int64_t sh__sink_reach(const sh_stream *s) {
    return s->way == SH_WAY_DIRECT ? sh__walk_row(&s->w) : SH_TILE;
}

static inline void *sh__sink_place(const sh_stream *s) { return s->way == SH_WAY_DIRECT ? s->w.at : s->tile; }

static inline void sh__sink_put(sh_stream *s, int64_t n) {
    if (s->way == SH_WAY_DIRECT)
        sh__stream_step(s, n);
    else
        sh__sink_scatter(s, n);
}

#endif
