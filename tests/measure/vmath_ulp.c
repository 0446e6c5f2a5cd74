/* Measures the error of the vector math over every f32: 2^32 arguments a function, at each level that the
 * CPU has.
 *
 *     vmath_ulp [STRIDE] [NAME]...      default: every argument (a minute a function), every function
 *
 * Prints the largest distance to the C library in double, in ULP, and where it is. Its figures are the
 * documented bounds of ops/cpu/vmath.def; the test suite checks these on a sample. Asking the C library 2^32
 * times takes long: an argument whose f32 result lies, seen from our own f64 result, no farther off than the
 * worst so far is passed over. The f64 functions are tested on their own and are another algorithm. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/cpu/vmath.h"
#include "tests/vmath_reference.h"

enum { CHUNK = 4096 };

typedef struct worst {
    double ulp;
    float x, y;
    uint64_t wrong; /* infinitely so: see ulp_distance */
    float wrong_x, wrong_y;
} worst;

typedef void apply_f32(const float *x, float *y, size_t n);
typedef void apply_f64(const double *x, double *y, size_t n);

#define SH_VMATH_UNARY(name, ...)
#define SH_VMATH_PARAM(name, ...)                                  \
    static void f32_##name(const float *x, float *y, size_t n) {   \
        static const float p[] = {REFERENCE_P_##name};             \
        sh_vmath_##name##_f32(x, y, n, p);                         \
    }                                                              \
    static void f64_##name(const double *x, double *y, size_t n) { \
        static const double p[] = {REFERENCE_P_##name};            \
        sh_vmath_##name##_f64(x, y, n, p);                         \
    }
#define SH_VMATH_BINARY(name, ...)
#include "ops/cpu/vmath.def"
#undef SH_VMATH_UNARY
#undef SH_VMATH_PARAM
#undef SH_VMATH_BINARY

static const struct function {
    const char *name;
    apply_f32 *f32;
    apply_f64 *f64;
    double (*reference)(double);
} functions[] = {
#define SH_VMATH_UNARY(name, ...) {#name, sh_vmath_##name##_f32, sh_vmath_##name##_f64, reference_f32_##name},
#define SH_VMATH_PARAM(name, ...) {#name, f32_##name, f64_##name, reference_f32_##name},
#define SH_VMATH_BINARY(name, ...)
#include "ops/cpu/vmath.def"
#undef SH_VMATH_UNARY
#undef SH_VMATH_PARAM
#undef SH_VMATH_BINARY
};

static inline int64_t bits_of(double x) {
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The distance of neighbouring f32 around x. */
static inline double spacing(double x) {
    const int64_t e = bits_of(x) >> 52 & 0x7ff, least = 1023 + FLT_MIN_EXP - 1;
    const int64_t bits = ((e < least ? least : e) - (FLT_MANT_DIG - 1)) << 52;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline double at_most(double x, double top) { return x > top ? top : x < -top ? -top : x; }

/* Whether y may be worse than a result limit ULP off: near is within a millionth of a ULP of what it should be.
 * Not 0 if so. Without branches, for the compiler to make vectors of it. */
static inline int64_t may_be_worse(double limit, double y, double near) {
    const double a = at_most(y, 0x1p128), b = at_most(near, 0x1p128), allowed = limit * spacing(b);
    const int64_t off = ((a - b <= allowed) & (b - a <= allowed)) ? 0 : -1,
                  both_nan = ((y != y) & (near != near)) ? -1 : 0;
    return (off | ((bits_of(y) ^ bits_of(near)) >> 63)) & ~both_nan;
}

static void judge(worst *w, float x, float y, double want) {
    const double ulp = ulp_distance_f32(y, want);
    if (isinf(ulp)) {
        if (!w->wrong++) w->wrong_x = x, w->wrong_y = y;
    } else if (ulp > w->ulp) {
        w->ulp = ulp, w->x = x, w->y = y;
    }
}

static void judge_chunk(worst *w, const struct function *f, const float *x, const double *near) {
    static float y[CHUNK];
    int64_t worse = 0;
    f->f32(x, y, CHUNK);
    for (int i = 0; i < CHUNK; i++) worse |= may_be_worse(w->ulp * (1 - 1e-5), y[i], near[i]);
    for (int i = 0; worse && i < CHUNK; i++)
        if (may_be_worse(w->ulp * (1 - 1e-5), y[i], near[i])) judge(w, x[i], y[i], f->reference(x[i]));
}

/* A last chunk that isn't full goes round to the first arguments. */
static void measure(const struct function *f, uint64_t stride) {
    static float x[CHUNK];
    static double near[CHUNK];
    worst w[SH_VMATH_LEVEL_COUNT] = {{0}};
    for (uint64_t bits = 0; bits <= UINT32_MAX;) {
        for (int i = 0; i < CHUNK; i++, bits += stride) memcpy(&x[i], &(uint32_t){(uint32_t)bits}, sizeof *x);
        for (int i = 0; i < CHUNK; i++) near[i] = x[i];
        f->f64(near, near, CHUNK);
        for (int level = 0; level < SH_VMATH_LEVEL_COUNT; level++)
            if (sh_vmath_force_level((sh_vmath_level)level)) judge_chunk(&w[level], f, x, near);
    }
    for (int level = 0; level < SH_VMATH_LEVEL_COUNT; level++) {
        if (!sh_vmath_force_level((sh_vmath_level)level)) continue;
        printf("%-12s %-7s %9.4f ULP at %a (%g) -> %a", f->name, sh_vmath_level_name((sh_vmath_level)level),
               w[level].ulp, w[level].x, w[level].x, w[level].y);
        if (w[level].wrong)
            printf("; WRONG %" PRIu64 ": %a -> %a", w[level].wrong, w[level].wrong_x, w[level].wrong_y);
        putchar('\n');
    }
    fflush(stdout);
}

static bool wanted(const char *name, char **names) {
    if (!*names) return true;
    for (; *names; names++)
        if (!strcmp(name, *names)) return true;
    return false;
}

int main(int argc, char **argv) {
    char **names = argv + (argc > 0);
    uint64_t stride = 1;
    if (*names && (*names)[0] >= '1' && (*names)[0] <= '9') stride = strtoull(*names++, NULL, 10);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (wanted(functions[i].name, names)) measure(&functions[i], stride);
    return 0;
}
