/* lapack.c: a program that calls LAPACK while modes and kernels of its own have a hand in it. Ends with the counts. */
#include <math.h>
#include <shunt.h>
#include <stdio.h>
#include <string.h>

void dgesv_(const int *n, const int *nrhs, double *a, const int *lda, int *ipiv, double *b, const int *ldb,
            int *info);
void dgesv_64_(const int64_t *n, const int64_t *nrhs, double *a, const int64_t *lda, int64_t *ipiv, double *b,
               const int64_t *ldb, int64_t *info) __attribute__((weak));
void spotrf_(const char *uplo, const int *n, float *a, const int *lda, int *info, size_t);
void zheevd_(const char *jobz, const char *uplo, const int *n, void *a, const int *lda, double *w, void *work,
             const int *lwork, double *rwork, const int *lrwork, int *iwork, const int *liwork, int *info,
             size_t, size_t);

static int passed, failed;

static void is(const char *name, bool holds) {
    if (holds)
        passed++;
    else
        failed++;
    if (!holds) printf("FAILED: %s\n", name);
}

/* Solves diag(2, 4) x = (2, 4) in memory with gaps. */
static struct solved {
    double x[2];
    int info, ipiv[2];
    double gap;
} solve(double first) {
    const int n = 2, one = 1, lda = 3, ldb = 2;
    double a[6] = {first, 0, 77, 0, 4, 77};
    struct solved s = {.x = {2, 4}, .info = -9};
    dgesv_(&n, &one, a, &lda, s.ipiv, s.x, &ldb, &s.info);
    s.gap = a[2];
    return s;
}

static bool solves(const struct solved s, double x0, double x1) {
    return s.info == 0 && fabs(s.x[0] - x0) < 1e-12 && fabs(s.x[1] - x1) < 1e-12 && s.gap == 77;
}

/* ---- modes ---- */

static int calls;
static char line[256];

static sh_status watch(sh_mode *mode, sh_call *call) {
    (void)mode;
    calls++;
    SH_TRY(sh_next(call));
    sh_call_print(call, line, sizeof line);
    return SH_PASS;
}

static sh_status other_b(sh_mode *mode, sh_call *call) {
    (void)mode;
    return sh_call_set_arg(call, 1, sh_value_tensor(sh_full(SH_SIZES(2, 1), 8, .dtype = SH_F64))) < 0
               ? sh_error()->code
               : SH_PASS;
}

static sh_status other_dtype(sh_mode *mode, sh_call *call) {
    (void)mode;
    SH_TRY(sh_call_set_arg(call, 1, sh_value_tensor(sh_full(SH_SIZES(2, 1), 8, .dtype = SH_F32))));
    return SH_PASS;
}

static sh_status refuse(sh_mode *mode, sh_call *call) {
    (void)mode;
    (void)call;
    return sh_fail(SH_ERROR_VALUE, "refused");
}

static sh_status answer(sh_mode *mode, sh_call *call) {
    (void)mode;
    sh_tensor *lu = sh_call_tensor(call, 0), *x = sh_full(SH_SIZES(2, 1), 5, .dtype = SH_F64);
    SH_TRY(sh_call_set_result(call, 0, sh_value_tensor(lu)));
    SH_TRY(sh_call_set_result(call, 1, sh_value_tensor(x)));
    SH_TRY(sh_call_set_result(call, 2, sh_value_tensor(sh_full(SH_SIZES(2), 6, .dtype = SH_I32))));
    SH_TRY(sh_call_set_result(call, 3, sh_value_int(3)));
    return SH_OK;
}

static sh_status double_x(sh_mode *mode, sh_call *call) {
    (void)mode;
    SH_TRY(sh_next(call));
    return sh_call_set_result(call, 1,
                              sh_value_tensor(sh_mul(sh_value_as_tensor(sh_call_result(call, 1)), 2.0))) < 0
               ? sh_error()->code
               : SH_PASS;
}

static char warning[256];
static void keep_warning(const char *text, void *user) {
    (void)user;
    snprintf(warning, sizeof warning, "%s", text);
}

static void modes(void) {
    SH_WITH_MODE(watch) is("a call goes through a mode and gives what it does alone", solves(solve(2), 1, 1));
    is("once", calls == 1);
    is("its line",
       strcmp(line, "lapack::gesv(f64[2, 2], f64[2, 1]) -> f64[2, 2], f64[2, 1], i32[2], info=0") == 0);
    SH_WITH_MODE(watch) is("a singular matrix keeps its info", solve(0).info == 1);
    is("which the line shows", strstr(line, "info=1") != NULL);
    SH_WITH_MODE(other_b) is("an edited right side is what is solved", solves(solve(2), 4, 2));
    SH_WITH_MODE(double_x) is("an edited result reaches the caller", solves(solve(2), 2, 2));
    SH_WITH_MODE(answer) {
        const struct solved s = solve(2);
        is("so does an answer", s.x[0] == 5 && s.x[1] == 5 && s.ipiv[1] == 6 && s.info == 3);
    }
    SH_WITH_MODE(refuse) is("an error leaves the call to the library", solves(solve(2), 1, 1));
    is("and is told", strstr(warning, "lapack::gesv ran unseen: refused"));
    SH_WITH_MODE(other_dtype) is("so does another dtype", solves(solve(2), 1, 1));
    is("which is told too", strstr(warning, "must stay f64") != NULL);
    is("no error is left", sh_error() == NULL);
}

/* ---- kernels, queries, other types ---- */

static sh_status next_and_mark(sh_call *call, void *user) {
    sh_tensor *a = sh_call_tensor(call, 0);
    (void)user;
    SH_TRY(sh_call_set_result(call, 0, sh_value_tensor(a)));
    return sh_call_set_result(call, 1, sh_value_int(42));
}

static int cholesky(void) {
    const int n = 2;
    float a[4] = {4, 99, 0, 9};
    int info = -9;
    spotrf_("U", &n, a, &n, &info, 1);
    if (info == 0) is("the other triangle is untouched", a[1] == 99 && a[0] == 2 && a[3] == 3);
    return info;
}

static void kernels(void) {
    sh_kernel kernel;
    SH_WITH_MODE(watch) cholesky();
    is("a triangle is shown as one",
       strcmp(line, "lapack::potrf(f32[2, 2]:upper) -> f32[2, 2]:upper, info=0") == 0);
    is("a kernel is hooked in",
       sh_kernel_register("lapack::potrf", "cpu", next_and_mark, NULL, "mine", &kernel) >= 0);
    is("and runs without a mode", cholesky() == 42);
    sh_kernel_remove(kernel);
    is("until it is removed", cholesky() == 0);
}

static void queries(void) {
    const int n = 2, ask = -1, bad = 1;
    double work[2], rwork[1], w[2], a[8] = {0}, b[2] = {0};
    int iwork[1], ipiv[2], info;
    calls = 0;
    SH_WITH_MODE(watch) {
        zheevd_("V", "L", &n, a, &n, w, work, &ask, rwork, &ask, iwork, &ask, &info, 1, 1);
        is("a workspace query is answered", info == 0 && work[0] >= 1);
        dgesv_(&n, &bad, a, &bad, ipiv, b, &n, &info);
        is("an invalid argument is LAPACK's to refuse", info == -4);
    }
    is("neither is shown", calls == 0);
    SH_WITH_MODE(watch) {
        const int none = 0, one = 1;
        dgesv_(&none, &one, NULL, &one, NULL, NULL, &one, &info);
    }
    is("an empty system is", calls == 1 && info == 0);
    is("as an op it runs only for a program", sh_call_op("lapack::potrf", sh_eye(2)) == NULL);
    sh_clear_error();
}

int main(void) {
    sh_set_warning_sink(keep_warning, NULL);
    modes();
    kernels();
    queries();
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
