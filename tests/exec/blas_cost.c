/* blas_cost.c - ns of a dgemm call, 4x4 and 256x256: the least of some batches each. */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double least(int n, int calls, int batches, double *m) {
    double best = 1e18;
    for (int b = 0; b < batches; b++) {
        const double start = now();
        for (int i = 0; i < calls; i++)
            cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, m, n, m + n * n, n, 0,
                        m + 2 * n * n, n);
        const double each = (now() - start) / calls;
        if (each < best) best = each;
    }
    return best;
}

int main(void) {
    double *m = malloc(3 * 256 * 256 * sizeof *m);
    for (int i = 0; i < 3 * 256 * 256; i++) m[i] = i % 13;
    const double small = least(4, 20000, 10, m), large = least(256, 4, 6, m);
    printf("%.2f %.0f\n", small, large);
    free(m);
    return 0;
}
