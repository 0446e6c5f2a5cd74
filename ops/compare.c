#include "ops/compare.h"

#include <math.h>

#include "dispatch/device_impl.h"
#include "dispatch/no_data.h"
#include "ops/element.h"
#include "ops/promote.h"

static bool close_enough(double a, double b, const sh_allclose_options *o) {
    if (a == b) return true;
    if (isnan(a) && isnan(b)) return o->equal_nan;
    if (!isfinite(a) || !isfinite(b)) return false;
    return fabs(a - b) <= o->atol + o->rtol * fabs(b);
}

/* Integers are subtracted as such: beyond 2^53 neighbours are one double. */
static bool close_integers(int64_t a, int64_t b, const sh_allclose_options *o) {
    const uint64_t distance = a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
    return (double)distance <= o->atol + o->rtol * fabs((double)b);
}

/* Each part by itself: of a number that is far from zero in one direction a small other part counts too. */
static bool close_parts(sh_dtype da, const char *a, sh_dtype db, const char *b,
                        const sh_allclose_options *o) {
    double x[2], y[2];
    sh_load_parts(da, a, x);
    sh_load_parts(db, b, y);
    return close_enough(x[0], y[0], o) && close_enough(x[1], y[1], o);
}

static bool same_element(sh_dtype da, const char *a, sh_dtype db, const char *b,
                         const sh_allclose_options *o) {
    if (sh_dtype_kind_of(da) == SH_KIND_COMPLEX) return close_parts(da, a, db, b, o);
    if (sh_dtype_kind_of(da) != SH_KIND_FLOAT && sh_dtype_kind_of(db) != SH_KIND_FLOAT)
        return close_integers(sh_load_i64(da, a), sh_load_i64(db, b), o);
    return close_enough(sh_load_f64(da, a), sh_load_f64(db, b), o);
}

static bool usable(const char *what, const sh_tensor *a, const sh_tensor *b) {
    if (sh__error_pending()) return false;
    if (!a || !b)
        sh_fail(SH_ERROR_NULL, "%s: argument %s is NULL", what, a ? "b" : "a");
    else if (a->device == SH_META || b->device == SH_META)
        sh__no_data(a->device == SH_META ? a : b, what);
    else if (((a->flags ^ b->flags) & SH_TENSOR_COMPLEX))
        sh_fail(SH_ERROR_DTYPE, "%s: %s and %s are not compared", what, sh_dtype_name((sh_dtype)a->dtype),
                sh_dtype_name((sh_dtype)b->dtype));
    else
        return true;
    return false;
}

/* Is the element outside of what counts of either? Of matrices alone, which both are then. */
static bool counts(const sh_tensor *a, const sh_tensor *b, int ndim, const int64_t *index) {
    return (a->ndim < ndim || sh__in_part(a, index)) && (b->ndim < ndim || sh__in_part(b, index));
}

/* Tensors of other devices are compared on the host. */
static bool close_near(const sh_tensor *a, const sh_tensor *b, const sh_allclose_options *options) {
    bool close = false;
    SH_SCOPE {
        a = sh__on_host(a, "sh_allclose");
        b = sh__on_host(b, "sh_allclose");
        close = a && b && (sh_allclose)(a, b, options);
    }
    return close;
}

bool(sh_allclose)(const sh_tensor *a, const sh_tensor *b, const sh_allclose_options *options) {
    static const sh_allclose_options defaults = {SH_ALLCLOSE_DEFAULTS};
    sh_tensor shape = {.numel = 1};
    int32_t ndim;
    if (!options) options = &defaults;
    if (!usable("sh_allclose", a, b)) return false;
    if (sh__is_remote(a) || sh__is_remote(b)) return close_near(a, b, options);
    if (sh_broadcast("sh_allclose", a->ndim, a->sizes, b->ndim, b->sizes, &ndim, shape.sizes) < 0)
        return false;
    shape.ndim = (uint8_t)ndim;
    for (int i = 0; i < ndim; i++) shape.numel = a->numel && b->numel ? shape.numel * shape.sizes[i] : 0;
    SH_EACH_ELEMENT(&shape, index)
    if (counts(a, b, ndim, index) && !same_element((sh_dtype)a->dtype, sh_element(a, index, ndim),
                                                   (sh_dtype)b->dtype, sh_element(b, index, ndim), options))
        return false;
    return true;
}

bool sh_equal(const sh_tensor *a, const sh_tensor *b) {
    static const sh_allclose_options exact = {0, 0, 0, false};
    if (sh__error_pending()) return false;
    if (a && b && a->dtype != b->dtype) return false;
    if (!usable("sh_equal", a, b) || a->ndim != b->ndim) return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->sizes[i] != b->sizes[i]) return false;
    return (sh_allclose)(a, b, &exact);
}
