/* frame.c - what a chain found when it began, and how it is put back.
 *
 * A frame is kept in the thread's cold part, so that a longjmp out of a callback loses nothing: the next call
 * sees by the stack pointer that the chain is dead, and puts back what its frame says. Little is stored when
 * a chain begins; the rest is kept by whoever is about to change it. */
#include <string.h>

#include "dispatch/walk.h"

void sh__stack_back(sh_thread *thread, sh_frame *frame) {
    if (SH_LIKELY(!(frame->changed & SH_FRAME_MOVED))) return;
    for (int p = 0; p < SH_POS_COUNT; p++) {
        if (p % 2 == 0) sh__entry_release(thread->top[p]);
        thread->top[p] = frame->top[p];
    }
    thread->live = frame->live;
    thread->gate &= ~(uint32_t)SH_GATE_MOVED;
    frame->changed &= ~(uint32_t)SH_FRAME_MOVED;
}

typedef struct sh_seen {
    struct sh_seen *outer;
    uint64_t floor;
    uint32_t live;
    sh_entry *top[SH_POS_COUNT];
} sh_seen;

bool sh__seen_keep(sh_thread *thread, sh_frame *frame) {
    sh_seen *seen = sh__alloc(sizeof *seen);
    if (!seen) return false;
    *seen = (sh_seen){.outer = frame->seen, .floor = frame->floor, .live = thread->live};
    memcpy(seen->top, thread->top, sizeof seen->top);
    memcpy(thread->top, frame->top, sizeof seen->top);
    frame->seen = seen;
    frame->changed = (frame->changed & ~(uint32_t)SH_FRAME_MOVED) | SH_FRAME_SEES;
    thread->live = frame->live;
    thread->gate &= ~(uint32_t)SH_GATE_MOVED;
    return true;
}

void sh__seen_back(sh_thread *thread, sh_frame *frame) {
    sh_seen *seen = frame->seen;
    memcpy(thread->top, seen->top, sizeof seen->top);
    thread->live = seen->live;
    thread->gate |= SH_GATE_MOVED;
    frame->changed |= SH_FRAME_MOVED;
    frame->floor = seen->floor;
    frame->seen = seen->outer;
    sh__free(seen);
}

void sh__seen_drop(sh_frame *frame) {
    for (sh_seen *seen; (seen = frame->seen);) {
        frame->seen = seen->outer;
        for (int p = 0; p < SH_POS_COUNT; p += 2) sh__entry_release(seen->top[p]);
        sh__free(seen);
    }
}

void sh__stack_move(sh_thread *thread) {
    sh__state_changes(thread);
    sh__state_sync(thread);
    sh_frame *frame = &thread->cold->frames[thread->depth - 1];
    if (frame->changed & SH_FRAME_MOVED) return;
    memcpy(frame->top, thread->top, sizeof frame->top);
    frame->live = thread->live;
    frame->floor = thread->sequence;
    frame->changed |= SH_FRAME_MOVED;
    thread->gate |= SH_GATE_MOVED;
    for (uint32_t p = 0; p < SH_POS_COUNT; p++) {
        if (p < thread->state.start)
            thread->top[p] = NULL;
        else if (p == thread->state.start)
            thread->top[p] = thread->state.start_entry;
        if (p % 2 == 0) sh__entry_keep(thread->top[p]);
        if (!thread->top[p]) thread->live &= ~(1u << p);
    }
    thread->state.start = 0;
    thread->state.start_entry = thread->top[0];
}

void sh__state_sync(sh_thread *thread) {
    if ((thread->gate & (SH_GATE_MOVED | SH_GATE_SIMPLE)) != SH_GATE_SIMPLE) return;
    const sh_entry *at = thread->cold->frames[0].call->at;
    if (!at) return;
    thread->state.start = at->position;
    thread->state.start_entry = at->below;
    thread->skip = at->skips;
}

void sh__frame_restore(sh_thread *thread, sh_frame *frame) {
    sh__stack_back(thread, frame);
    thread->skip = frame->skip;
    if (frame->changed & SH_FRAME_KEPT) {
        thread->state = frame->state;
        sh__names_truncate(thread->cold, frame->state.names);
        sh__gate_update(thread);
    }
    thread->state.start = frame->start;
    thread->state.start_entry = frame->start_entry;
}

void sh__gate_update(sh_thread *thread) {
    uint32_t gate = thread->gate & (uint32_t)(SH_GATE_ERROR | SH_GATE_FAULT | SH_GATE_OF_CHAIN);
    if (thread->depth) gate |= SH_GATE_ACTIVE;
    if (thread->state.switches_open) gate |= SH_GATE_SWITCH;
    for (int i = 0; i < SH_MAX_DEVICES; i++)
        if (thread->state.backend[i]) gate |= SH_GATE_BACKEND;
    thread->gate = gate;
}

/* A chain is over without having ended when the stack is back above its record, or its record was written over. */
__attribute__((no_sanitize("address", "thread"))) static bool is_dead(const sh_frame *frame,
                                                                      uintptr_t stack_address) {
    return (uintptr_t)frame->call < stack_address || frame->call->frame != frame;
}

void sh__recover(sh_thread *thread, uintptr_t stack_address) {
    sh_frame *frames = thread->cold->frames;
    while (thread->depth && is_dead(&frames[thread->depth - 1], stack_address)) {
        sh_frame *frame = &frames[--thread->depth];
        sh__held_drop(frame);
        sh__seen_drop(frame);
        sh__frame_restore(thread, frame);
        frame->changed = 0;
        sh__gate_outer(thread, frame);
        if (!thread->depth) sh__end_of_chains(thread);
    }
}
