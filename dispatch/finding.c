#include "dispatch/finding.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "dispatch/quote.h"

enum { KEPT = 64, KINDS = SH_FINDING_MISMATCH + 1 };
static sh_finding kept[KEPT];
static size_t nkept;
static atomic_uint_fast64_t count, count_of[KINDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void row(FILE *out, const char *name, const char *text) {
    if (*text) fprintf(out, "  %-7s %s\n", name, text);
}

void sh_finding_keep(const sh_finding *f) {
    atomic_fetch_add(&count, 1);
    atomic_fetch_add(&count_of[f->kind], 1);
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
uint64_t sh_finding_count_of(sh_finding_kind kind) { return atomic_load(&count_of[kind]); }

const sh_finding *sh_finding_at(size_t i) {
    pthread_mutex_lock(&lock);
    const size_t n = nkept;
    pthread_mutex_unlock(&lock);
    return i < n ? &kept[i] : NULL;
}

void sh__findings_forked(void) {
    pthread_mutex_init(&lock, NULL);
    nkept = 0;
    atomic_store(&count, 0);
    for (int i = 0; i < KINDS; i++) atomic_store(&count_of[i], 0);
}

/* ---- JSON ---- */

static void member(FILE *out, const char *name, const char *text) {
    fprintf(out, "\"%s\": ", name);
    sh__quote(out, text);
    fputs(", ", out);
}

static void print_json(FILE *out, const sh_finding *f) {
    fputc('{', out);
    member(out, "mode", f->mode);
    member(out, "what", f->what);
    member(out, "index", f->index);
    member(out, "scope", f->scope);
    member(out, "called", f->site);
    member(out, "call", f->call);
    member(out, "inputs", f->inputs);
    member(out, "why", f->why);
    member(out, "next", f->next);
    fprintf(out, "\"bad\": %lld, \"total\": %lld}", (long long)f->bad, (long long)f->total);
}

void sh_findings_print_json(FILE *out) {
    const sh_finding *f;
    fprintf(out, "{\"pid\": %ld, \"count\": %llu, \"findings\": [", (long)getpid(),
            (unsigned long long)sh_finding_count());
    for (size_t i = 0; (f = sh_finding_at(i)); i++) {
        if (i) fputs(", ", out);
        print_json(out, f);
    }
    fputs("]}\n", out);
}
