/* stack.c - a thread's own stack: push, pop, entries, and the union of what they want.
 *
 * A stack is five lists (one per position of the chain), each an immutable list of entries from its
 * top; the push order over all of them is in the entries' sequence. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/chain.h"

/* ---- entries ---- */

static void add_composites(uint64_t *wants) {
    for (uint32_t id = 0; id < sh_op_count(); id++) {
        const sh_op *op = sh__op_at(id);
        if (op->tags & SH_OP_COMPOSITE) wants[op->word] |= (uint64_t)1 << op->bit % 64;
    }
}

sh_entry *sh__entry_new(sh_mode *mode, sh_entry *below, uint32_t position) {
    sh_entry *entry = sh__calloc(1, sizeof *entry);
    if (!entry) return NULL;
    atomic_init(&entry->refs, 1);
    entry->flags = mode->entry_flags;
    entry->skips = entry->flags & SH_ENTRY_WATCHING ? SH_ENTRY_CAPTURE : 0;
    entry->mode = sh_mode_keep(mode);
    entry->callback = mode->callback;
    entry->below = sh__entry_keep(below);
    entry->position = position;
    memcpy(entry->wants, mode->wants, sizeof entry->wants);
    memcpy(entry->all, mode->wants, sizeof entry->all);
    if (entry->flags & SH_ENTRY_SPLITS) add_composites(entry->all);
    if (entry->flags & SH_ENTRY_COUNTS) memset(entry->all, 0xff, sizeof entry->all);
    entry->all_flags = entry->flags;
    if (!below) return entry;
    entry->all_flags |= below->all_flags;
    for (int i = 0; i < SH_FAMILY_WORDS; i++) entry->all[i] |= below->all[i];
    return entry;
}

/* A loop: a stack of ten thousand must not end in as many nested calls. */
void sh__entry_release(sh_entry *entry) {
    while (entry && atomic_fetch_sub_explicit(&entry->refs, 1, memory_order_acq_rel) == 1) {
        sh_entry *below = entry->below;
        sh_mode_release(entry->mode);
        sh__free(entry);
        entry = below;
    }
}

static uint32_t position_of(const sh_mode *mode) {
    if (mode->flags & SH_MODE_FIRST) return SH_POS_FIRST;
    const bool last = (mode->flags & SH_MODE_LAST) != 0;
    if (mode->level == SH_LEVEL_DISPATCH) return last ? SH_POS_DISPATCH_LAST : SH_POS_DISPATCH;
    return last ? SH_POS_FUNCTION_LAST : SH_POS_FUNCTION;
}

uint32_t sh__mode_position(const sh_mode *mode) { return position_of(mode); }

void sh__wants_update(sh_thread *thread) {
    thread->stamp = 0;
    if (thread->depth) return;
    memset(thread->wants, 0, sizeof thread->wants);
    for (int p = 0; p < SH_POS_COUNT; p += 2)
        for (int i = 0; thread->top[p] && i < SH_FAMILY_WORDS; i++)
            thread->wants[i] |= thread->top[p]->all[i];
}

/* ---- push and pop ---- */

sh_entry *sh__seen_from_here(sh_thread *thread, uint32_t position) {
    sh__state_sync(thread);
    if (!thread->depth || position > thread->state.start) return thread->top[position];
    return position == thread->state.start ? thread->state.start_entry : NULL;
}

static void note_owner(sh_mode *mode, const sh_thread *thread) {
    const sh_thread *none = NULL;
    if (atomic_compare_exchange_strong(&mode->owner, &none, thread) || none == thread) return;
    atomic_fetch_or(&mode->unusual, SH_MODE_IS_SHARED);
}

static void set_top(sh_thread *thread, uint32_t position, sh_entry *entry) {
    thread->top[position] = entry;
    thread->live = entry ? thread->live | 1u << position : thread->live & ~(1u << position);
    thread->state.start_entry = thread->top[0];
    sh__wants_update(thread);
}

sh_status sh_push_mode(sh_mode *mode) {
    sh_thread *thread = &sh__thread;
    if (!mode) return sh_fail(SH_ERROR_NULL, "sh_push_mode: mode is NULL");
    if (!sh__cold()) return SH_ERROR_MEMORY;
    sh__recover_here(thread);
    if (mode->pushed && mode->pushed(mode, false) < 0) return sh__error_ensure(SH_ERROR_MODE);
    if (thread->depth) sh__stack_move(thread);
    const uint32_t position = position_of(mode);
    sh_entry *below = thread->top[position];
    sh_entry *entry = sh__entry_new(mode, below, position);
    if (!entry) {
        if (mode->popped) mode->popped(mode, false);
        return SH_ERROR_MEMORY;
    }
    note_owner(mode, thread);
    entry->sequence = ++thread->sequence;
    entry->start = thread->op_number;
    sh__entry_release(below); /* the entry holds it now */
    set_top(thread, position, entry);
    thread->state.balance++;
    return SH_OK;
}

/* The youngest entry over all positions, or NULL. */
static sh_entry *last_pushed(sh_thread *thread) {
    sh_entry *last = NULL;
    for (uint32_t p = 0; p < SH_POS_COUNT; p += 2) {
        sh_entry *top = sh__seen_from_here(thread, p);
        if (top && (!last || top->sequence > last->sequence)) last = top;
    }
    return last;
}

/* Up to this sequence entries are not for popping here: those a callback found, or a context. */
static uint64_t floor_of(const sh_thread *thread) {
    if (!thread->depth) return thread->state.floor;
    const sh_frame *frame = &thread->cold->frames[thread->depth - 1];
    return frame->changed & SH_FRAME_MOVED ? frame->floor : thread->sequence;
}

static void drop(sh_thread *thread, sh_entry *entry) {
    set_top(thread, entry->position, sh__entry_keep(entry->below));
    thread->state.balance--;
    sh_mode *mode = sh_mode_keep(entry->mode);
    sh__entry_release(entry);
    if (mode->popped) mode->popped(mode, false);
    sh_mode_release(mode);
}

sh_status sh_pop_mode(sh_mode *mode) {
    sh_thread *thread = &sh__thread;
    sh__recover_here(thread);
    sh_entry *last = last_pushed(thread);
    if (!mode) return sh_fail(SH_ERROR_NULL, "sh_pop_mode: mode is NULL");
    if (!last)
        return sh_fail(SH_ERROR_MODE, "sh_pop_mode: %s is to be popped, but the stack is empty", mode->name);
    if (last->sequence <= floor_of(thread))
        return sh_fail(SH_ERROR_MODE, "sh_pop_mode: a callback can't pop %s, which was pushed outside it",
                       mode->name);
    if (last->mode != mode)
        return sh_fail(SH_ERROR_MODE, "sh_pop_mode: %s is to be popped, but %s was pushed last", mode->name,
                       last->mode->name);
    if (thread->depth) sh__stack_move(thread);
    drop(thread, last);
    return SH_OK;
}

void sh__stacks_drop(sh_thread *thread) {
    thread->depth = 0;
    thread->state.floor = 0;
    for (sh_entry *last; (last = last_pushed(thread));) drop(thread, last);
}

size_t sh_mode_depth(void) {
    sh_thread *thread = &sh__thread;
    size_t n = 0;
    sh__recover_here(thread);
    for (uint32_t p = 0; p < SH_POS_COUNT; p += 2)
        for (const sh_entry *e = sh__seen_from_here(thread, p); e; e = e->below) n++;
    return n;
}

/* ---- blocks ---- */

sh_mode_guard sh__mode_enter(sh_mode *mode) {
    sh_mode_guard guard = {NULL};
    if (sh_push_mode(mode) == SH_OK) guard.mode = sh_mode_keep(mode);
    return guard;
}

sh_mode_guard sh__mode_enter_callback(sh_callback callback) {
    sh_mode *mode = sh_mode_new(callback, NULL);
    const sh_mode_guard guard = mode ? sh__mode_enter(mode) : (sh_mode_guard){NULL};
    sh_mode_release(mode);
    return guard;
}

void sh_mode_leave(sh_mode_guard *guard) {
    if (!guard->mode) return;
    sh_pop_mode(guard->mode);
    sh_mode_release(guard->mode);
    guard->mode = NULL;
}
