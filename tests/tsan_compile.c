/* tsan_compile.c - threads call one compiled object at once: each under its own modes, with shapes of its own, more of them
 * than plans are kept, while a mode is configured anew and global ones come and go. Each result must be right. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "shunt.h"

enum { THREADS = 4, ROUNDS = 400 };
static sh_compiled *compiled;
static sh_mode *shared;
static atomic_bool over;
static atomic_int wrong, watched;

static sh_value x_plus_yx(sh_values in, void *user) {
    sh_tensor *x = in.at[0].as.tensor, *y = in.at[1].as.tensor;
    (void)user;
    return sh_value_tensor(sh_add(x, sh_mul(y, x)));
}

static sh_status add_to_mul(sh_mode *mode, sh_call *call) {
    (void)mode;
    if (sh_call_family(call) == SH_OP_add) SH_TRY(sh_call_swap(call, SH_OP_mul));
    return SH_PASS;
}

static sh_status watch(sh_mode *mode, sh_call *call) {
    (void)mode;
    (void)call;
    atomic_fetch_add(&watched, 1);
    return SH_PASS;
}

/* x = 3, y = 2: 9, or 18 with add as mul. */
static void call(int64_t n, double expected) {
    sh_tensor *x = sh_full(sh_ints_of(&n, 1), 3.0), *y = sh_full(sh_ints_of(&n, 1), 2.0);
    const sh_value inputs[] = {sh_value_tensor(x), sh_value_tensor(y)};
    sh_tensor *z = sh_value_as_tensor(sh_compiled_call(compiled, (sh_values){inputs, 2}));
    if (!z || sh_item(sh_sum(z)) != expected * (double)n) atomic_fetch_add(&wrong, 1);
    if (sh_error()) fprintf(stderr, "%s\n", sh_error()->message);
    sh_clear_error();
}

static void *call_on(void *seed) {
    unsigned at = (unsigned)(uintptr_t)seed;
    sh_mode *own = sh_mode_new(add_to_mul, &(sh_mode_options){.name = "own", .kind = SH_MODE_REWRITING});
    for (int i = 0; i < ROUNDS; i++) SH_SCOPE {
            const int64_t n = 1 + rand_r(&at) % 6;
            const unsigned which = rand_r(&at) % 3;
            if (which == 0) call(n, 9);
            if (which == 1)
                SH_WITH_MODE(shared) call(n, 18);
            if (which == 2)
                SH_WITH_MODE(own) call(n, 18);
        }
    sh_mode_release(own);
    return NULL;
}

static void *disturb(void *unused) {
    sh_mode *global = sh_mode_new(watch, &(sh_mode_options){.name = "global", .kind = SH_MODE_WATCHING});
    while (!atomic_load(&over)) {
        sh_push_mode_global(global);
        sh_mode_touch(shared);
        sh_pop_mode_global(global);
        free(sh_compiled_report(compiled));
        (void)sh_compiled_stats(compiled);
    }
    sh_mode_release(global);
    return unused;
}

int main(void) {
    pthread_t threads[THREADS], other;
    sh_compile_options options = SH_COMPILE_OPTIONS_INIT;
    options.most_plans = 5;
    compiled = sh_compile_function(x_plus_yx, NULL, &options);
    shared = sh_mode_new(add_to_mul, &(sh_mode_options){.name = "shared", .kind = SH_MODE_REWRITING});
    pthread_create(&other, NULL, disturb, NULL);
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, call_on, (void *)(i + 1));
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    atomic_store(&over, true);
    pthread_join(other, NULL);
    printf("tsan_compile: %d wrong; %zu plans kept\n", atomic_load(&wrong),
           sh_compiled_stats(compiled).plans);
    sh_mode_release(shared);
    sh_compiled_free(compiled);
    return atomic_load(&wrong) != 0;
}
