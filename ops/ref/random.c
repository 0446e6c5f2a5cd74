/* random.c - the draws of ops/philox.h, element by element. */
#include <math.h>

#include "ops/element.h"
#include "ops/kernels.h"
#include "ops/philox.h"

#define K(name) sh_ref_##name

/* Words of one op, found by their number. */
typedef struct source {
    uint64_t seed, first;
} source;

static source take(const sh_tensor *r, int words) {
    source s;
    s.first = sh_random_take(sh_random_blocks(r->numel, words), &s.seed);
    return s;
}

static uint32_t word(const source *s, uint64_t i) {
    uint32_t block[4];
    sh_random_block(s->seed, s->first + i / 4, block);
    return block[i % 4];
}

static uint64_t two_words(const source *s, uint64_t i) { return (uint64_t)word(s, i + 1) << 32 | word(s, i); }

static void put(sh_tensor *r, const int64_t *index, double value) {
    sh_store_f64((sh_dtype)r->dtype, sh_element(r, index, r->ndim), value);
}

static sh_status uniform(sh_tensor *r) {
    const bool wide = r->dtype == SH_F64;
    const int digits = r->dtype == SH_F32 ? 24 : r->dtype == SH_F16 ? 11 : 8;
    const source s = take(r, wide ? 2 : 1);
    uint64_t i = 0;
    SH_EACH_ELEMENT(r, at) {
        put(r, at,
            wide ? ldexp((double)(two_words(&s, 2 * i) >> 11), -53)
                 : ldexp(word(&s, i) >> (32 - digits), -digits));
        i++;
    }
    return SH_OK;
}

/* The cosine of an angle in turns, from 0 to 2. Whole quarters are taken off first, which is exact. */
static double cosine(double turns) {
    const double quarter = nearbyint(4 * turns), rest = (4 * turns - quarter) * M_PI_2;
    switch ((int)quarter % 4) {
    case 0: return cos(rest);
    case 1: return -sin(rest);
    case 2: return -cos(rest);
    default: return sin(rest);
    }
}

/* Radius from the first number of a pair, angle from the second. The sine is the cosine three quarters on. */
static double box_muller(double radius_part, double angle_part, bool second) {
    return sqrt(-2 * log(radius_part)) * cosine(angle_part + (second ? 0.75 : 0));
}

static sh_status normal(sh_tensor *r) {
    const bool wide = r->dtype == SH_F64;
    const source s = take(r, wide ? 2 : 1);
    uint64_t i = 0;
    SH_EACH_ELEMENT(r, at) {
        const uint64_t pair = i & ~UINT64_C(1);
        if (wide)
            put(r, at,
                box_muller(ldexp((double)(two_words(&s, 2 * pair) >> 12) + 0.5, -52),
                           ldexp((double)(two_words(&s, 2 * pair + 2) >> 12), -52), i & 1));
        else
            put(r, at, box_muller(ldexp(word(&s, pair) + 0.5, -32), ldexp(word(&s, pair + 1), -32), i & 1));
        i++;
    }
    return SH_OK;
}

static sh_status integers(sh_tensor *r, int64_t low, int64_t high) {
    const sh_random_range range = sh_random_range_of((sh_dtype)r->dtype, low, high);
    const uint64_t each = (uint64_t)sh_random_range_words(&range);
    const source s = take(r, (int)each);
    uint64_t i = 0;
    SH_EACH_ELEMENT(r, at) {
        uint32_t words[4];
        for (uint64_t k = 0; k < each; k++) words[k] = word(&s, i * each + k);
        const int64_t chosen = sh_random_step(&range, sh_random_integer(&range, words));
        sh_store_i64((sh_dtype)r->dtype, sh_element(r, at, r->ndim), chosen);
        i++;
    }
    return SH_OK;
}

#include "ops/random_kernels.inc"
