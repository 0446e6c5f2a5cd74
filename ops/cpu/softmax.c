/* softmax.c - softmax and log_softmax of the cpu backend.
 *
 * A line is gone over three times: for its largest element, for the sum of the exponentials from there, and to
 * scale them. softmax keeps the exponentials in the result where it can hold them; where it can't, and in
 * log_softmax, the last pass starts again from the elements. */
#include <math.h>

#include "ops/cpu/lines.h"
#include "ops/cpu/vmath.h"
#include "ops/kernels.h"

typedef union numbers {
    float f32[SH_LINE_PIECE];
    double f64[SH_LINE_PIECE];
} numbers;

/* Along a line there is one of each, across as many as lines. */
typedef struct shares {
    numbers most, share; /* the largest; what to multiply by, or in logarithms to take off */
    double sum[SH_LINE_PIECE];
} shares;

static const sh_reduce_table *table(void) { return sh__reduce_table(); }

static void fold(const sh_lines *l, sh_fold_id id, void *state, const void *x, int64_t n) {
    const sh_block block = {.data = x, .rows = 1, .cols = n, .ld = n};
    (l->across ? table()->rows : table()->run)[id][l->type](state, NULL, &block);
}

static double first(const sh_lines *l, const numbers *list) {
    return l->type == SH_F64 ? list->f64[0] : list->f32[0];
}

static void subtract(const sh_lines *l, void *y, const void *x, int64_t n, const numbers *by) {
    if (l->across)
        table()->subtract_array[l->type](y, x, n, by);
    else
        table()->subtract_number[l->type](y, x, n, first(l, by));
}

static void multiply(const sh_lines *l, void *y, const void *x, int64_t n, const numbers *by) {
    if (l->across)
        table()->multiply_array[l->type](y, x, n, by);
    else
        table()->multiply_number[l->type](y, x, n, first(l, by));
}

static void set(const sh_lines *l, numbers *list, int64_t i, double v) {
    if (l->type == SH_F64)
        list->f64[i] = v;
    else
        list->f32[i] = (float)v;
}

static void exponentials(const sh_lines *l, void *y, const void *x, int64_t n, const numbers *most) {
    subtract(l, y, x, n, most);
    if (l->type == SH_F64)
        sh_vmath_exp_f64(y, y, (size_t)n);
    else
        sh_vmath_exp_f32(y, y, (size_t)n);
}

/* Fills s; leaves the exponentials in y where `keep` says so. */
static void sum_up(const sh_lines *l, const char *x, char *y, int64_t n, bool keep, shares *s) {
    numbers in, out;
    for (int64_t i = 0; i < n; i++) {
        set(l, &s->most, i, -INFINITY);
        s->sum[i] = 0;
    }
    for (int64_t p = 0; p < sh__pieces(l); p++)
        fold(l, SH_FOLD_MAX, &s->most, sh__piece_load(l, x, p, n, &in), sh__piece_size(l, p, n));
    for (int64_t p = 0; p < sh__pieces(l); p++) {
        const int64_t size = sh__piece_size(l, p, n);
        void *to = keep ? sh__piece_target(l, y, p, &out) : &out;
        exponentials(l, to, sh__piece_load(l, x, p, n, &in), size, &s->most);
        fold(l, SH_FOLD_SUM, s->sum, to, size);
    }
    for (int64_t i = 0; i < n; i++) set(l, &s->share, i, l->flag ? log(s->sum[i]) : 1 / s->sum[i]);
}

static void make_softmax(const sh_lines *l, const char *x, char *y, int64_t n) {
    numbers in, out;
    shares s;
    const bool keep = sh__piece_target(l, y, 0, &out) != (void *)&out;
    sum_up(l, x, y, n, keep, &s);
    for (int64_t p = 0; p < sh__pieces(l); p++) {
        const int64_t size = sh__piece_size(l, p, n);
        void *to = sh__piece_target(l, y, p, &out);
        if (!keep) exponentials(l, to, sh__piece_load(l, x, p, n, &in), size, &s.most);
        multiply(l, to, to, size, &s.share);
        sh__piece_store(l, y, p, n, to);
    }
}

static void make_log_softmax(const sh_lines *l, const char *x, char *y, int64_t n) {
    numbers in, out;
    shares s;
    sum_up(l, x, y, n, false, &s);
    for (int64_t p = 0; p < sh__pieces(l); p++) {
        const int64_t size = sh__piece_size(l, p, n);
        void *to = sh__piece_target(l, y, p, &out);
        subtract(l, to, sh__piece_load(l, x, p, n, &in), size, &s.most);
        subtract(l, to, to, size, &s.share);
        sh__piece_store(l, y, p, n, to);
    }
}

static sh_status run(sh_tensor *r, const sh_tensor *self, int64_t dim, sh_line_fn *make, bool in_logarithms) {
    sh_lines lines = {.self = self,
                      .r = r,
                      .as = (sh_dtype)r->dtype,
                      .type = r->dtype == SH_F64 ? SH_F64 : SH_F32,
                      .make = make,
                      .flag = in_logarithms};
    return sh__lines(&lines, dim);
}

sh_status sh_cpu_softmax(sh_tensor *r, sh_tensor *self, int64_t dim, sh_dtype dtype) {
    (void)dtype;
    return run(r, self, dim, make_softmax, false);
}

sh_status sh_cpu_log_softmax(sh_tensor *r, sh_tensor *self, int64_t dim, sh_dtype dtype) {
    (void)dtype;
    return run(r, self, dim, make_log_softmax, true);
}
