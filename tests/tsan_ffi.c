/* tsan_ffi.c - C kernels that come and go while threads call them; closures made, called and ended on all threads. A
 * plain main, as Criterion does not start under TSan. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "shunt.h"

enum { THREADS = 4, ROUNDS = 2000 };

static atomic_int passes, failures, stop;
static void check(bool right, const char *what) {
    atomic_fetch_add(right ? &passes : &failures, 1);
    if (!right)
        fprintf(stderr, "FAILED: %s%s%s\n", what, sh_error() ? ": " : "",
                sh_error() ? sh_error()->message : "");
    sh_clear_error();
}

/* Like relu of what is not negative. */
static void same(const float *x, float *y, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] = x[i];
}

static void *registrar(void *unused) {
    (void)unused;
    int rounds = 0;
    for (; !atomic_load(&stop); rounds++) {
        sh_kernel k;
        if (sh_kernel_register_c("relu", "cpu", "void(const float x[n], float y[n], size_t n)",
                                 (sh_c_function)same, NULL, &k) < 0 ||
            sh_kernel_remove(k) < 0)
            break;
    }
    check(!sh_error() && sh_table_check() == SH_OK, "C kernels come and go while others call");
    check(rounds > 0, "some did");
    return NULL;
}

static float (*shared)(float, float);

static void *caller(void *unused) {
    bool right = true;
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) SH_SCOPE {
            const float v = (float)i;
            right &= sh_item(sh_relu(SH_FLOATS(v, v, v)) ? sh_sum(sh_relu(SH_FLOATS(v))) : NULL) == (double)v;
            right &= shared(v, 1) == v + 1;
            if (i % 20) continue;
            sh_closure *own = sh_closure_new("neg", "float(float)", NULL);
            float (*neg)(float) = (float (*)(float))sh_closure_code(own);
            right &= neg && neg(v) == -v && sh_closure_free(own) == SH_OK;
        }
    check(right && !sh_error(), "calls are right whatever kernel they meet");
    return NULL;
}

int main(void) {
    pthread_t callers[THREADS], registering;
    sh_set_warning_sink(sh_warnings_off, NULL);
    sh_closure *closure = sh_closure_new("add", "float(float, float)", NULL);
    shared = (float (*)(float, float))sh_closure_code(closure);
    pthread_create(&registering, NULL, registrar, NULL);
    for (int i = 0; i < THREADS; i++) pthread_create(&callers[i], NULL, caller, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(callers[i], NULL);
    atomic_store(&stop, 1);
    pthread_join(registering, NULL);
    check(sh_closure_free(closure) == SH_OK, "a shared closure ends");
    printf("%d passed, %d failed\n", passes, failures);
    return failures != 0;
}
