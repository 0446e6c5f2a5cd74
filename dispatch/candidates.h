/* candidates.h - the kernels that a call could have, in order, and running them.
 *
 * The order for a backend: its column for the op, newest first; the infer function on meta; the composite column; the
 * backend's fallback. A fallthrough goes to the next backend of the device. A kernel whose condition does not hold is
 * passed over; one that declines, or fails under the policy `fallback`, or is found wrong under `verify`, hands on to the
 * one after it. The position is in a place on the C stack of whoever runs a kernel, never in the thread: a kernel may
 * call other ops, and its own, in any nesting. Nothing here takes a lock. */
#ifndef SH_DISPATCH_CANDIDATES_H
#define SH_DISPATCH_CANDIDATES_H

#include "dispatch/chain.h"

typedef struct sh_place {
    const sh_op *op;
    const sh_registration *next; /* to be looked at */
    uint32_t backend;
    uint32_t stage;
} sh_place;

sh_place sh__place_begin(const sh_op *op, uint32_t backend);
/* The next that is alive, what falls through or was taken out included; NULL at the end. */
const sh_slot *sh__place_step(sh_place *place);
/* The next that may run, conditions apart. */
const sh_slot *sh__place_next(sh_place *place);
/* The next that may run for this call. `counts`: kernels that go by call numbers count it. */
const sh_slot *sh__candidate_next(sh_place *place, const sh_call *call, bool counts);
/* Behind a slot that a backend of the op has. */
sh_place sh__place_after(const sh_op *op, uint32_t backend, const sh_slot *slot);
/* On to the composite column. */
void sh__place_composites(sh_place *place);
/* Why the candidate is none for this call; false if it is one. */
bool sh__candidate_refused(const sh_slot *slot, const sh_call *call, char *why, size_t size);
/* The slot is not simply called: condition, policy. */
bool sh__slot_is_special(const sh_slot *slot);

/* Those that a call had and that did not end it. */
enum { SH_MOST_TRIED = 16 };
typedef struct sh_tried {
    uint32_t n;
    const sh_slot *at[SH_MOST_TRIED];
    const char *why[SH_MOST_TRIED]; /* static text */
    char failure[256];              /* the last error's message */
} sh_tried;
static inline void sh__tried_begin(sh_tried *tried) {
    tried->n = 0;
    tried->failure[0] = 0;
}
void sh__tried_add(sh_tried *tried, const sh_slot *slot, const char *why);

/* The boxed kernel that runs a call. */
struct sh_turn {
    const sh_slot *slot;
    const sh_place *after; /* its predecessors; NULL: to be found */
    uint32_t backend;      /* where to look for them */
    bool ready;            /* the results were allocated and nobody has filled them */
    bool straight;         /* the first of them is the target */
    bool ran;              /* a predecessor has run */
};

/* Set by who is about to compare the kernel of this thread that runs next: its new results are filled with ones (NaN, -1)
 * before it runs, so that what it leaves out can't look right by chance. */
extern __thread bool sh__fills_results __attribute__((tls_model("initial-exec"))) SH_HIDDEN;

/* How a kernel is to see modes: as a call at its level does, or not at all. */
typedef enum sh_sight { SH_HIDES, SH_AT_LEVEL } sh_sight;

/* One after the other from `place`, until one has answered. SH_AT_LEVEL: only composites, SH_PASS before the first other. */
sh_status sh__run_candidates(sh_call *call, sh_place place, sh_sight sight, sh_tried *tried);
/* One of them, without its policy. SH_PASS: it declined. */
sh_status sh__run_turn(sh_call *call, const sh_slot *slot, const sh_place *after, sh_sight sight);
/* The same under its policy; SH_PASS: the next is to run, and what this one wrote is undone. */
sh_status sh__run_guarded(sh_call *call, const sh_slot *slot, const sh_place *after, sh_sight sight,
                          sh_tried *tried);
/* What a call begins with: the backend by this thread's choice, rules applied. */
uint32_t sh__backend_of(const sh_call *call, bool counts);

/* The kernel that the call would get as it stands: "mine.so (cpu)", or "". */
void sh__call_kernel_print(sh_call *call, char *text, size_t size);

/* The slot as it stands in the table, if the call may take it without a look around, and its backend. */
static inline const sh_slot *sh__direct_slot(const sh_call *call, uint32_t *backend) {
    *backend = sh__backend_here((uint32_t)call->device);
    const sh_slot *slot = atomic_load_explicit(&call->op->slots[*backend], memory_order_acquire);
    return slot && !slot->ruled ? slot : NULL;
}

/* "a (cpu): dtype f64 is not f32; b (cpu): declined", up to `ran` (NULL: all). Returns the length. */
size_t sh__candidates_print(const sh_call *call, uint32_t backend, const sh_slot *ran, const sh_tried *tried,
                            char *text, size_t size);

#endif
