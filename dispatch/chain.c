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

/* What callbacks pushed is dropped; the stack is again what the frame's chain runs on. */
static void put_stack_back(sh_thread *thread, sh_frame *frame) {
    if (SH_LIKELY(!frame->moved)) return;
    for (int p = 0; p < SH_POS_COUNT; p++) {
        if (p % 2 == 0) sh__entry_release(thread->top[p]);
        thread->top[p] = frame->top[p];
    }
    thread->live = frame->live;
    thread->gate &= ~(uint32_t)SH_GATE_MOVED;
    frame->moved = false;
}

/* A callback is about to push or pop: from now on the thread's stack is what that callback sees. */
void sh__stack_move(sh_thread *thread) {
    sh__state_changes(thread);
    sh_frame *frame = &thread->cold->frames[thread->depth - 1];
    if (frame->moved) return;
    memcpy(frame->top, thread->top, sizeof frame->top);
    frame->live = thread->live;
    frame->moved = true;
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

/* Puts the thread back to what it was when the frame's chain began. */
static void restore(sh_thread *thread, sh_frame *frame) {
    put_stack_back(thread, frame);
    thread->skip = frame->skip;
    if (frame->kept) {
        thread->state = frame->state;
        sh__names_truncate(thread->cold, frame->state.names);
        sh__gate_update(thread);
    }
    thread->state.start = frame->start;
    thread->state.start_entry = frame->start_entry;
    thread->state.floor = frame->floor;
}

void sh__gate_update(sh_thread *thread) {
    uint32_t gate = thread->gate & (uint32_t)(SH_GATE_ERROR | SH_GATE_FAULT | SH_GATE_MOVED);
    if (thread->depth) gate |= SH_GATE_ACTIVE;
    if (thread->state.switches_open) gate |= SH_GATE_SWITCH;
    for (int i = 0; i < SH_MAX_DEVICES; i++)
        if (thread->state.backend[i]) gate |= SH_GATE_BACKEND;
    thread->gate = gate;
}

/* The last chain of this thread is over: the global modes are out of sight again. */
static inline void end_of_chains(sh_thread *thread) {
    thread->gate &= ~(uint32_t)SH_GATE_ACTIVE;
    if (SH_UNLIKELY(thread->live & SH_POS_GLOBAL)) sh__globals_release(thread);
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
        restore(thread, frame);
        if (!thread->depth) end_of_chains(thread);
    }
}

/* ---- one callback ---- */

/* The callback left something open, or ended what it had not opened: all is put back. */
static sh_status unbalanced(sh_call *call, const sh_entry *entry, uint32_t balance) {
    sh_thread *thread = call->thread;
    const bool more = thread->state.balance > balance;
    restore(thread, call->frame);
    return sh_fail(SH_ERROR_MODE, "mode %s returned from %s with a mode, scope, switch or name %s",
                   entry->mode->name, sh_call_name(call),
                   more ? "still open that it opened" : "ended that it did not open");
}

/* SH_PASS: go on below. SH_OK: there is a result. Otherwise an error. */
static sh_status verdict(const sh_call *call, const sh_entry *entry, sh_status status) {
    if (status < 0 || sh__error_pending()) return sh__error_ensure(status);
    if (call->has_result) return SH_OK;
    if (status == SH_PASS) return SH_PASS;
    if (status == SH_OK)
        return sh_fail(SH_ERROR_RESULT, "mode %s returned SH_OK for %s without a result", entry->mode->name,
                       sh_call_name(call));
    return sh_fail(SH_ERROR_MODE, "mode %s returned %d for %s: expected SH_PASS, SH_OK or an error",
                   entry->mode->name, (int)status, sh_call_name(call));
}

/* What follows a callback that did more than look: results to sort out, pushes, imbalance, an error. */
static sh_status after_callback(sh_call *call, const sh_entry *entry, sh_status status, uint32_t balance,
                                uint32_t nitems) {
    sh_thread *thread = call->thread;
    status = verdict(call, entry, status);
    if (thread->state.balance != balance) {
        const sh_status found = unbalanced(call, entry, balance);
        status = status < 0 ? status : found;
    }
    put_stack_back(thread, call->frame);
    sh__scope_release(nitems, call->results, call->has_result && status >= 0 ? call->nresults : 0);
    if (status < 0) sh__error_at(sh_call_name(call), "mode", entry->mode->name);
    return status;
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

/* The callback called sh_next and left it at that: one result, the only thing that came on the scope's list. */
static inline bool only_next(const sh_call *call, const sh_thread *thread, sh_status status, uint32_t balance,
                             uint32_t nitems) {
    return call->has_result && status == SH_PASS && thread->state.balance == balance && call->nresults == 1 &&
           !(thread->gate & (SH_GATE_ERROR | SH_GATE_MOVED)) && thread->nitems == nitems + 1 &&
           thread->items[nitems] == (uintptr_t)call->results[0].as.tensor;
}

/* A mode that only one thread has ever pushed needs no locked instruction. */
static inline void count_call(sh_mode *mode) {
    if (SH_UNLIKELY(atomic_load_explicit(&mode->shared, memory_order_relaxed)))
        atomic_fetch_add_explicit(&mode->calls, 1, memory_order_relaxed);
    else
        atomic_store_explicit(&mode->calls, atomic_load_explicit(&mode->calls, memory_order_relaxed) + 1,
                              memory_order_relaxed);
}

/* SH_PASS: go on below. SH_OK: answered. Otherwise an error. */
static inline sh_status invoke(sh_call *call, sh_thread *thread, sh_entry *entry) {
    thread->state.start_entry = entry->below;
    call->at = entry;
    if (entry->flags & SH_ENTRY_WATCHING) thread->skip = SH_ENTRY_CAPTURE;
    count_call(entry->mode);
    const uint32_t balance = thread->state.balance, nitems = thread->nitems;
    call->frame->mark = nitems;
    sh_status status = SH_UNLIKELY(atomic_load_explicit(&timing, memory_order_relaxed))
                           ? timed(entry->mode, entry->callback, call)
                           : entry->callback(entry->mode, call);
    const uint32_t trace = (thread->state.balance ^ balance) | (thread->nitems ^ nitems) | call->has_result |
                           (thread->gate & (SH_GATE_ERROR | SH_GATE_MOVED)) | ((uint32_t)status ^ SH_PASS);
    if (SH_UNLIKELY(trace)) {
        if (SH_LIKELY(only_next(call, thread, status, balance, nitems)))
            status = SH_OK;
        else
            status = after_callback(call, entry, status, balance, nitems);
    }
    if (entry->flags & SH_ENTRY_WATCHING) thread->skip = call->frame->skip;
    return status;
}

/* ---- the walk ---- */

static sh_entry *const *tops_of(const sh_call *call) {
    return call->frame->moved ? call->frame->top : call->thread->top;
}

static bool splits(const sh_call *call) {
    sh_entry *const *top = tops_of(call);
    for (int i = SH_POS_DISPATCH; i < SH_POS_COUNT; i++)
        if (top[i] && (top[i]->all_flags & SH_ENTRY_SPLITS)) return true;
    return false;
}

/* A composite kernel: its ops start at dispatch level, its leftovers die with it. */
static sh_status run_composite(sh_call *call, const sh_slot *slot) {
    sh_thread *thread = call->thread;
    const uint32_t mark = thread->nitems, switches = thread->state.switches;
    call->frame->mark = mark;
    thread->state.start = SH_POS_DISPATCH;
    thread->state.start_entry = tops_of(call)[SH_POS_DISPATCH];
    thread->state.switches |= SH_OFF_OVERRIDES;
    const sh_status status = sh__run_slot(call, slot);
    thread->state.switches = switches;
    sh__scope_release(mark, call->results, status >= 0 ? call->nresults : 0);
    return status;
}

/* Between the levels: tensor overrides, then the split of a composite. SH_PASS: go on to dispatch level. */
static inline sh_status override_or_composite(sh_call *call) {
    if (SH_UNLIKELY(!call->scanned)) SH_TRY(sh__call_scan(call));
    if (SH_UNLIKELY(call->special) && !(call->thread->state.switches & (SH_OFF_OVERRIDES | SH_OFF_ALL))) {
        const sh_status status = sh__run_override(call);
        if (status != SH_PASS) return status;
    }
    if (SH_LIKELY(!(call->op->tags & SH_OP_COMPOSITE))) return SH_PASS;
    const sh_slot *slot = splits(call) ? sh__composite_slot(call->op) : sh__slot_find(call);
    if (!slot) return sh__error_ensure(SH_ERROR_KERNEL);
    return slot->composite ? run_composite(call, slot) : SH_PASS;
}

static bool passes_by(const sh_thread *thread, const sh_entry *entry, uint32_t family) {
    if (entry->flags & thread->skip) return true;
    if ((thread->gate & SH_GATE_SWITCH) && sh__mode_is_off(thread, entry->mode)) return true;
    return !sh__entry_wants(entry, family);
}

/* Everything from `entry` at `position` down. Two rounds: function level up to overrides and composites, then
 * dispatch level up to the kernel. */
static sh_status walk(sh_call *call, uint32_t position, sh_entry *entry) {
    sh_thread *thread = call->thread;
    sh_status status;
    for (;;) {
        thread->state.start = position;
        for (; entry; entry = entry->below) {
            const uint32_t family = call->op->family;
            if (!(entry->wants[family / 64 % SH_FAMILY_WORDS] >> family % 64 & 1)) continue;
            if (SH_UNLIKELY((entry->flags & (thread->skip | SH_ENTRY_INEXACT)) |
                            (thread->gate & SH_GATE_SWITCH)) &&
                passes_by(thread, entry, family))
                continue;
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

/* With everything off there is nothing to walk, but composites still choose their kernel. */
static sh_status chain_off(sh_call *call) {
    const sh_status status = override_or_composite(call);
    return status == SH_PASS ? sh__run_kernel(call) : status;
}

/* ---- sh_next ---- */

/* The chain goes on below a callback that has pushed: on the chain's own stack, then back to the callback's. */
static sh_status walk_moved(sh_call *call, uint32_t position, sh_entry *entry) {
    sh_thread *thread = call->thread;
    sh_frame *frame = call->frame;
    sh_entry *seen[SH_POS_COUNT];
    const uint32_t live = thread->live;
    memcpy(seen, thread->top, sizeof seen);
    memcpy(thread->top, frame->top, sizeof seen);
    thread->live = frame->live;
    thread->gate &= ~(uint32_t)SH_GATE_MOVED;
    frame->moved = false;
    const sh_status status = walk(call, position, entry);
    memcpy(thread->top, seen, sizeof seen);
    thread->live = live;
    thread->gate |= SH_GATE_MOVED;
    frame->moved = true;
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

/* Each sh_next is a call within a call: thousands of modes must end in an error, not in a crash. */
static inline bool stack_is_short(const sh_thread *thread, const void *here) {
    return (uintptr_t)here - thread->stack_low < thread->stack_reserve;
}

static sh_status stack_short(const sh_call *call, const sh_thread *thread, const sh_entry *at) {
    return sh_fail(SH_ERROR_NESTING,
                   "%s: less than %zu KiB of the C stack are left%s%s: too many modes, or calls in calls",
                   sh_call_name(call), thread->stack_reserve >> 10, at ? " below mode " : "",
                   at ? at->mode->name : "");
}

sh_status sh_next(sh_call *call) {
    sh_entry *entry = call->at;
    if (SH_UNLIKELY(!entry))
        return sh_fail(SH_ERROR_MODE, "sh_next: no mode's callback is running this call");
    sh_thread *thread = call->thread;
    if (SH_UNLIKELY(thread->gate & SH_GATE_ERROR)) return sh_error()->code;
    sh_undo undo, *outer = call->undo;
    const uint32_t mark = call->frame->mark;
    sh_entry *start_entry = thread->state.start_entry;
    const uint32_t start = thread->state.start, skip = thread->skip;
    if (SH_UNLIKELY(stack_is_short(thread, &undo))) return stack_short(call, thread, entry);
    undo.kept = false;
    call->undo = &undo;
    call->has_result = 0;
    thread->skip = call->frame->skip;
    const sh_status status = SH_UNLIKELY(call->frame->moved) ? walk_moved(call, entry->position, entry->below)
                                                             : walk(call, entry->position, entry->below);
    if (SH_UNLIKELY(undo.kept)) undo_edits(call, &undo);
    call->undo = outer;
    call->frame->mark = mark;
    call->at = entry;
    thread->skip = skip;
    thread->state.start = start;
    thread->state.start_entry = start_entry;
    return status < 0 ? status : SH_OK;
}

/* ---- entry and exit of a chain ---- */

static sh_status too_deep(const sh_call *call, const sh_thread *thread) {
    const sh_call *outer = thread->cold->frames[thread->depth - 1].call;
    return sh_fail(SH_ERROR_NESTING, "%s: calls nest deeper than %d%s%s", call->op->name, SH_MAX_NESTING,
                   outer->at ? ", inside mode " : "", outer->at ? outer->at->mode->name : "");
}

/* The ordinary case needs none of this: an outer chain, global modes. */
static sh_status enter_slow(sh_call *call, sh_thread *thread, const void *caller) {
    if (thread->depth) sh__recover(thread, (uintptr_t)caller);
    if (thread->depth >= SH_MAX_NESTING) return too_deep(call, thread);
    if (thread->depth && stack_is_short(thread, caller))
        return stack_short(call, thread, thread->cold->frames[thread->depth - 1].call->at);
    if (!thread->depth && sh__globals_any()) sh__globals_pin(thread);
    return SH_OK;
}

/* What a frame needs in any case; the rest of the state is kept when something is about to change it. */
static inline void enter(sh_call *call, sh_thread *thread) {
    sh_frame *frame = &thread->cold->frames[thread->depth];
    if (SH_LIKELY(!thread->depth)) {
        thread->gate |= SH_GATE_ACTIVE;
        thread->op_number++;
        thread->state.start_entry = thread->top[0];
    }
    frame->start = thread->state.start;
    frame->start_entry = thread->state.start_entry;
    frame->floor = thread->state.floor;
    frame->call = call;
    frame->held = NULL;
    frame->skip = thread->skip;
    frame->kept = frame->moved = false;
    call->frame = frame;
    call->thread = thread;
    call->depth = thread->depth++;
    thread->state.floor = thread->sequence;
}

static inline void leave(sh_call *call, sh_thread *thread) {
    sh_frame *frame = call->frame;
    if (SH_UNLIKELY(frame->held != NULL)) sh__held_end(call);
    if (SH_UNLIKELY(frame->moved)) put_stack_back(thread, frame);
    thread->state.start = frame->start;
    thread->state.start_entry = frame->start_entry;
    thread->state.floor = frame->floor;
    thread->depth = call->depth;
    if (SH_LIKELY(!thread->depth)) end_of_chains(thread);
}

static inline sh_status chain(sh_call *call, sh_thread *thread, const void *caller) {
    if (SH_UNLIKELY(thread->depth || sh__globals_any())) SH_TRY(enter_slow(call, thread, caller));
    enter(call, thread);
    const sh_status status = SH_UNLIKELY(thread->state.switches & SH_OFF_ALL)
                                 ? chain_off(call)
                                 : walk(call, thread->state.start, thread->state.start_entry);
    leave(call, thread);
    return status;
}

static sh_status null_argument(const sh_call *call, uint32_t i) {
    return sh_fail(SH_ERROR_NULL, "%s: argument %s is NULL", call->op->name, call->schema->params[i].name);
}

static sh_status check_args(const sh_call *call) {
    for (uint32_t i = 0; i < call->nargs; i++) {
        const sh_value *v = &call->args[i];
        const bool none = v->tag == SH_TAG_NONE || (v->tag == SH_TAG_TENSOR && !v->as.tensor);
        if (none && !call->schema->params[i].optional) return null_argument(call, i);
        if (v->tag != SH_TAG_TENSORS || call->schema->params[i].holes) continue;
        for (uint32_t k = 0; k < v->count; k++)
            if (!v->as.tensors[k]) return null_argument(call, i);
    }
    return SH_OK;
}

/* Fills the record and runs the chain. `device` >= 0: the caller has looked at the arguments, none is NULL, a list or
 * special, all tensors are on that device. */
static sh_status run(sh_call *call, const sh_op *op, sh_variant variant, sh_tensor *target, sh_value *args,
                     int device, const void *caller) {
    sh_thread *thread = &sh__thread;
    if (SH_UNLIKELY(thread->gate & SH_GATE_ERROR)) return sh_error()->code;
    const sh_schema *schema = sh_op_schema(op);
    if (SH_UNLIKELY(!schema)) return sh_fail(SH_ERROR_OP, "op %s is not defined any more", op->name);
    call->op = op;
    call->schema = schema;
    call->args = args;
    call->target = target;
    call->nargs = schema->nparams;
    call->nresults = schema->nreturns;
    call->variant = (uint8_t)variant;
    call->has_result = call->in_kernel = call->special = 0;
    call->undo = NULL;
    call->scanned = device >= 0;
    call->device = device;
    call->at = NULL;
    call->site = ((void *const *)caller)[1];
    sh_status status = device >= 0 ? SH_OK : check_args(call);
    if (SH_LIKELY(status >= 0))
        status = SH_LIKELY(thread->cold || sh__cold()) ? chain(call, thread, caller) : SH_ERROR_MEMORY;
    if (SH_UNLIKELY(status < 0)) sh__error_at(op->name, NULL, NULL);
    return status;
}

sh_status sh__call_results(const sh_op *op, sh_variant variant, sh_tensor *target, sh_value *args,
                           sh_value *results, int device, const void *caller) {
    sh_call call;
    SH_TRY(run(&call, op, variant, target, args, device, caller));
    memcpy(results, call.results, call.nresults * sizeof *results);
    return SH_OK;
}

sh_tensor *sh__call_tensor(const sh_op *op, sh_variant variant, sh_tensor *target, sh_value *args, int device,
                           const void *caller) {
    sh_call call;
    return SH_LIKELY(run(&call, op, variant, target, args, device, caller) >= 0) ? call.results[0].as.tensor
                                                                                 : NULL;
}

sh_list *sh__call_list(const sh_op *op, sh_value *args, const void *caller) {
    sh_call call;
    return run(&call, op, SH_FUNCTIONAL, NULL, args, -1, caller) >= 0 ? sh__list_of(call.results[0]) : NULL;
}
