/* philox.h - blocks of random words, and what elements are made of them.
 *
 * f32, f16, bf16: word i of an op is for element i. Uniform: its top 24, 11 or 8 bits, all that the dtype holds
 * below 1. Normal, by Box and Muller: words 2j and 2j + 1 give elements 2j (cosine) and 2j + 1 (sine). f64: two words
 * an element, the first the low half; uniform has its top 53 bits, normal numbers top 52.
 * Integers: low + the whole part of range * u, where u is the element's words as a fraction: 2 where range is up
 * to 2^32, else 4, so that no integer is likelier than another by more than 2^-32 of its share. */
#ifndef SH_OPS_PHILOX_H
#define SH_OPS_PHILOX_H

#include "dispatch/dtype.h"
#include "ops/random.h"

/* Takes the next blocks from this thread's generator: the number of the first. */
uint64_t sh_random_take(uint64_t blocks, uint64_t *seed);
/* What an op takes for n elements of so many words each: whole pairs. */
static inline uint64_t sh_random_blocks(int64_t n, int words) {
    return (((uint64_t)n + ((uint64_t)n & 1)) * (uint64_t)words + 3) / 4;
}

enum { SH_PHILOX_ROUNDS = 10 };
#define SH_PHILOX_M0 UINT32_C(0xD2511F53)
#define SH_PHILOX_M1 UINT32_C(0xCD9E8D57)
#define SH_PHILOX_W0 UINT32_C(0x9E3779B9)
#define SH_PHILOX_W1 UINT32_C(0xBB67AE85)

/* Philox4x32-10 of a counter of four words under a key of two. */
static inline void sh_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0], k1 = key[1];
    for (int i = 0; i < SH_PHILOX_ROUNDS; i++) {
        const uint64_t p0 = (uint64_t)SH_PHILOX_M0 * c0, p1 = (uint64_t)SH_PHILOX_M1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += SH_PHILOX_W0;
        k1 += SH_PHILOX_W1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

static inline void sh_random_block(uint64_t seed, uint64_t block, uint32_t out[4]) {
    const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), 0, 0};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    sh_philox(counter, key, out);
}

/* Integers that a draw chooses from. */
typedef struct sh_random_range {
    int64_t low;
    uint64_t range; /* how many */
    int digits;     /* binary digits of the dtype that holds them */
} sh_random_range;

static inline sh_random_range sh_random_range_of(sh_dtype dtype, int64_t low, int64_t high) {
    const int digits = dtype == SH_F16    ? 11
                       : dtype == SH_BF16 ? 8
                       : dtype == SH_F32  ? 24
                       : dtype == SH_F64  ? 53
                                          : 64;
    const sh_random_range range = {low, (uint64_t)high - (uint64_t)low, digits};
    return range;
}
static inline int sh_random_range_words(const sh_random_range *range) { return range->range >> 32 ? 4 : 2; }

/* The high half of the product of 64 bits each. */
static inline uint64_t sh__high_product(uint64_t a, uint64_t b) {
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)a * b >> 64);
}

/* The integer that `words` (2 or 4 of them) choose. */
static inline int64_t sh_random_integer(const sh_random_range *range, const uint32_t *words) {
    const uint64_t first = (uint64_t)words[1] << 32 | words[0];
    if (range->range >> 32 == 0) return range->low + (int64_t)sh__high_product(first, range->range);
    const uint64_t second = (uint64_t)words[3] << 32 | words[2], low = second * range->range;
    const uint64_t carry = sh__high_product(first, range->range);
    const uint64_t chosen = sh__high_product(second, range->range) + (low + carry < low);
    return (int64_t)((uint64_t)range->low + chosen);
}

/* A float dtype holds integers beyond its digits only in steps: the step below that is still in the range. */
static inline int64_t sh_random_step(const sh_random_range *range, int64_t chosen) {
    const uint64_t magnitude = chosen < 0 ? -(uint64_t)chosen : (uint64_t)chosen;
    const int excess =
        magnitude >> (range->digits - 1) >> 1 ? 64 - __builtin_clzll(magnitude) - range->digits : 0;
    if (excess <= 0) return chosen;
    const uint64_t step = UINT64_C(1) << excess;
    const int64_t below = (int64_t)((uint64_t)chosen & -step);
    return below >= range->low ? below : (int64_t)((uint64_t)below + step);
}

#endif
