/* calls.c CASE [LIBRARY...]: one thing at a time that a program may do with BLAS. */
#include <cblas.h>
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Where no BLAS is linked, only what opens libraries is left. */
#ifdef NO_BLAS
#define BLAS(name) \
    static void name() {}
BLAS(dgemm_)
BLAS(dsymm_)
BLAS(dtrsm_)
BLAS(dcopy_)
#define cblas_dgemm(...) (void)own
#else
void dgemm_(), dsymm_(), dtrsm_(), dcopy_();
#endif

static double a[16], b[16], c[16];

static void fill(void) {
    for (int i = 0; i < 16; i++) {
        a[i] = i + 1;
        b[i] = 1.0 / (i + 1);
        c[i] = 100;
    }
}

/* c[3, 2] = alpha a[3, 4] b[4, 2] + beta c, columns 3 and 4 apart. */
static void multiply(double alpha, double beta) {
    const int m = 3, n = 2, k = 4, lda = 3, ldb = 4, ldc = 4;
    dgemm_("N", "N", &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc, (size_t)1, (size_t)1);
}

static void show(void) {
    for (int i = 0; i < 16; i++) printf("%.17g ", c[i]);
    printf("\n");
}

/* ---- arguments that the routine complains of, by a jump as R's errors are ---- */

static jmp_buf out;
void xerbla_(const char *name, const int *info, size_t n);
void xerbla_(const char *name, const int *info, size_t n) {
    printf("%.*s complains of argument %d\n", (int)n, name, *info);
    longjmp(out, 1);
}

static void complain(void) {
    const int bad = -1, n = 2;
    const double one = 1;
    for (int i = 0; i < 3; i++)
        if (setjmp(out) == 0)
            dgemm_("N", "N", i ? &n : &bad, &n, &n, &one, a, &n, b, i == 1 ? (const int[]){1} : &n, &one, c,
                   &n, (size_t)1, (size_t)1);
    multiply(1, 0);
}

/* ---- threads, processes ---- */

static void *many(void *unused) {
    double own[16];
    for (int i = 0; i < 100; i++)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, 4, 4, 4, 1, a, 4, b, 4, 0, own, 4);
    (void)unused;
    return NULL;
}

static void threads(void) {
    pthread_t thread[4];
    for (int i = 0; i < 4; i++) pthread_create(&thread[i], NULL, many, NULL);
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
}

static void children(void) {
    for (int i = 0; i < 2; i++) {
        multiply(1, 0);
        if (fork() == 0) {
            multiply(2, 0);
            show();
            fflush(stdout);
            _exit(0);
        }
        wait(NULL);
    }
}

/* ---- libraries that this program isn't linked with ---- */

/* Each has a function `use`, which calls BLAS; opened and closed twice, so that addresses come again. */
static void use(char **libraries, int n) {
    for (int i = 0; i < 2 * n; i++) {
        void *library = dlopen(libraries[i % n], RTLD_NOW | RTLD_LOCAL);
        double (*f)(const double *, const double *) = NULL;
        if (library) *(void **)&f = dlsym(library, "use");
        if (!f) {
            printf("%s\n", dlerror());
            return;
        }
        printf("%.17g\n", f(a, b));
        dlclose(library);
    }
}

/* ---- streams ---- */

/* The place of standard error is a file's from then on. */
static void closed(const char *path) {
    FILE *file;
    close(2);
    file = path ? fopen(path, "w") : NULL;
    multiply(1, 0);
    if (file) fputs("mine\n", file);
    if (file) fclose(file);
}

/* ---- findings ---- */

static void birth(void) {
    a[1] = 1e308;
    b[0] = 1e10;
    multiply(1, 0);
}

static void arrival(void) {
    a[4] = NAN;
    multiply(1, 0);
}

/* Nothing of this is read: C where beta is 0, the other triangle, a diagonal of ones, gaps. */
static void junk(void) {
    const int n = 3, ld = 4, m = 1;
    const double one = 1, zero = 0;
    for (int i = 0; i < 16; i++) c[i] = NAN;
    multiply(1, 0);
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 4; i++)
            if (i > j || i == 3) a[i + 4 * j] = NAN;
    dsymm_("L", "U", &n, &m, &one, a, &ld, b, &ld, &zero, c, &ld, (size_t)1, (size_t)1);
    for (int j = 0; j < 3; j++) a[5 * j] = NAN;
    dtrsm_("L", "U", "T", "U", &n, &m, &one, a, &ld, b, &ld, (size_t)1, (size_t)1, (size_t)1, (size_t)1);
    dcopy_(&n, b, &m, c, &ld);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    fill();
    if (strcmp(what, "complain") == 0) complain();
    if (strcmp(what, "threads") == 0) threads();
    if (strcmp(what, "children") == 0) children();
    if (strcmp(what, "use") == 0) use(argv + 2, argc - 2);
    if (strcmp(what, "closed") == 0) closed(argv[2]);
    if (strcmp(what, "birth") == 0) birth();
    if (strcmp(what, "arrival") == 0) arrival();
    if (strcmp(what, "junk") == 0) junk();
    if (strcmp(what, "beta") == 0) multiply(1, 0.5);
    if (strcmp(what, "multiply") == 0) multiply(1, 0);
    if (strcmp(what, "triple") == 0) multiply(3, 0);
    show();
    return 0;
}
