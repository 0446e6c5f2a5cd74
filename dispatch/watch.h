/* watch.h - the other side of verbose.h: what dispatch tells. */
#ifndef SH_DISPATCH_WATCH_H
#define SH_DISPATCH_WATCH_H

#include "dispatch/candidates.h"
#include "dispatch/verbose.h"

enum { SH_VERBOSE_DISPATCH = 1, SH_VERBOSE_CRASH = 2 };
extern atomic_uint sh__verbose SH_HIDDEN;
static inline bool sh__verbose_has(uint32_t what) {
    return (atomic_load_explicit(&sh__verbose, memory_order_relaxed) & what) != 0;
}

/* The line of one call; `ran` is the candidate that ended it, with `status`. */
void sh__verbose_call(const sh_call *call, uint32_t backend, const sh_slot *ran, const sh_tried *tried,
                      sh_status status);

/* A kernel in flight, on the C stack of whoever runs it; printed by the handler of a fatal signal. */
typedef struct sh_flight {
    struct sh_flight *outer;
    char text[512];
} sh_flight;
void sh__flight_begin(sh_flight *flight, const sh_call *call, const sh_slot *slot);
void sh__flight_end(const sh_flight *flight);

#endif
