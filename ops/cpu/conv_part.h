/* conv_part.h - how a convolution is shared out: rectangles of the results of one group and image. */
#ifndef SH_OPS_CPU_CONV_PART_H
#define SH_OPS_CPU_CONV_PART_H

#include "ops/infer_window.h"

typedef struct sh_conv_part {
    int64_t image, group, line, lines, column, columns;
} sh_conv_part;

static inline int64_t sh_least(int64_t a, int64_t b) { return a < b ? a : b; }
/* Pieces of `size` that n comes in. */
static inline int64_t sh_pieces(int64_t n, int64_t size) { return n / size + (n % size > 0); }

/* In parts of at most so many lines and columns: how many, and the i-th. */
static inline int64_t sh_conv_parts(const sh_conv *c, int64_t lines, int64_t columns) {
    return c->batch * c->groups * sh_pieces(c->y.out, lines) * sh_pieces(c->x.out, columns);
}
static inline sh_conv_part sh_conv_part_at(const sh_conv *c, int64_t lines, int64_t columns, int64_t i) {
    const int64_t across = sh_pieces(c->x.out, columns), down = sh_pieces(c->y.out, lines);
    sh_conv_part part = {.column = i % across * columns, .line = i / across % down * lines};
    part.columns = sh_least(columns, c->x.out - part.column);
    part.lines = sh_least(lines, c->y.out - part.line);
    part.group = i / across / down % c->groups;
    part.image = i / across / down / c->groups;
    return part;
}

/* Which of the n inputs from, from + stride, ... are none of the padding: those from *low to before *high. */
static inline void sh_window_inside(const sh_window *w, int64_t from, int64_t n, int64_t *low,
                                    int64_t *high) {
    *low = from < 0 ? sh_least(sh_pieces(-from, w->stride), n) : 0;
    *high = from < w->in ? sh_least(sh_pieces(w->in - from, w->stride), n) : 0;
    if (*high < *low) *high = *low;
}

/* Does a filter see one pixel, that of its result? */
static inline bool sh_window_is_plain(const sh_window *w) {
    return w->kernel == 1 && w->stride == 1 && w->padding == 0;
}

#endif
