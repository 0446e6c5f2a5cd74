/* table.c - measuring in turns, and the table.
 *
 * One thread is timed by the processor's clock, so that what else runs on the machine counts less; more by the clock on
 * the wall. There each turn begins with a pause, in which the threads of the last one stop spinning, and a run that wakes
 * its own. */
#include "tests/peers/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PAUSE_MS = 30 };

double peers_clock_ms(int threads) {
    struct timespec t;
    clock_gettime(threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* ---- numbers ---- */

static int by_value(const void *a, const void *b) {
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

double median_of(const double *samples, int n) {
    double sorted[ROUNDS];
    memcpy(sorted, samples, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    return sorted[n / 2];
}

double median_ratio(const cell *ours, const cell *theirs) {
    double ratios[ROUNDS];
    if (!ours->there || !theirs->there) return NAN;
    for (int i = 0; i < ROUNDS; i++) ratios[i] = ours->us[i] / theirs->us[i];
    return median_of(ratios, ROUNDS);
}

cell *table_cell(table *t, const char *net, const char *maker) {
    for (int n = 0; nets[n].name; n++)
        for (int m = 0; makers[m].name; m++)
            if (strcmp(nets[n].name, net) == 0 && strcmp(makers[m].name, maker) == 0) return &t->cells[n][m];
    return NULL;
}

/* ---- measuring ---- */

static double time_turn(const table *t, const peer_net *net, const peer_runner *r) {
    const struct timespec pause = {0, PAUSE_MS * 1000000};
    if (t->threads > 1) nanosleep(&pause, NULL);
    r->run(r->state);
    const double start = peers_clock_ms(t->threads);
    for (int64_t i = 0; i < net->times; i++) r->run(r->state);
    return (peers_clock_ms(t->threads) - start) * 1e3 / (double)(net->times * net->ops);
}

/* Opens the net by each maker some times over; the last runners stay. */
static void open_all(table *t, const peer_net *net, peer_runner *runners) {
    for (int i = 0; i < OPENINGS; i++)
        for (int m = 0; makers[m].name; m++) {
            cell *c = table_cell(t, net->name, makers[m].name);
            if (i && c->there) runners[m].close(runners[m].state);
            c->there = (!i || c->there) && makers[m].open(net, t->threads, &runners[m]);
            c->ready[i] = runners[m].ready_ms;
        }
}

static void check_all(table *t, const peer_net *net, const peer_runner *runners) {
    const numbers exact = net_exact(net);
    for (int m = 0; makers[m].name; m++) {
        cell *c = table_cell(t, net->name, makers[m].name);
        if (!c->there) continue;
        const numbers got = runners[m].results(runners[m].state);
        c->error = numbers_error(got, exact);
        free(got.at);
    }
    free(exact.at);
}

void table_time(table *t, const peer_net *net) {
    peer_runner runners[MOST_MAKERS] = {{0}};
    open_all(t, net, runners);
    check_all(t, net, runners);
    for (int round = 0; round < ROUNDS; round++)
        for (int m = 0; makers[m].name; m++) {
            cell *c = table_cell(t, net->name, makers[m].name);
            if (c->there) c->us[round] = time_turn(t, net, &runners[m]);
        }
    for (int m = 0; makers[m].name; m++)
        if (table_cell(t, net->name, makers[m].name)->there) runners[m].close(runners[m].state);
}

static double time_trace(sh_module *module, sh_tensor *input, const sh_trace_options *options) {
    enum { TIMES = 20 };
    double samples[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        const double start = peers_clock_ms(1);
        for (int i = 0; i < TIMES; i++) sh_graph_free(sh_trace(module, SH_INPUTS(input), options));
        samples[round] = (peers_clock_ms(1) - start) / TIMES;
    }
    return median_of(samples, ROUNDS);
}

void table_trace(table *t) {
    SH_SCOPE_HERE;
    const peer_net *resnet18 = net_find("resnet18");
    sh_module *module = resnet18->make();
    sh_tensor *input = resnet18->input();
    t->trace_ms = time_trace(module, input, NULL);
    t->whole_trace_ms = time_trace(module, input, &(sh_trace_options){.no_leaves = true});
    sh_module_release(module);
}

/* ---- the table ---- */

static void print_number(const char *format, double number) {
    char text[32];
    snprintf(text, sizeof text, format, number);
    printf(" %11s", isnan(number) ? "-" : text);
}

void table_print(table *t, const peer_net *net) {
    const cell *ort = table_cell(t, net->name, "ONNX Runtime"), *torch = table_cell(t, net->name, "torch");
    for (int m = 0; makers[m].name; m++) {
        const cell *c = table_cell(t, net->name, makers[m].name);
        if (!c->there) continue;
        printf("%-10s %d  %-22s", net->name, t->threads, makers[m].name);
        print_number(net->ops > 1 ? "%.4f" : "%.1f", median_of(c->us, ROUNDS));
        print_number("%.3f", median_ratio(c, ort));
        print_number("%.3f", median_ratio(c, torch));
        print_number("%.1e", c->error);
        print_number("%.1f", c->peak);
        print_number("%.1f", median_of(c->ready, OPENINGS));
        printf("\n");
    }
}
