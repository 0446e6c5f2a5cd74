/* random.h - seeded random numbers.
 *
 *     sh_manual_seed(42);
 *     sh_tensor *x = sh_randn(SH_SIZES(2, 3));    // the same numbers on every machine
 *
 * Each thread has one generator, which all its random ops draw from. It is a counter in front of Philox4x32-10
 * (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011): block b of seed s is
 * Philox with the two halves of s as key and b as counter, and gives four words of 32 bits. An op takes as many
 * whole blocks as it needs and its element i a fixed part of them, in row-major order. So what it draws depends
 * on the seed and on what was drawn before, and not on the instruction set, the number of threads that compute or
 * the backend; only the last bit of a normal number from `ref` may differ.
 *
 * A thread that sets no seed has its number as seed: 0 for the first of the process to draw, 1 for the next.
 * Nothing is seeded from the clock: a program that wants other numbers each time says so. */
#ifndef SH_OPS_RANDOM_H
#define SH_OPS_RANDOM_H

#include "dispatch/base.h"

SH_BEGIN_DECLS

/* Starts this thread's generator anew. */
SH_API void sh_manual_seed(uint64_t seed);
/* What it was last started with. */
SH_API uint64_t sh_initial_seed(void);

/* Where a generator stands: the next block to be drawn. */
typedef struct sh_rng_state {
    uint64_t seed, block;
} sh_rng_state;
SH_API sh_rng_state sh_get_rng_state(void);
SH_API void sh_set_rng_state(sh_rng_state state);

SH_END_DECLS

#endif
