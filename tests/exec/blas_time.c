/* blas_time.c N COUNT: the median time of a dgemm call of N x N, in ns, over samples of COUNT calls each. */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void dgemm_();
enum { SAMPLES = 201 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 4, count = argc > 2 ? atoi(argv[2]) : 2000;
    const double one = 1, zero = 0;
    double samples[SAMPLES], *a = calloc((size_t)n * (size_t)n * 3, sizeof *a);
    if (!a) return 1;
    double *b = a + n * n, *c = b + n * n;
    for (int s = -3; s < SAMPLES; s++) {
        const double start = now();
        for (int i = 0; i < count; i++)
            dgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n, (size_t)1, (size_t)1);
        if (s >= 0) samples[s] = (now() - start) / count;
    }
    qsort(samples, SAMPLES, sizeof *samples, by_value);
    printf("%.1f %.1f\n", samples[SAMPLES / 2], samples[SAMPLES / 20]);
    free(a);
    return 0;
}
