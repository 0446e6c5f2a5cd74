/* peak.c - the most memory that a process takes which loads one net by one maker and runs it ten times. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/peers/table.h"

enum { RUNS = 10 };

static long peak_kib(void) {
    char line[256];
    long kib = -1;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file)) sscanf(line, "VmHWM: %ld", &kib);
    if (file) fclose(file);
    return kib;
}

int peak_print(const char *maker, const char *net, int threads) {
    peer_runner r;
    for (int m = 0; makers[m].name; m++) {
        if (strcmp(makers[m].name, maker) != 0) continue;
        if (!net_find(net) || !makers[m].open(net_find(net), threads, &r)) return 1;
        for (int i = 0; i < RUNS; i++) r.run(r.state);
        r.close(r.state);
        printf("%ld\n", peak_kib());
        return 0;
    }
    return 1;
}

static double peak_of(const char *maker, const char *net, int threads) {
    char command[256];
    long kib;
    snprintf(command, sizeof command, "exec /proc/%ld/exe peak '%s' %s %d", (long)getpid(), maker, net,
             threads);
    FILE *child = popen(command, "re");
    const bool told = child && fscanf(child, "%ld", &kib) == 1;
    if (child) pclose(child);
    return told ? (double)kib / 1024 : NAN;
}

void table_peaks(table *t, const peer_net *net) {
    for (int m = 0; makers[m].name; m++) {
        cell *c = table_cell(t, net->name, makers[m].name);
        if (c->there) c->peak = peak_of(makers[m].name, net->name, t->threads);
    }
}
