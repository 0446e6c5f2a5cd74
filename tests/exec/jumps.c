/* jumps.c: as R does, it replaces xerbla by one that leaves LAPACK's caller by longjmp; then it calls from threads. */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>

void xerbla_(const char *name, const int *argument, size_t length);
double ddot_(const int *n, const double *x, const int *incx, const double *y, const int *incy);
void dgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k, const double *alpha,
            const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c,
            const int *ldc, size_t, size_t);
void dgesv_(const int *n, const int *nrhs, double *a, const int *lda, int *ipiv, double *b, const int *ldb,
            int *info);

static jmp_buf back;

void xerbla_(const char *name, const int *argument, size_t length) {
    printf("%.*s %d\n", (int)length, name, *argument);
    longjmp(back, 1);
}

static double dot(void) {
    const int n = 3, one = 1;
    const double x[3] = {1, 2, 3};
    return ddot_(&n, x, &one, x, &one);
}

static void bad_gemm(void) {
    const int n = 2, bad = -1;
    const double one = 1, a[4] = {0};
    double c[4];
    if (!setjmp(back)) dgemm_("N", "N", &n, &n, &bad, &one, a, &n, a, &n, &one, c, &n, 1, 1);
}

static void bad_gesv(void) {
    const int n = 2, one = 1;
    double a[4] = {0}, b[2] = {0};
    int ipiv[2], info;
    if (!setjmp(back)) dgesv_(&n, &one, a, &one, ipiv, b, &n, &info);
}

static void *many(void *sum) {
    for (int i = 0; i < 1000; i++) *(double *)sum += dot();
    return NULL;
}

int main(void) {
    pthread_t threads[4];
    double sums[4] = {0};
    for (int i = 0; i < 3; i++) {
        bad_gemm();
        bad_gesv();
        printf("%g\n", dot());
    }
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, many, &sums[i]);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    printf("%g\n", sums[0] + sums[1] + sums[2] + sums[3]);
    return 0;
}
