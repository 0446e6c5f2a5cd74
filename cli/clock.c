#include "cli/clock.h"

#include <stdlib.h>
#include <time.h>

double cli_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b) {
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

cli_times cli_times_of(double *seconds, size_t n) {
    qsort(seconds, n, sizeof *seconds, by_value);
    return (cli_times){seconds[n / 2], seconds[0], seconds[n - 1]};
}
