/* scan.c - a NaN or Inf has all exponent bits set, so bit patterns tell (ops/cpu/bounds.h). The first pass only asks whether
 * there is any, over memory as it lies; the slow pass, element by element, runs on findings alone. */
#include "modes/scan.h"

#include <math.h>
#include <string.h>

#include "ops/cpu/bounds.h"
#include "ops/element.h"

/* The numbers that elements are made of: a complex one is two. */
typedef struct numbers {
    uint32_t width, each; /* bytes of one number; numbers in an element */
    uint64_t
        limit; /* largest magnitude bits that are still good: the pattern of infinity, or the one below */
} numbers;

static numbers numbers_of(const sh_tensor *t, bool inf) {
    static const uint64_t infinity[SH_DTYPE_COUNT] = {
        [SH_F32] = 0x7f800000, [SH_F64] = 0x7ff0000000000000, [SH_F16] = 0x7c00,
        [SH_BF16] = 0x7f80,    [SH_C64] = 0x7f800000,         [SH_C128] = 0x7ff0000000000000};
    const uint32_t each = t->flags & SH_TENSOR_COMPLEX ? 2 : 1;
    return (numbers){t->element / each, each, infinity[t->dtype] - inf};
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
    const numbers n = numbers_of(t, inf);
    const layout l = layout_of(t);
    int64_t index[SH_MAX_DIMS + 1] = {0};
    for (const char *at = t->data;;) {
        if (sh_any_passes(n.width, at, l.sizes[0] * n.each, n.limit)) return true;
        int d = 1;
        for (; d < l.ndim && ++index[d] == l.sizes[d]; d++) {
            at -= (l.sizes[d] - 1) * l.strides[d] * (int64_t)t->element;
            index[d] = 0;
        }
        if (d >= l.ndim) return false;
        at += l.strides[d] * (int64_t)t->element;
    }
}

/* One matrix of which only a triangle counts, line by line in the direction in which its elements lie side by side. */
static bool any_bad_in_lines(const sh_tensor *t, const char *matrix, bool inf) {
    const numbers n = numbers_of(t, inf);
    const int rows = t->ndim - 2, columns = t->ndim - 1;
    const bool by_rows = t->strides[columns] == 1;
    const int line = by_rows ? rows : columns, across = by_rows ? columns : rows;
    const unsigned part = sh_tensor_part(t);
    const int64_t unit = (part & SH_PART_UNIT) != 0, size = t->sizes[across], step = t->strides[across];
    const bool from_start = ((part & SH_PART_LOWER) != 0) == by_rows;
    const bool whole = !(part & (SH_PART_LOWER | SH_PART_UPPER));
    for (int64_t i = 0; i < t->sizes[line]; i++) {
        const int64_t low = whole || from_start ? 0 : i + unit, last = i + 1 - unit,
                      high = whole || !from_start || last > size ? size : last;
        const char *at = matrix + i * t->strides[line] * (int64_t)t->element;
        for (int64_t k = low; k < high; k += step == 1 ? high : 1)
            if (sh_any_passes(n.width, at + k * step * (int64_t)t->element,
                              (step == 1 ? high - k : 1) * n.each, n.limit))
                return true;
    }
    return false;
}

static bool any_bad_in_part(const sh_tensor *t, bool inf) {
    int64_t index[SH_MAX_DIMS] = {0};
    do {
        if (any_bad_in_lines(t, sh_element(t, index, t->ndim), inf)) return true;
    } while (sh_next_index(t->ndim - 2, t->sizes, index));
    return false;
}

static bool is_bad(double v, bool inf) { return isnan(v) || (inf && isinf(v)); }

int64_t sh_scan_bad(const sh_tensor *t, bool inf, int64_t *first) {
    if (!t || !t->data || !t->numel || sh_dtype_kind_of((sh_dtype)t->dtype) < SH_KIND_FLOAT) return 0;
    if (!(t->flags & SH_TENSOR_PART ? any_bad_in_part : any_bad)(t, inf)) return 0;
    int64_t bad = 0, number = 0;
    SH_EACH_ELEMENT(t, index) {
        if (sh__in_part(t, index) &&
            is_bad(sh_load_shown((sh_dtype)t->dtype, sh_element(t, index, t->ndim)), inf) && bad++ == 0)
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
        const double v = sh_load_shown((sh_dtype)t->dtype, sh_element(t, index, t->ndim));
        if (!isfinite(v) || !sh__in_part(t, index)) continue;
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
