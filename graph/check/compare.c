/* compare.c - what two calls gave, set side by side. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/check/impl.h"
#include "ops/element.h"

enum { TEXT = 200 };

/* ---- tolerances ---- relative, and absolute in proportion to the largest magnitude; PyTorch's assert_close, but for sums
 * whose order is another */
static double relative(sh_dtype dtype) {
    switch (dtype) {
    case SH_F16: return 2e-3;
    case SH_BF16: return 1.6e-2;
    case SH_F32: return 1e-5;
    case SH_F64: return 1e-10;
    default: return 0;
    }
}

typedef struct difference {
    int64_t count;
    double worst, got, expected;
    int64_t index[SH_MAX_DIMS];
} difference;

static double largest_magnitude(const sh_tensor *t) {
    double largest = 0;
    SH_EACH_ELEMENT(t, index) {
        const double v = fabs(sh_load_f64((sh_dtype)t->dtype, sh_element(t, index, t->ndim)));
        if (isfinite(v) && v > largest) largest = v;
    }
    return largest;
}

static bool is_near(double got, double expected, double rtol, double atol) {
    if (isnan(got) || isnan(expected)) return isnan(got) && isnan(expected);
    if (got == expected) return true;
    return isfinite(expected) && fabs(got - expected) <= atol + rtol * fabs(expected);
}

static difference find_difference(const sh_tensor *got, const sh_tensor *expected, double rtol, double atol) {
    difference d = {.count = 0, .worst = -1};
    SH_EACH_ELEMENT(expected, index) {
        const double g = sh_load_f64((sh_dtype)got->dtype, sh_element(got, index, got->ndim)),
                     e = sh_load_f64((sh_dtype)expected->dtype, sh_element(expected, index, expected->ndim));
        if (is_near(g, e, rtol, atol)) continue;
        const double distance = isfinite(g - e) ? fabs(g - e) : HUGE_VAL;
        if (distance > d.worst) {
            d.worst = distance;
            d.got = g;
            d.expected = e;
            memcpy(d.index, index, sizeof d.index);
        }
        d.count++;
    }
    return d;
}

static void tell_difference(char *text, const sh_tensor *t, const difference *d) {
    char at[100] = "";
    size_t n = 0;
    for (int i = 0; i < t->ndim && n < sizeof at - 24; i++)
        n += (size_t)snprintf(at + n, sizeof at - n, i ? ", %" PRId64 : "%" PRId64, d->index[i]);
    snprintf(text, TEXT, "%" PRId64 " of %" PRId64 " elements differ, most at [%s]: %.9g instead of %.9g",
             d->count, t->numel, at, d->got, d->expected);
}

/* What has no order (complex numbers) is compared by its bytes. */
static bool same_bytes(const sh_tensor *got, const sh_tensor *expected, char *text) {
    int64_t count = 0;
    SH_EACH_ELEMENT(expected, index)
    count += memcmp(sh_element(got, index, got->ndim), sh_element(expected, index, expected->ndim),
                    expected->element) != 0;
    if (count) snprintf(text, TEXT, "%" PRId64 " of %" PRId64 " elements differ", count, expected->numel);
    return !count;
}

static bool same_type(const sh_tensor *got, const sh_tensor *expected, char *text) {
    char g[80], e[80];
    if (got->dtype == expected->dtype && got->ndim == expected->ndim &&
        memcmp(got->sizes, expected->sizes, (size_t)got->ndim * sizeof *got->sizes) == 0)
        return true;
    sh__tensor_print_type(got, g, sizeof g);
    sh__tensor_print_type(expected, e, sizeof e);
    snprintf(text, TEXT, "it is %s instead of %s", g, e);
    return false;
}

/* An op that makes memory says nothing of what is in it. */
static bool is_uninitialised(const sh_trial *t) { return strncmp(t->op->name, "empty", 5) == 0; }

bool sh__same_values(const sh_trial *t, const sh_tensor *got, const sh_tensor *expected, bool exactly,
                     char *text) {
    const sh_dtype dtype = (sh_dtype)expected->dtype;
    if (!same_type(got, expected, text)) return false;
    if (!got->data || !expected->data || !expected->numel || is_uninitialised(t)) return true;
    if (expected->flags & SH_TENSOR_SPECIAL) return same_bytes(got, expected, text);
    const double rtol = exactly         ? 0
                        : t->o.rtol > 0 ? t->o.rtol
                                        : relative(dtype),
                 atol = exactly         ? 0
                        : t->o.atol > 0 ? t->o.atol
                                        : relative(dtype) * fmax(1, largest_magnitude(expected));
    const difference d = find_difference(got, expected, rtol, atol);
    if (d.count) tell_difference(text, expected, &d);
    return !d.count;
}

/* ---- whole outcomes ---- */

void sh__expect_same(sh_trial *t, sh_check_id check, const char *when, const sh_outcome *got,
                     const sh_instance *got_in, const sh_outcome *expected, const sh_instance *expected_in,
                     bool exactly) {
    char text[TEXT];
    if (got->n != expected->n) {
        sh__check_fault(t, check, "%s: %zu results instead of %zu", when, got->n, expected->n);
        return;
    }
    for (size_t i = 0; i < got->n; i++) {
        if (sh__same_values(t, got->tensors[i], expected->tensors[i], exactly, text)) continue;
        sh__check_fault(t, check, "%s: result %zu: %s", when, i, text);
        return;
    }
    for (size_t i = 0; got_in && i < got_in->ntensors; i++) {
        const uint32_t param = got_in->params[i];
        if (param >= t->schema->nparams || !t->schema->params[param].written) continue;
        if (sh__same_values(t, got_in->tensors[i], expected_in->tensors[i], exactly, text)) continue;
        sh__check_fault(t, check, "%s: the written argument %s: %s", when, t->schema->params[param].name,
                        text);
        return;
    }
}

bool sh__expect_spec(sh_trial *t, sh_check_id shape, sh_check_id dtype, const char *when,
                     const sh_outcome *real, const sh_outcome *inferred) {
    char got[80], expected[80];
    if (real->n != inferred->n) {
        sh__check_fault(t, shape, "%s%zu results were inferred, the kernel gave %zu", when, inferred->n,
                        real->n);
        return false;
    }
    for (size_t i = 0; i < real->n; i++) {
        const sh_tensor *r = real->tensors[i], *f = inferred->tensors[i];
        const bool sizes =
            r->ndim == f->ndim && memcmp(r->sizes, f->sizes, (size_t)r->ndim * sizeof *r->sizes) == 0;
        if (sizes && r->dtype == f->dtype) continue;
        sh__tensor_print_type(r, got, sizeof got);
        sh__tensor_print_type(f, expected, sizeof expected);
        sh__check_fault(t, sizes ? dtype : shape, "%sresult %zu is %s, inferred was %s", when, i, got,
                        expected);
        return false;
    }
    return true;
}
