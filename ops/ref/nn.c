/* nn.c - ops of neural nets in the ref backend: one result after the other, in double or modulo 2^64.
 *
 * Windows are walked as window.h says. */
#include <math.h>
#include <string.h>

#include "dispatch/number.h"
#include "ops/element.h"
#include "ops/infer_nn.h"
#include "ops/kernels.h"
#include "ops/ref/window.h"

/* ---- sums ---- */

/* Adds up floats in double and integers modulo 2^64. */
typedef struct sum {
    sh_dtype dtype;
    bool is_float;
    double floats;
    uint64_t integers;
} sum;

static sum sum_of(sh_dtype dtype) { return (sum){dtype, sh_dtype_kind_of(dtype) == SH_KIND_FLOAT, 0, 0}; }

static void add(sum *s, const void *x) {
    if (s->is_float)
        s->floats += sh_load_f64(s->dtype, x);
    else
        s->integers += (uint64_t)sh_load_i64(s->dtype, x);
}

static void add_product(sum *s, const void *x, const void *y) {
    if (s->is_float)
        s->floats += sh_load_f64(s->dtype, x) * sh_load_f64(s->dtype, y);
    else
        s->integers += (uint64_t)sh_load_i64(s->dtype, x) * (uint64_t)sh_load_i64(s->dtype, y);
}

/* The sum through `divisor`, toward zero for integers. */
static void store_mean(const sum *s, void *to, int64_t divisor) {
    if (s->is_float)
        sh_store_f64(s->dtype, to, s->floats / (double)divisor);
    else
        sh_store_i64(s->dtype, to, (int64_t)s->integers / divisor);
}

/* ---- convolution ---- */

/* The sum over one channel's window. Heights are 1 for a 1-d convolution, whose y is always 0. */
static void add_window(sum *s, const sh_tensor *input, const char *plane, const sh_tensor *weight,
                       const char *filter, sh_span y, sh_span x) {
    for (int64_t i = y.first; i < y.last; i++)
        for (int64_t j = x.first; j < x.last; j++)
            add_product(s, sh_at2(input, plane, y.from + i * y.step, x.from + j * x.step),
                        sh_at2(weight, filter, i, j));
}

static void convolve(sh_tensor *r, const sh_tensor *input, const sh_tensor *weight, const sh_tensor *bias,
                     const sh_conv *c) {
    const int axes = weight->ndim - 2, channel = input->ndim - axes - 1;
    const int64_t depth = c->channels / c->groups, width = c->outputs / c->groups;
    SH_EACH_ELEMENT(r, i) {
        sum s = sum_of((sh_dtype)r->dtype);
        const int64_t o = i[channel];
        const char *image = channel ? sh_advance(input, input->data, 0, i[0]) : input->data;
        const sh_span y = sh_span_of(&c->y, axes == 2 ? i[channel + 1] : 0),
                      x = sh_span_of(&c->x, i[r->ndim - 1]);
        for (int64_t k = 0; k < depth; k++)
            add_window(&s, input, sh_advance(input, image, channel, o / width * depth + k), weight,
                       sh_advance(weight, sh_advance(weight, weight->data, 0, o), 1, k), y, x);
        if (bias) add(&s, sh_advance(bias, bias->data, 0, o));
        store_mean(&s, sh_element(r, i, r->ndim), 1);
    }
}

sh_status sh_ref_conv2d(sh_tensor *r, sh_tensor *input, sh_tensor *weight, sh_tensor *bias, sh_ints stride,
                        sh_ints padding, sh_ints dilation, int64_t groups) {
    const sh_conv c = sh_conv_of(input, weight, stride, padding, dilation, groups);
    convolve(r, input, weight, bias, &c);
    return SH_OK;
}

sh_status sh_ref_conv1d(sh_tensor *r, sh_tensor *input, sh_tensor *weight, sh_tensor *bias, sh_ints stride,
                        sh_ints padding, sh_ints dilation, int64_t groups) {
    return sh_ref_conv2d(r, input, weight, bias, stride, padding, dilation, groups);
}

/* ---- pooling ---- */

static const char *plane_of(const sh_tensor *t, const int64_t *index) {
    const char *at = t->data;
    for (int i = 0; i < t->ndim - 2; i++) at = sh_advance(t, at, i, index[i]);
    return at;
}

static bool is_larger(sh_dtype dtype, const void *x, const void *y) {
    if (sh_dtype_kind_of(dtype) != SH_KIND_FLOAT) return sh_load_i64(dtype, x) > sh_load_i64(dtype, y);
    const double a = sh_load_f64(dtype, x), b = sh_load_f64(dtype, y);
    return a > b || isnan(a);
}

/* What is less than all: the maximum of a window that meets padding only. */
static void store_lowest(sh_dtype dtype, void *to) {
    if (sh_dtype_kind_of(dtype) == SH_KIND_FLOAT)
        sh_store_f64(dtype, to, -INFINITY);
    else
        sh_store_i64(dtype, to, dtype == SH_U8 ? 0 : (int64_t)(UINT64_MAX << (8 * sh_dtype_size(dtype) - 1)));
}

sh_status sh_ref_max_pool2d(sh_tensor *r, sh_tensor *self, sh_ints kernel_size, sh_ints stride,
                            sh_ints padding, sh_ints dilation, bool ceil_mode) {
    const sh_pooling p = sh_pooling_of(self, kernel_size, stride, padding, dilation, ceil_mode);
    SH_EACH_ELEMENT(r, i) {
        const sh_span y = sh_span_of(&p.y, i[r->ndim - 2]), x = sh_span_of(&p.x, i[r->ndim - 1]);
        const char *plane = plane_of(self, i), *largest = NULL;
        for (int64_t k = y.first; k < y.last; k++)
            for (int64_t l = x.first; l < x.last; l++) {
                const char *at = sh_at2(self, plane, y.from + k * y.step, x.from + l * x.step);
                if (!largest || is_larger((sh_dtype)self->dtype, at, largest)) largest = at;
            }
        if (largest)
            memcpy(sh_element(r, i, r->ndim), largest, r->element);
        else
            store_lowest((sh_dtype)r->dtype, sh_element(r, i, r->ndim));
    }
    return SH_OK;
}

static sum sum_of_plane(const sh_tensor *self, const char *plane, sh_span y, sh_span x) {
    sum s = sum_of((sh_dtype)self->dtype);
    for (int64_t k = y.first; k < y.last; k++)
        for (int64_t l = x.first; l < x.last; l++)
            add(&s, sh_at2(self, plane, y.from + k * y.step, x.from + l * x.step));
    return s;
}

/* Padding counts, but not what lies beyond it on the right. */
static int64_t counted(const sh_window *w, sh_span s, bool count_include_pad) {
    if (!count_include_pad) return s.last - s.first;
    const int64_t end = s.from + w->kernel, limit = w->in + w->padding;
    return (end < limit ? end : limit) - s.from;
}

sh_status sh_ref_avg_pool2d(sh_tensor *r, sh_tensor *self, sh_ints kernel_size, sh_ints stride,
                            sh_ints padding, bool ceil_mode, bool count_include_pad,
                            int64_t divisor_override) {
    const sh_pooling p = sh_pooling_of(self, kernel_size, stride, padding, (sh_ints){NULL, 0}, ceil_mode);
    SH_EACH_ELEMENT(r, i) {
        const sh_span y = sh_span_of(&p.y, i[r->ndim - 2]), x = sh_span_of(&p.x, i[r->ndim - 1]);
        const sum s = sum_of_plane(self, plane_of(self, i), y, x);
        const int64_t count = counted(&p.y, y, count_include_pad) * counted(&p.x, x, count_include_pad);
        store_mean(&s, sh_element(r, i, r->ndim), divisor_override == SH_NO_INT ? count : divisor_override);
    }
    return SH_OK;
}

/* Window `o` of `out` over `in` inputs: from floor(o in / out) to ceil((o + 1) in / out). */
static sh_span adaptive_span(int64_t in, int64_t out, int64_t o) {
    const int64_t from = o * in / out, to = ((o + 1) * in + out - 1) / out;
    return (sh_span){from, 1, 0, to - from};
}

sh_status sh_ref_adaptive_avg_pool2d(sh_tensor *r, sh_tensor *self, sh_ints output_size) {
    (void)output_size;
    const int n = r->ndim;
    SH_EACH_ELEMENT(r, i) {
        const sh_span y = adaptive_span(self->sizes[n - 2], r->sizes[n - 2], i[n - 2]);
        const sh_span x = adaptive_span(self->sizes[n - 1], r->sizes[n - 1], i[n - 1]);
        const sum s = sum_of_plane(self, plane_of(self, i), y, x);
        store_mean(&s, sh_element(r, i, n), y.last * x.last);
    }
    return SH_OK;
}

/* ---- normalisation ---- */

static double entry(const sh_tensor *t, const int64_t *index, double otherwise) {
    return t ? sh_load_f64((sh_dtype)t->dtype, sh_element(t, index, t->ndim)) : otherwise;
}

typedef struct moments {
    double mean, squares, count; /* squares: of the distances from the mean, summed */
} moments;

static moments moments_of_channel(const sh_tensor *t, int64_t channel) {
    moments m = {0, 0, (double)(t->numel / t->sizes[1])};
    SH_EACH_ELEMENT(t, i) if (i[1] == channel) m.mean += entry(t, i, 0) / m.count;
    SH_EACH_ELEMENT(t, i)
    if (i[1] == channel) m.squares += (entry(t, i, 0) - m.mean) * (entry(t, i, 0) - m.mean);
    return m;
}

static void move_running(sh_tensor *running, int64_t channel, double to, double momentum) {
    if (!running) return;
    char *at = sh_element(running, &channel, 1);
    sh_store_f64((sh_dtype)running->dtype, at,
                 momentum * to + (1 - momentum) * sh_load_f64((sh_dtype)running->dtype, at));
}

static void note_written(sh_tensor *mean, sh_tensor *variance) {
    if (mean) atomic_fetch_add_explicit(&mean->storage->version, 1, memory_order_relaxed);
    if (variance) atomic_fetch_add_explicit(&variance->storage->version, 1, memory_order_relaxed);
}

static void normalise_channel(sh_tensor *r, const sh_tensor *input, int64_t channel, double mean,
                              double scale, double shift) {
    SH_EACH_ELEMENT(r, i)
    if (i[1] == channel)
        sh_store_f64((sh_dtype)r->dtype, sh_element(r, i, r->ndim),
                     (entry(input, i, 0) - mean) * scale + shift);
}

sh_status sh_ref_batch_norm(sh_tensor *r, sh_tensor *input, sh_tensor *running_mean, sh_tensor *running_var,
                            sh_tensor *weight, sh_tensor *bias, bool training, double momentum, double eps) {
    if (!input->numel) return SH_OK;
    for (int64_t c = 0; c < input->sizes[1]; c++) {
        double mean = entry(running_mean, &c, 0), variance = entry(running_var, &c, 0);
        if (training) {
            const moments m = moments_of_channel(input, c);
            mean = m.mean;
            variance = m.squares / m.count;
            move_running(running_mean, c, mean, momentum);
            move_running(running_var, c, m.squares / (m.count - 1), momentum);
        }
        normalise_channel(r, input, c, mean, entry(weight, &c, 1) / sqrt(variance + eps), entry(bias, &c, 0));
    }
    if (training) note_written(running_mean, running_var);
    return SH_OK;
}

/* Normalises the elements whose first `outer` indices are those of `at`; the later ones count up from 0. */
static void normalise_rest(sh_tensor *r, const sh_tensor *input, int64_t *at, int outer,
                           const sh_tensor *weight, const sh_tensor *bias, double eps) {
    const int inner = input->ndim - outer;
    const int64_t *sizes = input->sizes + outer;
    moments m = {0, 0, 1};
    for (int i = 0; i < inner; i++) m.count *= (double)sizes[i];
    do m.mean += entry(input, at, 0) / m.count;
    while (sh_next_index(inner, sizes, at + outer));
    do m.squares += (entry(input, at, 0) - m.mean) * (entry(input, at, 0) - m.mean);
    while (sh_next_index(inner, sizes, at + outer));
    const double scale = 1 / sqrt(m.squares / m.count + eps);
    do {
        const double v = (entry(input, at, 0) - m.mean) * scale * entry(weight, at + outer, 1) +
                         entry(bias, at + outer, 0);
        sh_store_f64((sh_dtype)r->dtype, sh_element(r, at, r->ndim), v);
    } while (sh_next_index(inner, sizes, at + outer));
}

sh_status sh_ref_layer_norm(sh_tensor *r, sh_tensor *input, sh_ints normalized_shape, sh_tensor *weight,
                            sh_tensor *bias, double eps) {
    const int outer = input->ndim - (int)normalized_shape.n;
    int64_t at[SH_MAX_DIMS] = {0};
    if (!input->numel) return SH_OK;
    do normalise_rest(r, input, at, outer, weight, bias, eps);
    while (sh_next_index(outer, input->sizes, at));
    return SH_OK;
}

/* ---- embedding and padding ---- */

static int64_t index_at(const sh_tensor *indices, const int64_t *at) {
    return sh_load_i64((sh_dtype)indices->dtype, sh_element(indices, at, indices->ndim));
}

sh_status sh_ref_embedding(sh_tensor *r, sh_tensor *weight, sh_tensor *indices, int64_t padding_idx) {
    (void)padding_idx;
    SH_EACH_ELEMENT(indices, i) {
        const int64_t row = index_at(indices, i);
        if (row < 0 || row >= weight->sizes[0])
            return sh_fail(SH_ERROR_INDEX, "embedding: index %lld in indices, expected 0 to %lld",
                           (long long)row, (long long)weight->sizes[0] - 1);
    }
    SH_EACH_ELEMENT(r, i) {
        const int64_t from[2] = {index_at(indices, i), i[r->ndim - 1]};
        memcpy(sh_element(r, i, r->ndim), sh_element(weight, from, 2), r->element);
    }
    return SH_OK;
}

sh_status sh_ref_pad(sh_tensor *r, sh_tensor *self, sh_ints pad, const char *mode, double value) {
    const sh_pad_mode how = sh_pad_mode_of(mode);
    SH_EACH_ELEMENT(r, i) {
        int64_t from[SH_MAX_DIMS];
        bool inside = true;
        for (int d = 0; d < r->ndim; d++) {
            from[d] = sh_pad_source(how, i[d], sh_pad_amount(pad, r->ndim, d, 0),
                                    sh_pad_amount(pad, r->ndim, d, 1), self->sizes[d]);
            inside &= from[d] >= 0;
        }
        if (inside)
            memcpy(sh_element(r, i, r->ndim), sh_element(self, from, r->ndim), r->element);
        else
            sh_store_f64((sh_dtype)r->dtype, sh_element(r, i, r->ndim), sh__is_no_number(value) ? 0 : value);
    }
    return SH_OK;
}
