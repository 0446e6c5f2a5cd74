/* walk.h - the parts of a chain that are worth having in line: one callback, the modes down to the kernel.
 *
 * sh__go_on is the walk as most calls take it: the outermost chain of its thread, no switch open, no global
 * modes, no times taken (SH_GATE_SIMPLE). Whatever else it meets it leaves to sh__walk, which goes on from any
 * place of the chain. */
#ifndef SH_DISPATCH_WALK_H
#define SH_DISPATCH_WALK_H

#include <string.h>

#include "dispatch/chain.h"

/* Everything from `entry` at `position` down, the kernel too. */
sh_status sh__walk(sh_call *call, uint32_t position, sh_entry *entry);
/* The same behind the last entry, at `position`. */
sh_status sh__walk_end(sh_call *call, uint32_t position);
/* What follows a callback that did more than look: results to sort out, pushes, imbalance, an error. */
sh_status sh__after_callback(sh_call *call, const sh_entry *entry, sh_status status, uint32_t nitems);

/* The last chain of this thread is over: the global modes are out of sight again. */
static inline void sh__end_of_chains(sh_thread *thread) {
    thread->gate &= ~(uint32_t)SH_GATE_ACTIVE;
    if (SH_UNLIKELY(thread->live & SH_POS_GLOBAL)) sh__globals_release(thread);
}

/* An inner chain is over: what the outer callback had changed stays changed. */
static inline void sh__gate_outer(sh_thread *thread, const sh_frame *frame) {
    thread->gate = (thread->gate & ~(uint32_t)SH_GATE_OF_CHAIN) | frame->gate;
}

static inline void sh__count_one(sh_mode *mode) {
    atomic_store_explicit(&mode->calls, atomic_load_explicit(&mode->calls, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

/* Gate and number of results in one word. */
static inline uint64_t sh__pulse(const sh_thread *thread) {
    uint64_t pulse;
    _Static_assert(offsetof(sh_thread, gate) == 0 && offsetof(sh_thread, nitems) == 4, "read as one word");
    memcpy(&pulse, thread, sizeof pulse);
    return pulse;
}
enum { SH_PULSE_SHIFT = 32 }; /* of the number of results */

/* The callback called sh_next and left it at that: one result, the only thing that came on the scope's list. */
static inline bool sh__only_next(const sh_call *call, const sh_thread *thread, sh_status status,
                                 uint64_t before) {
    const uint32_t nitems = (uint32_t)(before >> SH_PULSE_SHIFT);
    return (uint32_t)status <= SH_PASS && sh__pulse(thread) - before == (uint64_t)1 << SH_PULSE_SHIFT &&
           thread->items[nitems] == (uintptr_t)call->results[0].as.tensor;
}

/* SH_PASS: go on below. SH_OK: answered. Otherwise an error. Call and thread are as the callback is to find them. */
SH_IN_LINE sh_status sh__judge(sh_call *call, sh_thread *thread, const sh_entry *entry, sh_status status,
                               uint64_t before) {
    if (call->has_result) {
        if (SH_LIKELY(sh__only_next(call, thread, status, before))) return SH_OK;
    } else if (SH_LIKELY(!((sh__pulse(thread) ^ before) | ((uint32_t)status ^ SH_PASS)))) {
        return SH_PASS;
    }
    return sh__after_callback(call, entry, status, (uint32_t)(before >> SH_PULSE_SHIFT));
}

static inline bool sh__bit_wanted(const sh_entry *entry, const sh_op *op) {
    return entry->wants[op->word] >> op->bit % 64 & 1;
}

/* Nothing to do between the levels: no override, no composite. */
static inline bool sh__is_plain(const sh_call *call) {
    return call->scanned && !call->special && !(call->op->tags & SH_OP_COMPOSITE);
}

/* The eight bytes of the record from nargs on, as fill leaves them and as a straight call has them: functional, one
 * result, arguments looked at, none an override. */
typedef union sh_call_head {
    struct {
        uint8_t nargs, nresults, variant, in_kernel, scanned, special, has_result, answered;
    } as;
    uint64_t word;
} sh_call_head;
_Static_assert(offsetof(sh_call, answered) - offsetof(sh_call, nargs) == 7, "read as one word");

static inline bool sh__is_straight(const sh_call *call) {
    const sh_call_head straight = {.as = {.nresults = 1, .scanned = 1}}, any = {.as = {.nargs = 0xff}};
    uint64_t word;
    memcpy(&word, &call->nargs, sizeof word);
    return (word & ~any.word) == straight.word;
}

/* From `entry` at `*at` down. SH_PASS: all passed, `*at` is where it ended. SH_OK: there is a result. */
SH_IN_LINE sh_status sh__go_on(sh_call *call, sh_thread *thread, uint32_t *at, sh_entry *entry) {
    uint32_t position = *at;
    for (;;) {
        for (; entry; entry = entry->below) {
            if (!sh__bit_wanted(entry, call->op)) continue;
            sh_mode *mode = entry->mode;
            if (SH_UNLIKELY(atomic_load_explicit(&mode->unusual, memory_order_relaxed)))
                return sh__walk(call, position, entry);
            sh__count_one(mode);
            call->at = entry;
            const uint64_t before = sh__pulse(thread);
            const sh_status status = sh__judge(call, thread, entry, entry->callback(mode, call), before);
            if (SH_UNLIKELY(status != SH_PASS)) return status;
        }
        const uint32_t later = thread->live >> position >> 1;
        if (!later) break;
        const uint32_t next = position + 1 + (uint32_t)__builtin_ctz(later);
        if (position < SH_POS_DISPATCH && next >= SH_POS_DISPATCH && SH_UNLIKELY(!sh__is_plain(call)))
            return sh__walk(call, SH_POS_DISPATCH - 1, NULL);
        position = next;
        entry = thread->top[position];
    }
    *at = position;
    return SH_PASS;
}

/* ---- the kernel ---- */

/* A built-in kernel that fills one new result and calls no op, of an op that is no composite: most are. */
static inline bool sh__slot_is_plain(const sh_slot *slot) {
    static const uint8_t plain[4] = {SH_FORM_OUT, SH_LEAF_PLAIN, 0, 0};
    _Static_assert(offsetof(sh_slot, composite) - offsetof(sh_slot, form) == 3,
                   "form, leaf, ruled, composite");
    return memcmp(&slot->form, plain, sizeof plain) == 0;
}

/* Puts down no more than the tensor: sh__plain_done is for calls whose record is still to be read. */
SH_IN_LINE sh_status sh__run_plain(sh_call *call, const sh_slot *slot) {
    sh_spec spec;
    spec.like = NULL;
    sh_status status = call->op->infer(call->args, &spec, call->op->infer_user);
    sh_tensor *t = SH_LIKELY(status >= 0) ? sh__tensor_alloc(&spec, call->device) : NULL;
    if (SH_LIKELY(t && sh__own(t))) {
        call->results[0].as.tensor = t;
        status = call->op->thunk_out(slot->typed, call->results, call->args);
        if (SH_LIKELY(status >= 0)) return SH_OK;
    }
    sh__error_at(call->op->name, "kernel", slot->backend);
    return sh__error_ensure(status < 0 ? status : SH_ERROR_MEMORY);
}

static inline sh_status sh__plain_done(sh_call *call, sh_status status) {
    call->results[0].tag = SH_TAG_TENSOR;
    call->results[0].count = 0;
    call->has_result = status >= 0;
    return status;
}

/* Behind the last entry, at `position`, with no backend chosen. `is_read`: a mode will look at the record again. A plain
 * slot is not that of a composite op. */
SH_IN_LINE sh_status sh__run_last(sh_call *call, uint32_t position, bool is_read) {
    if (SH_LIKELY(sh__is_straight(call))) {
        const sh_slot *slot = sh__default_slot(call->op, (uint32_t)call->device);
        if (SH_LIKELY(slot && sh__slot_is_plain(slot))) {
            const sh_status status = sh__run_plain(call, slot);
            return is_read ? sh__plain_done(call, status) : status;
        }
    }
    return sh__walk_end(call, position);
}

#endif
