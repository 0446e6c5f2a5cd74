/* random.c - each thread's generator: a seed and the number of the next block. */
#include "ops/random.h"

#include <stdatomic.h>

#include "ops/philox.h"

static atomic_uint_fast64_t threads_started;

static __thread struct {
    sh_rng_state state;
    uint64_t initial_seed;
    bool started;
} generator;

void sh_manual_seed(uint64_t seed) {
    generator.state = (sh_rng_state){seed, 0};
    generator.initial_seed = seed;
    generator.started = true;
}

static sh_rng_state *started(void) {
    if (SH_UNLIKELY(!generator.started)) sh_manual_seed(atomic_fetch_add(&threads_started, 1));
    return &generator.state;
}

uint64_t sh_initial_seed(void) {
    started();
    return generator.initial_seed;
}

sh_rng_state sh_get_rng_state(void) { return *started(); }

void sh_set_rng_state(sh_rng_state state) {
    sh_manual_seed(state.seed);
    generator.state.block = state.block;
}

uint64_t sh_random_take(uint64_t blocks, uint64_t *seed) {
    sh_rng_state *state = started();
    const uint64_t first = state->block;
    *seed = state->seed;
    state->block += blocks;
    return first;
}
