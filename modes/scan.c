/* scan.c - a NaN or Inf has all exponent bits set, so bit patterns tell (ops/cpu/bounds.h). The first pass only asks whether
 * there is any, over memory as it lies; the slow pass, element by element, runs on findings alone. */
#include "modes/scan.h"

#include <math.h>
#include <string.h>

#include "ops/cpu/bounds.h"
#include "ops/element.h"

/* Largest magnitude bits that are still good: the pattern of infinity, or the one below. */
static uint64_t limit_of(sh_dtype dtype, bool inf) {
    static const uint64_t infinity[] = {
        [SH_F32] = 0x7f800000, [SH_F64] = 0x7ff0000000000000, [SH_F16] = 0x7c00, [SH_BF16] = 0x7f80};
    return infinity[dtype] - inf;
}

/* The elements of a tensor as they lie: strides rising, dimensions that join made one, those that repeat left out. */
typedef struct layout {
    int ndim;
    int64_t sizes[SH_MAX_DIMS + 1], strides[SH_MAX_DIMS + 1];
} layout;

static void put_in_order(layout *l, int64_t size, int64_t stride) {
    int at = l->ndim++;
    for (; at > 0 && l->strides[at - 1] > stride; at--) {
        l->sizes[at] = l->sizes[at - 1];
        l->strides[at] = l->strides[at - 1];
    }
    l->sizes[at] = size;
    l->strides[at] = stride;
}

static layout layout_of(const sh_tensor *t) {
    layout all = {0}, joined = {.ndim = 1, .sizes = {1}, .strides = {1}};
    for (int i = 0; i < t->ndim; i++)
        if (t->sizes[i] != 1 && t->strides[i] != 0) put_in_order(&all, t->sizes[i], t->strides[i]);
    for (int i = 0; i < all.ndim; i++) {
        const int last = joined.ndim - 1;
        if (all.strides[i] == joined.sizes[last] * joined.strides[last]) {
            joined.sizes[last] *= all.sizes[i];
        } else {
            joined.sizes[joined.ndim] = all.sizes[i];
            joined.strides[joined.ndim++] = all.strides[i];
        }
    }
    return joined;
}

static bool any_bad(const sh_tensor *t, bool inf) {
    const uint64_t limit = limit_of((sh_dtype)t->dtype, inf);
    const layout l = layout_of(t);
    int64_t index[SH_MAX_DIMS + 1] = {0};
    for (const char *at = t->data;;) {
        if (sh_any_passes(t->element, at, l.sizes[0], limit)) return true;
        int d = 1;
        for (; d < l.ndim && ++index[d] == l.sizes[d]; d++) {
            at -= (l.sizes[d] - 1) * l.strides[d] * (int64_t)t->element;
            index[d] = 0;
        }
        if (d >= l.ndim) return false;
        at += l.strides[d] * (int64_t)t->element;
    }
}

static bool is_bad(double v, bool inf) { return isnan(v) || (inf && isinf(v)); }

int64_t sh_scan_bad(const sh_tensor *t, bool inf, int64_t *first) {
    if (!t || !t->data || !t->numel || sh_dtype_kind_of((sh_dtype)t->dtype) != SH_KIND_FLOAT) return 0;
    if (!any_bad(t, inf)) return 0;
    int64_t bad = 0, number = 0;
    SH_EACH_ELEMENT(t, index) {
        if (is_bad(sh_load_f64((sh_dtype)t->dtype, sh_element(t, index, t->ndim)), inf) && bad++ == 0)
            *first = number;
        number++;
    }
    return bad;
}

bool sh_scan_range(const sh_tensor *t, double *low, double *high) {
    *low = INFINITY;
    *high = -INFINITY;
    if (!t->data) return false;
    SH_EACH_ELEMENT(t, index) {
        const double v = sh_load_f64((sh_dtype)t->dtype, sh_element(t, index, t->ndim));
        if (!isfinite(v)) continue;
        *low = v < *low ? v : *low;
        *high = v > *high ? v : *high;
    }
    return *low <= *high;
}

void sh_scan_index(const sh_tensor *t, int64_t n, int64_t *index) {
    for (int i = t->ndim; i-- > 0;) {
        index[i] = n % t->sizes[i];
        n /= t->sizes[i];
    }
}
