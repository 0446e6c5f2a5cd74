/* Vector math: the choice of a level, and the functions by name and by id.
 *
 * The tables in force start as those of SSE2, so that a constructor that runs before ours computes correctly
 * too; ours then puts in the best that the CPU has. After that they are only read. */
#include "ops/cpu/vmath_table.h"

static const struct {
    const char *name;
    const sh_vmath_table_f32 *f32;
    const sh_vmath_table_f64 *f64;
} levels[SH_VMATH_LEVEL_COUNT] = {
    [SH_VMATH_SSE2] = {"sse2", &sh_vmath_sse2_f32, &sh_vmath_sse2_f64},
    [SH_VMATH_AVX2] = {"avx2", &sh_vmath_avx2_f32, &sh_vmath_avx2_f64},
    [SH_VMATH_AVX512] = {"avx512", &sh_vmath_avx512_f32, &sh_vmath_avx512_f64},
};

static sh_vmath_level level_now = SH_VMATH_SSE2;
static const sh_vmath_table_f32 *f32 = &sh_vmath_sse2_f32;
static const sh_vmath_table_f64 *f64 = &sh_vmath_sse2_f64;

static bool cpu_has(sh_vmath_level level) {
    switch (level) {
    case SH_VMATH_SSE2: return true;
    case SH_VMATH_AVX2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case SH_VMATH_AVX512:
        return cpu_has(SH_VMATH_AVX2) && __builtin_cpu_supports("avx512f") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq");
    default: return false;
    }
}

bool sh_vmath_force_level(sh_vmath_level level) {
    if (!cpu_has(level)) return false;
    level_now = level;
    f32 = levels[level].f32;
    f64 = levels[level].f64;
    return true;
}

__attribute__((constructor)) static void choose_level(void) {
    __builtin_cpu_init();
    if (!sh_vmath_force_level(SH_VMATH_AVX512)) sh_vmath_force_level(SH_VMATH_AVX2);
}

sh_vmath_level sh_vmath_level_now(void) { return level_now; }

const char *sh_vmath_level_name(sh_vmath_level level) { return levels[level].name; }

sh_vmath_unary_f32_fn *sh_vmath_unary_f32(sh_vmath_unary id) { return f32->unary[id]; }
sh_vmath_unary_f64_fn *sh_vmath_unary_f64(sh_vmath_unary id) { return f64->unary[id]; }
sh_vmath_param_f32_fn *sh_vmath_param_f32(sh_vmath_param id) { return f32->param[id]; }
sh_vmath_param_f64_fn *sh_vmath_param_f64(sh_vmath_param id) { return f64->param[id]; }
sh_vmath_binary_f32_fn *sh_vmath_binary_f32(sh_vmath_binary id) { return f32->binary[id]; }
sh_vmath_binary_f64_fn *sh_vmath_binary_f64(sh_vmath_binary id) { return f64->binary[id]; }

#define SH_VMATH_UNARY(name, ...)                                                                            \
    void sh_vmath_##name##_f32(const float *x, float *y, size_t n) { f32->unary[SH_VMATH_##name](x, y, n); } \
    void sh_vmath_##name##_f64(const double *x, double *y, size_t n) { f64->unary[SH_VMATH_##name](x, y, n); }
#define SH_VMATH_PARAM(name, ...)                                                       \
    void sh_vmath_##name##_f32(const float *x, float *y, size_t n, const float *p) {    \
        f32->param[SH_VMATH_##name](x, y, n, p);                                        \
    }                                                                                   \
    void sh_vmath_##name##_f64(const double *x, double *y, size_t n, const double *p) { \
        f64->param[SH_VMATH_##name](x, y, n, p);                                        \
    }
#define SH_VMATH_BINARY(name, ...)                                                        \
    void sh_vmath_##name##_f32(const float *x, const float *y, float *out, size_t n) {    \
        f32->binary[SH_VMATH_##name](x, y, out, n);                                       \
    }                                                                                     \
    void sh_vmath_##name##_f64(const double *x, const double *y, double *out, size_t n) { \
        f64->binary[SH_VMATH_##name](x, y, out, n);                                       \
    }
#include "ops/cpu/vmath.def"
