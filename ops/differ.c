/* differ.c - how far two results of one call are apart: for verify and the shadow mode (dispatch/shadow.h).
 *
 * Each number of a complex element counts by itself, of a matrix of which a triangle counts only that. Integers and flags
 * are exact. The worst element is the one that is furthest outside of its tolerance. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/shadow.h"
#include "ops/element.h"

typedef struct differ {
    const sh_tensor *got, *expected;
    sh_difference *d;
    double rtol, atol, worst; /* worst: the error over its tolerance */
    int64_t at[SH_MAX_DIMS];
} differ;

static double default_rtol(sh_dtype dtype) {
    switch (dtype) {
    case SH_F64:
    case SH_C128: return 1e-8;
    case SH_F16: return 4e-3;
    case SH_BF16: return 3e-2;
    default: return 1e-5;
    }
}

/* What is usual in a tensor of floating numbers. */
static double mean_magnitude(const sh_tensor *t) {
    double sum = 0;
    int64_t n = 0;
    SH_EACH_ELEMENT(t, index) {
        double v[2] = {0, 0};
        if (!sh__in_part(t, index)) continue;
        if (t->flags & SH_TENSOR_COMPLEX)
            sh_load_parts((sh_dtype)t->dtype, sh_element(t, index, t->ndim), v);
        else
            v[0] = sh_load_f64((sh_dtype)t->dtype, sh_element(t, index, t->ndim));
        const double magnitude = fabs(v[0]) + fabs(v[1]);
        if (!isfinite(magnitude)) continue;
        sum += magnitude;
        n++;
    }
    return n ? sum / (double)n : 0;
}

static void take(differ *x, const int64_t *index, double error, double expected, double allowed) {
    const double rel = error > 0 ? error / fabs(expected) : 0,
                 excess = error / (allowed > 0 ? allowed : 1e-300);
    if (error > x->d->abs) x->d->abs = error;
    if (rel > x->d->rel) x->d->rel = rel;
    if (!(error > allowed)) return;
    x->d->bad++;
    if (x->d->differs && !(excess > x->worst)) return;
    x->d->differs = true;
    x->worst = excess;
    memcpy(x->at, index, sizeof x->at);
}

static void floats(differ *x, const int64_t *index, double a, double b) {
    if (a == b || (isnan(a) && isnan(b))) return;
    const bool finite = isfinite(a) && isfinite(b);
    take(x, index, finite ? fabs(a - b) : INFINITY, b, finite ? x->atol + x->rtol * fabs(b) : 0);
}

/* Integers are subtracted as such: beyond 2^53 neighbours are one double. */
static void integers(differ *x, const int64_t *index, int64_t a, int64_t b) {
    if (a == b) return;
    const uint64_t distance = a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
    take(x, index, (double)distance, (double)b, 0);
}

static void one(differ *x, const int64_t *index) {
    const sh_dtype dtype = (sh_dtype)x->got->dtype;
    const char *a = sh_element(x->got, index, x->got->ndim),
               *b = sh_element(x->expected, index, x->got->ndim);
    double v[2], w[2];
    if (memcmp(a, b, x->got->element) == 0) return;
    switch (sh_dtype_kind_of(dtype)) {
    case SH_KIND_COMPLEX:
        sh_load_parts(dtype, a, v);
        sh_load_parts(dtype, b, w);
        floats(x, index, v[0], w[0]);
        floats(x, index, v[1], w[1]);
        return;
    case SH_KIND_FLOAT: floats(x, index, sh_load_f64(dtype, a), sh_load_f64(dtype, b)); return;
    default: integers(x, index, sh_load_i64(dtype, a), sh_load_i64(dtype, b));
    }
}

static void print_element(const sh_tensor *t, const int64_t *index, char *text, size_t size) {
    const sh_dtype dtype = (sh_dtype)t->dtype;
    const char *at = sh_element(t, index, t->ndim);
    double v[2];
    if (t->flags & SH_TENSOR_COMPLEX) {
        sh_load_parts(dtype, at, v);
        snprintf(text, size, "%.9g%+.9gj", v[0], v[1]);
    } else if (sh_dtype_kind_of(dtype) == SH_KIND_FLOAT) {
        snprintf(text, size, "%.9g", sh_load_f64(dtype, at));
    } else {
        snprintf(text, size, "%" PRId64, sh_load_i64(dtype, at));
    }
}

static void tell_worst(const differ *x) {
    size_t n = (size_t)snprintf(x->d->at, sizeof x->d->at, "[");
    for (int i = 0; i < x->got->ndim && n < sizeof x->d->at; i++)
        n += (size_t)snprintf(x->d->at + n, sizeof x->d->at - n, i ? ", %" PRId64 : "%" PRId64, x->at[i]);
    if (n < sizeof x->d->at) snprintf(x->d->at + n, sizeof x->d->at - n, "]");
    print_element(x->got, x->at, x->d->got, sizeof x->d->got);
    print_element(x->expected, x->at, x->d->expected, sizeof x->d->expected);
}

static bool same_type(const sh_tensor *a, const sh_tensor *b) {
    return a->dtype == b->dtype && a->ndim == b->ndim &&
           memcmp(a->sizes, b->sizes, (size_t)a->ndim * sizeof *a->sizes) == 0;
}

static void other_types(const sh_tensor *got, const sh_tensor *expected, sh_difference *d) {
    d->differs = true;
    d->abs = d->rel = INFINITY;
    sh__tensor_print_type(got, d->got, sizeof d->got);
    sh__tensor_print_type(expected, d->expected, sizeof d->expected);
}

static bool same_bytes(const sh_tensor *a, const sh_tensor *b) {
    return (a->flags & b->flags & SH_TENSOR_CONTIGUOUS) && !((a->flags | b->flags) & SH_TENSOR_PART) &&
           (!a->numel || memcmp(a->data, b->data, (size_t)a->numel * a->element) == 0);
}

static void differ_of(const sh_tensor *got, const sh_tensor *expected, const sh_tolerance *tolerance,
                      sh_difference *d) {
    if (!same_type(got, expected)) {
        other_types(got, expected, d);
        return;
    }
    if (same_bytes(got, expected)) return;
    differ x = {.got = got, .expected = expected, .d = d};
    const bool exact = sh_dtype_kind_of((sh_dtype)got->dtype) < SH_KIND_FLOAT;
    x.rtol = tolerance->rtol < 0 ? default_rtol((sh_dtype)got->dtype) : tolerance->rtol;
    x.atol = exact || tolerance->atol >= 0 ? tolerance->atol : x.rtol * mean_magnitude(expected);
    d->abs = d->rel = 0;
    d->bad = 0;
    d->total = got->numel;
    SH_EACH_ELEMENT(got, index) if (sh__in_part(expected, index) && sh__in_part(got, index)) one(&x, index);
    if (d->differs) tell_worst(&x);
}

__attribute__((constructor(101))) static void install(void) { sh__set_comparer(differ_of); }
