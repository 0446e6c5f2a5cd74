/* scan.c - a NaN or Inf has all exponent bits set; so one integer compare an element finds both. The first pass only
 * asks whether there is any, in blocks that the compiler vectorises; the slow pass runs on findings alone. */
#include "modes/scan.h"

#include <math.h>
#include <string.h>

#include "ops/element.h"

enum { BLOCK = 4096 };

#ifdef __clang__
#define VECTORISED
#else
#define VECTORISED __attribute__((optimize("O3"))) /* gcc 12 at -O2 leaves such a loop alone */
#endif

/* Largest magnitude bits that are still good: beyond the infinity pattern is NaN, the pattern itself Inf. */
#define ANY_BAD(name, type, sign)                                       \
    VECTORISED static bool name(const type *x, int64_t n, type limit) { \
        type worst = 0;                                                 \
        for (int64_t i = 0; i < n; i++) {                               \
            const type magnitude = (type)(x[i] & (type) ~(type)(sign)); \
            worst = magnitude > worst ? magnitude : worst;              \
        }                                                               \
        return worst > limit;                                           \
    }
ANY_BAD(any_bad_16, uint16_t, 0x8000)
ANY_BAD(any_bad_32, uint32_t, 0x80000000)
ANY_BAD(any_bad_64, uint64_t, 0x8000000000000000)
#undef ANY_BAD

static bool block_is_bad(sh_dtype dtype, const char *at, int64_t n, bool inf) {
    switch (dtype) {
    case SH_F32: return any_bad_32((const uint32_t *)at, n, inf ? 0x7f7fffff : 0x7f800000);
    case SH_F64: return any_bad_64((const uint64_t *)at, n, inf ? 0x7fefffffffffffff : 0x7ff0000000000000);
    case SH_F16: return any_bad_16((const uint16_t *)at, n, inf ? 0x7bff : 0x7c00);
    default: return any_bad_16((const uint16_t *)at, n, inf ? 0x7f7f : 0x7f80);
    }
}

static bool any_bad(const sh_tensor *t, bool inf) {
    if (!sh_tensor_is_contiguous(t)) return true;
    const sh_dtype dtype = sh_tensor_dtype(t);
    const int64_t n = sh_tensor_numel(t), size = (int64_t)sh_dtype_size(dtype);
    const char *data = sh_tensor_data(t);
    for (int64_t i = 0; i < n; i += BLOCK)
        if (block_is_bad(dtype, data + i * size, n - i < BLOCK ? n - i : BLOCK, inf)) return true;
    return false;
}

static bool is_bad(double v, bool inf) { return isnan(v) || (inf && isinf(v)); }

int64_t sh_scan_bad(const sh_tensor *t, bool inf, int64_t *first) {
    if (!t || !sh_tensor_data(t) || !sh_tensor_numel(t) ||
        sh_dtype_kind_of(sh_tensor_dtype(t)) != SH_KIND_FLOAT)
        return 0;
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
    if (!sh_tensor_data(t)) return false;
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
