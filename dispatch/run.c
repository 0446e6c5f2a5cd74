/* run.c - a call begins and ends: its record, its frame, its results.
 *
 * One path for any call, and one in line for what most calls under modes are: the outermost chain of its
 * thread, arguments that the typed function has looked at, one result. */
#include <string.h>

#include "dispatch/walk.h"

/* ---- entry and exit of a chain ---- */

static sh_status too_deep(const sh_call *call, const sh_thread *thread) {
    const sh_call *outer = thread->cold->frames[thread->depth - 1].call;
    return sh_fail(SH_ERROR_NESTING, "%s: calls nest deeper than %d%s%s", call->op->name, SH_MAX_NESTING,
                   outer->at ? ", inside mode " : "", outer->at ? outer->at->mode->name : "");
}

/* The ordinary case needs none of this: an outer chain, global modes. */
static sh_status enter_slow(sh_call *call, sh_thread *thread, const void *caller) {
    if (thread->depth) {
        sh__recover(thread, (uintptr_t)caller);
        sh__state_sync(thread);
    }
    if (thread->depth >= SH_MAX_NESTING) return too_deep(call, thread);
    if (thread->depth && sh__stack_is_short(thread, caller))
        return sh__stack_short(call, thread, thread->cold->frames[thread->depth - 1].call->at);
    if (!thread->depth && sh__globals_any()) sh__globals_pin(thread);
    return SH_OK;
}

/* The rest of the state is kept when something is about to change it. */
static inline void enter(sh_call *call, sh_thread *thread) {
    sh_frame *frame = &thread->cold->frames[thread->depth];
    if (!thread->depth) {
        thread->gate |= SH_GATE_ACTIVE;
        thread->op_number++;
        thread->state.start = 0;
        thread->state.start_entry = thread->top[0];
        thread->skip = 0;
    } else {
        frame->start = thread->state.start;
        frame->start_entry = thread->state.start_entry;
        frame->skip = thread->skip;
        frame->gate = thread->gate & SH_GATE_OF_CHAIN;
        thread->gate &= ~(uint32_t)SH_GATE_OF_CHAIN;
    }
    frame->call = call;
    call->frame = frame;
    thread->depth++;
}

/* What edits brought may call ops while it goes: no callback runs any more. */
static void clean(sh_thread *thread, sh_frame *frame) {
    frame->call->at = NULL;
    sh__held_end(frame->call);
    sh__seen_drop(frame);
    sh__stack_back(thread, frame);
    frame->changed = 0;
}

static inline void leave(sh_call *call, sh_thread *thread) {
    sh_frame *frame = call->frame;
    if (SH_UNLIKELY(frame->changed)) clean(thread, frame);
    thread->state.start = frame->start;
    thread->state.start_entry = frame->start_entry;
    sh__gate_outer(thread, frame);
    if (!--thread->depth) sh__end_of_chains(thread);
}

static sh_status chain(sh_call *call, sh_thread *thread, const void *caller) {
    if (SH_UNLIKELY(thread->depth || sh__globals_any())) SH_TRY(enter_slow(call, thread, caller));
    enter(call, thread);
    const sh_status status = SH_UNLIKELY(thread->state.switches & SH_OFF_ALL)
                                 ? sh__chain_off(call)
                                 : sh__walk(call, thread->state.start, thread->state.start_entry);
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

/* What a record holds before its chain begins. `device` >= 0: see sh__call_results. */
static inline void fill(sh_call *call, const sh_op *op, const sh_schema *schema, sh_variant variant,
                        sh_tensor *target, sh_value *args, int device, const void *caller) {
    call->op = op;
    call->schema = schema;
    call->args = args;
    call->target = target;
    const sh_call_head head = {.as = {.nargs = schema->nparams,
                                      .nresults = schema->nreturns,
                                      .variant = (uint8_t)variant,
                                      .scanned = device >= 0}};
    memcpy(&call->nargs, &head, sizeof head);
    call->device = device;
    call->undo = NULL;
    call->at = NULL;
    call->caller = caller;
}

static sh_status run_by(sh_call *call, const sh_op *op, const sh_schema *schema, sh_variant variant,
                        sh_tensor *target, sh_value *args, int device, const void *caller) {
    sh_thread *thread = &sh__thread;
    if (SH_UNLIKELY(thread->gate & SH_GATE_ERROR)) return sh_error()->code;
    if (SH_UNLIKELY(!schema)) return sh_fail(SH_ERROR_OP, "op %s is not defined any more", op->name);
    fill(call, op, schema, variant, target, args, device, caller);
    sh_status status = device >= 0 ? SH_OK : check_args(call);
    if (SH_LIKELY(status >= 0))
        status = SH_LIKELY(thread->cold || sh__cold()) ? chain(call, thread, caller) : SH_ERROR_MEMORY;
    if (SH_UNLIKELY(status < 0)) sh__error_at(op->name, NULL, NULL);
    return status;
}

static sh_status run(sh_call *call, const sh_op *op, sh_variant variant, sh_tensor *target, sh_value *args,
                     int device, const void *caller) {
    return run_by(call, op, sh_op_schema(op), variant, target, args, device, caller);
}

/* ---- most calls under modes ---- */

static inline bool is_simple(const sh_thread *thread, int device) {
    return thread->gate == 0 && device >= 0 && thread->cold && !sh__process_has(~0u);
}

/* The outermost chain, in line. It begins at the first position with modes, or behind function level. Its frame's start,
 * skip and gate are 0. */
SH_IN_LINE sh_status run_simple(sh_call *call, sh_thread *thread) {
    sh_frame *frame = thread->cold->frames;
    uint32_t position = (uint32_t)__builtin_ctz(thread->live | 1u << (SH_POS_DISPATCH - 1));
    thread->gate = SH_GATE_ACTIVE | SH_GATE_SIMPLE;
    thread->op_number++;
    thread->depth = 1;
    frame->call = call;
    frame->mark = thread->nitems;
    call->frame = frame;
    sh_status status = sh__go_on(call, thread, &position, thread->top[position]);
    if (SH_LIKELY(status == SH_PASS)) status = sh__run_last(call, position, false);
    if (SH_UNLIKELY(frame->changed)) clean(thread, frame);
    thread->depth = 0;
    thread->gate &= ~(uint32_t)(SH_GATE_ACTIVE | SH_GATE_OF_CHAIN);
    return status;
}

static __attribute__((noinline)) sh_tensor *call_any(const sh_op *op, sh_value *args, int device,
                                                     const void *caller, sh_variant variant,
                                                     sh_tensor *target) {
    sh_call call;
    return run(&call, op, variant, target, args, device, caller) >= 0 ? call.results[0].as.tensor : NULL;
}

SH_IN_LINE sh_tensor *call_one(const sh_op *op, sh_variant variant, sh_tensor *target, sh_value *args,
                               int device, const void *caller) {
    sh_thread *thread = &sh__thread;
    const sh_schema *schema = atomic_load_explicit(&op->schema, memory_order_acquire);
    if (SH_UNLIKELY(!is_simple(thread, device) || !schema))
        return call_any(op, args, device, caller, variant, target);
    sh_call call;
    fill(&call, op, schema, variant, target, args, device, caller);
    if (SH_LIKELY(run_simple(&call, thread) >= 0)) return call.results[0].as.tensor;
    sh__error_at(op->name, NULL, NULL);
    return NULL;
}

sh_tensor *sh__call_functional(const sh_op *op, sh_value *args, int device, const void *caller) {
    return call_one(op, SH_FUNCTIONAL, NULL, args, device, caller);
}

sh_tensor *sh__call_tensor(const sh_op *op, sh_variant variant, sh_tensor *target, sh_value *args, int device,
                           const void *caller) {
    return call_one(op, variant, target, args, device, caller);
}

/* ---- other results ---- */

sh_status sh__call_results(const sh_op *op, sh_variant variant, sh_tensor *target, sh_value *args,
                           sh_value *results, int device, const void *caller) {
    sh_call call;
    SH_TRY(run(&call, op, variant, target, args, device, caller));
    memcpy(results, call.results, call.nresults * sizeof *results);
    return SH_OK;
}

/* One integer stands for N equal ones of an int[N]; a kernel that is written at run time gets all of them. */
static void spread(const sh_schema *schema, sh_value *args, int64_t (*room)[SH_MAX_DIMS]) {
    for (uint32_t i = 0; i < schema->nparams; i++) {
        const uint32_t n = schema->params[i].length;
        if (args[i].tag != SH_TAG_INTS || args[i].count != 1 || n < 2) continue;
        for (uint32_t k = 0; k < n; k++) room[i][k] = args[i].as.ints[0];
        args[i] = sh_value_ints((sh_ints){room[i], n});
    }
}

sh_status sh__call_placed(const sh_op *op, const sh_schema *schema, sh_variant variant, sh_tensor *target,
                          sh_value *args, sh_value *results, const void *caller) {
    int64_t room[SH_MAX_ARGS][SH_MAX_DIMS];
    sh_call call;
    const sh_definition *d = sh__definition(op);
    if (d && d->spreads) spread(schema, args, room);
    if (SH_UNLIKELY(sh_op_schema(op) != schema))
        return sh_fail(SH_ERROR_OP, "op %s was %s since its arguments were placed", op->name,
                       sh_op_schema(op) ? "defined anew" : "undefined");
    SH_TRY(run_by(&call, op, schema, variant, target, args, -1, caller));
    memcpy(results, call.results, call.nresults * sizeof *results);
    return SH_OK;
}

/* The entry `index` places above the bottom of what a call that starts now finds at the position, or NULL. */
static sh_entry *entry_at(sh_thread *thread, uint32_t position, uint32_t index) {
    sh_entry *top = thread->top[position];
    uint32_t n = 0;
    for (const sh_entry *e = top; e; e = e->below) n++;
    for (; top && n > index + 1; n--) top = top->below;
    return n ? top : NULL;
}

sh_status sh__call_from(const sh_op *op, const sh_schema *schema, sh_variant variant, sh_tensor *target,
                        sh_value *args, sh_value *results, const void *caller, uint32_t position,
                        uint32_t index) {
    sh_thread *thread = &sh__thread;
    sh_call call;
    if (SH_UNLIKELY(thread->gate & SH_GATE_ERROR)) return sh_error()->code;
    if (!sh__cold()) return SH_ERROR_MEMORY;
    fill(&call, op, schema, variant, target, args, -1, caller);
    if (thread->depth || sh__globals_any()) SH_TRY(enter_slow(&call, thread, caller));
    enter(&call, thread);
    sh_status status = sh__walk(&call, position, entry_at(thread, position, index));
    leave(&call, thread);
    if (status < 0) {
        sh__error_at(op->name, NULL, NULL);
        return status;
    }
    memcpy(results, call.results, call.nresults * sizeof *results);
    return SH_OK;
}

sh_list *sh__call_list(const sh_op *op, sh_value *args, const void *caller) {
    sh_call call;
    return run(&call, op, SH_FUNCTIONAL, NULL, args, -1, caller) >= 0 ? sh__list_of(call.results[0]) : NULL;
}
