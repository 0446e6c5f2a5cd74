/* record_impl.h - a capture as those see it that drive one: graph/trace.c. */
#ifndef SH_GRAPH_RECORD_IMPL_H
#define SH_GRAPH_RECORD_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "graph/record.h"
#include "graph/recorder.h"

struct sh_capture {
    atomic_int refs;      /* the handle's and each mode's */
    sh_mode *mode;        /* the handle's reference */
    sh_mode *lower;       /* the reference is the upper mode's; NULL where there is only one */
    pthread_mutex_t lock; /* for what follows */
    sh_recorder recorder;
    bool told;
    void (*finish)(sh_capture *capture, void *user);
    void *user;
    /* In the place of sh_next. SH_OK: it ran, record it; SH_PASS: it ran, and is not to be recorded. Optional. */
    sh_status (*run)(sh_call *call, void *run_user);
    void *run_user;
    uint32_t paused; /* above 0: calls run, and are not recorded */
};

#endif
