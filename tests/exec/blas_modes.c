/* blas_modes.c - a program with modes and kernels of its own, into which the interposer is preloaded: what its BLAS calls
 * look like to them and what they can do. Ends with "N passed, N failed". */
#include <cblas.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <shunt.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int passed, failed;
static void check(bool ok, const char *what) {
    ok ? passed++ : failed++;
    if (!ok) printf("FAILED: %s%s%s\n", what, sh_error() ? ": " : "", sh_error() ? sh_error()->message : "");
}
#define CHECK(condition) check(condition, #condition)

static double a[16], b[16], c[16];
static void fill(void) {
    for (int i = 0; i < 16; i++) {
        a[i] = i + 1;
        b[i] = i % 5 == 0;
        c[i] = -1;
    }
}
/* C = A^T B, B the identity. */
static void multiply(void) {
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, 4, 4, 4, 1, a, 4, b, 4, 0, c, 4);
}
static bool is_product(void) {
    for (int i = 0; i < 16; i++)
        if (c[i] != a[i / 4 + i % 4 * 4]) return false;
    return true;
}

static atomic_int seen;
static sh_status watch(sh_mode *mode, sh_call *call) {
    (void)mode, (void)call;
    atomic_fetch_add(&seen, 1);
    return SH_PASS;
}

/* ---- looking */

static sh_status look(sh_mode *mode, sh_call *call) {
    (void)mode;
    const sh_tensor *left = sh_call_tensor(call, 0), *out = sh_call_target(call);
    CHECK(strcmp(sh_call_name(call), "blas::gemm") == 0);
    CHECK(sh_tensor_data(left) == a && sh_tensor_data(out) == c);
    CHECK(sh_tensor_stride(left, 0) == 4 && sh_tensor_stride(left, 1) == 1);
    CHECK(sh_call_arg_named(call, "c").tag == SH_TAG_NONE);
    CHECK(sh_call_depth(call) == 0);
    return SH_PASS;
}
static void a_call_shows_the_callers_memory(void) {
    fill();
    SH_WITH_MODE(look) multiply();
    CHECK(is_product());
}

/* ---- editing */

static sh_status put_another(sh_mode *mode, sh_call *call) {
    (void)mode;
    sh_tensor *twos = sh_full(SH_SIZES(4, 4), 2.0, .dtype = SH_F64);
    SH_TRY(sh_call_set_arg(call, 0, sh_value_tensor(twos)));
    return SH_PASS;
}
static void an_edited_call_runs_with_what_was_put_there(void) {
    fill();
    SH_WITH_MODE(put_another) multiply();
    CHECK(c[0] == 2 && c[15] == 2);
}

static sh_status answer(sh_mode *mode, sh_call *call) {
    (void)mode;
    SH_TRY(sh_call_set_tensor(call, sh_full(SH_SIZES(4, 4), 7.0, .dtype = SH_F64)));
    return SH_OK;
}
static void an_answer_lands_in_the_callers_memory(void) {
    fill();
    SH_WITH_MODE(answer) multiply();
    CHECK(c[0] == 7 && c[15] == 7);
}

static sh_status refuse(sh_mode *mode, sh_call *call) {
    (void)mode, (void)call;
    return sh_fail(SH_ERROR_VALUE, "not this one");
}
static int warnings;
static void count_warning(const char *text, void *user) {
    (void)user, (void)text;
    warnings++;
}
static void a_call_that_a_mode_fails_runs_all_the_same(void) {
    fill();
    sh_set_warning_sink(count_warning, NULL);
    SH_WITH_MODE(refuse) multiply();
    CHECK(is_product() && !sh_error());
    CHECK(warnings == 1);
    sh_set_warning_sink(NULL, NULL);
}

static int64_t op_index;
static sh_status look_at_index(sh_mode *mode, sh_call *call) {
    (void)mode;
    SH_TRY(sh_next(call));
    op_index = sh_item_int(sh_call_result(call, 0).as.tensor);
    return SH_PASS;
}
static void indices_count_from_0_for_modes_and_C_and_from_1_for_Fortran(void) {
    extern int idamax_(const int *n, const double *x, const int *inc);
    const int n = 16, one = 1;
    fill();
    SH_WITH_MODE(look_at_index) {
        CHECK(idamax_(&n, a, &one) == 16 && op_index == 15);
        CHECK(cblas_idamax(16, a, 1) == 15 && op_index == 15);
    }
}

/* ---- kernels */

static sh_status fill_with_9(sh_call *call, void *user) {
    (void)user;
    sh_tensor *out = sh_call_result(call, 0).as.tensor;
    for (int i = 0; i < 16; i++) ((double *)sh_tensor_data(out))[i] = 9;
    return SH_OK;
}
static void a_hooked_kernel_gets_the_callers_memory_and_goes_again(void) {
    sh_kernel kernel;
    fill();
    CHECK(sh_kernel_register("blas::gemm", "cpu", fill_with_9, NULL, "test", &kernel) == SH_OK);
    multiply();
    CHECK(c[0] == 9 && c[15] == 9);
    CHECK(sh_kernel_remove(kernel) == SH_OK);
    multiply();
    CHECK(is_product() && sh_table_check() == SH_OK);
}

static int ran;
static sh_status note(sh_call *call, void *user) {
    ran = *(int *)user;
    return sh_call_set_tensor(call, sh_call_tensor(call, 0));
}
static void a_base_kernel_stays_behind_hooks_that_came_before_it(void) {
    static int hook = 1, base = 2;
    sh_kernel kernel;
    sh_value result[SH_MAX_RESULTS];
    CHECK(sh_kernel_register("test::op", "cpu", note, &hook, "hook", &kernel) == SH_OK);
    CHECK(sh_op_define("test::op(Tensor x) -> Tensor", NULL, NULL) == SH_OK);
    CHECK(sh_kernel_register_base("test::op", "cpu", note, &base, "base", NULL) == SH_OK);
    const sh_argument x = {NULL, sh_value_tensor(sh_ones(SH_SIZES(2)))};
    CHECK(sh_call_by_name("test::op", &x, 1, result) == SH_OK && ran == 1);
    CHECK(sh_kernel_remove(kernel) == SH_OK);
    CHECK(sh_call_by_name("test::op", &x, 1, result) == SH_OK && ran == 2);
}

/* ---- calls inside calls */

static bool shown;
static sh_status multiply_inside(sh_call *call, void *user) {
    (void)user;
    sh_inside inside;
    if (shown) sh_inside_show(&inside);
    multiply();
    if (shown) sh_inside_end(&inside);
    return sh_call_set_tensor(call, sh_call_tensor(call, 0));
}
static uint32_t deepest;
static sh_status look_at_depth(sh_mode *mode, sh_call *call) {
    (void)mode;
    if (sh_call_depth(call) > deepest) deepest = sh_call_depth(call);
    atomic_fetch_add(&seen, 1);
    return SH_PASS;
}
static void what_a_kernel_calls_is_hidden_unless_it_shows_it(void) {
    sh_value result[SH_MAX_RESULTS];
    CHECK(sh_op_define("test::outer(Tensor x) -> Tensor", NULL, NULL) == SH_OK);
    CHECK(sh_kernel_register("test::outer", "cpu", multiply_inside, NULL, "test", NULL) == SH_OK);
    const sh_argument x = {NULL, sh_value_tensor(sh_ones(SH_SIZES(2)))};
    for (int i = 0; i < 2; i++) {
        shown = i;
        seen = 0;
        fill();
        SH_WITH_MODE(look_at_depth) CHECK(sh_call_by_name("test::outer", &x, 1, result) == SH_OK);
        CHECK(seen == 1 + i && is_product());
    }
    CHECK(deepest == 1);
    seen = 0;
    SH_WITH_MODE(watch) multiply();
    CHECK(seen == 1);
}

/* ---- what programs do */

static jmp_buf out_of_it;
static sh_status leap(sh_mode *mode, sh_call *call) {
    (void)mode, (void)call;
    longjmp(out_of_it, 1);
}
static void after_a_longjmp_through_a_call_the_next_is_seen(void) {
    sh_mode *mode = sh_mode_new(leap, NULL);
    sh_push_mode(mode);
    if (!setjmp(out_of_it)) multiply();
    CHECK(sh_pop_mode(mode) == SH_OK);
    fill();
    seen = 0;
    SH_WITH_MODE(watch) multiply();
    CHECK(seen == 1 && is_product());
    sh_mode_release(mode);
}

static void bad_arguments_are_the_librarys_to_complain_about(void) {
    extern void dgemv_(const char *, const int *, const int *, const double *, const double *, const int *,
                       const double *, const int *, const double *, double *, const int *, size_t);
    const int n = 1, none = 0, one = 1;
    const double alpha = 1;
    seen = 0;
    SH_WITH_MODE(watch) {
        dgemv_("N", &n, &n, &alpha, a, &one, b, &one, &alpha, c, &one, 1);
        CHECK(seen == 1);
        dgemv_("N", &n, &n, &alpha, a, &none, b, &one, &alpha, c, &one, 1);
    }
    CHECK(seen == 1);
}

static void after_dlclose_functions_are_found_anew(void) {
    void *library = dlopen("libz.so.1", RTLD_NOW);
    fill();
    multiply();
    if (library) dlclose(library);
    memset(c, 0, sizeof c);
    multiply();
    CHECK(is_product());
}

enum { THREADS = 4, CALLS = 500 };
static void *many(void *wrong) {
    double x[8], y[8], s = 0;
    for (int i = 0; i < 8; i++) x[i] = i, y[i] = 1;
    for (int i = 0; i < CALLS; i++) s += cblas_ddot(8, x, 1, y, 1);
    if (s != 28.0 * CALLS) atomic_fetch_add((atomic_int *)wrong, 1);
    return NULL;
}
static void threads_call_at_once(void) {
    pthread_t threads[THREADS];
    atomic_int wrong = 0;
    sh_mode *mode = sh_mode_new(watch, NULL);
    sh_push_mode_global(mode);
    seen = 0;
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, many, &wrong);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    CHECK(wrong == 0 && seen == THREADS * CALLS);
    CHECK(sh_pop_mode_global(mode) == SH_OK);
    sh_mode_release(mode);
}

static void a_child_goes_on_calling(void) {
    int status = -1;
    fill();
    const pid_t child = fork();
    if (!child) {
        seen = 0;
        SH_WITH_MODE(watch) multiply();
        _exit(seen == 1 && is_product() ? 0 : 1);
    }
    waitpid(child, &status, 0);
    CHECK(status == 0);
}

/* ---- another BLAS */

static sh_status run_on_both(sh_mode *mode, sh_call *call) {
    sh_value again[SH_MAX_RESULTS];
    SH_TRY(sh_next(call));
    SH_TRY(sh_call_run_on(call, sh_mode_user(mode), again));
    ran = sh_allclose(again[0].as.tensor, sh_call_result(call, 0).as.tensor);
    return SH_PASS;
}
static void another_blas_is_a_backend(const char *path) {
    sh_status (*open)(const char *, char *, size_t);
    char backend[64] = "", twice[64] = "";
    *(void **)&open = dlsym(RTLD_DEFAULT, "wr_shadow_library");
    CHECK(open && open("/no/such/libblas.so", backend, sizeof backend) < 0);
    sh_clear_error();
    if (access(path, R_OK) != 0) return;
    CHECK(open(path, backend, sizeof backend) == SH_OK && open(path, twice, sizeof twice) == SH_OK);
    CHECK(strcmp(backend, twice) == 0);
    sh_mode *mode = sh_mode_new(run_on_both, &(sh_mode_options){.user = backend});
    sh_push_mode(mode);
    ran = 0;
    fill();
    multiply();
    CHECK(ran == 1 && is_product());
    CHECK(sh_pop_mode(mode) == SH_OK);
    sh_mode_release(mode);
}

int main(int argc, char **argv) {
    a_call_shows_the_callers_memory();
    an_edited_call_runs_with_what_was_put_there();
    an_answer_lands_in_the_callers_memory();
    a_call_that_a_mode_fails_runs_all_the_same();
    indices_count_from_0_for_modes_and_C_and_from_1_for_Fortran();
    a_hooked_kernel_gets_the_callers_memory_and_goes_again();
    a_base_kernel_stays_behind_hooks_that_came_before_it();
    what_a_kernel_calls_is_hidden_unless_it_shows_it();
    after_a_longjmp_through_a_call_the_next_is_seen();
    bad_arguments_are_the_librarys_to_complain_about();
    after_dlclose_functions_are_found_anew();
    threads_call_at_once();
    a_child_goes_on_calling();
    another_blas_is_a_backend(argc > 1 ? argv[1] : "/usr/lib/x86_64-linux-gnu/blas/libblas.so.3");
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
