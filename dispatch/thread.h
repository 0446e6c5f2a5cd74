/* thread.h - all state of one thread, in one small struct with initial-exec storage.
 *
 * `gate` is the one word that an op tests: 0 means that nothing is switched, pending or in flight.
 * `wants` is the union of the families that the thread's modes want, all zero with none pushed: an op
 * whose bit is clear (here and in sh__global_wants) calls its slot. It is exact at depth 0 only; inside
 * a chain ACTIVE sends every op down the slow path.
 *
 * `top` holds the stack: one list of entries per position of the chain (M9), even positions the thread's
 * own modes, odd ones the global ones (only while a chain is in flight). Where a call that starts now
 * begins is `start` and `start_entry` in the state: what is before is out of sight. */
#ifndef SH_DISPATCH_THREAD_H
#define SH_DISPATCH_THREAD_H

#include "dispatch/mode.h"

/* On the declaration of a variable: it is reached without the global offset table. */
#define SH_HIDDEN __attribute__((visibility("hidden")))
/* What is worth having in line in each of several callers. */
#define SH_IN_LINE static inline __attribute__((always_inline))

enum {
    SH_GATE_ERROR = 1,   /* an error is pending */
    SH_GATE_SWITCH = 2,  /* a switch is open */
    SH_GATE_BACKEND = 4, /* a backend was chosen for this thread */
    SH_GATE_ACTIVE = 8,  /* a chain is in flight */
    SH_GATE_FAULT = 16,  /* allocations are counted (sh_memory_fail_after) */
    SH_GATE_MOVED = 32,  /* the stack that a callback sees is not its chain's: it pushed or popped */
    SH_GATE_CHANGED =
        64,              /* the running callback, or what it called, changed more of the state than results */
    SH_GATE_SIMPLE = 128 /* the innermost chain is what sh__go_on takes it to be (walk.h) */
};
/* What an inner chain starts without, and puts back when it ends. */
enum { SH_GATE_OF_CHAIN = SH_GATE_MOVED | SH_GATE_CHANGED | SH_GATE_SIMPLE };

/* The chain: first, function level, last of it, then (composite or not) dispatch level, last of it. */
enum {
    SH_POS_FIRST = 0,
    SH_POS_FUNCTION = 2,
    SH_POS_FUNCTION_LAST = 4,
    SH_POS_DISPATCH = 6,
    SH_POS_DISPATCH_LAST = 8,
    SH_POS_COUNT = 10
};

enum { SH_FAMILY_WORDS = 8, SH_FAMILY_BITS = SH_FAMILY_WORDS * 64 };
/* Each family has a bit of its own; those that come late share the last. */
static inline uint32_t sh__family_bit(uint32_t family) {
    return family < SH_FAMILY_BITS - 1 ? family : SH_FAMILY_BITS - 1;
}

typedef struct sh_entry sh_entry;
typedef struct sh_thread_cold sh_thread_cold;
typedef struct sh_storage sh_storage;

enum { SH_SMALL_CLASSES = 6 }; /* storages of 64, 128, ... 2048 bytes */

/* What a chain puts back when it ends, copied as one. */
typedef struct sh_state {
    sh_entry *start_entry; /* at position `start`; later positions start from their top */
    struct sh_switch *switches_open;
    uint64_t floor; /* outside of callbacks: only entries that are younger may be popped */
    uint32_t start;
    uint32_t balance;       /* pushes, switches, scopes, guards open; a callback must leave it as it was */
    uint32_t scope_mark;    /* where the innermost scope begins */
    uint32_t scope_escaped; /* entries after the mark that were moved to the enclosing scope */
    uint32_t switches;      /* SH_OFF_... */
    uint32_t names;         /* named scopes open */
    uint8_t backend[SH_MAX_DEVICES]; /* chosen backend + 1, or 0 */
} sh_state;

typedef struct sh_thread {
    uint32_t gate;
    uint32_t nitems;  /* results held by scopes */
    uintptr_t *items; /* tensors, and lists with the low bit set */
    uint32_t items_capacity;
    int32_t free_room; /* how many more records the free list takes; 0 while caching is off */
    sh_tensor *free_tensors;
    sh_storage *free_storages[SH_SMALL_CLASSES];
    int64_t live_tensors, live_bytes; /* may be negative: freed here, made elsewhere */
    sh_state state;
    uint32_t depth;                   /* chains in flight */
    uint32_t live;                    /* bit p: position p has entries */
    uint32_t skip;                    /* SH_ENTRY_... flags of entries that now do not run */
    uint32_t shown;                   /* the depth at which a kernel shows what it calls (foreign.h), or 0 */
    uintptr_t stack_low, stack_limit; /* where the C stack ends, up to where it stays free (chain.c) */
    uint64_t sequence;                /* of pushes */
    uint64_t
        stamp; /* of the modes as they are pushed, outside of chains: see graph/compile/guard.h; 0: they changed since it was given */
    uint64_t stamp_at;    /* the configuration at which it was given */
    uint64_t op_number;   /* function-level ops, while some mode counts them */
    sh_thread_cold *cold; /* NULL until the thread is attached */
    uint64_t wants[SH_FAMILY_WORDS];
    sh_entry *top[SH_POS_COUNT];
} sh_thread;

extern __thread sh_thread sh__thread __attribute__((tls_model("initial-exec"))) SH_HIDDEN;

static inline bool sh__error_pending(void) { return (sh__thread.gate & SH_GATE_ERROR) != 0; }

#endif
