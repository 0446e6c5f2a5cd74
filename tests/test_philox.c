/* What ops/philox.h promises: the same numbers from the same seed, whatever computes them, and good ones. What holds
 * of each random op is in test_random.c. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <omp.h>
#include <pthread.h>

#include "ops/cpu/random_level.h"
#include "ops/philox.h"
#include "tests/sample.h"

/* ---- the generator ---- */

/* The known answers of the authors' library, Random123 (kat_vectors). */
Test(philox, philox_gives_the_known_answers) {
    static const struct {
        uint32_t counter[4], key[2], answer[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t out[4];
        sh_philox(known[i].counter, known[i].key, out);
        cr_expect(memcmp(out, known[i].answer, sizeof out) == 0, "vector %zu", i);
    }
}

Test(philox, every_level_gives_the_same_bits) {
    enum { BLOCKS = 4096 };
    static uint32_t words[2][4 * BLOCKS];
    static float narrow[2][4 * BLOCKS];
    static double wide[2][2 * BLOCKS];
    const sh_random_level *levels[] = {&sh_random_sse2, &sh_random_avx2};
    const uint64_t seed = UINT64_C(0x0123456789abcdef),
                   block = UINT32_MAX - 77; /* counts over into the second word */
    if (!__builtin_cpu_supports("avx2")) cr_skip("one level only");
    for (int i = 0; i < 2; i++) levels[i]->words(seed, block, words[i], BLOCKS);
    cr_assert(memcmp(words[0], words[1], sizeof words[0]) == 0);
    for (uint64_t i = 0; i < BLOCKS; i++) {
        uint32_t out[4];
        sh_random_block(seed, block + i, out);
        cr_assert(memcmp(out, words[0] + 4 * i, sizeof out) == 0, "block %llu", (unsigned long long)i);
    }
    for (int i = 0; i < 2; i++) levels[i]->normal32(words[0], narrow[i], 2 * BLOCKS);
    cr_assert(memcmp(narrow[0], narrow[1], sizeof narrow[0]) == 0);
    for (int i = 0; i < 2; i++) levels[i]->normal64(words[0], wide[i], BLOCKS);
    cr_assert(memcmp(wide[0], wide[1], sizeof wide[0]) == 0);
}

/* ---- the same numbers ---- */

static sh_tensor *drawn(int what, sh_dtype dtype, sh_ints sizes, sh_tensor *out) {
    sh_manual_seed(7);
    sh_rand(SH_SIZES(3));
    const bool real = sh_dtype_kind_of(dtype) == SH_KIND_FLOAT;
    const int64_t high = dtype == SH_B8 ? 2 : dtype == SH_I64 || dtype == SH_F64 ? INT64_C(1) << 40 : 100;
    if (what == 0) return sh_rand(sizes, .dtype = real ? dtype : SH_F32, .out = real ? out : NULL);
    if (what == 1) return sh_randn(sizes, .dtype = real ? dtype : SH_F64, .out = real ? out : NULL);
    return sh_randint_low(dtype == SH_U8 || dtype == SH_B8 ? 0 : -20, high, sizes, .dtype = dtype,
                          .out = out);
}

/* How far apart in representable numbers; the library's own logarithm and sine against libm's. */
static bool close_to(sh_tensor *a, sh_tensor *b) {
    const double epsilon = sh_tensor_dtype(a) == SH_F64   ? 0x1p-52
                           : sh_tensor_dtype(a) == SH_F32 ? 0x1p-23
                           : sh_tensor_dtype(a) == SH_F16 ? 0x1p-10
                                                          : 0x1p-7;
    a = sh_flatten(a);
    b = sh_flatten(b);
    for (int64_t i = 0; i < sh_tensor_numel(a); i++) {
        const double x = sh_tensor_at(a, &i), y = sh_tensor_at(b, &i);
        if (fabs(x - y) > 2 * epsilon * fmax(fabs(y), 1e-3)) return false;
    }
    return true;
}

Test(philox, cpu_and_ref_draw_the_same_into_any_layout) {
    for (int round = 0; round < 900; round++) {
        SH_SCOPE {
            int64_t sizes[SH_MAX_DIMS];
            const int ndim = (int)sample_int(0, 3);
            sample_sizes(ndim, 12, sizes);
            const sh_dtype dtype = sample_dtype();
            const sh_ints size = sh_ints_of(sizes, (size_t)ndim);
            sh_tensor *fast = drawn(round % 3, dtype, size, NULL), *plain = NULL;
            sh_tensor *laid = drawn(round % 3, dtype, size, sample_tensor(dtype, ndim, sizes));
            SH_WITH_BACKEND("ref") plain = drawn(round % 3, dtype, size, NULL);
            cr_assert(fast && plain && laid, "%s", sh_error() ? sh_error()->message : "");
            cr_assert(round % 3 == 1 ? close_to(fast, plain) && close_to(laid, plain)
                                     : sample_same(fast, plain) && sample_same(laid, plain));
        }
    }
}

Test(philox, the_number_of_threads_does_not_matter) {
    sh_tensor *one[3], *many[3];
    omp_set_num_threads(1);
    for (int i = 0; i < 3; i++) one[i] = drawn(i, SH_F32, SH_SIZES(200001), NULL);
    omp_set_num_threads(5);
    for (int i = 0; i < 3; i++) many[i] = drawn(i, SH_F32, SH_SIZES(200001), NULL);
    for (int i = 0; i < 3; i++) cr_expect(sample_same(one[i], many[i]), "%d", i);
}

/* What seed 0 begins with, so that no change goes unnoticed; worked out from the first block's known answer. */
Test(philox, the_first_numbers_stay_what_they_are) {
    sh_manual_seed(0);
    const float *x = sh_tensor_data(sh_rand(SH_SIZES(4)));
    const uint32_t block[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    for (int i = 0; i < 4; i++) cr_expect(eq(flt, x[i], (float)(block[i] >> 8) * 0x1p-24f));
    sh_manual_seed(0);
    const double z = *(double *)sh_tensor_data(sh_randn(SH_SIZES(1), .dtype = SH_F64));
    const double u = ((double)(UINT64_C(0xe169c58d6627e8d5) >> 12) + 0.5) * 0x1p-52;
    const double turn = (double)(UINT64_C(0x9b00dbd8bc57ac4c) >> 12) * 0x1p-52;
    cr_expect(ieee_ulp_eq(dbl, z, sqrt(-2 * log(u)) * cos(2 * M_PI * turn), 4));
}

/* ---- states ---- */

Test(philox, a_state_taken_and_put_back_repeats_what_follows) {
    sh_manual_seed(UINT64_C(0xffffffff00000001));
    sh_randn(SH_SIZES(17));
    const sh_rng_state state = sh_get_rng_state();
    sh_tensor *a = sh_rand(SH_SIZES(9)), *next = sh_rand(SH_SIZES(9));
    sh_set_rng_state(state);
    cr_expect(sample_same(sh_rand(SH_SIZES(9)), a));
    cr_expect(sample_same(sh_rand(SH_SIZES(9)), next));
    cr_expect(not(sample_same(a, next)));
    cr_expect(eq(u64, sh_initial_seed(), UINT64_C(0xffffffff00000001)));
}

Test(philox, nothing_is_drawn_for_a_meta_tensor_or_a_refused_call) {
    sh_manual_seed(3);
    const sh_rng_state before = sh_get_rng_state();
    sh_rand_like(sh_tensor_new_on(SH_META, SH_F32, SH_SIZES(100)));
    sh_rand(SH_SIZES(-1));
    sh_clear_error();
    cr_expect(eq(u64, sh_get_rng_state().block, before.block));
}

static void *first_draw(void *user) {
    (void)user;
    SH_SCOPE {
        float *to = user;
        *to = *(float *)sh_tensor_data(sh_rand(SH_SIZES(1)));
    }
    return (void *)(uintptr_t)sh_initial_seed();
}

Test(philox, threads_without_a_seed_have_their_number_and_draw_apart) {
    float here, there[2];
    cr_assert(eq(u64, (uintptr_t)first_draw(&here), 0));
    for (uintptr_t i = 0; i < 2; i++) {
        pthread_t thread;
        void *seed;
        pthread_create(&thread, NULL, first_draw, &there[i]);
        pthread_join(thread, &seed);
        cr_assert(eq(u64, (uintptr_t)seed, i + 1));
    }
    cr_expect(here != there[0] && there[0] != there[1]);
}

/* ---- good numbers ---- */

/* Mean and variance of n numbers, and the fourth moment, against what they should be, in standard errors. */
static void moments(const sh_tensor *t, double mean, double variance, double fourth) {
    const int64_t n = sh_tensor_numel(t);
    double sums[3] = {0, 0, 0};
    for (int64_t i = 0; i < n; i++) {
        const double d = sh_tensor_at(t, &i) - mean;
        sums[0] += d;
        sums[1] += d * d;
        sums[2] += d * d * d * d;
    }
    cr_expect(fabs(sums[0] / (double)n) < 5 * sqrt(variance / (double)n), "mean off by %g",
              sums[0] / (double)n);
    cr_expect(fabs(sums[1] / (double)n - variance) < 5 * sqrt((fourth - variance * variance) / (double)n),
              "variance %g", sums[1] / (double)n);
    cr_expect(fabs(sums[2] / (double)n / fourth - 1) < 0.02, "fourth moment %g", sums[2] / (double)n);
}

Test(philox, moments_are_those_of_the_distributions) {
    static const sh_dtype dtypes[] = {SH_F32, SH_F64, SH_F16};
    sh_manual_seed(1);
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        SH_SCOPE {
            moments(sh_rand(SH_SIZES(1000000), .dtype = dtypes[i]), dtypes[i] == SH_F16 ? 0.5 - 0x1p-12 : 0.5,
                    1.0 / 12, 1.0 / 80);
            moments(sh_randn(SH_SIZES(1000000), .dtype = dtypes[i]), 0, 1, 3);
        }
    }
}

/* Kolmogorov and Smirnov: the largest gap between the counts and the distribution, by 1024 bins. */
static double gap(const sh_tensor *t, double (*distribution)(double x), double low, double high) {
    enum { BINS = 1024 };
    int64_t counts[BINS + 1] = {0}, below = 0;
    double largest = 0;
    for (int64_t i = 0; i < sh_tensor_numel(t); i++) {
        const double place = (sh_tensor_at(t, &i) - low) / (high - low) * BINS;
        counts[place < 0 ? 0 : place >= BINS ? BINS : (int)place + 1]++;
    }
    for (int b = 0; b < BINS; b++) {
        below += counts[b];
        largest = fmax(largest, fabs((double)below / (double)sh_tensor_numel(t) -
                                     distribution(low + (high - low) * b / BINS)));
    }
    return largest * sqrt((double)sh_tensor_numel(t));
}

static double uniform(double x) { return x; }
static double normal(double x) { return 0.5 * erfc(-x / M_SQRT2); }

Test(philox, distributions_fit) {
    sh_manual_seed(2);
    cr_expect(lt(dbl, gap(sh_rand(SH_SIZES(1000000)), uniform, 0, 1), 1.95)); /* exceeded once in 1000 */
    cr_expect(lt(dbl, gap(sh_randn(SH_SIZES(1000000)), normal, -5, 5), 1.95));
    cr_expect(lt(dbl, gap(sh_randn(SH_SIZES(1000000), .dtype = SH_F64), normal, -5, 5), 1.95));
}

/* The two of a pair must not know of each other. */
Test(philox, neighbours_are_uncorrelated) {
    sh_manual_seed(4);
    const int64_t n = 1000000;
    const float *z = sh_tensor_data(sh_randn(SH_SIZES(n)));
    for (int64_t lag = 1; lag < 5; lag++) {
        double sum = 0, squares = 0;
        for (int64_t i = 0; i + lag < n; i++) {
            sum += z[i] * z[i + lag];
            squares += (z[i] * z[i] - 1) * (z[i + lag] * z[i + lag] - 1);
        }
        cr_expect(fabs(sum) < 5 * sqrt((double)n), "lag %d: %g", (int)lag, sum / (double)n);
        cr_expect(fabs(squares) < 10 * sqrt((double)n), "lag %d: %g", (int)lag, squares / (double)n);
    }
}

Test(philox, integers_are_equally_likely) {
    int64_t counts[7] = {0};
    sh_manual_seed(6);
    const int64_t *x = sh_tensor_data(sh_randint_low(-3, 4, SH_SIZES(700000)));
    for (int64_t i = 0; i < 700000; i++) counts[x[i] + 3]++;
    double chi = 0;
    for (int k = 0; k < 7; k++) chi += (double)((counts[k] - 100000) * (counts[k] - 100000)) / 100000;
    cr_expect(lt(dbl, chi, 22.5)); /* 6 degrees of freedom, once in 1000 */
}

Test(philox, the_widest_range_reaches_both_halves) {
    int negative = 0;
    const int64_t *x = sh_tensor_data(sh_randint_low(INT64_MIN, INT64_MAX, SH_SIZES(10000)));
    for (int i = 0; i < 10000; i++) negative += x[i] < 0;
    cr_expect(negative > 4700 && negative < 5300, "%d", negative);
}

/* Where a float dtype holds only every other integer and fewer, rounding must not lead out of the range. */
Test(philox, integers_in_floats_stay_in_the_range) {
    static const struct {
        sh_dtype dtype;
        int64_t low, high;
    } ranges[] = {{SH_F32, 0, (INT64_C(1) << 25) - 1},
                  {SH_F32, -(INT64_C(1) << 25) + 1, 5},
                  {SH_F64, 0, INT64_MAX},
                  {SH_F16, 2047, 2052},
                  {SH_BF16, -514, 513},
                  {SH_F32, 16777217, 16777220}};
    for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++) {
        const sh_tensor *t =
            sh_randint_low(ranges[k].low, ranges[k].high, SH_SIZES(20000), .dtype = ranges[k].dtype);
        for (int64_t i = 0; i < 20000; i++) {
            const double x = sh_tensor_at(t, &i);
            cr_assert(x >= (double)ranges[k].low && x < (double)ranges[k].high, "%g of range %zu", x, k);
        }
    }
}
