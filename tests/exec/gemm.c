/* gemm.c: two products, of 2x2 and 8x8 matrices of ones; prints the first element of each. */
#include <stdio.h>

void dgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
            const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
            const double *beta, double *c, const int *ldc);

static double product(int n) {
    double ones[64], c[64];
    const double alpha = 1, beta = 0;
    for (int i = 0; i < n * n; i++) ones[i] = 1;
    dgemm_("N", "N", &n, &n, &n, &alpha, ones, &n, ones, &n, &beta, c, &n);
    return c[0];
}

int main(void) {
    const double small = product(2), large = product(8);
    printf("%g %g\n", small, large);
    return 0;
}
