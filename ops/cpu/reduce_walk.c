/* reduce_walk.c - axes, groups of results, and the blocks that loops see (reduce_walk.h). */
#include "ops/cpu/reduce_walk.h"

#include "ops/cpu/vmath.h"
#include "ops/iter.h"

enum { BUFFER = 4096, SHORT_RUN = 16 };

const sh_reduce_table *sh__reduce_table(void) {
    static const sh_reduce_table *const tables[SH_VMATH_LEVEL_COUNT] = {[SH_VMATH_SSE2] = &sh_reduce_sse2,
                                                                        [SH_VMATH_AVX2] = &sh_reduce_avx2,
                                                                        [SH_VMATH_AVX512] =
                                                                            &sh_reduce_avx512};
    return tables[sh_vmath_level_now()];
}

typedef struct walk {
    const sh_fold *fold;
    const sh_tensor *self;
    sh_axes kept, reduced;
    bool by_rows;
    bool direct; /* the loops can read self as it lies */
} walk;

/* Whichever axis lies closer in memory goes inside; a run of a few elements is not worth its start and end. */
static bool is_by_rows(const walk *w) {
    const sh_axis *column = sh__axes_last(&w->kept), *row = sh__axes_last(&w->reduced);
    if (column->size == 1) return false;
    return sh__axis_reach(column) < sh__axis_reach(row) ||
           (row->size < SHORT_RUN && column->size >= SHORT_RUN);
}

static walk walk_of(const sh_fold *fold, const sh_tensor *self, uint32_t mask) {
    walk w = {.fold = fold, .self = self};
    const sh_tensor *r = fold->result[0];
    for (int i = 0, next = 0; i < self->ndim; i++) {
        const bool reduced = mask >> i & 1;
        const int at = r->ndim == self->ndim ? i : next;
        next += !reduced;
        if (self->sizes[i] == 1) continue;
        if (reduced)
            w.reduced.at[w.reduced.n++] = (sh_axis){self->sizes[i], self->strides[i], 0};
        else
            w.kept.at[w.kept.n++] = (sh_axis){self->sizes[i], self->strides[i], r->strides[at]};
    }
    sh__axes_sort(&w.kept);
    if (!fold->in_order) sh__axes_sort(&w.reduced);
    sh__axes_join(&w.kept);
    sh__axes_join(&w.reduced);
    w.by_rows = is_by_rows(&w);
    w.direct = (sh_dtype)self->dtype == fold->type && fold->as == fold->type &&
               sh__axes_last(w.by_rows ? &w.kept : &w.reduced)->in == 1;
    return w;
}

/* ---- one group of results ---- */

/* The next position over all axes but the last; false after the last. */
static bool step(const sh_axes *list, int64_t *index, const char **at, int64_t element) {
    for (int i = list->n - 1; i-- > 0;) {
        *at += list->at[i].in * element;
        if (++index[i] < list->at[i].size) return true;
        *at -= list->at[i].size * list->at[i].in * element;
        index[i] = 0;
    }
    return false;
}

static void fold_run(const walk *w, const char *at, char *a, char *b, char *buffer, int64_t before) {
    const sh_axis *row = sh__axes_last(&w->reduced);
    const sh_fold *fold = w->fold;
    sh_block block = {.fold = fold, .data = at, .rows = 1, .cols = row->size, .before = before};
    if (w->direct) {
        fold->run(a, b, &block);
        return;
    }
    for (int64_t i = 0; i < row->size; i += BUFFER) {
        const char *from = at + i * row->in * (int64_t)w->self->element;
        block.cols = row->size - i < BUFFER ? row->size - i : BUFFER;
        block.before = before + i;
        block.data = sh__load(w->self, from, row->in, block.cols, fold->as, fold->type, buffer);
        fold->run(a, b, &block);
    }
}

static void fold_rows(const walk *w, const char *at, int64_t cols, char *a, char *b, char *buffer,
                      int64_t before) {
    const sh_axis *row = sh__axes_last(&w->reduced), *column = sh__axes_last(&w->kept);
    const sh_fold *fold = w->fold;
    sh_block block = {fold, at, row->size, cols, row->in, before};
    if (w->direct) {
        fold->rows(a, b, &block);
        return;
    }
    const int64_t part = BUFFER / cols, bytes = row->in * (int64_t)w->self->element;
    const int64_t width = cols * (int64_t)sh_dtype_size(fold->type);
    for (int64_t i = 0; i < row->size; i += part) {
        block = (sh_block){fold, buffer, row->size - i < part ? row->size - i : part, cols, cols, before + i};
        for (int64_t k = 0; k < block.rows; k++)
            sh__load(w->self, at + (i + k) * bytes, column->in, cols, fold->as, fold->type,
                     buffer + k * width);
        fold->rows(a, b, &block);
    }
}

/* Results first to first + n along the last kept axis. */
static void fold_group(const walk *w, const char *at, int64_t offset, int64_t n) {
    _Alignas(64) char a[SH_FOLD_GROUP * 8], b[SH_FOLD_GROUP * 8], buffer[BUFFER * 8];
    const sh_fold *fold = w->fold;
    const sh_axis *column = sh__axes_last(&w->kept);
    const int64_t element = w->self->element, run = sh__axes_last(&w->reduced)->size;
    fold->start(fold, a, b, n);
    int64_t index[SH_MAX_DIMS] = {0}, before = 0;
    if (fold->count > 0) do {
            if (w->by_rows)
                fold_rows(w, at, n, a, b, buffer, before);
            else
                for (int64_t i = 0; i < n; i++)
                    fold_run(w, at + i * column->in * element, a + i * fold->width, b + i * fold->width,
                             buffer, before);
            before += run;
        } while (step(&w->reduced, index, &at, element));
    fold->finish(fold, a, b, n, offset, column->out);
}

/* ---- all of them ---- */

static void fold_unit(const walk *w, int64_t unit, int64_t groups) {
    const sh_axis *column = sh__axes_last(&w->kept);
    const int64_t first = unit % groups * SH_FOLD_GROUP, left = column->size - first;
    int64_t in = first * column->in, out = first * column->out, rest = unit / groups;
    for (int i = w->kept.n - 1; i-- > 0;) {
        const int64_t index = rest % w->kept.at[i].size;
        rest /= w->kept.at[i].size;
        in += index * w->kept.at[i].in;
        out += index * w->kept.at[i].out;
    }
    fold_group(w, w->self->data + in * (int64_t)w->self->element, out,
               left < SH_FOLD_GROUP ? left : SH_FOLD_GROUP);
}

void sh__reduce(sh_fold *fold, const sh_tensor *self, uint32_t mask) {
    if (fold->result[0]->numel == 0) return;
    fold->count = self->numel / fold->result[0]->numel;
    const walk w = walk_of(fold, self, mask);
    const int64_t groups = (sh__axes_last(&w.kept)->size + SH_FOLD_GROUP - 1) / SH_FOLD_GROUP;
    const int64_t units = fold->result[0]->numel / sh__axes_last(&w.kept)->size * groups;
    const int threads = units > 1 ? sh__threads(self->numel) : 1;
    if (threads == 1) {
        for (int64_t unit = 0; unit < units; unit++) fold_unit(&w, unit, groups);
        return;
    }
    SH_PARALLEL(threads)
    for (int64_t unit = 0; unit < units; unit++) fold_unit(&w, unit, groups);
}
