/* targets.c - which of the figures that compiled nets are to reach hold in this run. */
#include <math.h>

#include "tests/peers/table.h"

typedef enum measure { TIME, PEAK, READY, TRACE, WHOLE_TRACE } measure;

static const struct target {
    const char *net, *maker;
    measure measure;
    const char *against;
    double most;
    int threads;
} targets[] = {
#define TARGET(net, maker, measure, against, most, threads) {net, maker, measure, against, most, threads},
#include "tests/peers/targets.def"
#undef TARGET
};

static double figure(const table *t, const cell *c, measure what) {
    if (!c || !c->there) return NAN;
    switch (what) {
    case TIME: return median_of(c->us, ROUNDS);
    case PEAK: return c->peak;
    case READY: return median_of(c->ready, OPENINGS);
    case TRACE: return t->trace_ms;
    case WHOLE_TRACE: return t->whole_trace_ms;
    }
    return NAN;
}

static double reached(table *t, const struct target *target) {
    const cell *c = table_cell(t, target->net, target->maker);
    if (!target->against) return figure(t, c, target->measure);
    const cell *other = table_cell(t, target->net, target->against);
    if (c && target->measure == TIME) return median_ratio(c, other);
    return figure(t, c, target->measure) / figure(t, other, target->measure);
}

void targets_print(table *t) {
    static const char *const words[] = {"time", "peak memory", "making ready", "trace", "whole trace"};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        const struct target *target = &targets[i];
        if (target->threads != t->threads || !table_cell(t, target->net, "eager")->there) continue;
        const double got = reached(t, target);
        printf("%-9s %-12s %-13s %s%-13s %8.4f, at most %6.3f  %s\n", target->net, target->maker,
               words[target->measure], target->against ? "/ " : "  ", target->against ? target->against : "",
               got, target->most,
               isnan(got)            ? "NOT MEASURED"
               : got <= target->most ? "met"
                                     : "MISSED");
    }
}
