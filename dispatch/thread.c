/* thread.c - a thread's state: made at first need, given back at thread exit, put right after a longjmp.
 *
 * The hot struct needs no set-up. The cold part is made by the first slow path (growing the scope list
 * is one), which also registers the thread. The main thread has no exit hook: the library's destructor
 * does its part, so that leak checkers see a clean end. */
#include "dispatch/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/chain.h"
#include "dispatch/cold.h"
#include "dispatch/environment.h"

__thread sh_thread sh__thread;

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static sh_thread_cold *registry;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t exit_key;
static int64_t departed_tensors, departed_bytes; /* what ended threads left in their counts */

static void leave_registry(sh_thread_cold *cold) {
    pthread_mutex_lock(&registry_lock);
    *cold->link = cold->next;
    if (cold->next) cold->next->link = cold->link;
    departed_tensors += cold->thread->live_tensors;
    departed_bytes += cold->thread->live_bytes;
    pthread_mutex_unlock(&registry_lock);
}

static void detach(void *value) {
    sh_thread_cold *cold = value;
    sh_thread *thread = &sh__thread;
    if (thread->cold != cold) return;
    sh__stacks_drop(thread);
    sh__scope_release(0, NULL, 0);
    sh_memory_trim();
    sh__records_room(0);
    free(thread->items);
    thread->items = NULL;
    thread->items_capacity = 0;
    leave_registry(cold);
    thread->live_tensors = thread->live_bytes = 0;
    thread->gate = 0;
    thread->cold = NULL;
    free(cold);
}

/* What a call may need below the last callback, as much of a small stack as it can spare. On a stack that is not the
 * thread's own (a coroutine's) nothing is checked. */
static void measure_stack(sh_thread *thread) {
    enum { RESERVE = 128 << 10 };
    pthread_attr_t attributes;
    void *low;
    size_t size;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
    if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
        thread->stack_low = (uintptr_t)low;
        thread->stack_limit = thread->stack_low + (size / 4 < RESERVE ? size / 4 : RESERVE);
    }
    pthread_attr_destroy(&attributes);
}

static void make_key(void) { pthread_key_create(&exit_key, detach); }

/* Plain calloc: counting failures needs the cold part to exist. */
sh_thread_cold *sh__cold(void) {
    sh_thread *thread = &sh__thread;
    if (thread->cold) return thread->cold;
    pthread_once(&key_once, make_key);
    sh_thread_cold *cold = calloc(1, sizeof *cold);
    if (!cold || pthread_setspecific(exit_key, cold) != 0) {
        free(cold);
        thread->gate |= SH_GATE_ERROR;
        return NULL;
    }
    cold->thread = thread;
    cold->scope_limit = 100000;
    cold->cache_limit = sh__environment_cache_limit();
    pthread_mutex_lock(&registry_lock);
    cold->next = registry;
    cold->link = &registry;
    if (registry) registry->link = &cold->next;
    registry = cold;
    pthread_mutex_unlock(&registry_lock);
    measure_stack(thread);
    thread->cold = cold;
    sh_memory_trim();
    return cold;
}

void sh__threads_visit(void (*visit)(sh_thread_cold *cold, void *user), void *user) {
    pthread_mutex_lock(&registry_lock);
    for (sh_thread_cold *cold = registry; cold; cold = cold->next) visit(cold, user);
    pthread_mutex_unlock(&registry_lock);
}

void sh__live_counts(sh_memory_stats *stats) {
    pthread_mutex_lock(&registry_lock);
    stats->live_tensors = departed_tensors;
    stats->live_bytes = departed_bytes;
    for (const sh_thread_cold *cold = registry; cold; cold = cold->next) {
        stats->live_tensors += __atomic_load_n(&cold->thread->live_tensors, __ATOMIC_RELAXED);
        stats->live_bytes += __atomic_load_n(&cold->thread->live_bytes, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&registry_lock);
}

__attribute__((destructor(102))) static void library_exit(void) {
    if (sh__thread.cold) detach(sh__thread.cold);
}
