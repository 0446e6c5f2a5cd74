/* tsan_hooks.c - threads call an op while kernels with conditions and policies come and go, and a wrong one is taken out
 * by several at once. Each result must be right whatever kernel ran. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "shunt.h"

enum { THREADS = 4, ROUNDS = 60 };
static atomic_bool over;
static atomic_int wrong;

static sh_status passes_on(sh_call *call, void *user) {
    (void)user;
    return sh_next_kernel(call);
}

static sh_status is_wrong(sh_call *call, void *user) {
    (void)user;
    float *at = sh_tensor_data(sh_call_result(call, 0).as.tensor);
    for (int64_t i = 0; i < sh_tensor_numel(sh_call_result(call, 0).as.tensor); i++) at[i] = 7;
    return SH_OK;
}

static void *call_on(void *unused) {
    while (!atomic_load(&over)) SH_SCOPE {
            sh_tensor *x = sh_ones(SH_SIZES(4));
            if (!sh_add_(x, 1.0) || sh_tensor_at(x, (const int64_t[]){3}) != 2) atomic_fetch_add(&wrong, 1);
            if (sh_item(sh_sum(sh_add(x, x))) != 16) atomic_fetch_add(&wrong, 1);
            if (sh_error()) fprintf(stderr, "%s\n", sh_error()->message);
            sh_clear_error();
        }
    return unused;
}

int main(void) {
    pthread_t threads[THREADS];
    sh_set_warning_sink(sh_warnings_off, NULL);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, call_on, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        sh_kernel good, bad;
        const sh_kernel_options right = {.where = "call=2..50", .policy = "fallback"};
        const sh_kernel_options doubted = {.where = "numel=2..", .policy = "verify:then=1"};
        sh_kernel_register_with("add", passes_on, &right, &good);
        sh_kernel_register_with("add", is_wrong, &doubted, &bad);
        if (round % 8 == 0) sh_set_verbose(round % 16 ? NULL : "dispatch");
        SH_SCOPE { sh_add(sh_ones(SH_SIZES(2)), 1.0); }
        sh_kernel_remove(good);
        sh_kernel_remove(bad);
        if (sh_table_check() < 0) atomic_fetch_add(&wrong, 1);
    }
    atomic_store(&over, true);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    printf("tsan_hooks: %d wrong\n", atomic_load(&wrong));
    return atomic_load(&wrong) != 0;
}
