/* reduce_walk.h - brings a tensor of any layout and dtype before the loops of reduce_table.h.
 *
 *     sh_fold fold = {.type = SH_F32, .as = SH_F32, .start = begin, .run = ..., .rows = ..., .finish = write};
 *     sh__reduce(&fold, self, mask);
 *
 * Axes are sorted by stride and joined where they can be, so that most reductions become one of two: along
 * contiguous elements (run) or across contiguous rows (rows). What is not contiguous, or of another dtype, goes
 * through a buffer. Results come in groups of up to SH_FOLD_GROUP that lie along one axis of the result; large
 * reductions share the groups out among OpenMP's threads. */
#ifndef SH_OPS_CPU_REDUCE_WALK_H
#define SH_OPS_CPU_REDUCE_WALK_H

#include "ops/cpu/axes.h"
#include "ops/cpu/reduce_table.h"

enum { SH_FOLD_GROUP = 512 };

struct sh_fold {
    sh_dtype type; /* what the loops read */
    sh_dtype as;   /* what elements are rounded to before */
    int width;     /* bytes of an entry of the states' arrays */
    bool in_order; /* folds elements in row-major order: what their place needs */
    sh_fold_fn *run, *rows;
    void (*start)(const sh_fold *fold, void *a, void *b, int64_t n);
    /* n results from their states, into elements offset, offset + step, ... of the results */
    void (*finish)(const sh_fold *fold, void *a, void *b, int64_t n, int64_t offset, int64_t step);
    sh_tensor *result[2]; /* laid out alike; the second may be NULL */
    int64_t count;        /* elements in each result; set by sh__reduce */
    double parameter;     /* for run, rows and finish */
    sh_fold_id id;
};

void sh__reduce(sh_fold *fold, const sh_tensor *self, uint32_t mask);

#endif
