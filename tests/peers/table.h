/* table.h - what was measured of each net by each maker, for one number of threads. */
#ifndef SH_TESTS_PEERS_TABLE_H
#define SH_TESTS_PEERS_TABLE_H

#include "tests/peers/peers.h"

enum { ROUNDS = 25, OPENINGS = 5, MOST_MAKERS = 8, MOST_NETS = 4 };

typedef struct cell {
    bool there;             /* the maker can run the net */
    double us[ROUNDS];      /* of one run, or of one op of a chain */
    double ready[OPENINGS]; /* ms; NaN: nothing is made ready */
    double error;           /* against f64 */
    double peak;            /* MiB, of a process of its own that loads the net and runs it ten times */
} cell;

typedef struct table {
    int threads;
    double trace_ms, whole_trace_ms; /* of ResNet18, layers as nodes; through them, as compiling does */
    cell cells[MOST_NETS][MOST_MAKERS];
} table;

/* All makers of a net in turns. */
void table_time(table *t, const peer_net *net);
void table_trace(table *t);
void table_peaks(table *t, const peer_net *net);
/* What a process for table_peaks does: prints its peak in KiB. */
int peak_print(const char *maker, const char *net, int threads);

cell *table_cell(table *t, const char *net, const char *maker);
double median_of(const double *samples, int n);
/* Of the ratios within each round. */
double median_ratio(const cell *ours, const cell *theirs);

void table_print(table *t, const peer_net *net);
/* Says of each target of this number of threads if it is met. */
void targets_print(table *t);

#endif
