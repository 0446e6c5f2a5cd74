/* convert.c - arrays from one dtype to another (sh__convert).
 *
 * The half types go through f32, as in PyTorch: an f64 is rounded to f32 first. */
#include "ops/cpu/convert_table.h"

#include <string.h>

#include "ops/cpu/vmath.h"
#include "ops/iter.h"

static const sh_convert_table *table(void) {
    static const sh_convert_table *const tables[SH_VMATH_LEVEL_COUNT] = {[SH_VMATH_SSE2] = &sh_convert_sse2,
                                                                         [SH_VMATH_AVX2] = &sh_convert_avx2,
                                                                         [SH_VMATH_AVX512] =
                                                                             &sh_convert_avx512};
    return tables[sh_vmath_level_now()];
}

static sh_convert_fn *to_f32(sh_dtype from) {
    return table()->widen[from] ? table()->widen[from] : table()->pair[from][SH_F32];
}

static sh_convert_fn *from_f32(sh_dtype to) {
    return table()->narrow[to] ? table()->narrow[to] : table()->pair[SH_F32][to];
}

static void through_f32(sh_dtype to_dtype, char *to, sh_dtype from_dtype, const char *from, int64_t n) {
    float middle[SH_TILE];
    const int64_t to_size = (int64_t)sh_dtype_size(to_dtype), from_size = (int64_t)sh_dtype_size(from_dtype);
    for (int64_t i = 0; i < n; i += SH_TILE) {
        const int64_t part = n - i < SH_TILE ? n - i : SH_TILE;
        to_f32(from_dtype)(middle, from + i * from_size, part);
        from_f32(to_dtype)(to + i * to_size, middle, part);
    }
}

void sh__convert(sh_dtype to_dtype, void *to, sh_dtype from_dtype, const void *from, int64_t n) {
    if (to_dtype == from_dtype)
        memcpy(to, from, (size_t)n * sh_dtype_size(to_dtype));
    else if (table()->pair[from_dtype][to_dtype])
        table()->pair[from_dtype][to_dtype](to, from, n);
    else if (to_dtype == SH_F32)
        to_f32(from_dtype)(to, from, n);
    else if (from_dtype == SH_F32)
        from_f32(to_dtype)(to, from, n);
    else
        through_f32(to_dtype, to, from_dtype, from, n);
}
