/* timing.h - medians of interleaved runs: what benchmarks here are made of. Ratios within one run count, not figures. */
#ifndef SH_TESTS_BENCH_TIMING_H
#define SH_TESTS_BENCH_TIMING_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Of the processor, not of the clock on the wall: while others ran in our stead no time passes. */
static inline double processor_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
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
            const double start = processor_us();
            candidates[i].run(times);
            if (r >= 0) samples[i * rounds + r] = (processor_us() - start) * 1e3 / (double)times;
        }
    for (int i = 0; i < n; i++) {
        qsort(samples + i * rounds, (size_t)rounds, sizeof *samples, compare_doubles);
        candidates[i].ns = samples[i * rounds + rounds / 2];
    }
    free(samples);
}

/* ---- two ways to one end ---- */

typedef struct pair {
    const char *name;
    void (*ours)(int64_t times), (*theirs)(int64_t times); /* theirs NULL: ours alone */
    int64_t times;                                         /* in a turn */
    double most;                                           /* the largest good ratio of ours to theirs */
} pair;

static inline double time_turn(void (*run)(int64_t), int64_t times) {
    const double start = processor_us();
    run(times);
    return (processor_us() - start) / (double)times;
}

static inline double median(double *samples, int n) {
    qsort(samples, (size_t)n, sizeof *samples, compare_doubles);
    return samples[n / 2];
}

static inline void print_head(const char *ours, const char *theirs) {
    printf("%-28s %12s", "us, one thread", ours);
    if (theirs) printf(" %20s %7s %7s", theirs, "ratio", "target");
    printf("\n");
}

/* One line: the medians, the median of the ratios within a turn, the verdict. A turn before them warms up. */
static inline void print_pair(const pair *p) {
    enum { TURNS = 25 };
    double ours[TURNS], theirs[TURNS], ratios[TURNS];
    for (int i = -1; i < TURNS; i++) {
        const int at = i < 0 ? 0 : i;
        ours[at] = time_turn(p->ours, p->times);
        theirs[at] = p->theirs ? time_turn(p->theirs, p->times) : 0;
        ratios[at] = ours[at] / theirs[at];
    }
    printf("%-28s %12.3f", p->name, median(ours, TURNS));
    const double ratio = median(ratios, TURNS);
    if (p->theirs)
        printf(" %20.3f %7.3f %7.2f  %s", median(theirs, TURNS), ratio, p->most,
               ratio <= p->most ? "met" : "MISSED");
    printf("\n");
}

#endif
