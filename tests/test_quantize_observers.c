/* Observers: torch's scale and zero point, what passes unseen, what is refused, what a reset forgets. */
#include <math.h>
#include <unistd.h>

#include "tests/fail_each.h"
#include "tests/graphs.h"
#include "tests/resnet.h"

/* ---- against torch ---- */

/* `seed rows columns power low high`: see tests/golden/make_observer_goldens.py. */
static sh_tensor *batch(const char *text) {
    long long seed, rows, columns;
    double power, low, high;
    if (sscanf(text, "%lld %lld %lld %lf %lf %lf", &seed, &rows, &columns, &power, &low, &high) != 6)
        return NULL;
    sh_tensor *t = sh_tensor_new(SH_F32, SH_SIZES(rows, columns));
    float *to = t ? sh_tensor_data(t) : NULL;
    for (int64_t i = 0; to && i < rows * columns; i++) {
        const double u = resnet_uniform((uint64_t)seed, (uint64_t)i, 0, 1);
        double product = u;
        for (int k = 1; k < (int)power; k++) product = product * u;
        to[i] = (float)(low + (high - low) * product);
    }
    return t;
}

static sh_observer_kind kind_named(const char *name) {
#define SH_OBSERVER(kind, called, function) \
    if (strcmp(name, #kind) == 0) return SH_##kind##_OBSERVER;
#include "graph/quant/observers.def"
#undef SH_OBSERVER
    return SH_FIXED_QPARAMS_OBSERVER;
}

static sh_qscheme scheme_named(const char *name) {
    static const char *const names[] = {"affine", "symmetric", "channel_affine", "channel_symmetric"};
    int i = 0;
    while (strcmp(names[i], name) != 0) i++;
    return (sh_qscheme)i;
}

static sh_module *observer_of(const char *setting) {
    char kind[64], dtype[8], scheme[32];
    int reduce, low, high;
    if (sscanf(setting, "%63s %7s %31s %d %d %d", kind, dtype, scheme, &reduce, &low, &high) != 6)
        return NULL;
    const sh_observer_options o = {.kind = kind_named(kind),
                                   .dtype = sh_dtype_parse(dtype),
                                   .qscheme = scheme_named(scheme),
                                   .reduce_range = reduce != 0,
                                   .quant_min = low,
                                   .quant_max = high};
    return sh_observer_new(&o);
}

/* The largest |scale - expected| / expected; 1 where a zero point differs. */
static double distance(const sh_qparams *q, const char *expected) {
    double worst = 0, scale;
    int zero_point, length;
    for (int64_t i = 0; i < sh_tensor_numel(q->scale); i++, expected += length) {
        if (sscanf(expected, "%lf %d%n", &scale, &zero_point, &length) != 2) return 1;
        if (((const int64_t *)sh_tensor_data(q->zero_point))[i] != zero_point) return 1;
        worst = fmax(worst, fabs(((const float *)sh_tensor_data(q->scale))[i] - scale) / scale);
    }
    return worst;
}

static double distance_of_line(char *line) {
    char *batches = strchr(line, '|'), *results = strrchr(line, '|');
    sh_qparams q;
    sh_module *observer = observer_of(line);
    if (!observer) return 1;
    *results++ = 0;
    for (char *b = batches + 1; b; b = strchr(b, ';') ? strchr(b, ';') + 1 : NULL)
        sh_forward(observer, batch(b));
    const bool read = sh_observer_qparams(observer, &q) == SH_OK;
    sh_module_release(observer);
    return read ? distance(&q, results) : 1;
}

Test(quantize_observers, choose_torchs_scale_and_zero_point) {
    char line[2048], copy[2048];
    int cases = 0;
    FILE *file = fopen("tests/golden/observers.txt", "r");
    cr_assert(file != NULL);
    while (fgets(line, sizeof line, file)) SH_SCOPE {
            strcpy(copy, line);
            cr_expect(le(dbl, distance_of_line(line), 1e-6), "%s%s", copy, message());
            cases++;
        }
    fclose(file);
    cr_expect(gt(int, cases, 100));
}

/* ---- one at a time ---- */

static sh_module *observer(sh_observer_kind kind) {
    const sh_observer_options o = {.kind = kind};
    return sh_observer_new(&o);
}

static double scale_of(const sh_module *o) {
    sh_qparams q;
    return sh_observer_qparams(o, &q) == SH_OK ? (double)*(float *)sh_tensor_data(q.scale) : -1;
}

Test(quantize_observers, give_back_the_very_tensor_and_no_mode_sees_their_work) {
    SH_SCOPE {
        sh_module *o = observer(SH_HISTOGRAM_OBSERVER);
        sh_tensor *x = sh_transpose(sh_ones(SH_SIZES(3, 4)), 0, 1);
        cr_expect(sh_forward(o, x) == x);
        cr_expect(sh_observer_is_calibrated(o));
        sh_module_release(o);
    }
}

Test(quantize_observers, pass_integers_and_empty_tensors_unseen) {
    SH_SCOPE {
        sh_module *o = observer(SH_MIN_MAX_OBSERVER);
        sh_forward(o, sh_arange(5));
        sh_forward(o, sh_zeros(SH_SIZES(0, 3)));
        cr_expect(not(sh_observer_is_calibrated(o)));
        cr_expect(lt(dbl, scale_of(o), 0));
        cr_expect(error_says(SH_ERROR_VALUE, "MinMaxObserver  has seen nothing"));
        sh_module_release(o);
    }
}

Test(quantize_observers, take_in_half_and_double_precision_as_float) {
    const sh_dtype dtypes[] = {SH_F16, SH_BF16, SH_F64};
    for (int i = 0; i < 3; i++) SH_SCOPE {
            sh_module *o = observer(SH_MIN_MAX_OBSERVER);
            sh_forward(o, sh_full(SH_SIZES(4), 2.0, .dtype = dtypes[i]));
            cr_expect(epsilon_eq(dbl, scale_of(o), 2.0 / 255, 1e-9));
            sh_module_release(o);
        }
}

Test(quantize_observers, refuse_what_is_not_finite_and_keep_what_they_have) {
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) SH_SCOPE {
            sh_module *parent = sh_nn_sequential(),
                      *o = sh_module_append(parent, observer(SH_HISTOGRAM_OBSERVER));
            sh_forward(o, sh_full(SH_SIZES(4), 2.0));
            const double before = scale_of(o);
            cr_expect(sh_forward(o, sh_full(SH_SIZES(4), bad[i])) == NULL);
            cr_expect(error_says(SH_ERROR_FINDING, "HistogramObserver 0: a NaN or an infinity"));
            cr_expect(eq(dbl, scale_of(o), before));
            sh_module_release(parent);
        }
}

Test(quantize_observers, forget_on_reset) {
    for (int k = 0; k <= SH_HISTOGRAM_OBSERVER; k++) SH_SCOPE {
            const bool channels =
                k == SH_PER_CHANNEL_MIN_MAX_OBSERVER || k == SH_MOVING_AVERAGE_PER_CHANNEL_MIN_MAX_OBSERVER;
            const sh_observer_options options = {.kind = (sh_observer_kind)k,
                                                 .qscheme =
                                                     channels ? SH_PER_CHANNEL_AFFINE : SH_PER_TENSOR_AFFINE};
            sh_module *o = sh_observer_new(&options);
            sh_forward(o, sh_full(SH_SIZES(2, 2), 100.0));
            cr_expect(sh_observer_reset(o) == SH_OK);
            cr_expect(not(sh_observer_is_calibrated(o)));
            sh_forward(o, sh_full(SH_SIZES(3, 2), 1.0)); /* of other channels too */
            cr_expect(epsilon_eq(dbl, scale_of(o), 1.0 / 255, 1e-8), "kind %d", k);
            sh_module_release(o);
        }
}

Test(quantize_observers, a_state_dict_keeps_what_they_saw) {
    char path[] = "/tmp/shunt-observer-XXXXXX";
    close(mkstemp(path));
    SH_SCOPE {
        sh_module *o = observer(SH_HISTOGRAM_OBSERVER), *fresh = observer(SH_HISTOGRAM_OBSERVER);
        sh_forward(o, batch("1 8 500 5 -2 3"));
        cr_assert(sh_module_save(o, path) == SH_OK);
        cr_assert(sh_module_load(fresh, path) == SH_OK, "%s", message());
        cr_expect(eq(dbl, scale_of(fresh), scale_of(o)));
        sh_module_release(o);
        sh_module_release(fresh);
    }
    unlink(path);
}

Test(quantize_observers, fixed_ones_say_what_they_were_given) {
    const struct {
        double scale;
        int64_t zero_point;
    } cases[] = {{1.0 / 256, 0}, {2.0 / 256, 128}, {0.5, 255}};
    for (int i = 0; i < 3; i++) SH_SCOPE {
            sh_qparams q;
            const sh_observer_options options = {.kind = SH_FIXED_QPARAMS_OBSERVER,
                                                 .scale = cases[i].scale,
                                                 .zero_point = cases[i].zero_point};
            sh_module *o = sh_observer_new(&options);
            sh_forward(o, sh_full(SH_SIZES(2), 1000.0));
            cr_assert(sh_observer_qparams(o, &q) == SH_OK);
            cr_expect(eq(dbl, sh_item(q.scale), cases[i].scale));
            cr_expect(eq(i64, sh_item_int(q.zero_point), cases[i].zero_point));
            sh_module_release(o);
        }
}

Test(quantize_observers, channels_lie_along_any_axis_and_must_stay_as_many) {
    SH_SCOPE {
        sh_qparams q;
        const sh_observer_options options = {.kind = SH_PER_CHANNEL_MIN_MAX_OBSERVER,
                                             .dtype = SH_I8,
                                             .qscheme = SH_PER_CHANNEL_SYMMETRIC,
                                             .ch_axis = 1};
        sh_module *o = sh_observer_new(&options);
        sh_forward(o, sh_stack(SH_LIST(sh_ones(SH_SIZES(2, 3)), sh_full(SH_SIZES(2, 3), -5.0)), .dim = 1));
        cr_assert(sh_observer_qparams(o, &q) == SH_OK);
        cr_expect(eq(i64, sh_tensor_numel(q.scale), 2));
        cr_expect(epsilon_eq(dbl, sh_tensor_at(q.scale, (const int64_t[]){1}), 5 / 127.5, 1e-7));
        cr_expect(sh_forward(o, sh_ones(SH_SIZES(2, 3, 2))) == NULL);
        cr_expect(error_says(SH_ERROR_SHAPE, "3 channels, before it had 2"));
        cr_expect(sh_forward(o, sh_ones(SH_SIZES(2))) == NULL);
        cr_expect(error_says(SH_ERROR_SHAPE, "no axis 1"));
        sh_module_release(o);
    }
}

Test(quantize_observers, options_that_do_not_fit_are_refused) {
    const struct {
        sh_observer_options o;
        const char *says;
    } cases[] = {
        {{.kind = (sh_observer_kind)77}, "no kind 77"},
        {{.dtype = SH_F32}, "dtype is f32, expected u8 or i8"},
        {{.kind = SH_HISTOGRAM_OBSERVER, .qscheme = SH_PER_CHANNEL_AFFINE}, "HistogramObserver: qscheme 2"},
        {{.kind = SH_PER_CHANNEL_MIN_MAX_OBSERVER}, "PerChannelMinMaxObserver: qscheme 0"},
        {{.quant_min = 5, .quant_max = 9}, "quant_min 5 to quant_max 9"},
        {{.quant_min = 0, .quant_max = 256}, "quant_max 256"},
        {{.dtype = SH_U8, .qscheme = SH_PER_TENSOR_SYMMETRIC, .reduce_range = true}, "symmetric u8"},
        {{.kind = SH_FIXED_QPARAMS_OBSERVER}, "scale is 0"},
        {{.bins = -1}, "bins"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_expect(sh_observer_new(&cases[i].o) == NULL, "case %zu", i);
        cr_expect(error_says(sh_error() ? sh_error()->code : SH_OK, cases[i].says), "case %zu", i);
    }
    cr_expect(sh_observer_new(NULL) == NULL && error_says(SH_ERROR_NULL, "options is NULL"));
    sh_qparams q;
    cr_expect(sh_observer_qparams(NULL, &q) < 0 && error_says(SH_ERROR_NULL, "NULL is no observer"));
    cr_expect(sh_observer_reset(NULL) < 0 && error_says(SH_ERROR_NULL, "no observer"));
    sh_module *relu = sh_nn_relu();
    cr_expect(sh_observer_user(relu) == NULL &&
              error_says(SH_ERROR_TYPE, "sh_observer_user: ReLU is no observer"));
    sh_module_release(relu);
}

/* ---- one of the user's ---- */

/* The mean of what passes, on both sides of 0. */
static sh_status note_mean(sh_module *self, const sh_tensor *x) {
    ++*(int *)sh_observer_user(self);
    const float mean = (float)sh_item(sh_mean(sh_abs((sh_tensor *)(uintptr_t)x)));
    *(float *)sh_tensor_data(sh_module_buffer(self, "min_val")) = -mean;
    *(float *)sh_tensor_data(sh_module_buffer(self, "max_val")) = mean;
    return SH_OK;
}

static sh_status twice(const sh_module *self, float *min, float *max) {
    *max = 2 * *(float *)sh_tensor_data(sh_module_buffer(self, "max_val"));
    *min = -*max;
    return SH_OK;
}

Test(quantize_observers, users_write_their_own) {
    static const sh_observer_type type = {"MeanObserver", note_mean, twice};
    int calls = 0;
    const sh_observer_options options = {.type = &type, .user = &calls, .qscheme = SH_PER_TENSOR_SYMMETRIC};
    SH_SCOPE {
        sh_module *o = sh_observer_new(&options);
        sh_forward(o, sh_full(SH_SIZES(3), -4.0));
        cr_expect(eq(int, calls, 1));
        cr_expect(epsilon_eq(dbl, scale_of(o), 8 / 127.5, 1e-7));
        cr_expect(text_is(sh_module_text(o), "Observer(MeanObserver, min_val=-4, max_val=4)"));
        sh_module_release(o);
    }
    const sh_observer_options channels = {.type = &type, .qscheme = SH_PER_CHANNEL_AFFINE};
    cr_expect(sh_observer_new(&channels) == NULL &&
              error_says(SH_ERROR_VALUE, "MeanObserver: a type with a range of its own is per tensor"));
}

/* As a mask of attention has it: 1e9 - 1 and 1e9 + 1 are one float, and no bin lies between. */
Test(quantize_observers, histograms_take_in_what_floats_cannot_tell_apart) {
    SH_SCOPE {
        sh_module *o = observer(SH_HISTOGRAM_OBSERVER);
        sh_tensor *mask = sh_full(SH_SIZES(4, 4), -1e9);
        cr_expect(sh_forward(o, mask) == mask);
        cr_expect(eq(dbl, sh_item(sh_sum(sh_module_buffer(o, "histogram"))), 16));
        cr_expect(epsilon_eq(dbl, scale_of(o) / 1e9, 1 / 255.0, 1e-7));
        sh_module_release(o);
    }
}

Test(quantize_observers, print_as_torchs_do) {
    SH_SCOPE {
        sh_module *o = observer(SH_MIN_MAX_OBSERVER);
        cr_expect(text_is(sh_module_text(o), "MinMaxObserver(min_val=inf, max_val=-inf)"));
        sh_module_release(o);
    }
}

/* ---- memory ---- */

static bool observe_twice(void) {
    sh_qparams q;
    const sh_observer_options weights = {.kind = SH_PER_CHANNEL_MIN_MAX_OBSERVER,
                                         .qscheme = SH_PER_CHANNEL_AFFINE};
    sh_module *o = observer(SH_HISTOGRAM_OBSERVER), *w = sh_observer_new(&weights);
    bool done = false;
    if (o && w) {
        sh_forward(o, sh_full(SH_SIZES(4), 1.0));
        sh_forward(o, batch("1 2 5 1 -2 3"));
        sh_forward(o, batch("1 2 5 1 -4 3"));
        sh_forward(w, sh_ones(SH_SIZES(2, 2)));
        done = sh_observer_qparams(o, &q) == SH_OK && sh_observer_qparams(w, &q) == SH_OK;
    }
    sh_module_release(o);
    sh_module_release(w);
    return done;
}

Test(quantize_observers, each_allocation_may_fail) { fail_each("observers", observe_twice); }
