/* pool.c - pooling in the cpu backend.
 *
 * A row of results is made from the input rows that its windows meet: first these are folded into one row, column by
 * column, then the columns of each window. So loops run along rows, whatever the window. Bytes, which are
 * quantised reals, have a maximum of their own; other integers go to the plain loops of ref. The half types are pooled as f32 and rounded once. */
#include <math.h>
#include <string.h>

#include "ops/cpu/nn_loops.h"
#include "ops/cpu/reduce_table.h"
#include "ops/cpu/widen.h"
#include "ops/infer_window.h"
#include "ops/iter.h"
#include "ops/kernels.h"

typedef void tap_fn(void *to, const void *from, int64_t step, int64_t n);

/* One pooling on its way; x and y are contiguous. */
typedef struct job {
    sh_pooling p;
    const sh_tensor *x;
    sh_tensor *y;
    const sh_nn_loops *loops;
    tap_fn *tap;
    double start;   /* what a fold starts with */
    char *divisors; /* for each column of y, or NULL */
    bool count_include_pad, override;
} job;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Those k of a window's kernel whose input is inside: from + k * dilation in [0, in). */
static void inside(const sh_window *w, int64_t from, int64_t *first, int64_t *last) {
    *first = from < 0 ? (-from + w->dilation - 1) / w->dilation : 0;
    *last = from < w->in ? least((w->in - from + w->dilation - 1) / w->dilation, w->kernel) : 0;
}

/* What PyTorch divides by along one axis: all of the window but what hangs over the right padding, or what is inside. */
static int64_t count_of(const sh_window *w, int64_t from, bool count_include_pad) {
    int64_t first, last;
    if (count_include_pad) return least(from + w->kernel, w->in + w->padding) - from;
    inside(w, from, &first, &last);
    return last - first;
}

static void fold_rows(const job *j, char *row, const char *plane, int64_t from) {
    const sh_window *w = &j->p.y;
    const int64_t width = j->p.x.in, bytes = width * (int64_t)j->x->element;
    int64_t first, last;
    inside(w, from, &first, &last);
    if (first >= last) {
        j->loops->fill(row, j->start, width);
        return;
    }
    memcpy(row, plane + (from + first * w->dilation) * bytes, (size_t)bytes);
    for (int64_t k = first + 1; k < last; k++)
        j->tap(row, plane + (from + k * w->dilation) * bytes, 1, width);
}

/* Column k of every window that has it inside. */
static void fold_columns(const job *j, char *to, const char *row) {
    const sh_window *w = &j->p.x;
    const int64_t e = (int64_t)j->x->element;
    j->loops->fill(to, j->start, w->out);
    for (int64_t k = 0; k < w->kernel; k++) {
        const int64_t offset = k * w->dilation - w->padding;
        const int64_t first = offset < 0 ? (-offset + w->stride - 1) / w->stride : 0;
        const int64_t last = offset < w->in ? least((w->in - offset + w->stride - 1) / w->stride, w->out) : 0;
        if (first < last)
            j->tap(to + first * e, row + (offset + first * w->stride) * e, w->stride, last - first);
    }
}

static void pool_plane(const job *j, char *row, int64_t plane) {
    const int64_t e = (int64_t)j->x->element, height = j->p.y.out, width = j->p.x.out;
    const char *from = j->x->data + plane * j->p.y.in * j->p.x.in * e;
    char *to = j->y->data + plane * height * width * e;
    for (int64_t y = 0; y < height; y++, to += width * e) {
        const int64_t top = y * j->p.y.stride - j->p.y.padding;
        fold_rows(j, row, from, top);
        fold_columns(j, to, row);
        if (!j->divisors) continue;
        const double rows = j->override ? 1 : (double)count_of(&j->p.y, top, j->count_include_pad);
        j->loops->divide(to, j->divisors, rows, width);
    }
}

static sh_status pool(const job *j) {
    const int threads = sh__threads(j->p.planes * j->p.y.in * j->p.x.in);
    const int64_t row = (j->p.x.in * (int64_t)j->x->element + 63) / 64 * 64;
    size_t capacity;
    char *rows = sh__block_alloc((size_t)(threads * row), &capacity);
    if (!rows) return SH_ERROR_MEMORY;
    SH_PARALLEL(threads)
    for (int i = 0; i < threads; i++)
        for (int64_t p = j->p.planes * i / threads; p < j->p.planes * (i + 1) / threads; p++)
            pool_plane(j, rows + i * row, p);
    sh__block_free(rows, capacity);
    return SH_OK;
}

/* ---- maximum and mean ---- */

static bool is_byte(const sh_tensor *t) { return t->dtype == SH_I8 || t->dtype == SH_U8; }

static sh_status pool_largest(job *j) {
    j->tap = j->loops->take_larger;
    j->start = j->x->dtype == SH_I8 ? INT8_MIN : j->x->dtype == SH_U8 ? 0 : -INFINITY;
    return pool(j);
}

static void set_divisor(const job *j, int64_t column, double divisor) {
    if (j->x->dtype == SH_F32)
        ((float *)(void *)j->divisors)[column] = (float)divisor;
    else
        ((double *)(void *)j->divisors)[column] = divisor;
}

static sh_status pool_mean(job *j, int64_t divisor_override) {
    size_t capacity;
    j->tap = j->loops->add;
    j->override = divisor_override != SH_NO_INT;
    j->divisors = sh__block_alloc((size_t)j->p.x.out * j->x->element, &capacity);
    if (!j->divisors) return SH_ERROR_MEMORY;
    for (int64_t x = 0; x < j->p.x.out; x++) {
        const int64_t count = count_of(&j->p.x, x * j->p.x.stride - j->p.x.padding, j->count_include_pad);
        set_divisor(j, x, (double)(j->override ? divisor_override : count));
    }
    const sh_status status = pool(j);
    sh__block_free(j->divisors, capacity);
    return status;
}

/* Contiguous tensors of f32, f64, i8 or u8 for `self` and `r`. */
static sh_status open_tensors(sh_tensor *r, sh_tensor *self, sh_tensor **x, sh_tensor **y) {
    const sh_dtype dtype = sh_is_half(self) ? SH_F32 : (sh_dtype)self->dtype;
    *y = NULL;
    SH_TRY(sh_aside_contiguous(self, dtype, x));
    *y = sh_is_half(r) ? sh_aside_like(r, dtype) : sh_keep(r);
    return *y ? SH_OK : SH_ERROR_MEMORY;
}

static sh_status close_tensors(sh_tensor *r, sh_tensor *x, sh_tensor *y, sh_status status) {
    if (status >= 0 && y != r) status = sh_cpu_copy(r, r, y, false);
    sh_aside_drop(x);
    sh_aside_drop(y);
    return status;
}

static bool is_float(const sh_tensor *t) { return sh_dtype_kind_of((sh_dtype)t->dtype) == SH_KIND_FLOAT; }

static job job_of(const sh_tensor *x, sh_tensor *y, const sh_pooling *p) {
    return (job){.p = *p, .x = x, .y = y, .loops = sh_nn_loops_for((sh_dtype)x->dtype)};
}

sh_status sh_cpu_max_pool2d(sh_tensor *r, sh_tensor *self, sh_ints kernel_size, sh_ints stride,
                            sh_ints padding, sh_ints dilation, bool ceil_mode) {
    if (!is_float(self) && !is_byte(self))
        return sh_ref_max_pool2d(r, self, kernel_size, stride, padding, dilation, ceil_mode);
    const sh_pooling p = sh_pooling_of(self, kernel_size, stride, padding, dilation, ceil_mode);
    sh_tensor *x, *y;
    if (!r->numel) return SH_OK;
    sh_status status = open_tensors(r, self, &x, &y);
    if (status >= 0) {
        job j = job_of(x, y, &p);
        status = pool_largest(&j);
    }
    return close_tensors(r, x, y, status);
}

sh_status sh_cpu_avg_pool2d(sh_tensor *r, sh_tensor *self, sh_ints kernel_size, sh_ints stride,
                            sh_ints padding, bool ceil_mode, bool count_include_pad,
                            int64_t divisor_override) {
    if (!is_float(self))
        return sh_ref_avg_pool2d(r, self, kernel_size, stride, padding, ceil_mode, count_include_pad,
                                 divisor_override);
    const sh_pooling p = sh_pooling_of(self, kernel_size, stride, padding, (sh_ints){NULL, 0}, ceil_mode);
    sh_tensor *x, *y;
    if (!r->numel) return SH_OK;
    sh_status status = open_tensors(r, self, &x, &y);
    if (status >= 0) {
        job j = job_of(x, y, &p);
        j.count_include_pad = count_include_pad;
        status = pool_mean(&j, divisor_override);
    }
    return close_tensors(r, x, y, status);
}

/* ---- adaptive ---- */

/* Where window `o` of `out` over `in` inputs begins; it ends where rounding up puts the next one's beginning. */
static int64_t begin(int64_t in, int64_t out, int64_t o) { return o * in / out; }
static int64_t end(int64_t in, int64_t out, int64_t o) { return ((o + 1) * in + out - 1) / out; }

static double sum_of(const sh_tensor *x, const char *at, int64_t n) {
    double sum = 0, unused = 0;
    sh__reduce_table()->run[SH_FOLD_SUM][x->dtype](&sum, &unused, &(sh_block){NULL, at, 1, n, n, 0});
    return sum;
}

/* The means of one row of windows, `rows` input rows high. */
static void average_row(sh_tensor *y, const sh_tensor *x, char *to, const char *from, int64_t rows) {
    const int64_t width = x->sizes[x->ndim - 1], out = y->sizes[y->ndim - 1], e = (int64_t)x->element;
    for (int64_t o = 0; o < out; o++) {
        const int64_t first = begin(width, out, o), n = end(width, out, o) - first;
        double sum = 0;
        if (n == width)
            sum = sum_of(x, from, rows * width);
        else
            for (int64_t k = 0; k < rows; k++) sum += sum_of(x, from + (k * width + first) * e, n);
        sum /= (double)(rows * n);
        if (y->dtype == SH_F32)
            ((float *)(void *)to)[o] = (float)sum;
        else
            ((double *)(void *)to)[o] = sum;
    }
}

static void average_planes(sh_tensor *y, const sh_tensor *x) {
    const int64_t height = x->sizes[x->ndim - 2], width = x->sizes[x->ndim - 1];
    const int64_t out_height = y->sizes[y->ndim - 2], out_width = y->sizes[y->ndim - 1],
                  e = (int64_t)x->element;
    const int64_t rows = y->numel / out_width;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t first = begin(height, out_height, i % out_height),
                      last = end(height, out_height, i % out_height);
        average_row(y, x, y->data + i * out_width * e,
                    x->data + (i / out_height * height + first) * width * e, last - first);
    }
}

sh_status sh_cpu_adaptive_avg_pool2d(sh_tensor *r, sh_tensor *self, sh_ints output_size) {
    (void)output_size;
    sh_tensor *x, *y;
    if (!r->numel) return SH_OK;
    const sh_status status = open_tensors(r, self, &x, &y);
    if (status >= 0) average_planes(y, x);
    return close_tensors(r, x, y, status);
}
