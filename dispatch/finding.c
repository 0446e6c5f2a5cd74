#include "dispatch/finding.h"

#include <pthread.h>
#include <stdatomic.h>

enum { KEPT = 64 };
static sh_finding kept[KEPT];
static size_t nkept;
static atomic_uint_fast64_t count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void row(FILE *out, const char *name, const char *text) {
    if (*text) fprintf(out, "  %-7s %s\n", name, text);
}

void sh_finding_keep(const sh_finding *f) {
    atomic_fetch_add(&count, 1);
    pthread_mutex_lock(&lock);
    if (nkept < KEPT) kept[nkept++] = *f;
    pthread_mutex_unlock(&lock);
}

void sh_finding_report(FILE *out, const sh_finding *f) {
    sh_finding_keep(f);
    flockfile(out);
    fprintf(out, "%s: %s%s%s\n", f->mode, f->what, *f->index ? " at " : "", f->index);
    row(out, "scope", f->scope);
    row(out, "called", f->site);
    row(out, "call", f->call);
    row(out, "inputs", f->inputs);
    row(out, "why", f->why);
    if (f->total)
        fprintf(out, "  %-7s %lld of %lld elements\n", "bad", (long long)f->bad, (long long)f->total);
    row(out, "next", f->next);
    fflush(out);
    funlockfile(out);
}

uint64_t sh_finding_count(void) { return atomic_load(&count); }

const sh_finding *sh_finding_at(size_t i) {
    pthread_mutex_lock(&lock);
    const size_t n = nkept;
    pthread_mutex_unlock(&lock);
    return i < n ? &kept[i] : NULL;
}
