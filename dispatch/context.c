/* context.c - handing this thread's modes to another, on purpose (M1).
 *
 * A context is a snapshot: the lists of entries are shared, which is safe as they never change. The
 * global modes are not in it; they are everywhere anyway. */
#include <string.h>

#include "dispatch/chain.h"

struct sh_context {
    sh_entry *top[SH_POS_COUNT]; /* even places only */
    uint32_t switches;
    uint8_t backend[SH_MAX_DEVICES];
};

static sh_status may_share(const sh_entry *top) {
    for (const sh_entry *e = top; e; e = e->below) {
        if ((e->flags & SH_ENTRY_CAPTURE) && !(e->mode->flags & SH_MODE_SHARED))
            return sh_fail(SH_ERROR_MODE,
                           "sh_context_capture: mode %s records calls and is not marked SH_MODE_SHARED",
                           e->mode->name);
    }
    return SH_OK;
}

sh_context *sh_context_capture(void) {
    sh_thread *thread = &sh__thread;
    sh__recover_here(thread);
    for (int p = 0; p < SH_POS_COUNT; p += 2)
        if (may_share(thread->top[p]) < 0) return NULL;
    sh_context *context = sh__calloc(1, sizeof *context);
    if (!context) return NULL;
    for (int p = 0; p < SH_POS_COUNT; p += 2) {
        context->top[p] = sh__entry_keep(thread->top[p]);
        for (sh_entry *e = thread->top[p]; e; e = e->below)
            atomic_fetch_or(&e->mode->unusual, SH_MODE_IS_SHARED);
    }
    context->switches = thread->state.switches;
    memcpy(context->backend, thread->state.backend, sizeof context->backend);
    return context;
}

void sh_context_free(sh_context *context) {
    if (!context) return;
    for (int p = 0; p < SH_POS_COUNT; p += 2) sh__entry_release(context->top[p]);
    sh__free(context);
}

/* What the thread had before it entered a context. */
typedef struct saved_thread {
    sh_context had;
    sh_switch entered; /* keeps the gate open while the context has switches */
    uint64_t floor;
} saved_thread;

static void exchange(sh_thread *thread, const sh_context *context) {
    for (int p = 0; p < SH_POS_COUNT; p += 2) {
        thread->top[p] = context->top[p];
        thread->live = context->top[p] ? thread->live | 1u << p : thread->live & ~(1u << p);
    }
    memcpy(thread->state.backend, context->backend, sizeof thread->state.backend);
    sh__gate_update(thread);
    sh__wants_update(thread);
}

sh_status sh_context_enter(const sh_context *context, sh_context_guard *guard) {
    sh_thread *thread = &sh__thread;
    guard->saved = NULL;
    if (!context) return sh_fail(SH_ERROR_NULL, "sh_context_enter: context is NULL");
    if (!sh__cold()) return SH_ERROR_MEMORY;
    sh__recover_here(thread);
    if (thread->depth) return sh_fail(SH_ERROR_MODE, "sh_context_enter: a call is in flight on this thread");
    saved_thread *saved = sh__calloc(1, sizeof *saved);
    if (!saved) return SH_ERROR_MEMORY;
    for (int p = 0; p < SH_POS_COUNT; p += 2) {
        saved->had.top[p] = thread->top[p];
        sh__entry_keep(context->top[p]);
    }
    memcpy(saved->had.backend, thread->state.backend, sizeof saved->had.backend);
    saved->floor = thread->state.floor;
    sh_switch_on(&saved->entered);
    thread->state.switches = context->switches;
    exchange(thread, context);
    /* The entries' sequences are another thread's: nothing of the context may be popped here. */
    thread->sequence += (uint64_t)1 << 32;
    thread->state.floor = thread->sequence;
    guard->saved = saved;
    return SH_OK;
}

void sh_context_leave(sh_context_guard *guard) {
    saved_thread *saved = guard->saved;
    sh_thread *thread = &sh__thread;
    if (!saved) return;
    sh__recover_here(thread);
    if (thread->depth) {
        sh_fail(SH_ERROR_MODE, "sh_context_leave: a call is in flight on this thread");
        return;
    }
    guard->saved = NULL;
    /* The switches that were opened inside end with it: the outermost of them points to `saved`. */
    while (thread->state.switches_open != &saved->entered) sh_switch_end(thread->state.switches_open);
    for (int p = 0; p < SH_POS_COUNT; p += 2) sh__entry_release(thread->top[p]);
    exchange(thread, &saved->had);
    thread->state.floor = saved->floor;
    sh_switch_end(&saved->entered);
    sh__free(saved);
}
