/* min_max.c - observers that keep the least and the largest element: of all, or as a moving average of what each tensor has;
 * of whole tensors or of each channel. All arithmetic is f32, as torch's. */
#include <math.h>

#include "dispatch/memory_impl.h"
#include "graph/quant/observer_impl.h"

static sh_range of_line(const float *x, int64_t n) {
    sh_range r = {x[0], x[0]};
    for (int64_t i = 1; i < n; i++) {
        r.min = x[i] < r.min ? x[i] : r.min;
        r.max = x[i] > r.max ? x[i] : r.max;
    }
    return r;
}

sh_range sh__range_of(const sh_tensor *x) { return of_line(sh_tensor_data(x), sh_tensor_numel(x)); }

/* x is outer x channels x inner; a whole tensor is one channel. */
typedef struct lines {
    const float *data;
    int64_t outer, channels, inner;
} lines;

static lines lines_of(const sh_observer_options *o, const sh_tensor *x) {
    lines l = {sh_tensor_data(x), 1, 1, sh_tensor_numel(x)};
    if (!sh__is_per_channel(o)) return l;
    l.channels = sh_tensor_size(x, (int)o->ch_axis);
    for (int64_t i = 0; i < o->ch_axis; i++) l.outer *= sh_tensor_size(x, (int)i);
    l.inner /= l.outer * l.channels;
    return l;
}

static sh_range of_channel(const lines *l, int64_t channel) {
    sh_range r = {INFINITY, -INFINITY};
    for (int64_t i = 0; i < l->outer; i++) {
        const sh_range line = of_line(l->data + (i * l->channels + channel) * l->inner, l->inner);
        r = (sh_range){fminf(r.min, line.min), fmaxf(r.max, line.max)};
    }
    return r;
}

/* All of `was` and `now` (weight 0), or `was` moved by `weight` of the way to `now`. */
static sh_range joined(sh_range was, sh_range now, float weight) {
    if (was.min > was.max) return now;
    if (!(weight > 0)) return (sh_range){fminf(was.min, now.min), fmaxf(was.max, now.max)};
    return (sh_range){was.min + weight * (now.min - was.min), was.max + weight * (now.max - was.max)};
}

static sh_status check_channels(const sh_module *observer, const sh_tensor *x, const lines *l) {
    const int64_t axis = sh__observer_options(observer)->ch_axis;
    const sh_tensor *before = sh_module_buffer(observer, "min_val");
    const int64_t known = sh_tensor_numel(before);
    if (!known || known == l->channels) return SH_OK;
    return sh_fail(SH_ERROR_SHAPE,
                   "%s: axis %lld of a tensor of %d dimensions has %lld channels, before it had %lld",
                   sh_module_type_of(observer)->name, (long long)axis, sh_tensor_ndim(x),
                   (long long)l->channels, (long long)known);
}

static sh_status take_in(sh_module *observer, const sh_tensor *x, float weight) {
    const sh_observer_options *o = sh__observer_options(observer);
    if (sh__is_per_channel(o) && o->ch_axis >= sh_tensor_ndim(x))
        return sh_fail(SH_ERROR_SHAPE, "%s: no axis %lld in a tensor of %d dimensions",
                       sh_module_type_of(observer)->name, (long long)o->ch_axis, sh_tensor_ndim(x));
    const lines l = lines_of(o, x);
    SH_TRY(check_channels(observer, x, &l));
    const float *min = sh_tensor_data(sh_module_buffer(observer, "min_val"));
    const float *max = sh_tensor_data(sh_module_buffer(observer, "max_val"));
    const bool fresh = sh_tensor_numel(sh_module_buffer(observer, "min_val")) == 0;
    float *range = sh__alloc((size_t)l.channels * 2 * sizeof *range);
    if (!range) return SH_ERROR_MEMORY;
    for (int64_t i = 0; i < l.channels; i++) {
        const sh_range was = fresh ? (sh_range){INFINITY, -INFINITY} : (sh_range){min[i], max[i]};
        const sh_range now = joined(was, of_channel(&l, i), weight);
        range[i] = now.min;
        range[l.channels + i] = now.max;
    }
    const sh_status status = sh__observer_set_range(observer, range, range + l.channels, l.channels);
    sh__free(range);
    return status;
}

sh_status sh__min_max_observe(sh_module *observer, const sh_tensor *x) { return take_in(observer, x, 0); }

sh_status sh__moving_average_observe(sh_module *observer, const sh_tensor *x) {
    return take_in(observer, x, (float)sh__observer_options(observer)->averaging_constant);
}

sh_status sh__fixed_observe(sh_module *observer, const sh_tensor *x) {
    (void)observer;
    (void)x;
    return SH_OK;
}
