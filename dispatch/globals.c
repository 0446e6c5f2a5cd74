/* globals.c - process-wide modes, under every thread's own (M1).
 *
 * What is pushed is one immutable snapshot behind an atomic pointer. A call pins the snapshot that it
 * starts with (its thread publishes the pointer and looks again), so a pop returns at once and a call in
 * flight may still run the mode. A snapshot that was replaced is freed by a later push or pop, once no
 * thread has it pinned. */
#include <string.h>

#include <pthread.h>

#include "dispatch/chain.h"

typedef struct snapshot {
    sh_entry *top[SH_POS_COUNT]; /* odd places only */
    struct snapshot *retired;
} snapshot;

_Atomic(const void *) sh__globals;
atomic_uint sh__process_gate;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static snapshot *retired;
static uint64_t sequence;

_Atomic uint64_t sh__global_wants[SH_FAMILY_WORDS];

void sh__globals_pin(sh_thread *thread) {
    const snapshot *s = atomic_load(&sh__globals), *again = NULL;
    for (; s && s != again; s = again) {
        atomic_store(&thread->cold->hazard, s);
        again = atomic_load(&sh__globals);
        if (again == s) break;
    }
    for (int p = 1; s && p < SH_POS_COUNT; p += 2) {
        thread->top[p] = s->top[p];
        if (s->top[p]) thread->live |= 1u << p;
    }
}

void sh__globals_release(sh_thread *thread) {
    for (int p = 1; p < SH_POS_COUNT; p += 2) thread->top[p] = NULL;
    thread->live &= ~(uint32_t)SH_POS_GLOBAL;
    atomic_store_explicit(&thread->cold->hazard, NULL, memory_order_release);
}

static void free_snapshot(snapshot *s) {
    for (int p = 1; p < SH_POS_COUNT; p += 2) sh__entry_release(s->top[p]);
    sh__free(s);
}

typedef struct pins {
    const void *pinned[256];
    size_t n;
    bool overflow;
} pins;

static void collect(sh_thread_cold *cold, void *user) {
    pins *found = user;
    const void *pinned = atomic_load(&cold->hazard);
    if (!pinned) return;
    if (found->n < sizeof found->pinned / sizeof *found->pinned)
        found->pinned[found->n++] = pinned;
    else
        found->overflow = true;
}

/* Frees what no thread has pinned; the rest waits for the next push or pop. */
static void reclaim(void) {
    pins found = {.n = 0};
    sh__threads_visit(collect, &found);
    if (found.overflow) return;
    for (snapshot **link = &retired; *link;) {
        snapshot *s = *link;
        bool pinned = false;
        for (size_t i = 0; i < found.n; i++) pinned |= found.pinned[i] == s;
        if (pinned) {
            link = &s->retired;
            continue;
        }
        *link = s->retired;
        free_snapshot(s);
    }
}

static void publish(snapshot *next) {
    snapshot *before = (snapshot *)(uintptr_t)atomic_load(&sh__globals);
    bool any = false;
    for (int i = 0; i < SH_FAMILY_WORDS; i++) {
        uint64_t wants = 0;
        for (int p = 1; p < SH_POS_COUNT; p += 2)
            if (next->top[p]) wants |= next->top[p]->all[i];
        atomic_store_explicit(&sh__global_wants[i], wants, memory_order_relaxed);
    }
    for (int p = 1; p < SH_POS_COUNT; p += 2) any |= next->top[p] != NULL;
    atomic_store(&sh__globals, any ? next : NULL);
    sh__configuration_changed();
    sh__process_set(SH_PROCESS_GLOBALS, any);
    if (!any) sh__free(next);
    if (!before) return;
    before->retired = retired;
    retired = before;
    reclaim();
}

/* A copy of the current snapshot, its lists kept. */
static snapshot *copy_current(void) {
    snapshot *next = sh__calloc(1, sizeof *next);
    const snapshot *now = atomic_load(&sh__globals);
    for (int p = 1; next && now && p < SH_POS_COUNT; p += 2) next->top[p] = sh__entry_keep(now->top[p]);
    return next;
}

static sh_status push_locked(sh_mode *mode) {
    const uint32_t position = sh__mode_position(mode) + 1;
    snapshot *next = copy_current();
    sh_entry *below = next ? next->top[position] : NULL;
    sh_entry *entry = next ? sh__entry_new(mode, below, position) : NULL;
    if (!entry) {
        if (next) free_snapshot(next);
        return SH_ERROR_MEMORY;
    }
    entry->sequence = ++sequence;
    sh__entry_release(below);
    next->top[position] = entry;
    publish(next);
    return SH_OK;
}

sh_status sh_push_mode_global(sh_mode *mode) {
    if (!mode) return sh_fail(SH_ERROR_NULL, "sh_push_mode_global: mode is NULL");
    if (mode->pushed && mode->pushed(mode, true) < 0) return sh__error_ensure(SH_ERROR_MODE);
    atomic_fetch_or(&mode->unusual, SH_MODE_IS_SHARED);
    pthread_mutex_lock(&lock);
    const sh_status status = push_locked(mode);
    pthread_mutex_unlock(&lock);
    if (status < 0 && mode->popped) mode->popped(mode, true);
    return status;
}

static sh_entry *last_entry(const snapshot *s) {
    sh_entry *last = NULL;
    for (int p = 1; p < SH_POS_COUNT; p += 2)
        if (s->top[p] && (!last || s->top[p]->sequence > last->sequence)) last = s->top[p];
    return last;
}

static sh_status pop_locked(const sh_mode *mode) {
    const snapshot *now = atomic_load(&sh__globals);
    sh_entry *last = now ? last_entry(now) : NULL;
    if (!last)
        return sh_fail(SH_ERROR_MODE, "sh_pop_mode_global: %s is to be popped, but the stack is empty",
                       mode->name);
    if (last->mode != mode)
        return sh_fail(SH_ERROR_MODE, "sh_pop_mode_global: %s is to be popped, but %s was pushed last",
                       mode->name, last->mode->name);
    snapshot *next = copy_current();
    if (!next) return SH_ERROR_MEMORY;
    next->top[last->position] = sh__entry_keep(last->below);
    sh__entry_release(last);
    publish(next);
    return SH_OK;
}

sh_status sh_pop_mode_global(sh_mode *mode) {
    if (!mode) return sh_fail(SH_ERROR_NULL, "sh_pop_mode_global: mode is NULL");
    sh_mode_keep(mode);
    pthread_mutex_lock(&lock);
    const sh_status status = pop_locked(mode);
    pthread_mutex_unlock(&lock);
    if (status >= 0 && mode->popped) mode->popped(mode, true);
    sh_mode_release(mode);
    return status;
}

void sh_mode_pop_all_global(void) {
    for (;;) {
        pthread_mutex_lock(&lock);
        const snapshot *now = atomic_load(&sh__globals);
        sh_entry *last = now ? last_entry(now) : NULL;
        sh_mode *mode = last ? sh_mode_keep(last->mode) : NULL;
        pthread_mutex_unlock(&lock);
        if (!mode || sh_pop_mode_global(mode) < 0) {
            sh_mode_release(mode);
            return;
        }
        sh_mode_release(mode);
    }
}

/* What is left behind stays reachable, so that leak checkers see it. */
void sh__globals_abandon(void) {
    static _Atomic(const void *) left[2];
    pthread_mutex_init(&lock, NULL); /* a thread that is no more may have held it */
    atomic_store(&left[0], atomic_exchange(&sh__globals, NULL));
    atomic_store(&left[1], retired);
    retired = NULL;
    for (int i = 0; i < SH_FAMILY_WORDS; i++) atomic_store(&sh__global_wants[i], 0);
    sh__configuration_changed();
    sh__process_set(SH_PROCESS_GLOBALS, false);
}

__attribute__((destructor(103))) static void library_exit(void) {
    pthread_mutex_lock(&lock);
    reclaim();
    pthread_mutex_unlock(&lock);
}
