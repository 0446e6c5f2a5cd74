/* chain.c - one call, from its first mode to its kernel.
 *
 * The walk is a loop, not a recursion: a callback that passes costs one turn. Recursion happens only
 * where a callback calls sh_next. Invariants: while the callback of an entry runs, the thread's `top`
 * at its position is what is below that entry and all earlier positions are empty; when a chain ends, by
 * whatever way, the thread is as its frame says. Nothing derived from the op is kept across a callback. */
#include "dispatch/chain.h"

#include <string.h>
#include <time.h>

static atomic_bool timing;

void sh_mode_time(bool on) { atomic_store(&timing, on); }

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool sh__entry_wants(const sh_entry *entry, uint32_t family) {
    if (!(entry->wants[family / 64 % SH_FAMILY_WORDS] >> family % 64 & 1)) return false;
    if (SH_LIKELY(!(entry->flags & SH_ENTRY_INEXACT))) return true;
    for (uint32_t i = 0; i < entry->mode->nfamilies; i++)
        if (entry->mode->families[i] == family) return true;
    return false;
}

/* Puts the thread back to what it was when the frame's chain began. */
static void restore(sh_thread *thread, sh_thread_cold *cold, const sh_frame *frame) {
    memcpy(thread->top, frame->top, sizeof thread->top);
    memcpy(thread->backend, frame->backend, sizeof thread->backend);
    thread->switches = frame->switches;
    thread->skip = frame->skip;
    thread->balance = frame->balance;
    thread->floor = frame->floor;
    thread->scope_mark = frame->scope_mark;
    thread->scope_escaped = frame->scope_escaped;
    cold->switches_open = frame->switches_open;
    cold->nnames = frame->names;
    cold->path[frame->names ? cold->names[frame->names - 1].length : 0] = 0;
}

static void gate_update(sh_thread *thread, const sh_thread_cold *cold) {
    uint32_t gate = thread->gate & (uint32_t)(SH_GATE_ERROR | SH_GATE_FAULT);
    if (thread->depth) gate |= SH_GATE_ACTIVE;
    if (cold->switches_open) gate |= SH_GATE_SWITCH;
    for (int i = 0; i < SH_MAX_DEVICES; i++)
        if (thread->backend[i]) gate |= SH_GATE_BACKEND;
    thread->gate = gate;
}

void sh__recover(sh_thread *thread, uintptr_t stack_address) {
    sh_thread_cold *cold = thread->cold;
    const uint32_t depth = thread->depth;
    while (thread->depth && cold->frames[thread->depth - 1].stack_address <= stack_address) thread->depth--;
    if (thread->depth == depth) return;
    restore(thread, cold, &cold->frames[thread->depth]);
    if (!thread->depth) {
        sh__globals_unpin(cold);
        for (int i = 1; i < SH_POS_COUNT; i += 2) thread->top[i] = NULL;
    }
    gate_update(thread, cold);
}

/* ---- one callback ---- */

/* The callback left something open: says what, puts it back. */
static sh_status unbalanced(sh_call *call, const sh_entry *entry, uint32_t balance) {
    sh_thread *thread = call->thread;
    const bool more = thread->balance > balance;
    const sh_frame *frame = call->frame;
    sh_entry *const below = entry->below;
    restore(thread, thread->cold, frame);
    gate_update(thread, thread->cold);
    for (uint32_t i = 0; i < call->position; i++) thread->top[i] = NULL;
    thread->top[call->position] = below;
    return sh_fail(SH_ERROR_MODE, "mode %s returned from %s with a mode, scope, switch or name %s", entry->mode->name,
                   sh_call_name(call), more ? "still open that it opened" : "ended that it did not open");
}

static sh_status after_callback(sh_call *call, const sh_entry *entry, sh_status status, uint32_t balance) {
    sh_thread *thread = call->thread;
    if (SH_UNLIKELY(thread->balance != balance || thread->scope_mark != call->frame->scope_mark)) {
        if (status >= 0 && !sh__error_pending()) return unbalanced(call, entry, balance);
        restore(thread, thread->cold, call->frame);
        gate_update(thread, thread->cold);
    }
    if (SH_UNLIKELY(status < 0 || sh__error_pending())) return sh__error_ensure(status);
    if (status == SH_OK && !call->has_result)
        return sh_fail(SH_ERROR_RESULT, "mode %s returned SH_OK for %s without a result", entry->mode->name,
                       sh_call_name(call));
    if (status != SH_OK && status != SH_PASS)
        return sh_fail(SH_ERROR_MODE, "mode %s returned %d for %s: expected SH_PASS, SH_OK or an error", entry->mode->name,
                       (int)status, sh_call_name(call));
    return call->has_result ? SH_OK : SH_PASS;
}

static sh_status timed(sh_mode *mode, sh_callback callback, sh_call *call) {
    sh_thread_cold *cold = call->thread->cold;
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
    if (SH_UNLIKELY(atomic_load_explicit(&mode->shared, memory_order_relaxed)))
        atomic_fetch_add_explicit(&mode->calls, 1, memory_order_relaxed);
    else
        atomic_store_explicit(&mode->calls, atomic_load_explicit(&mode->calls, memory_order_relaxed) + 1,
                              memory_order_relaxed);
}

/* SH_PASS: go on below. SH_OK: answered. Otherwise an error. */
static sh_status invoke(sh_call *call, uint32_t position, sh_entry *entry) {
    sh_thread *thread = call->thread;
    const uint32_t mark = thread->nitems, balance = thread->balance, skip = thread->skip;
    const uint64_t floor = thread->floor;
    thread->top[position] = entry->below;
    call->at = entry;
    call->position = (uint8_t)position;
    thread->floor = thread->sequence;
    if (entry->flags & SH_ENTRY_WATCHING) thread->skip = SH_ENTRY_CAPTURE;
    thread->cold->innermost = entry->mode;
    count_call(entry->mode);
    sh_status status = SH_UNLIKELY(atomic_load_explicit(&timing, memory_order_relaxed))
                           ? timed(entry->mode, entry->callback, call)
                           : entry->callback(entry->mode, call);
    status = after_callback(call, entry, status, balance);
    thread->skip = skip;
    thread->floor = floor;
    call->at = NULL;
    if (SH_UNLIKELY(thread->nitems != mark))
        sh__scope_release(mark, call->results, call->has_result && status >= 0 ? call->nresults : 0);
    if (SH_UNLIKELY(status < 0)) sh__error_at(sh_call_name(call), "mode", entry->mode->name);
    return status;
}

/* ---- the walk ---- */

static bool splits(const sh_call *call) {
    for (int i = SH_POS_DISPATCH; i < SH_POS_COUNT; i++)
        if (call->frame->top[i] && (call->frame->top[i]->all_flags & SH_ENTRY_SPLITS)) return true;
    return false;
}

/* A composite kernel: its ops start at dispatch level, its leftovers die with it. */
static sh_status run_composite(sh_call *call, const sh_slot *slot) {
    sh_thread *thread = call->thread;
    const uint32_t mark = thread->nitems;
    memset(thread->top, 0, SH_POS_DISPATCH * sizeof *thread->top);
    thread->switches |= SH_OFF_OVERRIDES;
    sh_status status = sh__run_slot(call, slot, SH_HOST);
    thread->switches = call->frame->switches;
    sh__scope_release(mark, call->results, status >= 0 ? call->nresults : 0);
    return status;
}

static sh_status override_or_composite(sh_call *call) {
    sh_thread *thread = call->thread;
    if (!(thread->switches & (SH_OFF_OVERRIDES | SH_OFF_ALL))) {
        const sh_status status = sh__run_override(call);
        if (status != SH_PASS) return status;
    }
    if (!(call->op->tags & SH_OP_COMPOSITE)) return SH_PASS;
    const int device = sh__call_device(call);
    if (device < 0) return SH_ERROR_DEVICE;
    const sh_slot *slot = splits(call) ? sh__composite_slot(call->op) : sh__slot_find(call, device);
    if (!slot) return sh__error_ensure(SH_ERROR_KERNEL);
    return slot->composite ? run_composite(call, slot) : SH_PASS;
}

sh_status sh__chain_from(sh_call *call, uint32_t position, sh_entry *entry) {
    sh_thread *thread = call->thread;
    for (;;) {
        for (; entry; entry = entry->below) {
            if (!sh__entry_wants(entry, call->op->family) || (entry->flags & thread->skip)) continue;
            if (SH_UNLIKELY(thread->gate & SH_GATE_SWITCH) && sh__mode_is_off(thread->cold, entry->mode)) continue;
            const sh_status status = invoke(call, position, entry);
            if (status != SH_PASS) return status;
        }
        thread->top[position++] = NULL;
        if (position == SH_POS_DISPATCH) {
            const sh_status status = override_or_composite(call);
            if (status != SH_PASS) return status;
        }
        if (position == SH_POS_COUNT) return sh__run_kernel(call);
        entry = call->frame->top[position];
    }
}

/* With everything off there is nothing to walk, but composites still choose their kernel. */
static sh_status chain_off(sh_call *call) {
    memset(call->thread->top, 0, sizeof call->thread->top);
    memset(call->frame->top, 0, sizeof call->frame->top);
    const sh_status status = override_or_composite(call);
    return status == SH_PASS ? sh__run_kernel(call) : status;
}

sh_status sh_next(sh_call *call) {
    sh_entry *entry = call->at;
    if (!entry) return sh_fail(SH_ERROR_MODE, "sh_next: no mode's callback is running this call");
    sh_thread *thread = call->thread;
    const sh_op *op = call->op;
    const sh_schema *schema = call->schema;
    sh_tensor *target = call->target;
    const uint8_t nargs = call->nargs, position = call->position;
    const uint32_t skip = thread->skip;
    const uint64_t floor = thread->floor;
    sh_entry *top[SH_POS_COUNT];
    sh_value args[SH_MAX_ARGS];
    memcpy(top, thread->top, sizeof top);
    memcpy(args, call->args, nargs * sizeof *args);
    thread->skip = call->frame->skip;
    call->has_result = 0;
    const sh_status status = sh__chain_from(call, position, entry->below);
    memcpy(call->args, args, nargs * sizeof *args);
    memcpy(thread->top, top, sizeof top);
    thread->skip = skip;
    thread->floor = floor;
    call->op = op;
    call->schema = schema;
    call->nargs = nargs;
    call->target = target;
    call->at = entry;
    call->position = position;
    if (status < 0) return status;
    call->has_result = 1;
    return SH_OK;
}

/* ---- entry and exit of a chain ---- */

static sh_status enter(sh_call *call, sh_thread *thread, sh_thread_cold *cold) {
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (thread->depth) sh__recover(thread, here);
    if (thread->depth >= SH_MAX_NESTING)
        return sh_fail(SH_ERROR_NESTING, "%s: calls nest deeper than %d%s%s", call->op->name, SH_MAX_NESTING,
                       cold->innermost ? ", inside mode " : "", cold->innermost ? cold->innermost->name : "");
    sh_frame *frame = &cold->frames[thread->depth];
    if (!thread->depth) {
        sh__globals_pin(cold, thread->top);
        thread->op_number++;
    }
    frame->stack_address = here;
    memcpy(frame->top, thread->top, sizeof frame->top);
    memcpy(frame->backend, thread->backend, sizeof frame->backend);
    frame->switches = thread->switches;
    frame->skip = thread->skip;
    frame->balance = thread->balance;
    frame->floor = thread->floor;
    frame->scope_mark = thread->scope_mark;
    frame->scope_escaped = thread->scope_escaped;
    frame->switches_open = cold->switches_open;
    frame->names = cold->nnames;
    call->frame = frame;
    call->thread = thread;
    call->depth = thread->depth++;
    thread->gate |= SH_GATE_ACTIVE;
    return SH_OK;
}

static void leave(sh_call *call, sh_thread *thread, sh_thread_cold *cold) {
    memcpy(thread->top, call->frame->top, sizeof thread->top);
    thread->depth = call->depth;
    if (thread->depth) return;
    thread->gate &= ~(uint32_t)SH_GATE_ACTIVE;
    for (int i = 1; i < SH_POS_COUNT; i += 2) thread->top[i] = NULL;
    sh__globals_unpin(cold);
}

sh_status sh__dispatch(sh_call *call) {
    sh_thread *thread = &sh__thread;
    sh_thread_cold *cold = sh__cold();
    if (!cold || sh__error_pending()) return sh_error()->code;
    SH_TRY(enter(call, thread, cold));
    call->at = NULL;
    call->in_kernel = 0;
    call->has_result = 0;
    call->held = NULL;
    const sh_status status = SH_UNLIKELY(thread->switches & SH_OFF_ALL) ? chain_off(call)
                                                                       : sh__chain_from(call, 0, call->frame->top[0]);
    if (SH_UNLIKELY(call->held != NULL)) sh__call_drop(call);
    leave(call, thread, cold);
    if (SH_UNLIKELY(status < 0)) sh__error_at(call->op->name, NULL, NULL);
    return status;
}
