/* What ops/cpu/vmath.h promises, checked at every level that this CPU has: the documented error on a dense
 * sample (all of f32 is measured by measure/vmath_ulp.c), the C library's special values, and results that
 * don't depend on an element's place. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "ops/cpu/vmath.h"
#include "tests/vmath_reference.h"

enum { MAX_SAMPLE = 1 << 14 };

/* A function of any shape as one of arrays x and y, the y of a unary one unused. */
typedef void apply_f32(const float *x, const float *y, float *out, size_t n);
typedef void apply_f64(const double *x, const double *y, double *out, size_t n);

#define SH_VMATH_UNARY(name, ...)                                                                  \
    static void f32_##name(const float *x, const float *y, float *out, size_t n) {                 \
        (void)y;                                                                                   \
        sh_vmath_##name##_f32(x, out, n);                                                          \
    }                                                                                              \
    static void f64_##name(const double *x, const double *y, double *out, size_t n) {              \
        (void)y;                                                                                   \
        sh_vmath_##name##_f64(x, out, n);                                                          \
    }                                                                                              \
    static double wide_f32_##name(double x, double y) { return (void)y, reference_f32_##name(x); } \
    static long double wide_f64_##name(long double x, long double y) {                             \
        return (void)y, reference_f64_##name(x);                                                   \
    }
#define SH_VMATH_PARAM(name, ...)                                                                  \
    static void f32_##name(const float *x, const float *y, float *out, size_t n) {                 \
        static const float p[] = {REFERENCE_P_##name};                                             \
        (void)y;                                                                                   \
        sh_vmath_##name##_f32(x, out, n, p);                                                       \
    }                                                                                              \
    static void f64_##name(const double *x, const double *y, double *out, size_t n) {              \
        static const double p[] = {REFERENCE_P_##name};                                            \
        (void)y;                                                                                   \
        sh_vmath_##name##_f64(x, out, n, p);                                                       \
    }                                                                                              \
    static double wide_f32_##name(double x, double y) { return (void)y, reference_f32_##name(x); } \
    static long double wide_f64_##name(long double x, long double y) {                             \
        return (void)y, reference_f64_##name(x);                                                   \
    }
#define SH_VMATH_BINARY(name, ...)                                                           \
    static void f32_##name(const float *x, const float *y, float *out, size_t n) {           \
        sh_vmath_##name##_f32(x, y, out, n);                                                 \
    }                                                                                        \
    static void f64_##name(const double *x, const double *y, double *out, size_t n) {        \
        sh_vmath_##name##_f64(x, y, out, n);                                                 \
    }                                                                                        \
    static double wide_f32_##name(double x, double y) { return reference_f32_##name(x, y); } \
    static long double wide_f64_##name(long double x, long double y) { return reference_f64_##name(x, y); }
#include "ops/cpu/vmath.def"
#undef SH_VMATH_UNARY
#undef SH_VMATH_PARAM
#undef SH_VMATH_BINARY

typedef struct function {
    const char *name;
    apply_f32 *f32;
    apply_f64 *f64;
    double (*wide_f32)(double x, double y);
    long double (*wide_f64)(long double x, long double y);
    double ulp_f32, ulp_f64;
    int operands;
} function;

#define ROW(name, ulp_f32, ulp_f64, operands) \
    {#name, f32_##name, f64_##name, wide_f32_##name, wide_f64_##name, ulp_f32, ulp_f64, operands},
#define SH_VMATH_UNARY(name, source_f32, source_f64, ulp_f32, ulp_f64) ROW(name, ulp_f32, ulp_f64, 1)
#define SH_VMATH_PARAM(name, source_f32, source_f64, ulp_f32, ulp_f64) ROW(name, ulp_f32, ulp_f64, 1)
#define SH_VMATH_BINARY(name, source_f32, source_f64, ulp_f32, ulp_f64) ROW(name, ulp_f32, ulp_f64, 2)
static const function functions[] = {
#include "ops/cpu/vmath.def"
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* Zeros, subnormals, the ends of the range, where the functions overflow or underflow, integers, halves,
 * huge arguments. */
static const double specials[] = {
    0.0,
    -0.0,
    0x1p-149,
    -0x1p-149,
    0x1p-1074,
    -0x1p-1074,
    0x1.8p-140,
    -0x1.8p-140,
    0x1p-126,
    -0x1p-126,
    0x1p-1022,
    0x1p-30,
    -0x1p-30,
    0.25,
    0.5,
    -0.5,
    1,
    -1,
    1.5,
    -1.5,
    2,
    -2,
    2.5,
    -2.5,
    3,
    -3,
    6,
    -6,
    10,
    -10,
    20,
    20.5,
    88.5,
    88.8,
    89.5,
    -87.3,
    -88.5,
    -103.9,
    -104.5,
    127.5,
    128,
    -149,
    -150.5,
    709.7,
    710,
    -708.5,
    -745,
    -746,
    1024,
    -1074,
    8388607.5,
    -8388607.5,
    16777216,
    -16777217,
    1e10,
    -1e10,
    1e30,
    -1e30,
    0x1.fffffep127,
    -0x1.fffffep127,
    0x1p1000,
    -0x1p1000,
    0x1.fffffffffffffp1023,
    -0x1.fffffffffffffp1023,
    INFINITY,
    -INFINITY,
    NAN,
    -NAN,
};
enum { SPECIALS = sizeof specials / sizeof *specials };

/* Marsaglia's xorshift64: the sample is the same in every run. */
static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

/* Any bit pattern half of the time, else a moderate number, where the functions are most themselves. */
static double random_f64(uint64_t *state) {
    const uint64_t bits = next_random(state);
    double x;
    memcpy(&x, &bits, sizeof x);
    if (next_random(state) & 1) return x;
    return ((double)(int64_t)bits) * 0x1p-59;
}
static float random_f32(uint64_t *state) {
    const uint32_t bits = (uint32_t)(next_random(state) >> 32);
    float x;
    memcpy(&x, &bits, sizeof x);
    if (next_random(state) & 1) return x;
    return (float)(int32_t)bits * 0x1p-27f;
}

/* One NaN is as good as another. */
static bool same_f32(float a, float b) { return !memcmp(&a, &b, sizeof a) || (isnan(a) && isnan(b)); }
static bool same_f64(double a, double b) { return !memcmp(&a, &b, sizeof a) || (isnan(a) && isnan(b)); }

static void judge_f32(const function *f, const float *x, const float *y, const double *want, size_t n) {
    static float got[MAX_SAMPLE];
    const char *level = sh_vmath_level_name(sh_vmath_level_now());
    size_t worst = 0;
    double ulp = 0;
    f->f32(x, y, got, n);
    for (size_t i = 0; i < n; i++) {
        if (got[i] == (float)want[i] && got[i] != 0 && ulp >= 0.5) continue;
        const double here = ulp_distance_f32(got[i], want[i]);
        if (here > ulp) ulp = here, worst = i;
    }
    cr_expect(le(dbl, ulp, f->ulp_f32), "%s_f32 at %s of (%a, %a): %a instead of %a", f->name, level,
              x[worst], y[worst], got[worst], want[worst]);
}

static void judge_f64(const function *f, const double *x, const double *y, const long double *want,
                      size_t n) {
    static double got[MAX_SAMPLE];
    const char *level = sh_vmath_level_name(sh_vmath_level_now());
    size_t worst = 0;
    double ulp = 0;
    f->f64(x, y, got, n);
    for (size_t i = 0; i < n; i++) {
        const double here = ulp_distance_f64(got[i], want[i]);
        if (here > ulp) ulp = here, worst = i;
    }
    cr_expect(le(dbl, ulp, f->ulp_f64), "%s_f64 at %s of (%a, %a): %a instead of %La", f->name, level,
              x[worst], y[worst], got[worst], want[worst]);
}

static void judge_f32_at_all_levels(const function *f, const float *x, const float *y, size_t n) {
    static double want[MAX_SAMPLE];
    for (size_t i = 0; i < n; i++) want[i] = f->wide_f32(x[i], y[i]);
    for (int level = 0; level < SH_VMATH_LEVEL_COUNT; level++)
        if (sh_vmath_force_level((sh_vmath_level)level)) judge_f32(f, x, y, want, n);
}

static void judge_f64_at_all_levels(const function *f, const double *x, const double *y, size_t n) {
    static long double want[MAX_SAMPLE];
    for (size_t i = 0; i < n; i++) want[i] = f->wide_f64(x[i], y[i]);
    for (int level = 0; level < SH_VMATH_LEVEL_COUNT; level++)
        if (sh_vmath_force_level((sh_vmath_level)level)) judge_f64(f, x, y, want, n);
}

Test(vmath, unary_f32_stays_within_the_documented_ulp_over_the_whole_range) {
    static float x[MAX_SAMPLE];
    for (int k = 0; k < FUNCTIONS; k++) {
        if (functions[k].operands != 1) continue;
        for (uint64_t bits = 0; bits <= UINT32_MAX;) {
            size_t n = 0;
            for (; n < MAX_SAMPLE && bits <= UINT32_MAX; n++, bits += 8179)
                memcpy(&x[n], &(uint32_t){(uint32_t)bits}, sizeof *x);
            judge_f32_at_all_levels(&functions[k], x, x, n);
        }
    }
}

Test(vmath, random_f32_stay_within_the_documented_ulp) {
    static float x[MAX_SAMPLE], y[MAX_SAMPLE];
    for (int k = 0; k < FUNCTIONS; k++) {
        uint64_t state = 20240229;
        for (int i = 0; i < MAX_SAMPLE; i++) x[i] = random_f32(&state), y[i] = random_f32(&state);
        judge_f32_at_all_levels(&functions[k], x, y, MAX_SAMPLE);
    }
}

Test(vmath, random_f64_stay_within_the_documented_ulp) {
    static double x[MAX_SAMPLE], y[MAX_SAMPLE];
    for (int k = 0; k < FUNCTIONS; k++) {
        uint64_t state = 20240229;
        for (int i = 0; i < MAX_SAMPLE; i++) x[i] = random_f64(&state), y[i] = random_f64(&state);
        judge_f64_at_all_levels(&functions[k], x, y, MAX_SAMPLE);
    }
}

/* Every special with every other: the first is the argument of a unary function. */
Test(vmath, special_values_are_those_of_the_c_library) {
    static float x[SPECIALS * SPECIALS], y[SPECIALS * SPECIALS];
    static double xd[SPECIALS * SPECIALS], yd[SPECIALS * SPECIALS];
    for (int i = 0; i < SPECIALS * SPECIALS; i++) {
        xd[i] = specials[i % SPECIALS], yd[i] = specials[i / SPECIALS];
        x[i] = (float)xd[i], y[i] = (float)yd[i];
    }
    for (int k = 0; k < FUNCTIONS; k++) {
        const size_t n = functions[k].operands == 1 ? SPECIALS : SPECIALS * SPECIALS;
        judge_f32_at_all_levels(&functions[k], x, y, n);
        judge_f64_at_all_levels(&functions[k], xd, yd, n);
    }
}

enum { PLACES = 2 * SPECIALS + 1 };

static void expect_same_anywhere_f32(const function *f) {
    float x[PLACES], y[PLACES], alone[PLACES], out[PLACES + 1];
    uint64_t state = 11;
    for (int i = 0; i < PLACES; i++)
        x[i] = i % 2 ? (float)specials[i / 2] : random_f32(&state), y[i] = random_f32(&state);
    for (int i = 0; i < PLACES; i++) f->f32(x + i, y + i, alone + i, 1);
    for (size_t from = 0; from < 17; from++) {
        for (size_t n = 0; from + n <= PLACES; n += n < 40 ? 1 : 13) {
            out[n] = 42;
            f->f32(x + from, y + from, out, n);
            for (size_t i = 0; i < n; i++)
                cr_expect(same_f32(out[i], alone[from + i]),
                          "%s_f32 of %a: %a alone, %a as number %zu of %zu", f->name, x[from + i],
                          alone[from + i], out[i], i, n);
            cr_expect(eq(flt, out[n], 42), "%s_f32 wrote behind element %zu", f->name, n);
        }
    }
}

static void expect_same_anywhere_f64(const function *f) {
    double x[PLACES], y[PLACES], alone[PLACES], out[PLACES + 1];
    uint64_t state = 11;
    for (int i = 0; i < PLACES; i++)
        x[i] = i % 2 ? specials[i / 2] : random_f64(&state), y[i] = random_f64(&state);
    for (int i = 0; i < PLACES; i++) f->f64(x + i, y + i, alone + i, 1);
    for (size_t from = 0; from < 9; from++) {
        for (size_t n = 0; from + n <= PLACES; n += n < 20 ? 1 : 13) {
            out[n] = 42;
            f->f64(x + from, y + from, out, n);
            for (size_t i = 0; i < n; i++)
                cr_expect(same_f64(out[i], alone[from + i]),
                          "%s_f64 of %a: %a alone, %a as number %zu of %zu", f->name, x[from + i],
                          alone[from + i], out[i], i, n);
            cr_expect(eq(dbl, out[n], 42), "%s_f64 wrote behind element %zu", f->name, n);
        }
    }
}

Test(vmath, a_result_does_not_depend_on_its_place_or_neighbours) {
    for (int level = 0; level < SH_VMATH_LEVEL_COUNT; level++) {
        if (!sh_vmath_force_level((sh_vmath_level)level)) continue;
        for (int k = 0; k < FUNCTIONS; k++) {
            expect_same_anywhere_f32(&functions[k]);
            expect_same_anywhere_f64(&functions[k]);
        }
    }
}

/* The second to the fifth argument are where an error of two ULP would lead beyond one. */
Test(vmath, sine_and_cosine_stay_within_one) {
    static const float x[] = {0, 0x1.c52cb8p+9f, -0x1.c52cb8p+9f, 0x1.a141bep+0f, 0x1.16b0dp-6f, 1e30f};
    enum { N = sizeof x / sizeof *x };
    float sine[N], cosine[N];
    for (int level = 0; level < SH_VMATH_LEVEL_COUNT; level++) {
        if (!sh_vmath_force_level((sh_vmath_level)level)) continue;
        sh_vmath_sin_f32(x, sine, N);
        sh_vmath_cos_f32(x, cosine, N);
        for (int i = 0; i < N; i++) {
            cr_expect(le(flt, fabsf(sine[i]), 1), "sin(%a)", x[i]);
            cr_expect(le(flt, fabsf(cosine[i]), 1), "cos(%a)", x[i]);
        }
    }
}

Test(vmath, output_may_be_the_input) {
    float x[SPECIALS], out[SPECIALS];
    for (int k = 0; k < FUNCTIONS; k++) {
        for (int i = 0; i < SPECIALS; i++) x[i] = (float)specials[i];
        functions[k].f32(x, x, out, SPECIALS);
        functions[k].f32(x, x, x, SPECIALS);
        for (int i = 0; i < SPECIALS; i++)
            cr_expect(same_f32(x[i], out[i]), "%s_f32 of %a in place", functions[k].name, specials[i]);
    }
}

Test(vmath, lookup_gives_the_kernel_of_the_forced_level) {
    sh_vmath_unary_f32_fn *seen[SH_VMATH_LEVEL_COUNT] = {0};
    for (int level = 0; level < SH_VMATH_LEVEL_COUNT; level++) {
        if (!sh_vmath_force_level((sh_vmath_level)level)) continue;
        cr_expect(eq(int, (int)sh_vmath_level_now(), level));
        seen[level] = sh_vmath_unary_f32(SH_VMATH_exp);
        if (level) cr_expect(seen[level] != seen[SH_VMATH_SSE2]);
    }
    cr_expect(not(sh_vmath_force_level(SH_VMATH_LEVEL_COUNT)));
    sh_vmath_force_level(SH_VMATH_SSE2);
    cr_expect(sh_vmath_unary_f32(SH_VMATH_exp) == seen[SH_VMATH_SSE2]);
    cr_expect(sh_vmath_param_f64(SH_VMATH_elu) != NULL);
    cr_expect(sh_vmath_binary_f64(SH_VMATH_fmod) != NULL);
}
