/* chain.h - the record of a call and the order it takes (M9).
 *
 * A call record lives on the caller's C stack. Its chain starts where the thread's `top` says and goes
 * down position by position; what has to be put back when it ends is in a frame of the thread's cold
 * part. While a callback runs, the thread's `top` is what is below its entry. */
#ifndef SH_DISPATCH_CHAIN_H
#define SH_DISPATCH_CHAIN_H

#include <stdatomic.h>

#include "dispatch/byname.h"
#include "dispatch/cold.h"
#include "dispatch/table.h"

enum {
    SH_ENTRY_CAPTURE = 1, /* records calls; does not run inside a watching mode's callback */
    SH_ENTRY_COUNTS = 2,  /* asks for call numbers */
    SH_ENTRY_SPLITS = 4,  /* dispatch level: wants composites split */
    SH_ENTRY_WATCHING = 8
};

/* One push. Immutable but for the counts, shared by snapshots: a stack is a list from its top down. */
struct sh_entry {
    atomic_int refs;
    uint32_t flags;
    sh_mode *mode;
    sh_callback callback;
    sh_entry *below;
    uint64_t sequence;
    uint64_t start; /* the thread's op_number at the push */
    uint32_t position;
    uint32_t skips; /* flags of entries that do not run inside this one's callback */
    uint64_t wants[SH_FAMILY_WORDS];
    uint64_t all[SH_FAMILY_WORDS]; /* with what is below; composites in where this one splits */
    uint32_t all_flags;
};

struct sh_mode {
    atomic_int refs;
    uint32_t flags; /* SH_MODE_... */
    uint32_t entry_flags;
    sh_level level;
    sh_mode_kind kind;
    uint64_t serial;
    sh_callback callback;
    void *user;
    void (*destroy)(void *user);
    sh_status (*pushed)(sh_mode *mode, bool global);
    void (*popped)(sh_mode *mode, bool global);
    /* Of a mode that captures: runs and records what is called beside ops (graph/function.h); optional. */
    sh_status (*record)(sh_mode *mode, const void *called);
    atomic_uint_fast64_t version, calls, own_ns;
    _Atomic(const sh_thread *) owner; /* the only thread that ever pushed it, unless */
    atomic_uint_fast8_t unusual;      /* SH_MODE_IS_... */
    uint64_t wants[SH_FAMILY_WORDS];
    uint32_t *families; /* the exact list, where INEXACT */
    uint32_t nfamilies;
    char name[64];
};

enum { SH_MODE_STANDS_IN = 1 << 16 /* of its flags: a trace pushed it in the place of another */ };

enum {
    SH_MODE_IS_SHARED = 1, /* more than one thread may run it */
    SH_MODE_IS_INEXACT = 2 /* its list of families decides, not only the bits */
};

enum { SH_POS_GLOBAL = 0x2aa }; /* the odd positions */

typedef struct sh_undo sh_undo;
typedef struct sh_turn sh_turn;

struct sh_call {
    const sh_op *op;
    const sh_schema *schema;
    sh_value *args; /* room for SH_MAX_ARGS */
    sh_tensor *target;
    uint8_t nargs, nresults; /* the eight bytes up to `answered` are also read as one word */
    uint8_t variant;
    uint8_t in_kernel;
    uint8_t scanned; /* device and special are of the arguments as they stand */
    uint8_t special; /* an argument carries an override */
    uint8_t has_result;
    uint8_t answered; /* the running callback set some of the results, but not yet all */
    int32_t device;
    sh_entry *at; /* whose callback runs; NULL in a kernel or override */
    sh_frame *frame;
    const void *caller; /* see sh__call_results */
    sh_undo *undo;      /* of the innermost sh_next that this call is in */
    sh_turn *turn;      /* while in_kernel: the kernel that runs; NULL in an override */
    sh_value results[SH_MAX_RESULTS];
};

/* What a call was when a mode called sh_next, kept by the first edit below it (M4). On the C stack of sh_next. */
struct sh_undo {
    bool kept;
    uint8_t nargs;
    sh_undo *outer;
    const sh_op *op;
    const sh_schema *schema;
    sh_tensor *target;
    sh_value args[SH_MAX_ARGS];
};
/* Before op, arguments or target of a call change. */
void sh__before_edit(sh_call *call);

/* A call, from arguments in schema order (room for SH_MAX_ARGS; edited in place) to results owned by the current
 * scope (a target is borrowed). `device` >= 0 says that the caller has looked at the arguments: none is NULL or a list,
 * none carries an override, all tensors are on that device; -1 leaves that to the chain. `caller` is the frame address of
 * the exported function that the program called: the return address stands above it. */
sh_status sh__call_results(const sh_op *op, sh_variant variant, sh_tensor *target, sh_value *args,
                           sh_value *results, int device, const void *caller);
/* The same for arguments that were placed by `schema`: an error if the op has another one by now. */
sh_status sh__call_placed(const sh_op *op, const sh_schema *schema, sh_variant variant, sh_tensor *target,
                          sh_value *args, sh_value *results, const void *caller);
/* The same, beginning with a mode that the thread has in sight: the entry `index` places above the bottom of what is at
 * `position`. What is above it does not run. */
sh_status sh__call_from(const sh_op *op, const sh_schema *schema, sh_variant variant, sh_tensor *target,
                        sh_value *args, sh_value *results, const void *caller, uint32_t position,
                        uint32_t index);
/* sh_call_by_name from a frame that the caller names: two words on the C stack, alive through the call, of which the
 * second is the address in the program that the call stands for. */
sh_status sh__call_by_name(const char *name, const sh_argument *arguments, size_t n, sh_value *results,
                           const void *caller);
/* The op that a name stands for, "add_" for the in-place form of add too; NULL without an error if there is none. */
const sh_op *sh__op_named(const char *name, sh_variant *variant);
/* With one result: it, or NULL. The first is FUNCTIONAL, without a target. */
sh_tensor *sh__call_functional(const sh_op *op, sh_value *args, int device, const void *caller);
sh_tensor *sh__call_tensor(const sh_op *op, sh_variant variant, sh_tensor *target, sh_value *args, int device,
                           const void *caller);
sh_list *sh__call_list(const sh_op *op, sh_value *args, const void *caller);
sh_status sh__run_override(sh_call *call);
/* The last phase: device, slot, results, kernel. */
sh_status sh__run_kernel(sh_call *call);
/* With all interception off: overrides and composites, then the kernel. */
sh_status sh__chain_off(sh_call *call);
/* Runs one slot on the call: infers, allocates, calls, owns the results. SH_PASS: it declined. `turn` holds its
 * position, for boxed kernels. */
sh_status sh__run_slot(sh_call *call, const sh_slot *slot, sh_turn *turn);
/* The same with every mode hidden. */
sh_status sh__run_hidden(sh_call *call, const sh_slot *slot, sh_turn *turn);
/* The same for a composite kernel: its ops start at dispatch level, its leftovers die with it. */
sh_status sh__run_composite(sh_call *call, const sh_slot *slot, sh_turn *turn);
/* Finds the device of the arguments (D2) and whether one carries an override; mixed devices are an error that names
 * both. Does nothing while the arguments are as they were. */
sh_status sh__call_scan(sh_call *call);
/* How a target of another dtype or layout is filled; set by the ops layer. */
void sh__set_copier(sh_status (*copier)(sh_tensor *to, const sh_tensor *from));
/* Keeps a tensor, or copies a list or string, until the chain ends. */
sh_status sh__call_hold(sh_call *call, sh_value *value);
void sh__held_drop(sh_frame *frame);
/* The same at the end of a call. A tensor that a mode put in the place of an in-place self, and that so is the result,
 * goes to the current scope. */
void sh__held_end(sh_call *call);
/* Takes `given` for the parameter, as the typed function would: a number becomes a tensor or a list of one (which then
 * points at `given`), SH_DIMS a list in `room` (SH_MAX_DIMS entries, or NULL for none), an integer a flag or dtype, a
 * mark for "left out" None. Where the kind does not fit, an error
 * that names op, argument and mode. */
sh_status sh__check_arg(const sh_call *call, const sh_param *param, const sh_value *given, int64_t *room,
                        sh_value *taken);
/* Copies where shape and dtype allow it, else an error that names the target. */
sh_status sh__copy_into(const sh_call *call, sh_tensor *from);
/* The list of a value becomes one of its own, owned by the current scope, with a reference to each tensor. */
sh_status sh__own_list_value(sh_value *value);
/* Counts and kinds of the results before they go up. */
sh_status sh__check_result(const sh_call *call, uint32_t i, sh_value value);

/* Whatever changes a thread's state inside a callback (a scope, switch, name, backend, push) first has the frame of
 * the chain in flight keep it. */
static inline void sh__state_changes(sh_thread *thread) {
    if (SH_LIKELY(!thread->depth)) return;
    sh_frame *frame = &thread->cold->frames[thread->depth - 1];
    if (thread->gate & SH_GATE_CHANGED) return;
    thread->gate |= SH_GATE_CHANGED;
    frame->balance = thread->state.balance;
    if (frame->changed & SH_FRAME_KEPT) return;
    frame->changed |= SH_FRAME_KEPT;
    frame->state = thread->state;
}
/* A simple chain doesn't store for each callback where a call that starts in it begins. Whoever needs that (an inner
 * call, a push, a look at the stack) has it derived from the callback that runs. */
void sh__state_sync(sh_thread *thread);
/* A push or pop inside a callback first parts the thread's stack from the chain's: from then on the thread's is what
 * that callback sees. */
void sh__stack_move(sh_thread *thread);
/* What callbacks pushed is dropped; the stack is again what the frame's chain runs on. */
void sh__stack_back(sh_thread *thread, sh_frame *frame);
/* While the chain runs on below a callback that pushed: the thread's stack is the chain's, the callback's waits in the
 * frame, where it is found if that callback is left by longjmp. False and an error when memory is out. */
bool sh__seen_keep(sh_thread *thread, sh_frame *frame);
void sh__seen_back(sh_thread *thread, sh_frame *frame);
/* Drops what still waits when the chain is over. */
void sh__seen_drop(sh_frame *frame);
/* Puts the thread back to what it was when the frame's chain began. */
void sh__frame_restore(sh_thread *thread, sh_frame *frame);
void sh__gate_update(sh_thread *thread);
/* Is what must stay free of the C stack in use at this address? Then the error that says so. */
bool sh__stack_is_short(const sh_thread *thread, const void *here);
sh_status sh__stack_short(const sh_call *call, const sh_thread *thread, const sh_entry *at);
void sh__names_truncate(sh_thread_cold *cold, uint32_t names);

bool sh__entry_wants(const sh_entry *entry, const sh_op *op);
void sh__entry_release(sh_entry *entry);
static inline sh_entry *sh__entry_keep(sh_entry *entry) {
    if (entry) atomic_fetch_add_explicit(&entry->refs, 1, memory_order_relaxed);
    return entry;
}
/* Where in the chain a mode of a thread runs; a global one runs at the next position. */
uint32_t sh__mode_position(const sh_mode *mode);
/* Where the list of a position begins for a call of this thread that starts now. */
sh_entry *sh__seen_from_here(sh_thread *thread, uint32_t position);
/* A new entry for `mode` above `below`. */
sh_entry *sh__entry_new(sh_mode *mode, sh_entry *below, uint32_t position);
/* Recomputes thread->wants from its tops, at depth 0. */
void sh__wants_update(sh_thread *thread);
/* Pops everything, for thread exit. */
void sh__stacks_drop(sh_thread *thread);

/* globals.c: the snapshot of the process-wide modes. Pinned while a thread's outermost chain uses it. */
void sh__globals_pin(sh_thread *thread);
void sh__globals_release(sh_thread *thread);
extern _Atomic(const void *) sh__globals SH_HIDDEN;
static inline bool sh__globals_any(void) {
    return SH_UNLIKELY(atomic_load_explicit(&sh__globals, memory_order_relaxed) != NULL);
}

/* What concerns the calls of all threads, in one word that is 0 most of the time. */
enum { SH_PROCESS_GLOBALS = 1, SH_PROCESS_TIMES = 2 };
extern atomic_uint sh__process_gate SH_HIDDEN;
static inline bool sh__process_has(uint32_t what) {
    return SH_UNLIKELY(atomic_load_explicit(&sh__process_gate, memory_order_relaxed) & what);
}
static inline void sh__process_set(uint32_t what, bool on) {
    if (on)
        atomic_fetch_or(&sh__process_gate, what);
    else
        atomic_fetch_and(&sh__process_gate, ~what);
}

/* switch.c: is this mode switched off here? */
bool sh__mode_is_off(const sh_thread *thread, const sh_mode *mode);

/* introspect.c: the first mode with a `record` that a call which starts now would meet, with a reference for the caller; NULL if there is none. */
sh_mode *sh__recorder_in_sight(void);

#endif
