/* policy.h - how far a kernel is trusted: "verify:first=10,then=1/100,tol=1e-4;fallback". */
#ifndef SH_DISPATCH_POLICY_H
#define SH_DISPATCH_POLICY_H

#include "dispatch/options.h"
#include "dispatch/shadow.h"

/* In verify and in the shadow mode: which calls are compared, and how closely. */
#define SH_COMPARE_OPTIONS(first, then)                                                                \
    {"first", SH_OPTION_INT, first, NULL, "compare the first so many calls"},                          \
        {"then", SH_OPTION_SHARE, then, NULL, "after them one call of M: 1/M; 0 for none, 1 for all"}, \
        {"tol", SH_OPTION_NUMBER, NULL, NULL, "relative tolerance (rtol and tol are one)"},            \
        {"rtol", SH_OPTION_NUMBER, NULL, NULL, "relative tolerance; by the dtype if not given"}, {     \
        "atol", SH_OPTION_NUMBER, NULL, NULL,                                                          \
            "absolute tolerance; rtol times the mean magnitude of what is expected if not given"       \
    }

/* Calls are numbered from 1. */
typedef struct sh_sampling {
    int64_t first, every; /* the first so many, then each one of `every`; 0: none */
} sh_sampling;
static inline bool sh_sampling_takes(const sh_sampling *s, int64_t number) {
    return number <= s->first || (s->every && (number - s->first) % s->every == 0);
}
sh_status sh_compare_read(sh_sampling *sampling, sh_tolerance *tolerance, const sh_options *o);

typedef struct sh_policy {
    bool verify, fallback;
    sh_sampling sampling;
    sh_tolerance tolerance;
} sh_policy;

/* Reads a policy; NULL or "" is none. A bad text is an error that points at its place. */
sh_status sh_policy_parse(sh_policy *policy, const char *text);

#endif
