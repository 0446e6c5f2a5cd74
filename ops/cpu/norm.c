/* norm.c - batch_norm and layer_norm in the cpu backend.
 *
 * Mean and variance are those of the reductions (reduce_table.h), in double; what follows is (x - mean) * scale + shift
 * in the type of the elements, which keeps more digits than PyTorch's x * scale + shift. The half types are computed in
 * f32 and rounded once. */
#include <math.h>
#include <string.h>

#include "ops/cpu/nn_loops.h"
#include "ops/cpu/reduce_table.h"
#include "ops/cpu/widen.h"
#include "ops/element.h"
#include "ops/iter.h"
#include "ops/kernels.h"

static sh_dtype work_dtype(const sh_tensor *t) { return sh_is_half(t) ? SH_F32 : (sh_dtype)t->dtype; }

/* ---- batch_norm ---- */

/* Channels and how they lie: `batch` times `channels` runs of `inner` elements. */
typedef struct layout {
    int64_t batch, channels, inner;
} layout;

static layout layout_of(const sh_tensor *t) {
    return (layout){t->sizes[0], t->sizes[1], t->numel / t->sizes[0] / t->sizes[1]};
}

static double entry(const sh_tensor *t, int64_t i, double otherwise) {
    return t ? sh_load_f64((sh_dtype)t->dtype, t->data + i * t->strides[0] * (int64_t)t->element) : otherwise;
}

static void note_written(sh_tensor *t) {
    if (t) atomic_fetch_add_explicit(&t->storage->version, 1, memory_order_relaxed);
}

static void move_running(sh_tensor *running, int64_t channel, double to, double momentum) {
    if (!running) return;
    const double moved = momentum * to + (1 - momentum) * entry(running, channel, 0);
    sh_store_f64((sh_dtype)running->dtype,
                 running->data + channel * running->strides[0] * (int64_t)running->element, moved);
}

/* Means and sums of squared distances, an entry a channel; both start as 0. */
static void find_moments(const sh_tensor *x, layout l, double *mean, double *squares) {
    const sh_reduce_table *table = sh__reduce_table();
    const int64_t run = l.inner * (int64_t)x->element;
    if (l.inner == 1) {
        const sh_block rows = {NULL, x->data, l.batch, l.channels, l.channels, 0};
        table->rows[SH_FOLD_SPREAD][x->dtype](mean, squares, &rows);
        return;
    }
    for (int64_t c = 0; c < l.channels; c++)
        for (int64_t i = 0; i < l.batch; i++) {
            const sh_block block = {NULL,       x->data + (i * l.channels + c) * run, 1, l.inner, l.inner,
                                    i * l.inner};
            table->run[SH_FOLD_SPREAD][x->dtype](&mean[c], &squares[c], &block);
        }
}

static void normalise(sh_tensor *y, const sh_tensor *x, layout l, const double *mean, const double *scale,
                      const double *shift) {
    const sh_nn_loops *loops = sh_nn_loops_for((sh_dtype)x->dtype);
    const int64_t runs = l.batch * l.channels, bytes = l.inner * (int64_t)x->element;
    const int threads = sh__threads(x->numel);
    SH_PARALLEL(threads)
    for (int64_t i = 0; i < runs; i++) {
        const int64_t c = i % l.channels;
        loops->normalise(y->data + i * bytes, x->data + i * bytes, l.inner, mean[c], scale[c], shift[c]);
    }
}

/* Where channels lie side by side: mean, scale and shift, in the type of the elements, are rows too. */
static sh_status normalise_rows(sh_tensor *y, const sh_tensor *x, layout l, const double *numbers) {
    const sh_dtype dtype = (sh_dtype)x->dtype;
    const int64_t bytes = l.channels * (int64_t)x->element;
    size_t capacity;
    char *rows = sh__block_alloc((size_t)(3 * bytes), &capacity);
    if (!rows) return SH_ERROR_MEMORY;
    sh__convert(dtype, rows, SH_F64, numbers, 3 * l.channels);
    for (int64_t i = 0; i < l.batch; i++)
        sh_nn_loops_for(dtype)->normalise_columns(y->data + i * bytes, x->data + i * bytes, l.channels, rows,
                                                  rows + bytes, rows + 2 * bytes);
    sh__block_free(rows, capacity);
    return SH_OK;
}

typedef struct batch_norm {
    sh_tensor *running_mean, *running_var, *weight, *bias;
    bool training;
    double momentum, eps;
} batch_norm;

/* numbers: means, then what becomes scales, then shifts. */
static void find_numbers(const batch_norm *b, const sh_tensor *x, layout l, double *numbers) {
    double *mean = numbers, *scale = numbers + l.channels, *shift = scale + l.channels;
    const double count = (double)(l.batch * l.inner);
    if (b->training) find_moments(x, l, mean, scale);
    for (int64_t c = 0; c < l.channels; c++) {
        double variance = scale[c] / count;
        if (b->training) {
            move_running(b->running_mean, c, mean[c], b->momentum);
            move_running(b->running_var, c, scale[c] / (count - 1), b->momentum);
        } else {
            mean[c] = entry(b->running_mean, c, 0);
            variance = entry(b->running_var, c, 1);
        }
        scale[c] = entry(b->weight, c, 1) / sqrt(variance + b->eps);
        shift[c] = entry(b->bias, c, 0);
    }
    if (!b->training) return;
    note_written(b->running_mean);
    note_written(b->running_var);
}

/* x and y are contiguous, f32 or f64. */
static sh_status normalise_batch(sh_tensor *y, const sh_tensor *x, const batch_norm *b) {
    const layout l = layout_of(x);
    double *numbers = sh__calloc((size_t)(3 * l.channels), sizeof *numbers);
    if (!numbers) return SH_ERROR_MEMORY;
    sh_status status = SH_OK;
    find_numbers(b, x, l, numbers);
    if (l.inner == 1)
        status = normalise_rows(y, x, l, numbers);
    else
        normalise(y, x, l, numbers, numbers + l.channels, numbers + 2 * l.channels);
    sh__free(numbers);
    return status;
}

sh_status sh_cpu_batch_norm(sh_tensor *r, sh_tensor *input, sh_tensor *running_mean, sh_tensor *running_var,
                            sh_tensor *weight, sh_tensor *bias, bool training, double momentum, double eps) {
    const batch_norm b = {running_mean, running_var, weight, bias, training, momentum, eps};
    sh_tensor *x, *y = NULL;
    if (!input->numel) return SH_OK;
    sh_status status = sh_aside_contiguous(input, work_dtype(input), &x);
    if (status >= 0 && !sh_is_half(r))
        status = normalise_batch(r, x, &b);
    else if (status >= 0) {
        status = (y = sh_aside_like(r, SH_F32)) ? normalise_batch(y, x, &b) : SH_ERROR_MEMORY;
        if (status >= 0) status = sh_cpu_copy(r, r, y, false);
    }
    sh_aside_drop(x);
    sh_aside_drop(y);
    return status;
}

/* ---- layer_norm ---- */

/* All contiguous and of one dtype. */
static void normalise_layers(sh_tensor *y, const sh_tensor *x, int64_t n, const sh_tensor *weight,
                             const sh_tensor *bias, double eps) {
    const sh_nn_loops *loops = sh_nn_loops_for((sh_dtype)x->dtype);
    sh_fold_fn *spread = sh__reduce_table()->run[SH_FOLD_SPREAD][x->dtype];
    const int64_t rows = x->numel / n, bytes = n * (int64_t)x->element;
    const int threads = sh__threads(x->numel);
    SH_PARALLEL(threads)
    for (int64_t i = 0; i < rows; i++) {
        double mean = 0, squares = 0;
        spread(&mean, &squares, &(sh_block){NULL, x->data + i * bytes, 1, n, n, 0});
        loops->normalise_each(y->data + i * bytes, x->data + i * bytes, n, mean,
                              1 / sqrt(squares / (double)n + eps), weight ? weight->data : NULL,
                              bias ? bias->data : NULL);
    }
}

sh_status sh_cpu_layer_norm(sh_tensor *r, sh_tensor *input, sh_ints normalized_shape, sh_tensor *weight,
                            sh_tensor *bias, double eps) {
    const sh_dtype dtype = work_dtype(input);
    sh_tensor *x, *w = NULL, *b = NULL, *y = NULL;
    int64_t n = 1;
    for (size_t i = 0; i < normalized_shape.n; i++) n *= normalized_shape.at[i];
    if (!input->numel) return SH_OK;
    sh_status status = sh_aside_contiguous(input, dtype, &x);
    if (status >= 0) status = sh_aside_contiguous(weight, dtype, &w);
    if (status >= 0) status = sh_aside_contiguous(bias, dtype, &b);
    if (status >= 0 && sh_is_half(r) && !(y = sh_aside_like(r, SH_F32))) status = SH_ERROR_MEMORY;
    if (status >= 0) normalise_layers(y ? y : r, x, n, w, b, eps);
    if (status >= 0 && y) status = sh_cpu_copy(r, r, y, false);
    sh_aside_drop(x);
    sh_aside_drop(w);
    sh_aside_drop(b);
    sh_aside_drop(y);
    return status;
}
