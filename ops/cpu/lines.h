/* lines.h - lines of a tensor along one axis, before loops that turn each into a line of the result.
 *
 * Where the axis itself is the closest in memory, lines come one by one (along it); else many neighbours come at
 * once (across it). A line is worked through in pieces: `cols` of its elements, or one element each of `cols` lines. */
#ifndef SH_OPS_CPU_LINES_H
#define SH_OPS_CPU_LINES_H

#include "ops/cpu/axes.h"
#include "ops/cpu/reduce_table.h"

enum { SH_LINE_PIECE = 512 };

typedef struct sh_lines sh_lines;
typedef void sh_line_fn(const sh_lines *lines, const char *x, char *y, int64_t n);

struct sh_lines {
    const sh_tensor *self;
    sh_tensor *r;
    sh_dtype as, type; /* elements are rounded to `as` and read as `type` */
    sh_line_fn *make;  /* n lines from x to y, their first elements */
    bool flag;         /* for make */
    bool across;
    sh_axis line;
    sh_axes others;
};

/* Calls make for every line along `dim`. `self` and `r` have one shape; they may be one tensor. */
sh_status sh__lines(sh_lines *lines, int64_t dim);

/* How many pieces n lines have, and how many elements are in one. */
static inline int64_t sh__pieces(const sh_lines *l) {
    return l->across ? l->line.size : (l->line.size + SH_LINE_PIECE - 1) / SH_LINE_PIECE;
}
static inline int64_t sh__piece_size(const sh_lines *l, int64_t piece, int64_t n) {
    const int64_t left = l->line.size - piece * SH_LINE_PIECE;
    return l->across ? n : left < SH_LINE_PIECE ? left : SH_LINE_PIECE;
}
/* The elements of a piece, in place or in `buffer` (SH_LINE_PIECE entries). */
const void *sh__piece_load(const sh_lines *l, const char *x, int64_t piece, int64_t n, void *buffer);
/* Where results of a piece may be written at once; `buffer` if they need sh__piece_store. */
void *sh__piece_target(const sh_lines *l, char *y, int64_t piece, void *buffer);
void sh__piece_store(const sh_lines *l, char *y, int64_t piece, int64_t n, const void *numbers);

#endif
