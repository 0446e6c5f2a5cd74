/* finding.h - what a check found: what, where, which element, why, and what to do next.
 *
 * Findings are counted and the first ones kept for the whole process, so that the tool can choose its exit code
 * and write them as JSON. Reporting one prints it to the mode's stream. */
#ifndef SH_DISPATCH_FINDING_H
#define SH_DISPATCH_FINDING_H

#include <stdio.h>

#include "dispatch/mode.h"

SH_BEGIN_DECLS

typedef enum sh_finding_kind {
    SH_FINDING_OTHER,
    SH_FINDING_NAN,
    SH_FINDING_INF,
    SH_FINDING_MISMATCH
} sh_finding_kind;

typedef struct sh_finding {
    const char *mode; /* "nancheck" */
    char what[160];   /* "NaN born in sqrt" */
    char call[512];   /* "sqrt(f32[2, 4]) -> f32[2, 4]" */
    char scope[256];  /* node or named scope, "" if none */
    char site[256];   /* "net.c:31 in forward", "" if not known */
    char index[96];   /* "[0, 3]" */
    char inputs[512]; /* "self[0, 3] = -1.5" */
    char why[256];
    char next[256];     /* the command to type */
    int64_t bad, total; /* bad elements of the result, of how many */
    sh_finding_kind kind;
} sh_finding;

/* Takes it into the process's list, unprinted: for who has another way to say it. */
void sh_finding_keep(const sh_finding *finding);
/* Prints it to `out` and takes it into the process's list. */
void sh_finding_report(FILE *out, const sh_finding *finding);

/* Findings of all modes so far. */
SH_API uint64_t sh_finding_count(void);
SH_API uint64_t sh_finding_count_of(sh_finding_kind kind);
/* The i-th of those kept (the first 64); NULL past the last. Good until the process ends. */
SH_API const sh_finding *sh_finding_at(size_t i);
/* One line of JSON: this process's id and its kept findings, each as an object of the struct's texts. */
SH_API void sh_findings_print_json(FILE *out);
/* In the child of a fork: they are the parent's. */
void sh__findings_forked(void);

SH_END_DECLS

#endif
