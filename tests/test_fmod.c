/* Tests of fmod, remainder and floor_divide: vector code, but the bits of the C library and of ref. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "ops/cpu/vmath.h"
#include "tests/against_ref.h"
#include "tests/golden.h"
#include "tests/sample.h"

enum { N = 4096, ROUNDS = 40 };

static const double specials[] = {
    0,        1,       3,       0.1,       0x1p23,    0x1p24,   0x1p52, 0x1p53, 0x1p126,  0x1p-126,
    0x1p-149, FLT_MAX, DBL_MAX, 0x1p-1022, 0x1p-1074, INFINITY, NAN,    1e10,   16777213, 0x1.fffffep-127};
enum { SPECIALS = sizeof specials / sizeof *specials };

static double any_bits(void) {
    const uint64_t bits = sample_bits();
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}
static float any_bits_f32(void) {
    const uint32_t bits = (uint32_t)sample_bits();
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Mostly numbers of an exponent up to `spread`: the larger, the more steps a quotient takes. */
static double random_value(int spread) {
    const uint64_t bits = sample_bits();
    const double sign = bits & 64 ? -1 : 1;
    if (bits % 64 == 0) return sign * specials[sample_bits() % SPECIALS];
    return sign * ldexp(1 + (double)(sample_bits() >> 12) * 0x1p-52, (int)(bits >> 8) % (spread + 1));
}

static bool same_f32(float a, float b) { return isnan(a) ? isnan(b) : memcmp(&a, &b, sizeof a) == 0; }
static bool same_f64(double a, double b) { return isnan(a) ? isnan(b) : memcmp(&a, &b, sizeof a) == 0; }

static void check_f32(int spread) {
    float x[N], y[N], out[N];
    for (int i = 0; i < N; i++) {
        x[i] = spread ? (float)random_value(spread) : any_bits_f32();
        y[i] = spread ? (float)random_value(spread) : any_bits_f32();
    }
    sh_vmath_fmod_f32(x, y, out, N);
    for (int i = 0; i < N; i++)
        cr_assert(same_f32(out[i], fmodf(x[i], y[i])), "fmodf(%a, %a): %a", x[i], y[i], out[i]);
}

static void check_f64(int spread) {
    double x[N], y[N], out[N];
    for (int i = 0; i < N; i++) {
        x[i] = spread ? random_value(spread) : any_bits();
        y[i] = spread ? random_value(spread) : any_bits();
    }
    sh_vmath_fmod_f64(x, y, out, N);
    for (int i = 0; i < N; i++)
        cr_assert(same_f64(out[i], fmod(x[i], y[i])), "fmod(%a, %a): %a", x[i], y[i], out[i]);
}

static void check_fmod(void) {
    static const int spreads[] = {0, 1, 20, 30, 60, 126};
    for (int i = 0; i < ROUNDS; i++) {
        check_f32(spreads[i % 6]);
        check_f64(spreads[i % 6] * 8);
    }
}

Test(fmod, gives_the_bits_of_the_c_library_for_any_operands) { ar_at_every_level(check_fmod); }

/* ---- the ops that are made of it; quotients of narrow floats are rounded once more than ref's, which are f64 ---- */

static void expect_bits_of_ref(const char *op, sh_tensor *x, sh_tensor *y) {
    sh_tensor *got = NULL, *expected = NULL;
    SH_WITH_BACKEND("cpu") got = sh_call_op(op, x, y);
    SH_WITH_BACKEND("ref") expected = sh_call_op(op, x, y);
    cr_assert(ne(ptr, got, NULL), "%s", op);
    for (int64_t i = 0; i < N; i++) {
        const double a = golden_float_at(got, i), b = golden_float_at(expected, i);
        cr_assert(same_f64(a, b), "%s(%a, %a): %a, not %a", op, golden_float_at(x, i), golden_float_at(y, i),
                  a, b);
    }
}

static sh_tensor *random_tensor(sh_dtype dtype, int spread) {
    sh_tensor *t = sh_tensor_new(SH_F64, SH_SIZES(N));
    for (int i = 0; i < N; i++) ((double *)sh_tensor_data(t))[i] = random_value(spread);
    return sh_to(t, dtype);
}

static void check_ops(void) {
    static const sh_dtype dtypes[] = {SH_F32, SH_F64, SH_F16, SH_BF16};
    static const char *const ops[] = {"fmod", "remainder", "floor_divide"};
    for (int i = 0; i < 24; i++) {
        sh_tensor *x = random_tensor(dtypes[i % 4], 4 + 20 * (i / 8)),
                  *y = random_tensor(dtypes[i % 4], 4 + 5 * (i / 8));
        for (int k = 0; k < (dtypes[i % 4] == SH_F64 ? 3 : 2); k++) expect_bits_of_ref(ops[k], x, y);
    }
}

Test(fmod, makes_remainder_and_floor_divide_those_of_ref_to_the_bit) { ar_at_every_level(check_ops); }
