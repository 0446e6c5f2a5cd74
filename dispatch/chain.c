/* chain.c - the modes of one call, from the first to the kernel, and sh_next.
 *
 * The walk is a loop, not a recursion: a callback that passes costs one turn. Recursion happens only
 * where a callback calls sh_next. Invariants: while the callback of an entry runs, the thread's `top`
 * at its position is what is below that entry and all earlier positions are empty; when a chain ends, by
 * whatever way, the thread is as its frame says. Nothing derived from the op is kept across a callback. */
#include <string.h>
#include <time.h>

#include "dispatch/candidates.h"
#include "dispatch/walk.h"

void sh_mode_time(bool on) { sh__process_set(SH_PROCESS_TIMES, on); }

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Wants it by its own list, where the bit alone can't tell. */
static bool list_wants(const sh_mode *mode, uint32_t family) {
    if (!(atomic_load_explicit(&mode->unusual, memory_order_relaxed) & SH_MODE_IS_INEXACT)) return true;
    for (uint32_t i = 0; i < mode->nfamilies; i++)
        if (mode->families[i] == family) return true;
    return false;
}

bool sh__entry_wants(const sh_entry *entry, const sh_op *op) {
    return sh__bit_wanted(entry, op) && list_wants(entry->mode, op->family);
}

/* ---- one callback ---- */

/* The callback left something open, or ended what it had not opened: all is put back. */
static sh_status unbalanced(sh_call *call, const sh_entry *entry) {
    sh_thread *thread = &sh__thread;
    const bool more = thread->state.balance > call->frame->balance;
    sh__frame_restore(thread, call->frame);
    return sh_fail(SH_ERROR_MODE, "mode %s returned from %s with a mode, scope, switch or name %s",
                   entry->mode->name, sh_call_name(call),
                   more ? "still open that it opened" : "ended that it did not open");
}

/* SH_PASS: go on below. SH_OK: there is a result. Otherwise an error. */
static sh_status verdict(sh_call *call, const sh_entry *entry, sh_status status) {
    if (status < 0 || sh__error_pending()) return sh__error_ensure(status);
    if (status == SH_OK && !call->nresults) { /* the op gives nothing that could be set */
        call->results[0] = sh_none();
        call->has_result = 1;
    }
    if (call->has_result) return SH_OK;
    if (status == SH_PASS) return SH_PASS;
    if (status == SH_OK)
        return sh_fail(SH_ERROR_RESULT, "mode %s returned SH_OK for %s without a result", entry->mode->name,
                       sh_call_name(call));
    return sh_fail(SH_ERROR_MODE, "mode %s returned %d for %s: expected SH_PASS, SH_OK or an error",
                   entry->mode->name, (int)status, sh_call_name(call));
}

sh_status sh__after_callback(sh_call *call, const sh_entry *entry, sh_status status, uint32_t nitems) {
    sh_thread *thread = &sh__thread;
    sh_frame *frame = call->frame;
    sh__recover_here(thread);
    status = verdict(call, entry, status);
    call->answered = 0;
    if ((thread->gate & SH_GATE_CHANGED) && thread->state.balance != frame->balance) {
        const sh_status found = unbalanced(call, entry);
        status = status < 0 ? status : found;
    }
    sh__stack_back(thread, frame);
    thread->gate &= ~(uint32_t)SH_GATE_CHANGED;
    sh__scope_release(nitems, call->results, call->has_result && status >= 0 ? call->nresults : 0);
    if (SH_LIKELY(status >= 0)) return status;
    call->has_result = 0; /* whoever below had one */
    sh__error_at(sh_call_name(call), "mode", entry->mode->name);
    return status;
}

static sh_status timed(sh_mode *mode, sh_callback callback, sh_call *call) {
    sh_thread_cold *cold = sh__thread.cold;
    const uint64_t below = cold->below_ns, start = now_ns();
    cold->below_ns = 0;
    const sh_status status = callback(mode, call);
    const uint64_t elapsed = now_ns() - start;
    atomic_fetch_add_explicit(&mode->own_ns, elapsed - cold->below_ns, memory_order_relaxed);
    cold->below_ns = below + elapsed;
    return status;
}

/* A mode that only one thread has ever pushed needs no locked instruction. */
static void count_call(sh_mode *mode) {
    if (atomic_load_explicit(&mode->unusual, memory_order_relaxed) & SH_MODE_IS_SHARED)
        atomic_fetch_add_explicit(&mode->calls, 1, memory_order_relaxed);
    else
        sh__count_one(mode);
}

/* SH_PASS: go on below. SH_OK: answered. Otherwise an error. */
static inline sh_status invoke(sh_call *call, sh_thread *thread, sh_entry *entry) {
    thread->state.start = entry->position; /* the callback before may have pushed, which moves the start */
    thread->state.start_entry = entry->below;
    call->at = entry;
    thread->skip = call->frame->skip | entry->skips;
    count_call(entry->mode);
    const uint64_t before = sh__pulse(thread);
    call->frame->mark = (uint32_t)(before >> SH_PULSE_SHIFT);
    const sh_status status = sh__process_has(SH_PROCESS_TIMES) ? timed(entry->mode, entry->callback, call)
                                                               : entry->callback(entry->mode, call);
    const sh_status result = sh__judge(call, thread, entry, status, before);
    thread->skip = call->frame->skip;
    return result;
}

/* ---- the walk ---- */

static sh_entry *const *tops_of(const sh_call *call) {
    return call->frame->changed & SH_FRAME_MOVED ? call->frame->top : sh__thread.top;
}

static bool splits(const sh_call *call) {
    sh_entry *const *top = tops_of(call);
    for (int i = SH_POS_DISPATCH; i < SH_POS_COUNT; i++)
        if (top[i] && (top[i]->all_flags & SH_ENTRY_SPLITS)) return true;
    return false;
}

sh_status sh__run_composite(sh_call *call, const sh_slot *slot, sh_turn *turn) {
    sh_thread *thread = &sh__thread;
    const uint32_t mark = thread->nitems, switches = thread->state.switches;
    call->frame->mark = mark;
    thread->state.start = SH_POS_DISPATCH;
    thread->state.start_entry = tops_of(call)[SH_POS_DISPATCH];
    thread->state.switches |= SH_OFF_OVERRIDES;
    const sh_status status = sh__run_slot(call, slot, turn);
    thread->state.switches = switches;
    sh__scope_release(mark, call->results, status == SH_OK ? call->nresults : 0);
    return status;
}

/* The first composite kernel that takes the call, where it is to be split or its backend has no other. SH_PASS: none. */
static sh_status run_composites(sh_call *call) {
    uint32_t backend;
    const bool split = splits(call);
    const sh_slot *direct = split ? NULL : sh__direct_slot(call, &backend);
    if (direct) {
        sh_turn turn = {.backend = backend};
        const sh_status status = direct->composite ? sh__run_composite(call, direct, &turn) : SH_PASS;
        if (status != SH_PASS || !direct->hooked) return status;
    }
    sh_tried tried;
    sh__tried_begin(&tried);
    sh_place place = sh__place_begin(call->op, sh__backend_of(call, false));
    if (split) sh__place_composites(&place);
    const sh_place start = place;
    const sh_slot *slot = sh__candidate_next(&place, call, false);
    if (!slot || !slot->composite) return SH_PASS;
    return sh__run_candidates(call, start, SH_AT_LEVEL, &tried);
}

/* Between the levels: tensor overrides, then the split of a composite. SH_PASS: go on to dispatch level. */
static inline sh_status override_or_composite(sh_call *call) {
    if (SH_UNLIKELY(!call->scanned)) SH_TRY(sh__call_scan(call));
    if (SH_UNLIKELY(call->special) && !(sh__thread.state.switches & (SH_OFF_OVERRIDES | SH_OFF_ALL))) {
        const sh_status status = sh__run_override(call);
        if (status != SH_PASS) return status;
    }
    if (SH_LIKELY(!(call->op->tags & SH_OP_COMPOSITE))) return SH_PASS;
    return run_composites(call);
}

static bool passes_by(const sh_thread *thread, const sh_entry *entry, const sh_op *op) {
    if (!sh__bit_wanted(entry, op) || entry->flags & thread->skip) return true;
    if ((thread->gate & SH_GATE_SWITCH) && sh__mode_is_off(thread, entry->mode)) return true;
    return !list_wants(entry->mode, op->family);
}

/* Two rounds: function level up to overrides and composites, then dispatch level up to the kernel. */
sh_status sh__walk(sh_call *call, uint32_t position, sh_entry *entry) {
    sh_thread *thread = &sh__thread;
    sh_status status;
    call->at = NULL;
    thread->skip = call->frame->skip;
    for (;;) {
        thread->state.start = position;
        for (; entry; entry = entry->below) {
            if (passes_by(thread, entry, call->op)) continue;
            if ((status = invoke(call, thread, entry)) != SH_PASS) return status;
            call->at = NULL;
        }
        const uint32_t later = thread->live >> position >> 1;
        const uint32_t next = later ? position + 1 + (uint32_t)__builtin_ctz(later) : SH_POS_COUNT;
        if (position < SH_POS_DISPATCH && next >= SH_POS_DISPATCH)
            if ((status = override_or_composite(call)) != SH_PASS) return status;
        if (next == SH_POS_COUNT) return sh__run_kernel(call);
        position = next;
        entry = thread->top[position];
    }
}

sh_status sh__walk_end(sh_call *call, uint32_t position) {
    if (position < SH_POS_DISPATCH) return sh__walk(call, SH_POS_DISPATCH - 1, NULL);
    call->at = NULL;
    sh__thread.skip = call->frame->skip;
    return sh__run_kernel(call);
}

/* With everything off there is nothing to walk, but composites still choose their kernel. */
sh_status sh__chain_off(sh_call *call) {
    const sh_status status = override_or_composite(call);
    return status == SH_PASS ? sh__run_kernel(call) : status;
}

/* ---- sh_next ---- */

/* The chain goes on below a callback that has pushed: on the chain's own stack, then back to the callback's. */
static sh_status walk_moved(sh_call *call, uint32_t position, sh_entry *entry) {
    if (!sh__seen_keep(&sh__thread, call->frame)) return SH_ERROR_MEMORY;
    const sh_status status = sh__walk(call, position, entry);
    sh__seen_back(&sh__thread, call->frame);
    return status;
}

void sh__before_edit(sh_call *call) {
    sh_undo *undo = call->undo;
    call->scanned = 0;
    if (!undo || undo->kept) return;
    undo->kept = true;
    undo->nargs = call->nargs;
    undo->op = call->op;
    undo->schema = call->schema;
    undo->target = call->target;
    memcpy(undo->args, call->args, call->nargs * sizeof *undo->args);
}

static void undo_edits(sh_call *call, const sh_undo *undo) {
    call->nargs = undo->nargs;
    call->op = undo->op;
    call->schema = undo->schema;
    call->target = undo->target;
    memcpy(call->args, undo->args, undo->nargs * sizeof *undo->args);
    call->scanned = 0;
}

/* What is below the entry, however the thread stands. */
static sh_status walk_below(sh_call *call, const sh_entry *entry) {
    sh_frame *frame = call->frame;
    const uint32_t balance = frame->balance, changed = sh__thread.gate & SH_GATE_CHANGED;
    sh__thread.gate &= ~(uint32_t)SH_GATE_CHANGED;
    const sh_status status = frame->changed & SH_FRAME_MOVED ? walk_moved(call, entry->position, entry->below)
                                                             : sh__walk(call, entry->position, entry->below);
    frame->balance = balance;
    sh__thread.gate = (sh__thread.gate & ~(uint32_t)SH_GATE_CHANGED) | changed;
    return status;
}

static inline void begin_undo(sh_call *call, sh_undo *undo) {
    undo->kept = false;
    undo->outer = call->undo;
    call->undo = undo;
    call->has_result = call->answered = 0;
}

static inline void end_undo(sh_call *call, const sh_undo *undo) {
    if (SH_UNLIKELY(undo->kept)) undo_edits(call, undo);
    call->undo = undo->outer;
}

/* Each sh_next is a call within a call: thousands of modes must end in an error, not in a crash. On a stack that is not
 * the thread's own (a coroutine's) nothing is checked. */
bool sh__stack_is_short(const sh_thread *thread, const void *here) {
    return (uintptr_t)here - thread->stack_low < thread->stack_limit - thread->stack_low;
}

sh_status sh__stack_short(const sh_call *call, const sh_thread *thread, const sh_entry *at) {
    return sh_fail(SH_ERROR_NESTING,
                   "%s: less than %zu KiB of the C stack are left%s%s: too many modes, or calls in calls",
                   sh_call_name(call), (size_t)(thread->stack_limit - thread->stack_low) >> 10,
                   at ? " below mode " : "", at ? at->mode->name : "");
}

/* Calls end in the order in which they began: an outer one can't go on from inside an inner one. */
static sh_status may_go_on(const sh_call *call, const sh_thread *thread) {
    if (thread->gate & SH_GATE_ERROR) return sh_error()->code;
    if (!call->at) return sh_fail(SH_ERROR_MODE, "sh_next: no mode's callback is running this call");
    const sh_call *inner = thread->depth ? thread->cold->frames[thread->depth - 1].call : NULL;
    if (inner == call) return SH_OK;
    return sh_fail(SH_ERROR_MODE, "sh_next: %s is not the innermost call of this thread, which is %s",
                   call->op->name, inner ? inner->op->name : "none");
}

static sh_status next_any(sh_call *call) {
    sh_thread *thread = &sh__thread;
    sh__recover_here(thread);
    SH_TRY(may_go_on(call, thread));
    sh_entry *entry = call->at, *start_entry = thread->state.start_entry;
    const uint32_t mark = call->frame->mark, start = thread->state.start;
    sh_undo undo;
    if (sh__stack_is_short(thread, &undo)) return sh__stack_short(call, thread, entry);
    begin_undo(call, &undo);
    const sh_status status = walk_below(call, entry);
    end_undo(call, &undo);
    call->at = entry;
    call->frame->mark = mark;
    thread->skip = call->frame->skip | entry->skips;
    thread->state.start = start;
    thread->state.start_entry = start_entry;
    return status < 0 ? status : SH_OK;
}

/* In line where the thread still is as sh__go_on takes it to be. */
sh_status sh_next(sh_call *call) {
    sh_thread *thread = &sh__thread;
    sh_entry *entry = call->at;
    sh_undo undo;
    if (SH_UNLIKELY(!entry || thread->gate != (SH_GATE_ACTIVE | SH_GATE_SIMPLE) ||
                    (uintptr_t)&undo < thread->stack_limit))
        return next_any(call);
    sh_frame *frame = call->frame;
    const uint32_t mark = frame->mark;
    begin_undo(call, &undo);
    frame->mark = thread->nitems;
    uint32_t position = entry->position;
    sh_status status = sh__go_on(call, thread, &position, entry->below);
    if (status == SH_PASS) status = sh__run_last(call, position, true);
    end_undo(call, &undo);
    call->at = entry;
    frame->mark = mark;
    return status;
}
