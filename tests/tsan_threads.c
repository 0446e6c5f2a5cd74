/* tsan_threads.c - threads, each with modes of their own, under global modes that come and go; a context handed over.
 * A plain main, as Criterion does not start under TSan. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "shunt.h"

enum { THREADS = 8, ROUNDS = 400 };

static int failures;
static int passes;
static void check(bool right, const char *what) {
    if (right)
        __atomic_fetch_add(&passes, 1, __ATOMIC_RELAXED);
    else {
        __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);
        fprintf(stderr, "FAILED: %s%s%s\n", what, sh_error() ? ": " : "",
                sh_error() ? sh_error()->message : "");
        sh_clear_error();
    }
}

static atomic_int global_runs, stop;

static sh_status count_global(sh_mode *mode, sh_call *call) {
    (void)mode;
    (void)call;
    atomic_fetch_add(&global_runs, 1);
    return SH_PASS;
}

static sh_status add_to_mul(sh_mode *mode, sh_call *call) {
    (void)mode;
    if (sh_call_family(call) == SH_OP_add) SH_TRY(sh_call_swap(call, SH_OP_mul));
    return SH_PASS;
}

static sh_status count_own(sh_mode *mode, sh_call *call) {
    (void)call;
    ++*(int *)sh_mode_user(mode);
    return SH_PASS;
}

static double value(const sh_tensor *t) { return t ? sh_tensor_at(t, (const int64_t[]){0}) : -1; }

/* Odd threads swap, even ones only count: nobody sees another's. */
static void *worker(void *argument) {
    const int id = *(const int *)argument;
    int own = 0;
    sh_mode *mode = sh_mode_new(id % 2 ? add_to_mul : count_own, &(sh_mode_options){.user = &own});
    sh_tensor *x = sh_keep(sh_full(SH_SIZES(3), 3.0));
    bool right = true;
    for (int i = 0; i < ROUNDS; i++) {
        SH_SCOPE {
            SH_WITH_MODE(mode) { right &= value(sh_add(x, x)) == (id % 2 ? 9 : 6); }
            right &= value(sh_add(x, x)) == 6;
            right &= sh_mode_depth() == 0;
        }
        if (i % 50 == 0)
            SH_WITH_BACKEND("ref") SH_SCOPE {
                    right &= value(sh_mul(x, x)) == 9;
                }
    }
    if (id % 2 == 0) right &= own == ROUNDS;
    check(right, "a thread saw only its own modes");
    check(sh_mode_calls(mode) == ROUNDS, "calls of a thread's own mode are counted exactly");
    sh_release(x);
    sh_mode_release(mode);
    return NULL;
}

static void *pusher(void *unused) {
    (void)unused;
    sh_mode *g = sh_mode_new(count_global, NULL);
    while (!atomic_load(&stop)) {
        if (sh_push_mode_global(g) < 0 || sh_pop_mode_global(g) < 0) break;
    }
    check(!sh_error(), "global modes push and pop while others call");
    sh_mode_release(g);
    return NULL;
}

/* Kernels come and go while others call them. */
static sh_status declines(sh_call *call, void *user) {
    (void)user;
    return sh_call_set_tensor(call, sh_call_tensor(call, 0));
}

static void *registrar(void *unused) {
    (void)unused;
    sh_set_warning_sink(sh_warnings_off, NULL);
    for (int i = 0; !atomic_load(&stop) && i < 2000; i++) {
        sh_kernel k;
        if (sh_kernel_register("relu", "ref", declines, NULL, "registrar", &k) < 0 || sh_kernel_remove(k) < 0)
            break;
    }
    check(!sh_error() && sh_table_check() == SH_OK, "kernels register and go while others call");
    return NULL;
}

static void many_threads(void) {
    pthread_t threads[THREADS], push, registering;
    int ids[THREADS];
    pthread_create(&push, NULL, pusher, NULL);
    pthread_create(&registering, NULL, registrar, NULL);
    for (int i = 0; i < THREADS; i++) {
        ids[i] = i;
        pthread_create(&threads[i], NULL, worker, &ids[i]);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    atomic_store(&stop, 1);
    pthread_join(push, NULL);
    pthread_join(registering, NULL);
}

/* ---- a context (case 14) ---- */

typedef struct handed {
    sh_context *context;
    sh_tensor *x;
    bool right;
} handed;

static void *receiver(void *argument) {
    handed *h = argument;
    sh_context_guard guard;
    SH_SCOPE {
        h->right = value(sh_add(h->x, h->x)) == 6;
        h->right &= sh_context_enter(h->context, &guard) == SH_OK;
        h->right &= value(sh_add(h->x, h->x)) == 9;
        h->right &= sh_mode_depth() == 1;
        sh_context_leave(&guard);
        h->right &= sh_mode_depth() == 0;
        h->right &= value(sh_add(h->x, h->x)) == 6;
    }
    return NULL;
}

static void a_context_is_handed_over(void) {
    sh_tensor *x = sh_keep(sh_full(SH_SIZES(3), 3.0));
    handed h[2];
    pthread_t threads[2];
    SH_WITH_MODE(add_to_mul) {
        for (int i = 0; i < 2; i++) {
            h[i] = (handed){sh_context_capture(), x, false};
            pthread_create(&threads[i], NULL, receiver, &h[i]);
        }
        SH_SCOPE {
            for (int i = 0; i < 100; i++) sh_add(x, x);
        }
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        check(h[i].right, "a captured context acts on another thread, and only inside");
        sh_context_free(h[i].context);
    }
    sh_release(x);
}

/* Tensors made here die there. */
static void *releaser(void *argument) {
    sh_tensor **kept = argument;
    for (int i = 0; i < 1000; i++) sh_release(kept[i]);
    return NULL;
}

static void tensors_die_on_another_thread(void) {
    static sh_tensor *kept[1000];
    const int64_t live = sh_memory_stats_get().live_tensors;
    pthread_t thread;
    SH_SCOPE {
        for (int i = 0; i < 1000; i++) kept[i] = sh_keep(sh_full(SH_SIZES(i % 40 + 1), 1.0));
    }
    pthread_create(&thread, NULL, releaser, kept);
    pthread_join(thread, NULL);
    check(sh_memory_stats_get().live_tensors == live, "live tensors are counted over all threads");
}

int main(void) {
    many_threads();
    a_context_is_handed_over();
    tensors_die_on_another_thread();
    printf("%d passed, %d failed\n", passes, failures);
    return failures != 0;
}
