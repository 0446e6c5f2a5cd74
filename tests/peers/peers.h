/* peers.h - a net run by one of several makes (ours, ONNX Runtime, torch), so that each is timed, checked and weighed alike.
 *
 * A maker opens a net as a runner; all runners of a net get the same weights and the same input. Numbers leave a runner
 * as doubles, its outputs one behind the other. What fails says so on stderr and gives NULL or false. */
#ifndef SH_TESTS_PEERS_PEERS_H
#define SH_TESTS_PEERS_PEERS_H

#include "shunt.h"

enum { MOST_INPUT = 1000000 };

typedef struct peer_net {
    const char *name;          /* and that of its file, NAME.onnx */
    sh_module *(*make)(void);  /* in evaluation mode; the caller's */
    sh_tensor *(*input)(void); /* scope-owned */
    int64_t times;             /* runs in a turn */
    int64_t ops;               /* what a time is divided by: 1, or the ops of a chain */
} peer_net;
extern const peer_net nets[]; /* ends with a NULL name */
const peer_net *net_find(const char *name);
/* Where NAME.onnx is. Good until the next call. */
const char *net_file(const peer_net *net);

typedef struct numbers {
    double *at; /* free() */
    size_t n;
} numbers;

typedef struct peer_runner {
    void *state;
    double
        ready_ms; /* what it took to make it ready: a session, or the first compiled call without a second */
    void (*run)(void *state);
    numbers (*results)(void *state); /* runs once more */
    void (*close)(void *state);
} peer_runner;

typedef struct peer_maker {
    const char *name;
    bool (*open)(const peer_net *net, int threads, peer_runner *runner);
} peer_maker;
extern const peer_maker makers[]; /* ends with a NULL name */

bool ours_eager(const peer_net *net, int threads, peer_runner *runner);
bool ours_compiled(const peer_net *net, int threads, peer_runner *runner);
bool ours_no_winograd(const peer_net *net, int threads, peer_runner *runner);
bool ort_open(const peer_net *net, int threads, peer_runner *runner);
bool torch_open(const peer_net *net, int threads, peer_runner *runner);
/* What the net gives in f64, by our eager kernels. */
numbers net_exact(const peer_net *net);
/* Outputs of a module as numbers. */
numbers numbers_of(sh_value value);
/* max |a - b| / max |b|; infinite where there is not the same number of them. */
double numbers_error(numbers a, numbers b);

/* Of the processor for one thread, of the wall for more: see table.c. */
double peers_clock_ms(int threads);

#endif
