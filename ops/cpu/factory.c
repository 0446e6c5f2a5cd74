/* factory.c - tensors made from numbers. What is given and not contiguous is left to copy (fill) or to the plain
 * loops of ref. */
#include <string.h>

#include "ops/element.h"
#include "ops/kernels.h"

#define K(name) sh_cpu_##name

static bool is_plain(const sh_tensor *r) { return (r->flags & SH_TENSOR_CONTIGUOUS) != 0; }
static bool is_float(const sh_tensor *t) { return sh_dtype_kind_of((sh_dtype)t->dtype) == SH_KIND_FLOAT; }

/* ---- one number ---- */

/* By doubling up to 4 KiB, then in pieces of that, which stay in the first cache. */
static void repeat(char *to, size_t bytes, const char *pattern, size_t width) {
    enum { PIECE = 4096 };
    if (!bytes) return;
    memcpy(to, pattern, width);
    for (size_t done = width, n; done < bytes; done += n) {
        n = done < PIECE ? done : PIECE;
        if (n > bytes - done) n = bytes - done;
        memcpy(to + done, to, n);
    }
}

static bool same_bytes(const char *pattern, size_t width) {
    return width == 1 || memcmp(pattern, pattern + 1, width - 1) == 0;
}

static sh_status fill(sh_tensor *r, sh_scalar number) {
    char pattern[8];
    const sh_dtype dtype = (sh_dtype)r->dtype;
    if (number.tag == SH_TAG_FLOAT)
        sh_store_f64(dtype, pattern, number.as.f);
    else
        sh_store_i64(dtype, pattern, number.as.i);
    if (!is_plain(r)) {
        sh_tensor one = {.flags = SH_TENSOR_CONTIGUOUS,
                         .dtype = r->dtype,
                         .element = r->element,
                         .numel = 1,
                         .data = pattern};
        return sh_cpu_copy(r, r, &one, false);
    }
    const size_t bytes = (size_t)r->numel * r->element;
    if (same_bytes(pattern, r->element))
        memset(r->data, pattern[0], bytes);
    else
        repeat(r->data, bytes, pattern, r->element);
    return SH_OK;
}

/* ---- ranges ---- */

/* The loops of a range: `whole` in wrapping integers, `real` in double. Narrow floats are rounded once. */
#define RANGE(whole, real)                                             \
    switch (r->dtype) {                                                \
    case SH_F32: EACH(float, (float)(real)) break;                     \
    case SH_F64: EACH(double, real) break;                             \
    case SH_F16: EACH(uint16_t, sh_f32_to_f16((float)(real))) break;   \
    case SH_BF16: EACH(uint16_t, sh_f32_to_bf16((float)(real))) break; \
    case SH_I64: EACH(int64_t, (int64_t)(whole)) break;                \
    case SH_I32: EACH(int32_t, (int32_t)(whole)) break;                \
    case SH_I16: EACH(int16_t, (int16_t)(whole)) break;                \
    default: EACH(uint8_t, (uint8_t)(whole)) break;                    \
    }
#define EACH(type, value) \
    for (int64_t i = 0; i < r->numel; i++) ((type *)r->data)[i] = value;

static sh_status ramp(sh_tensor *r, sh_scalar start, sh_scalar step) {
    if (!is_plain(r)) return sh_ref_arange_start(r, start, start, step, SH_NO_DTYPE);
    const double from = sh_value_as_double(start), by = sh_value_as_double(step);
    const uint64_t first = is_float(r) ? 0 : (uint64_t)sh_value_as_int(start),
                   add = is_float(r) ? 0 : (uint64_t)sh_value_as_int(step);
    RANGE(first + add * (uint64_t)i, from + by * (double)i)
    return SH_OK;
}

/* From both ends to the middle, so that both are met exactly. */
static double between(double from, double to, double step, int64_t i, int64_t steps) {
    return i < steps / 2 || steps == 1 ? from + step * (double)i : to - step * (double)(steps - i - 1);
}

static sh_status spread(sh_tensor *r, sh_scalar start, sh_scalar end) {
    if (!is_plain(r)) return sh_ref_linspace(r, start, end, r->numel, SH_NO_DTYPE);
    const bool whole = !is_float(r);
    const double from = whole ? (double)sh_value_as_int(start) : sh_value_as_double(start);
    const double to = whole ? (double)sh_value_as_int(end) : sh_value_as_double(end);
    const double step = r->numel > 1 ? (to - from) / (double)(r->numel - 1) : 0;
    RANGE((int64_t)between(from, to, step, i, r->numel), between(from, to, step, i, r->numel))
    return SH_OK;
}

static sh_status identity(sh_tensor *r) {
    SH_TRY(fill(r, sh_value_int(0)));
    const int64_t n = r->sizes[0] < r->sizes[1] ? r->sizes[0] : r->sizes[1];
    for (int64_t i = 0; i < n; i++)
        sh_store_i64((sh_dtype)r->dtype, r->data + i * (r->strides[0] + r->strides[1]) * (int64_t)r->element,
                     1);
    return SH_OK;
}

#include "ops/factory_kernels.inc"
