/* observer.c - observers as modules: made, run, read, reset.
 *
 * What they compute is hidden from modes: it is no part of the program. */
#include "graph/quant/observer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/device.h"
#include "graph/module/module_impl.h"
#include "graph/quant/observer_impl.h"
#include "ops/ops.h"

static const sh_observer_type kinds[] = {
#define SH_OBSERVER(kind, called, function) {.name = called, .observe = sh__##function##_observe},
#include "graph/quant/observers.def"
#undef SH_OBSERVER
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const sh_observer_type *type_of(const sh_module *observer) {
    const sh_observer_options *o = sh__observer_options(observer);
    return o->type ? o->type : &kinds[o->kind];
}

/* ---- what they hold ---- */

static sh_status set_buffer(sh_module *observer, const char *name, const float *values, sh_ints sizes) {
    sh_status status = SH_ERROR_MEMORY;
    SH_SCOPE {
        sh_tensor *t = sh_tensor_new(SH_F32, sizes);
        if (t && sh_tensor_numel(t))
            memcpy(sh_tensor_data(t), values, (size_t)sh_tensor_numel(t) * sizeof *values);
        if (t) status = sh_module_set_buffer(observer, name, t);
    }
    return status;
}

static sh_status make_ranges(sh_module *observer, int64_t n) {
    const float none[] = {INFINITY, -INFINITY};
    const sh_ints sizes = {&n, sh__is_per_channel(sh__observer_options(observer)) ? 1 : 0};
    for (int i = 0; i < 2; i++) {
        float *values = sh__alloc(((size_t)n + 1) * sizeof *values);
        if (!values) return SH_ERROR_MEMORY;
        for (int64_t k = 0; k <= n; k++) values[k] = none[i];
        const sh_status status = set_buffer(observer, i ? "max_val" : "min_val", values, sizes);
        sh__free(values);
        SH_TRY(status);
    }
    return SH_OK;
}

/* Buffers of another size come first, so that nothing changes when memory is out. */
sh_status sh__observer_set_range(sh_module *observer, const float *min, const float *max, int64_t n) {
    if (sh_tensor_numel(sh_module_buffer(observer, "max_val")) != n) SH_TRY(make_ranges(observer, n));
    memcpy(sh_tensor_data(sh_module_buffer(observer, "min_val")), min, (size_t)n * sizeof *min);
    memcpy(sh_tensor_data(sh_module_buffer(observer, "max_val")), max, (size_t)n * sizeof *max);
    return SH_OK;
}

sh_range sh__observer_range(const sh_module *observer) {
    const float *min = sh_tensor_data(sh_module_buffer(observer, "min_val"));
    const float *max = sh_tensor_data(sh_module_buffer(observer, "max_val"));
    return (sh_range){*min, *max};
}

static sh_status set_fixed(sh_module *observer) {
    const sh_observer_options *o = sh__observer_options(observer);
    const float min = (float)((double)(o->quant_min - o->zero_point) * o->scale);
    const float max = (float)((double)(o->quant_max - o->zero_point) * o->scale);
    return sh__observer_set_range(observer, &min, &max, 1);
}

static sh_status start(sh_module *observer) {
    const sh_observer_options *o = sh__observer_options(observer);
    SH_TRY(make_ranges(observer, sh__is_per_channel(o) ? 0 : 1));
    if (o->type || o->kind == SH_MIN_MAX_OBSERVER) return SH_OK;
    if (o->kind == SH_FIXED_QPARAMS_OBSERVER) return set_fixed(observer);
    if (o->kind != SH_HISTOGRAM_OBSERVER) return SH_OK;
    float *zeros = sh__calloc((size_t)o->bins, sizeof *zeros);
    const sh_status status =
        zeros ? set_buffer(observer, "histogram", zeros, SH_SIZES(o->bins)) : SH_ERROR_MEMORY;
    sh__free(zeros);
    return status;
}

/* ---- forward ---- */

static bool all_finite(const sh_tensor *x) {
    const float *data = sh_tensor_data(x);
    float sum = 0; /* of what is 0, or NaN where an element is not finite */
    for (int64_t i = 0; i < sh_tensor_numel(x); i++) sum += data[i] * 0;
    return sum == 0;
}

static sh_status take_in(sh_module *observer, sh_tensor *x) {
    x = sh_contiguous(sh_to(sh_tensor_to(x, SH_HOST), SH_F32));
    if (!x) return sh_error()->code;
    if (all_finite(x)) return type_of(observer)->observe(observer, x);
    return sh_fail(SH_ERROR_FINDING, "%s %s: a NaN or an infinity passes, which no range can hold",
                   type_of(observer)->name, observer->name ? observer->name : "");
}

static sh_tensor *forward(sh_module *self, sh_tensor *x) {
    if (sh_tensor_device(x) == SH_META || sh_dtype_kind_of(sh_tensor_dtype(x)) != SH_KIND_FLOAT ||
        !sh_tensor_numel(x))
        return x;
    sh_status status = SH_OK;
    sh_switch off;
    sh_switch_off(&off, SH_OFF_ALL);
    SH_SCOPE status = take_in(self, x);
    sh_switch_end(&off);
    return status < 0 ? NULL : x;
}

/* ---- as modules ---- */

static size_t repr(const sh_module *self, char *text, size_t size) {
    const sh_observer_options *o = sh__observer_options(self);
    const int64_t channels = sh_tensor_numel(sh_module_buffer(self, "min_val"));
    const char *own = o->type ? o->type->name : "", *comma = o->type ? ", " : "";
    if (sh__is_per_channel(o))
        return (size_t)snprintf(text, size, "%s%schannels=%lld", own, comma, (long long)channels);
    const sh_range r = sh__observer_range(self);
    return (size_t)snprintf(text, size, "%s%smin_val=%.9g, max_val=%.9g", own, comma, (double)r.min,
                            (double)r.max);
}

static bool writes_buffers(const sh_module *self) {
    (void)self;
    return true;
}

static sh_value same(sh_module *self, sh_values inputs) {
    (void)self;
    return inputs.n == 1 ? inputs.at[0] : sh_none();
}

#define SH_OBSERVER(kind, called, function)     \
    {.name = called,                            \
     .forward = forward,                        \
     .infer = same,                             \
     .extra_repr = repr,                        \
     .is_impure = writes_buffers,               \
     .state_size = sizeof(sh_observer_options), \
     .leaf = true},
static const sh_module_type module_types[] = {
#include "graph/quant/observers.def"
    SH_OBSERVER(, "Observer", )};
#undef SH_OBSERVER

bool sh_is_observer(const sh_module *module) { return module && module->type->forward == forward; }

/* ---- making ---- */

static void set_limits(sh_observer_options *o) {
    const int32_t low = o->dtype == SH_I8 ? -128 : 0;
    const bool given = o->quant_min || o->quant_max;
    if (!given) o->quant_min = low, o->quant_max = low + 255;
    if (!o->reduce_range) return;
    /* halved downwards, as Python's // */
    o->quant_min = o->quant_min >> 1;
    o->quant_max = o->quant_max >> 1;
}

static void fill_in(sh_observer_options *o) {
    if (o->dtype == SH_NO_DTYPE) o->dtype = SH_U8;
    set_limits(o);
    if (o->eps == 0) o->eps = 0x1p-23;
    if (o->averaging_constant == 0) o->averaging_constant = 0.01;
    if (o->bins == 0) o->bins = 2048;
    if (o->upsample_rate == 0) o->upsample_rate = 128;
}

static bool kind_is_per_channel(const sh_observer_options *o) {
    return o->kind == SH_PER_CHANNEL_MIN_MAX_OBSERVER ||
           o->kind == SH_MOVING_AVERAGE_PER_CHANNEL_MIN_MAX_OBSERVER;
}

static sh_status check_range(const sh_observer_options *o, const char *name) {
    const int32_t low = o->dtype == SH_I8 ? -128 : 0;
    const bool fits = o->quant_min >= low && o->quant_max <= low + 255 && o->quant_min <= 0 &&
                      o->quant_max >= 0 && o->quant_min < o->quant_max;
    if (!fits)
        return sh_fail(SH_ERROR_VALUE, "%s: quant_min %d to quant_max %d is no range of %s with 0 in it",
                       name, o->quant_min, o->quant_max, sh_dtype_name(o->dtype));
    if (o->reduce_range && sh__is_symmetric(o) && o->dtype == SH_U8)
        return sh_fail(SH_ERROR_VALUE, "%s: reduce_range doesn't go with a symmetric u8", name);
    return SH_OK;
}

static sh_status check(const sh_observer_options *o) {
    if ((unsigned)o->kind >= KINDS)
        return sh_fail(SH_ERROR_VALUE, "sh_observer_new: no kind %d", (int)o->kind);
    const char *name = o->type ? o->type->name : kinds[o->kind].name;
    if (o->dtype != SH_U8 && o->dtype != SH_I8)
        return sh_fail(SH_ERROR_DTYPE, "%s: dtype is %s, expected u8 or i8", name, sh_dtype_name(o->dtype));
    if ((unsigned)o->qscheme > SH_PER_CHANNEL_SYMMETRIC ||
        (!o->type && sh__is_per_channel(o) != kind_is_per_channel(o)))
        return sh_fail(SH_ERROR_VALUE, "%s: qscheme %d is not for this observer", name, (int)o->qscheme);
    if (o->bins < 1 || o->upsample_rate < 1 || o->ch_axis < 0 || !(o->eps > 0) || o->averaging_constant < 0)
        return sh_fail(SH_ERROR_VALUE,
                       "%s: bins, upsample_rate, ch_axis, eps or averaging_constant is negative", name);
    if (!o->type && o->kind == SH_FIXED_QPARAMS_OBSERVER && !(o->scale > 0 && isfinite(o->scale)))
        return sh_fail(SH_ERROR_VALUE, "%s: scale is %g, expected more than 0", name, o->scale);
    if (o->type && o->type->range && sh__is_per_channel(o))
        return sh_fail(SH_ERROR_VALUE, "%s: a type with a range of its own is per tensor, got qscheme %d",
                       name, (int)o->qscheme);
    return check_range(o, name);
}

sh_module *sh_observer_new(const sh_observer_options *options) {
    if (sh__error_pending()) return NULL;
    if (!options || (options->type && (!options->type->name || !options->type->observe))) {
        sh_fail(SH_ERROR_NULL, "sh_observer_new: %s is NULL",
                options ? "name or observe of the type" : "options");
        return NULL;
    }
    sh_observer_options o = *options;
    fill_in(&o);
    if (check(&o) < 0) return NULL;
    sh_module *observer = sh_module_new(&module_types[o.type ? KINDS : (int)o.kind]);
    if (!observer) return NULL;
    memcpy(observer->state, &o, sizeof o);
    sh_module_eval(observer);
    if (start(observer) >= 0) return observer;
    sh_module_release(observer);
    return NULL;
}

/* ---- reading ---- */

static sh_status check_observer(const sh_module *observer, const char *function) {
    if (sh__error_pending()) return sh_error()->code;
    if (sh_is_observer(observer)) return SH_OK;
    return sh_fail(observer ? SH_ERROR_TYPE : SH_ERROR_NULL, "%s: %s is no observer", function,
                   observer ? observer->type->name : "NULL");
}

void *sh_observer_user(const sh_module *observer) {
    if (check_observer(observer, "sh_observer_user") < 0) return NULL;
    return sh__observer_options(observer)->user;
}

bool sh_observer_is_calibrated(const sh_module *observer) {
    if (!sh_is_observer(observer)) return false;
    if (sh_tensor_numel(sh_module_buffer(observer, "min_val")) == 0) return false;
    const sh_range r = sh__observer_range(observer);
    return r.min <= r.max;
}

sh_status sh_observer_reset(sh_module *observer) {
    SH_TRY(check_observer(observer, "sh_observer_reset"));
    return start(observer);
}

static sh_status fill_qparams(const sh_module *observer, sh_qparams *q) {
    const sh_observer_options *o = sh__observer_options(observer);
    const sh_tensor *min = sh_module_buffer(observer, "min_val"),
                    *max = sh_module_buffer(observer, "max_val");
    sh_status (*range)(const sh_module *, float *, float *) = o->type ? o->type->range
                                                              : o->kind == SH_HISTOGRAM_OBSERVER
                                                                  ? sh__histogram_range
                                                                  : NULL;
    float *scale = sh_tensor_data(q->scale);
    int64_t *zero_point = sh_tensor_data(q->zero_point);
    if (!range) {
        sh__choose_qparams(o, sh_tensor_data(min), sh_tensor_data(max), sh_tensor_numel(min), scale,
                           zero_point);
        return SH_OK;
    }
    sh_range r;
    SH_TRY(range(observer, &r.min, &r.max));
    sh__choose_qparams(o, &r.min, &r.max, 1, scale, zero_point);
    return SH_OK;
}

sh_status sh_observer_qparams(const sh_module *observer, sh_qparams *qparams) {
    SH_TRY(check_observer(observer, "sh_observer_qparams"));
    if (!qparams) return sh_fail(SH_ERROR_NULL, "sh_observer_qparams: qparams is NULL");
    if (!sh_observer_is_calibrated(observer))
        return sh_fail(SH_ERROR_VALUE, "%s %s has seen nothing: run the prepared module on some inputs first",
                       type_of(observer)->name, observer->name ? observer->name : "");
    const sh_observer_options *o = sh__observer_options(observer);
    const int64_t n = sh_tensor_numel(sh_module_buffer(observer, "min_val"));
    *qparams = (sh_qparams){.dtype = o->dtype,
                            .quant_min = o->quant_min,
                            .quant_max = o->quant_max,
                            .per_channel = sh__is_per_channel(o),
                            .axis = o->ch_axis,
                            .scale = sh_tensor_new(SH_F32, SH_SIZES(n)),
                            .zero_point = sh_tensor_new(SH_I64, SH_SIZES(n))};
    if (!qparams->scale || !qparams->zero_point) return sh_error()->code;
    return fill_qparams(observer, qparams);
}
