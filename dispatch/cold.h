/* cold.h - the part of a thread's state that no fast path touches, made at the thread's first need. */
#ifndef SH_DISPATCH_COLD_H
#define SH_DISPATCH_COLD_H

#include "dispatch/tensor_impl.h"

/* A large freed block that waits for its next use. */
typedef struct sh_cached_block {
    void *block;
    size_t capacity;
} sh_cached_block;
enum { SH_CACHED_BLOCKS = 64 };

/* A chain in flight. Kept off the C stack so that it survives a longjmp. `changed` is 0 in a frame that is not in use;
 * of the outermost chain, start, start_entry, skip and gate are always 0. */
typedef struct sh_frame {
    sh_state state; /* of the thread when the chain began, if KEPT */
    sh_entry *start_entry;
    uint64_t floor; /* if MOVED: a callback may pop only entries that are younger */
    uint32_t start;
    sh_call *call;        /* on the C stack: the chain is dead once the stack pointer is above it */
    struct sh_held *held; /* what edits brought, until the chain ends */
    struct sh_seen *seen; /* the stacks of callbacks that pushed and called sh_next, innermost first */
    uint32_t skip;
    uint32_t mark;    /* results from here on are the running callback's or kernel's own */
    uint32_t gate;    /* of an inner chain: what the outer callback had changed */
    uint32_t balance; /* of the state, when the running callback began, if CHANGED */
    uint32_t changed; /* SH_FRAME_... */
    uint32_t live;
    sh_entry *top[SH_POS_COUNT];
} sh_frame;

enum {
    SH_FRAME_KEPT = 1, /* something changes the rest of the thread's state, which is in `state` */
    SH_FRAME_MOVED =
        2, /* a callback pushed: `top` is what the chain runs on, the thread's is the callback's */
    SH_FRAME_HOLDS = 4, /* `held` is not NULL */
    SH_FRAME_SEES = 8   /* `seen` may be something else than NULL */
};

/* One named scope; the path of all is kept joined. */
typedef struct sh_name_mark {
    uint32_t length; /* of the path up to and with it */
} sh_name_mark;
enum { SH_NAME_DEPTH = 128, SH_NAME_PATH = 2048 };

enum { SH_MESSAGE_SIZE = 1024 };

struct sh_thread_cold {
    sh_error_info error;
    char message[SH_MESSAGE_SIZE];
    char error_op[96], error_where[160];

    size_t fail_after, counted; /* sh_memory_fail_after */
    size_t cached, cache_limit; /* bytes in all caches of this thread */
    sh_cached_block blocks[SH_CACHED_BLOCKS];
    uint32_t nblocks;

    const char *scope_file; /* of the innermost scope */
    uint32_t scope_line;
    size_t scope_limit;
    bool scope_warned;

    sh_frame frames[SH_MAX_NESTING + 1];
    struct sh_journal *journal; /* open on this thread: see journal.h */
    uint64_t below_ns;          /* time spent below the running callback, while modes are timed */

    char path[SH_NAME_PATH];
    uint32_t paths_read; /* how often sh_scope_path was asked: who did so may depend on it */
    sh_name_mark names[SH_NAME_DEPTH];

    atomic_uint foreign;          /* C kernels that this thread is in: see ffi/kernel.c */
    _Atomic(const void *) hazard; /* the snapshot of global modes in use: see globals.c */
    sh_thread *thread;
    sh_thread_cold *next, **link; /* registry of attached threads */
};

/* The cold part, made if need be; NULL and an error when memory is out. */
sh_thread_cold *sh__cold(void);
/* The thread's stack goes back to what frames say when a longjmp left chains behind (M7). */
void sh__recover(sh_thread *thread, uintptr_t stack_address);
/* The same as seen from the function that it stands in: for all that looks at or changes the thread's state. */
#define sh__recover_here(thread) \
    (SH_UNLIKELY((thread)->depth) ? sh__recover((thread), (uintptr_t)__builtin_frame_address(0)) : (void)0)

/* sh_scope_path for those whose effect doesn't depend on it: it isn't counted. */
const char *sh__scope_path(void);

/* Runs `visit` over all attached threads under the registry lock. */
void sh__threads_visit(void (*visit)(sh_thread_cold *cold, void *user), void *user);

/* Adds up the live counts of all threads, those that have ended included. */
void sh__live_counts(sh_memory_stats *stats);

/* Names the op and the mode or kernel in the pending error, where they are not named yet. */
void sh__error_at(const char *op, const char *where_kind, const char *where_name);
/* The pending error's code, or SH_ERROR_CALLBACK made up when a callback returned an error without one. */
sh_status sh__error_ensure(sh_status status);

/* A pending error, put aside while code runs that has no part in it; what that leaves pending is dropped. */
typedef struct sh_aside {
    bool pending;
    sh_error_info error;
    char message[SH_MESSAGE_SIZE];
    char error_op[96], error_where[160];
} sh_aside;
void sh__error_put_aside(sh_aside *aside);
void sh__error_put_back(const sh_aside *aside);

#endif
