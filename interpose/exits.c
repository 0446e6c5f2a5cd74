/* exits.c - how a process that isn't ours ends, and what becomes of its reports then.
 *
 * An orderly end: libshunt's destructor writes them, and after every destructor comes what was registered here before
 * main: it writes SHUNT_JSON and lets a finding of SHUNT_FAIL_ON change a status of 0. _exit, quick_exit, abort and exec run
 * no destructors, so those are written before. A signal that kills leaves what was written by then: lines of log and trace.
 * The child of a fork keeps its status, and has reports if it made calls; one of vfork, with its parent's memory, is none
 * of our business. No thread and no signal handler is ours. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dispatch/finding.h"
#include "dispatch/memory_impl.h"
#include "modes/environment.h"
#include "modes/report.h"

static pid_t process; /* whose modes these are */
static bool is_child;

#define SEEN __attribute__((visibility("default")))

/* The C library's own; looked up before main, for a child of fork or vfork had better not. */
static void find(void *slot, const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(slot, &found, sizeof found);
}
static void (*real_exit_now)(int), (*real_quick_exit)(int), (*real_abort)(void);

/* ---- what a finding does ---- */

static bool names(const char *list, const char *kind) {
    const size_t n = strlen(kind);
    for (const char *at = list; (at = strstr(at, kind)); at += n)
        if ((at == list || at[-1] == ',') && (!at[n] || at[n] == ',')) return true;
    return false;
}

static bool fails(void) {
    const char *kinds = secure_getenv("SHUNT_FAIL_ON");
    if (!kinds || is_child) return false;
    return (names(kinds, "nan") && sh_finding_count_of(SH_FINDING_NAN)) ||
           (names(kinds, "inf") && sh_finding_count_of(SH_FINDING_INF)) ||
           (names(kinds, "mismatch") && sh_finding_count_of(SH_FINDING_MISMATCH));
}

static void write_json(void) {
    const char *out = secure_getenv("SHUNT_JSON");
    FILE *file;
    if (!out || !*out || !sh_finding_count()) return;
    if (sh_report_open(out, &file) < 0) {
        sh_warn("SHUNT_JSON: %s", sh_error()->message);
        sh_clear_error();
        return;
    }
    sh_findings_print_json(file);
    sh_report_close(file);
}

/* ---- ends ---- */

/* The last of all; once, though it calls exit again. */
static void at_exit(int status, void *unused) {
    static bool done;
    (void)unused;
    if (done || getpid() != process) return;
    done = true;
    write_json();
    if (status == 0 && fails()) exit(1);
}

/* Before an end without destructors: the status that it should have. */
static int end_now(int status) {
    if (getpid() != process) return status;
    sh__environment_report();
    write_json();
    return status == 0 && fails() ? 1 : status;
}

SEEN void _exit(int status) {
    if (!real_exit_now) find(&real_exit_now, "_exit");
    real_exit_now(end_now(status));
    __builtin_unreachable();
}

SEEN void _Exit(int status) { _exit(status); }

static int quick_status;

SEEN void quick_exit(int status) {
    if (!real_quick_exit) find(&real_quick_exit, "quick_exit");
    quick_status = status;
    real_quick_exit(status);
    __builtin_unreachable();
}

static void at_quick_exit_last(void) { real_exit_now(end_now(quick_status)); }

SEEN void abort(void) {
    static atomic_flag once = ATOMIC_FLAG_INIT;
    if (!real_abort) find(&real_abort, "abort");
    if (!atomic_flag_test_and_set(&once)) end_now(1);
    real_abort();
    __builtin_unreachable();
}

/* ---- another program ---- */

static void before_exec(void) {
    if (getpid() == process) sh__environment_report();
}

/* It did not come to that. */
static int after_exec(int result) {
    if (getpid() == process) sh__environment_renew();
    return result;
}

#define EXEC(name, parameters, arguments)            \
    static int(*real_##name) parameters;             \
    SEEN int name parameters {                       \
        if (!real_##name) find(&real_##name, #name); \
        before_exec();                               \
        return after_exec(real_##name arguments);    \
    }

EXEC(execve, (const char *path, char *const argv[], char *const env[]), (path, argv, env))
EXEC(execv, (const char *path, char *const argv[]), (path, argv))
EXEC(execvp, (const char *file, char *const argv[]), (file, argv))
EXEC(execvpe, (const char *file, char *const argv[], char *const env[]), (file, argv, env))
EXEC(fexecve, (int fd, char *const argv[], char *const env[]), (fd, argv, env))

/* ---- the beginning ---- */

static void in_child(void) {
    process = getpid();
    is_child = true;
    sh__environment_forked();
}

/* What is registered before main runs after all destructors. */
__attribute__((constructor)) static void begin(void) {
    find(&real_exit_now, "_exit");
    find(&real_quick_exit, "quick_exit");
    find(&real_abort, "abort");
    find(&real_execve, "execve");
    find(&real_execv, "execv");
    find(&real_execvp, "execvp");
    find(&real_execvpe, "execvpe");
    find(&real_fexecve, "fexecve");
    process = getpid();
    pthread_atfork(NULL, NULL, in_child);
    on_exit(at_exit, NULL);
    at_quick_exit(at_quick_exit_last);
}
