/* bounds.c - the choice of a level, and blocks: small enough that a finding ends the search soon. */
#include "ops/cpu/bounds.h"

#include <stdatomic.h>

#include "ops/cpu/vmath.h"
#include "ops/iter.h"

enum { BLOCK = 16384 };

static sh_bounds_fn *loop_for(uint32_t width) {
    static const sh_bounds_loops *const levels[SH_VMATH_LEVEL_COUNT] = {[SH_VMATH_SSE2] = &sh_bounds_sse2,
                                                                        [SH_VMATH_AVX2] = &sh_bounds_avx2,
                                                                        [SH_VMATH_AVX512] =
                                                                            &sh_bounds_avx512};
    return levels[sh_vmath_level_now()]->passes[width];
}

typedef struct search {
    sh_bounds_fn *passes;
    const char *x;
    int64_t n, width;
    uint64_t limit;
} search;

static bool block_passes(const search *s, int64_t first) {
    const int64_t left = s->n - first;
    return s->passes(s->x + first * s->width, left < BLOCK ? left : BLOCK, s->limit);
}

static bool shared_out(const search *s, int threads) {
    atomic_bool found = false;
    SH_PARALLEL(threads)
    for (int64_t i = 0; i < s->n; i += BLOCK)
        if (!atomic_load_explicit(&found, memory_order_relaxed) && block_passes(s, i))
            atomic_store_explicit(&found, true, memory_order_relaxed);
    return found;
}

bool sh_any_passes(uint32_t width, const void *x, int64_t n, uint64_t limit) {
    const search s = {loop_for(width), x, n, width, limit};
    const int threads = sh__threads(n);
    if (threads > 1) return shared_out(&s, threads);
    for (int64_t i = (n - 1) / BLOCK * BLOCK; i >= 0; i -= BLOCK)
        if (block_passes(&s, i)) return true;
    return false;
}
