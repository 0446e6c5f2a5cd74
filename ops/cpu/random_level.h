/* random_level.h - what is vectorised of the random kernels, once for each instruction set.
 *
 * Only +, -, *, /, square roots and integer operations are used, none fused, so that every level gives the same
 * bits. Counts are multiples of SH_RANDOM_STEP. */
#ifndef SH_OPS_CPU_RANDOM_LEVEL_H
#define SH_OPS_CPU_RANDOM_LEVEL_H

#include <stddef.h>
#include <stdint.h>

enum { SH_RANDOM_STEP = 8 };

typedef struct sh_random_level {
    /* Philox of `blocks` counters from `block` on: four words each. */
    void (*words)(uint64_t seed, uint64_t block, uint32_t *to, size_t blocks);
    /* Pairs of normal numbers by Box and Muller: from two words each, and from four. */
    void (*normal32)(const uint32_t *words, float *to, size_t pairs);
    void (*normal64)(const uint32_t *words, double *to, size_t pairs);
} sh_random_level;

extern const sh_random_level sh_random_sse2, sh_random_avx2;

#endif
