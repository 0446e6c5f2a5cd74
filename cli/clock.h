/* clock.h - times of runs, and what is said of them. */
#ifndef SH_CLI_CLOCK_H
#define SH_CLI_CLOCK_H

#include <stddef.h>

/* Seconds, from a beginning of its own. */
double cli_now(void);

typedef struct cli_times {
    double median, low, high;
} cli_times;
/* Of n seconds, n > 0, which are sorted. */
cli_times cli_times_of(double *seconds, size_t n);

#endif
