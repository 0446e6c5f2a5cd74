/* against_ref.c - see against_ref.h. */
#include "tests/against_ref.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/memory.h"
#include "dispatch/scope.h"
#include "ops/cpu/vmath.h"
#include "tests/golden.h"

static uint64_t state = 1;
void ar_begin(void) { state = 1; }

int64_t ar_pick(int64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)below);
}

static sh_tensor *filled(sh_dtype dtype, int64_t n) {
    char fill[64];
    sh_tensor *t = sh_tensor_new(dtype, SH_SIZES(n));
    snprintf(fill, sizeof fill, "u(%d,%d,3)", (int)ar_pick(1 << 20), dtype == SH_U8 ? 0 : -3);
    golden_fill(t, fill);
    return t;
}

static sh_tensor *laid_out(sh_dtype dtype, sh_ints sizes, const int64_t *strides, int64_t reach) {
    return sh_tensor_as_strided(filled(dtype, reach), sizes, (sh_ints){strides, sizes.n}, 0);
}

sh_tensor *ar_contiguous(sh_dtype dtype, sh_ints sizes) {
    int64_t strides[SH_MAX_DIMS], reach = 1;
    for (size_t i = sizes.n; i-- > 0; reach *= sizes.at[i]) strides[i] = reach;
    return laid_out(dtype, sizes, strides, reach);
}

sh_tensor *ar_tensor(sh_dtype dtype, sh_ints sizes) {
    int64_t strides[SH_MAX_DIMS], reach = 1;
    size_t order[SH_MAX_DIMS];
    if (ar_pick(3) == 0) return ar_contiguous(dtype, sizes);
    for (size_t i = 0; i < sizes.n; i++) {
        const size_t at = (size_t)ar_pick((int64_t)i + 1);
        memmove(order + at + 1, order + at, (i - at) * sizeof *order);
        order[at] = i;
    }
    for (size_t i = 0; i < sizes.n; i++) {
        const int64_t size = sizes.at[order[i]], step = ar_pick(4) ? 1 : 2;
        strides[order[i]] = ar_pick(12) ? reach * step : 0;
        if (strides[order[i]]) reach *= step * (size > 0 ? size : 1);
    }
    return laid_out(dtype, sizes, strides, reach);
}

/* ---- comparison ---- */

static size_t describe_value(char *text, size_t size, sh_value v) {
    size_t n = 0;
    if (v.tag == SH_TAG_TENSOR) {
        n = (size_t)snprintf(text, size, " %s[", sh_dtype_name(sh_tensor_dtype(v.as.tensor)));
        for (int i = 0; i < sh_tensor_ndim(v.as.tensor) && n < size; i++)
            n +=
                (size_t)snprintf(text + n, size - n, "%lld{%lld} ", (long long)sh_tensor_size(v.as.tensor, i),
                                 (long long)sh_tensor_stride(v.as.tensor, i));
        return n < size ? n + (size_t)snprintf(text + n, size - n, "]") : n;
    }
    if (v.tag != SH_TAG_INTS)
        return (size_t)snprintf(text, size, " %g", sh_value_is_number(v) ? sh_value_as_double(v) : 0);
    for (uint32_t i = 0; i < v.count && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, i ? ",%lld" : " %lld", (long long)v.as.ints[i]);
    return n;
}

static void describe(char *text, size_t size, const ar_call *call) {
    size_t n = (size_t)snprintf(text, size, "%s", call->op);
    for (size_t i = 0; i < call->n && n < size; i++)
        n += describe_value(text + n, size - n, call->arguments[i].value);
}

static double epsilon(sh_dtype dtype) {
    return dtype == SH_F64 ? 0x1p-52 : dtype == SH_F16 ? 0x1p-10 : dtype == SH_BF16 ? 0x1p-7 : 0x1p-23;
}

/* ref rounds the intermediate results of composite ops, and f32 sums go astray by a random walk. */
static bool is_close(sh_dtype dtype, double got, double expected, int64_t terms) {
    if ((isnan(got) && isnan(expected)) || got == expected) return true;
    const double most = 9 * sqrt((double)terms + 1);
    const double once = dtype == SH_F64 ? 0x1p-52 : 0x1p-23, slack = 4 * sqrt((double)terms + 1) * once;
    return fabs(got - expected) <=
           epsilon(dtype) * (2 * fabs(expected) + (dtype == SH_F32 || dtype == SH_F64 ? 0 : most)) +
               most * slack;
}

static void compare(const char *text, const sh_tensor *got, const sh_tensor *expected, int64_t terms) {
    const sh_dtype dtype = sh_tensor_dtype(expected);
    cr_assert(eq(int, (int)sh_tensor_dtype(got), (int)dtype), "%s", text);
    cr_assert(eq(i64, sh_tensor_numel(got), sh_tensor_numel(expected)), "%s", text);
    for (int64_t i = 0; i < sh_tensor_numel(got); i++) {
        if (sh_dtype_kind_of(dtype) != SH_KIND_FLOAT) {
            cr_assert(eq(i64, golden_int_at(got, i), golden_int_at(expected, i)), "%s at %lld", text,
                      (long long)i);
            continue;
        }
        const double a = golden_float_at(got, i), b = golden_float_at(expected, i);
        cr_assert(is_close(dtype, a, b, terms), "%s at %lld: %.9g, not %.9g", text, (long long)i, a, b);
    }
}

void ar_check(ar_call call) {
    sh_value got[SH_MAX_RESULTS], expected[SH_MAX_RESULTS];
    sh_status status = SH_OK, plain = SH_OK;
    char text[600], message[200] = "";
    describe(text, sizeof text, &call);
    SH_WITH_BACKEND("cpu") status = sh_call_by_name(call.op, call.arguments, call.n, got);
    if (sh_error()) snprintf(message, sizeof message, "%s", sh_error()->message);
    sh_clear_error();
    SH_WITH_BACKEND("ref") plain = sh_call_by_name(call.op, call.arguments, call.n, expected);
    sh_clear_error();
    cr_assert(eq(int, status, plain), "%s: %s", text, message);
    if (status >= 0) compare(text, got[0].as.tensor, expected[0].as.tensor, call.terms);
}

void ar_fail_each(const char *what, bool (*act)(void)) {
    bool hit = true;
    for (size_t n = 1; hit; n++) {
        const sh_memory_stats before = sh_memory_stats_get();
        bool worked = false;
        sh_memory_fail_after(n);
        SH_SCOPE { worked = act(); }
        hit = sh_memory_fail_after(0) >= n;
        cr_assert(worked != (sh_error() != NULL), "%s: allocation %zu", what, n);
        cr_assert(hit || worked, "%s: %s", what, sh_error() ? sh_error()->message : "");
        sh_clear_error();
        cr_assert(eq(i64, sh_memory_stats_get().live_tensors, before.live_tensors), "%s: %zu", what, n);
        cr_assert(eq(i64, sh_memory_stats_get().live_bytes, before.live_bytes), "%s: %zu", what, n);
    }
}

void ar_at_every_level(void (*check)(void)) {
    const sh_vmath_level before = sh_vmath_level_now();
    for (int level = 0; level < SH_VMATH_LEVEL_COUNT; level++)
        if (sh_vmath_force_level((sh_vmath_level)level)) check();
    sh_vmath_force_level(before);
}
