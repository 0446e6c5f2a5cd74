/* factory.c - tensors made from numbers. What is given and not contiguous is left to copy (fill) or to the plain
 * loops of ref. */
#include <string.h>

#include "ops/cpu/ramp.h"
#include "ops/cpu/vmath.h"
#include "ops/element.h"
#include "ops/iter.h"
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

static const sh_ramp_loops *ramps(void) {
    static const sh_ramp_loops *const levels[SH_VMATH_LEVEL_COUNT] = {[SH_VMATH_SSE2] = &sh_ramp_sse2,
                                                                      [SH_VMATH_AVX2] = &sh_ramp_avx2,
                                                                      [SH_VMATH_AVX512] = &sh_ramp_avx512};
    return levels[sh_vmath_level_now()];
}

/* Elements first to end of a float result: base + step * index for index, index + by, ... The half types are rounded to
 * f32 before. */
static void put_real(sh_tensor *r, int64_t first, int64_t end, double base, double step, double index,
                     double by) {
    float tile[SH_TILE];
    sh_ramp_real *const loop = r->dtype == SH_F64 ? ramps()->f64 : ramps()->f32;
    for (int64_t n; first < end; first += n, index += by * (double)n) {
        n = end - first < SH_TILE ? end - first : SH_TILE;
        char *to = r->data + first * (int64_t)r->element;
        loop(r->element == 2 ? (char *)tile : to, n, base, step, index, by);
        if (r->element == 2) sh__convert((sh_dtype)r->dtype, to, SH_F32, tile, n);
    }
}

static sh_status ramp(sh_tensor *r, sh_scalar start, sh_scalar step) {
    if (!is_plain(r)) return sh_ref_arange_start(r, start, start, step, SH_NO_DTYPE);
    if (is_float(r))
        put_real(r, 0, r->numel, sh_value_as_double(start), sh_value_as_double(step), 0, 1);
    else
        ramps()->whole[r->element](r->data, r->numel, (uint64_t)sh_value_as_int(start),
                                   (uint64_t)sh_value_as_int(step));
    return SH_OK;
}

/* The first half from `from` on, the others back from `to`, so that both ends are met exactly. */
static void spread_real(sh_tensor *r, double from, double to, double step) {
    const int64_t n = r->numel, half = n == 1 ? 1 : n / 2;
    put_real(r, 0, half, from, step, 0, 1);
    put_real(r, half, n, to, -step, (double)(n - 1 - half), -1);
}

#define EACH(type)                                                                           \
    for (int64_t i = 0; i < n; i++)                                                          \
        ((type *)r->data)[i] = (type)(int64_t)(i < n / 2 || n == 1 ? from + step * (double)i \
                                                                   : to - step * (double)(n - i - 1));

static void spread_whole(sh_tensor *r, double from, double to, double step) {
    const int64_t n = r->numel;
    switch (r->element) {
    case 1: EACH(uint8_t) break;
    case 2: EACH(int16_t) break;
    case 4: EACH(int32_t) break;
    default: EACH(int64_t) break;
    }
}

static sh_status spread(sh_tensor *r, sh_scalar start, sh_scalar end) {
    if (!is_plain(r)) return sh_ref_linspace(r, start, end, r->numel, SH_NO_DTYPE);
    const bool real = is_float(r);
    const double from = real ? sh_value_as_double(start) : (double)sh_value_as_int(start);
    const double to = real ? sh_value_as_double(end) : (double)sh_value_as_int(end);
    const double step = r->numel > 1 ? (to - from) / (double)(r->numel - 1) : 0;
    (real ? spread_real : spread_whole)(r, from, to, step);
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
