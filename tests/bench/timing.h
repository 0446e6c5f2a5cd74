/* timing.h - medians of interleaved runs: what benchmarks here are made of. Ratios within one run count, not figures. */
#ifndef SH_TESTS_BENCH_TIMING_H
#define SH_TESTS_BENCH_TIMING_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static inline double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

typedef struct timed {
    const char *name;
    void (*run)(int64_t times);
    double ns; /* median of one run, set by time_all */
} timed;

static inline int compare_doubles(const void *a, const void *b) {
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

/* Each of n candidates in turn, `rounds` times round, `times` repetitions a round. */
static inline void time_all(timed *candidates, int n, int rounds, int64_t times) {
    double *samples = malloc((size_t)(n * rounds) * sizeof *samples);
    for (int r = -1; r < rounds; r++)
        for (int i = 0; i < n; i++) {
            const double start = now_ns();
            candidates[i].run(times);
            if (r >= 0) samples[i * rounds + r] = (now_ns() - start) / (double)times;
        }
    for (int i = 0; i < n; i++) {
        qsort(samples + i * rounds, (size_t)rounds, sizeof *samples, compare_doubles);
        candidates[i].ns = samples[i * rounds + rounds / 2];
    }
    free(samples);
}

#endif
