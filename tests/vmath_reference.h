/* The functions of ops/cpu/vmath.def once more, from the C library in a wider type, and the distance to them
 * in ULP.
 *
 * f32 is judged by double, f64 by long double (64 bits of mantissa). Parametrised functions have the
 * parameters of vmath_reference_p: PyTorch's defaults. */
#ifndef SH_TESTS_VMATH_REFERENCE_H
#define SH_TESTS_VMATH_REFERENCE_H

#include <float.h>
#include <math.h>

#define REFERENCE_P_elu 1, 1, 1
#define REFERENCE_P_softplus 1, 20
#define REFERENCE_P_leaky_relu 0.01f
#define REFERENCE_P_hardtanh -1, 1

/* S is the suffix that <math.h> gives to the functions of the type T. */
#define REFERENCE_FUNCTIONS(T, S, R)                                                                   \
    static inline T R##_neg(T x) { return -x; }                                                        \
    static inline T R##_abs(T x) { return fabs##S(x); }                                                \
    static inline T R##_exp(T x) { return exp##S(x); }                                                 \
    static inline T R##_expm1(T x) { return expm1##S(x); }                                             \
    static inline T R##_exp2(T x) { return exp2##S(x); }                                               \
    static inline T R##_log(T x) { return log##S(x); }                                                 \
    static inline T R##_log1p(T x) { return log1p##S(x); }                                             \
    static inline T R##_log2(T x) { return log2##S(x); }                                               \
    static inline T R##_log10(T x) { return log10##S(x); }                                             \
    static inline T R##_sqrt(T x) { return sqrt##S(x); }                                               \
    static inline T R##_rsqrt(T x) { return 1 / sqrt##S(x); }                                          \
    static inline T R##_reciprocal(T x) { return 1 / x; }                                              \
    static inline T R##_square(T x) { return x * x; }                                                  \
    static inline T R##_sin(T x) { return sin##S(x); }                                                 \
    static inline T R##_cos(T x) { return cos##S(x); }                                                 \
    static inline T R##_tan(T x) { return tan##S(x); }                                                 \
    static inline T R##_asin(T x) { return asin##S(x); }                                               \
    static inline T R##_acos(T x) { return acos##S(x); }                                               \
    static inline T R##_atan(T x) { return atan##S(x); }                                               \
    static inline T R##_sinh(T x) { return sinh##S(x); }                                               \
    static inline T R##_cosh(T x) { return cosh##S(x); }                                               \
    static inline T R##_tanh(T x) { return tanh##S(x); }                                               \
    static inline T R##_erf(T x) { return erf##S(x); }                                                 \
    static inline T R##_erfc(T x) { return erfc##S(x); }                                               \
    static inline T R##_sigmoid(T x) { return 1 / (1 + exp##S(-x)); }                                  \
    static inline T R##_floor(T x) { return floor##S(x); }                                             \
    static inline T R##_ceil(T x) { return ceil##S(x); }                                               \
    static inline T R##_round(T x) { return rint##S(x); }                                              \
    static inline T R##_trunc(T x) { return trunc##S(x); }                                             \
    static inline T R##_relu(T x) { return x < 0 ? 0 : x; }                                            \
    static inline T R##_silu(T x) { return x / (1 + exp##S(-x)); }                                     \
    static inline T R##_gelu(T x) { return x * (erfc##S(-x / sqrt##S(2)) / 2); }                       \
    static inline T R##_gelu_tanh(T x) {                                                               \
        return x / (1 + exp##S(-2 * (2 / sqrt##S(2 * acos##S(-1))) * (x + (T)0.044715L * x * x * x))); \
    }                                                                                                  \
    static inline T R##_hardsigmoid(T x) { return x <= -3 ? 0 : x >= 3 ? 1 : (x + 3) / 6; }            \
    static inline T R##_hardswish(T x) { return x * R##_hardsigmoid(x); }                              \
    static inline T R##_elu(T x) { return x > 0 ? x : expm1##S(x); }                                   \
    static inline T R##_softplus(T x) { return x > 20 ? x : log1p##S(exp##S(x)); }                     \
    static inline T R##_leaky_relu(T x) { return x > 0 ? x : x * 0.01f; }                              \
    static inline T R##_hardtanh(T x) { return x < -1 ? -1 : x > 1 ? 1 : x; }                          \
    static inline T R##_pow(T x, T y) { return pow##S(x, y); }                                         \
    static inline T R##_atan2(T x, T y) { return atan2##S(x, y); }                                     \
    static inline T R##_fmod(T x, T y) { return fmod##S(x, y); }

REFERENCE_FUNCTIONS(double, , reference_f32)
REFERENCE_FUNCTIONS(long double, l, reference_f64)

/* Beyond the largest finite value stands 2^max_exp for Inf, so that an overflow a little too early or too
 * late counts as the few ULP that it is. A NaN too many or missing, an Inf from afar and a zero of the wrong
 * sign are infinitely wrong. */
static inline double ulp_distance(long double got, long double want, int digits, int min_exp, int max_exp) {
    if (isnan(got) || isnan(want)) return isnan(got) && isnan(want) ? 0 : INFINITY;
    if (got == 0 && !signbit(got) != !signbit(want)) return INFINITY;
    const long double top = ldexpl(1, max_exp);
    if (isinf(want) && !isinf(got)) return INFINITY;
    if (fabsl(want) > top) want = copysignl(top, want);
    if (isinf(got)) got = copysignl(top, got);
    int e = min_exp;
    if (want != 0) frexpl(want, &e);
    if (e > max_exp) e = max_exp;
    return (double)(fabsl(got - want) / ldexpl(1, (e < min_exp ? min_exp : e) - digits));
}

static inline double ulp_distance_f32(float got, double want) {
    return ulp_distance(got, want, FLT_MANT_DIG, FLT_MIN_EXP, FLT_MAX_EXP);
}
static inline double ulp_distance_f64(double got, long double want) {
    return ulp_distance(got, want, DBL_MANT_DIG, DBL_MIN_EXP, DBL_MAX_EXP);
}

#endif
