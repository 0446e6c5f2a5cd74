/* value.c - comparing values, and several axes in one integer.
 *
 * A packed list of axes lies from 2^61 up to 2^62, where no axis, size or SH_NO_INT is: bits 0 to 3 hold the
 * count, then each axis has 5 bits, as axis + 16. */
#include "dispatch/value.h"

#include <math.h>
#include <string.h>

#include "dispatch/status.h"

enum { COUNT_BITS = 4, AXIS_BITS = 5, AXIS_BIAS = 16, PACKED_SHIFT = 61 };
_Static_assert(COUNT_BITS + SH_MAX_DIMS * AXIS_BITS <= PACKED_SHIFT, "a full list leaves the mark alone");

static bool ints_equal(const int64_t *a, const int64_t *b, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (a[i] != b[i]) return false;
    return true;
}

static bool tensors_equal(sh_tensor *const *a, sh_tensor *const *b, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (a[i] != b[i]) return false;
    return true;
}

/* As arguments: any NaN is like any other, and 0.0 is not -0.0. */
static bool floats_equal(double a, double b) {
    return isnan(a) ? isnan(b) : a == b && !signbit(a) == !signbit(b);
}

bool sh_value_equal(sh_value a, sh_value b) {
    if (a.tag != b.tag || a.count != b.count) return false;
    switch ((sh_tag)a.tag) {
    case SH_TAG_NONE: return true;
    case SH_TAG_TENSOR: return a.as.tensor == b.as.tensor;
    case SH_TAG_TENSORS: return tensors_equal(a.as.tensors, b.as.tensors, a.count);
    case SH_TAG_INT:
    case SH_TAG_FLAG:
    case SH_TAG_DTYPE: return a.as.i == b.as.i;
    case SH_TAG_FLOAT: return floats_equal(a.as.f, b.as.f);
    case SH_TAG_INTS: return ints_equal(a.as.ints, b.as.ints, a.count);
    case SH_TAG_STRING: return !strcmp(a.as.string, b.as.string);
    }
    return false;
}

int64_t sh__dims(const int64_t *axes, size_t n) {
    int64_t packed = (INT64_C(1) << PACKED_SHIFT) | (int64_t)n;
    if (n > SH_MAX_DIMS) {
        sh_fail(SH_ERROR_VALUE, "SH_DIMS: at most %d axes, got %zu", SH_MAX_DIMS, n);
        return SH_NO_INT;
    }
    for (size_t i = 0; i < n; i++) {
        if (axes[i] < -AXIS_BIAS || axes[i] >= AXIS_BIAS) {
            sh_fail(SH_ERROR_INDEX, "SH_DIMS: axis %lld is out of range [-16, 15]", (long long)axes[i]);
            return SH_NO_INT;
        }
        packed |= (axes[i] + AXIS_BIAS) << (COUNT_BITS + i * AXIS_BITS);
    }
    return packed;
}

bool sh__dims_unpack(int64_t packed, int64_t *axes, size_t *n) {
    *n = 0;
    if (packed == SH_NO_INT) return false;
    if (packed >> PACKED_SHIFT != 1) {
        axes[(*n)++] = packed;
        return true;
    }
    *n = (size_t)packed & ((1 << COUNT_BITS) - 1);
    if (*n > SH_MAX_DIMS) *n = SH_MAX_DIMS; /* made by no SH_DIMS */
    for (size_t i = 0; i < *n; i++)
        axes[i] = (packed >> (COUNT_BITS + i * AXIS_BITS) & ((1 << AXIS_BITS) - 1)) - AXIS_BIAS;
    return true;
}
