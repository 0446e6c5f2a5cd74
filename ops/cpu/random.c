/* random.c - random numbers in runs of blocks: words by the level of the CPU, then elements from the words.
 *
 * Runs are independent, so threads may share them; what they give is fixed by ops/philox.h. A result that is given
 * and not contiguous is left to the plain loops of ref, which draw the same. */
#include <string.h>

#include "ops/cpu/random_level.h"
#include "ops/iter.h"
#include "ops/kernels.h"
#include "ops/philox.h"

#define K(name) sh_cpu_##name

enum { RUN_WORDS = 1024, RUN_BLOCKS = RUN_WORDS / 4, PARALLEL_FROM = 1 << 16 };

/* Turns words into n elements. */
typedef void (*converter)(const uint32_t *words, void *to, size_t n, const sh_random_range *range);

static const sh_random_level *level(void) {
    static const sh_random_level *_Atomic chosen;
    const sh_random_level *now = chosen;
    if (!now) chosen = now = __builtin_cpu_supports("avx2") ? &sh_random_avx2 : &sh_random_sse2;
    return now;
}

/* One run: elements first to first + n, at most as many as RUN_WORDS make. */
typedef struct job {
    uint64_t seed, block;
    converter convert;
    const sh_random_range *range;
    char *data;
    size_t element, words, n; /* words an element, elements in all */
} job;

static void run(const job *j, size_t number) {
    uint32_t words[RUN_WORDS];
    const size_t most = RUN_WORDS / j->words, first = number * most;
    const size_t n = j->n - first < most ? j->n - first : most;
    const size_t blocks = (n * j->words + 3) / 4;
    level()->words(j->seed, j->block + number * RUN_BLOCKS, words,
                   (blocks + SH_RANDOM_STEP - 1) / SH_RANDOM_STEP * SH_RANDOM_STEP);
    j->convert(words, j->data + first * j->element, n, j->range);
}

/* Even a team of one costs more than a small result. */
static void run_all(const job *j, size_t runs) {
    if (j->n < PARALLEL_FROM) {
        for (size_t i = 0; i < runs; i++) run(j, i);
        return;
    }
    SH_PARALLEL(sh__threads((int64_t)j->n))
    for (size_t i = 0; i < runs; i++) run(j, i);
}

static sh_status draw(sh_tensor *r, int words, converter convert, const sh_random_range *range) {
    job j = {.convert = convert,
             .range = range,
             .data = r->data,
             .element = r->element,
             .words = (size_t)words,
             .n = (size_t)r->numel};
    j.block = sh_random_take(sh_random_blocks(r->numel, words), &j.seed);
    run_all(&j, (j.n * j.words + RUN_WORDS - 1) / RUN_WORDS);
    return SH_OK;
}

static bool is_plain(const sh_tensor *r) { return (r->flags & SH_TENSOR_CONTIGUOUS) != 0; }

/* ---- uniform ---- */

#define UNIFORM(name, type, expression)                                                         \
    static void name(const uint32_t *words, void *to, size_t n, const sh_random_range *range) { \
        type *out = to;                                                                         \
        (void)range;                                                                            \
        for (size_t i = 0; i < n; i++) out[i] = expression;                                     \
    }
UNIFORM(uniform_f32, float, (float)(int32_t)(words[i] >> 8) * 0x1p-24f)
UNIFORM(uniform_f16, uint16_t, sh_f32_to_f16((float)(words[i] >> 21) * 0x1p-11f))
UNIFORM(uniform_bf16, uint16_t, sh_f32_to_bf16((float)(words[i] >> 24) * 0x1p-8f))
UNIFORM(uniform_f64, double,
        (double)(int64_t)(((uint64_t)words[2 * i + 1] << 32 | words[2 * i]) >> 11) * 0x1p-53)

static sh_status uniform(sh_tensor *r) {
    if (!is_plain(r)) return sh_ref_rand(r, (sh_ints){NULL, 0}, SH_NO_DTYPE);
    const converter convert = r->dtype == SH_F32   ? uniform_f32
                              : r->dtype == SH_F64 ? uniform_f64
                              : r->dtype == SH_F16 ? uniform_f16
                                                   : uniform_bf16;
    return draw(r, r->dtype == SH_F64 ? 2 : 1, convert, NULL);
}

/* ---- normal ---- */

static size_t whole_steps(size_t n) {
    return (n + 2 * SH_RANDOM_STEP - 1) / (2 * SH_RANDOM_STEP) * SH_RANDOM_STEP;
}

#define NORMAL(name, type, real, from_words, most, expression)                                  \
    static void name(const uint32_t *words, void *to, size_t n, const sh_random_range *range) { \
        real z[most];                                                                           \
        type *out = to;                                                                         \
        (void)range;                                                                            \
        level()->from_words(words, z, whole_steps(n));                                          \
        for (size_t i = 0; i < n; i++) out[i] = expression;                                     \
    }
NORMAL(normal_f32, float, float, normal32, RUN_WORDS, z[i])
NORMAL(normal_f16, uint16_t, float, normal32, RUN_WORDS, sh_f32_to_f16(z[i]))
NORMAL(normal_bf16, uint16_t, float, normal32, RUN_WORDS, sh_f32_to_bf16(z[i]))
NORMAL(normal_f64, double, double, normal64, RUN_WORDS / 2, z[i])

static sh_status normal(sh_tensor *r) {
    if (!is_plain(r)) return sh_ref_randn(r, (sh_ints){NULL, 0}, SH_NO_DTYPE);
    const converter convert = r->dtype == SH_F32   ? normal_f32
                              : r->dtype == SH_F64 ? normal_f64
                              : r->dtype == SH_F16 ? normal_f16
                                                   : normal_bf16;
    return draw(r, r->dtype == SH_F64 ? 2 : 1, convert, NULL);
}

/* ---- integers ---- */

#define INTEGERS(name, type, expression)                                                        \
    static void name(const uint32_t *words, void *to, size_t n, const sh_random_range *range) { \
        type *out = to;                                                                         \
        const size_t each = (size_t)sh_random_range_words(range);                               \
        for (size_t i = 0; i < n; i++) {                                                        \
            const int64_t chosen = sh_random_integer(range, words + i * each);                  \
            out[i] = (type)(expression);                                                        \
        }                                                                                       \
    }
INTEGERS(integers_i64, int64_t, chosen)
INTEGERS(integers_i32, int32_t, chosen)
INTEGERS(integers_i16, int16_t, chosen)
INTEGERS(integers_i8, uint8_t, chosen)
INTEGERS(integers_f32, float, sh_random_step(range, chosen))
INTEGERS(integers_f64, double, sh_random_step(range, chosen))
INTEGERS(integers_f16, uint16_t, sh_f32_to_f16((float)sh_random_step(range, chosen)))
INTEGERS(integers_bf16, uint16_t, sh_f32_to_bf16((float)sh_random_step(range, chosen)))

static sh_status integers(sh_tensor *r, int64_t low, int64_t high) {
    static const converter converters[SH_DTYPE_COUNT] = {
        [SH_F32] = integers_f32, [SH_F64] = integers_f64, [SH_F16] = integers_f16, [SH_BF16] = integers_bf16,
        [SH_I64] = integers_i64, [SH_I32] = integers_i32, [SH_I16] = integers_i16, [SH_I8] = integers_i8,
        [SH_U8] = integers_i8,   [SH_B8] = integers_i8,
    };
    if (!is_plain(r)) return sh_ref_randint_low(r, low, high, (sh_ints){NULL, 0}, SH_NO_DTYPE);
    const sh_random_range range = sh_random_range_of((sh_dtype)r->dtype, low, high);
    return draw(r, sh_random_range_words(&range), converters[r->dtype], &range);
}

#include "ops/random_kernels.inc"
