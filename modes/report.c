#include "modes/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dispatch/memory_impl.h"
#include "modes/spec.h"

static atomic_uint_fast64_t reports_lost;
static atomic_bool appends;
static __thread bool muted;

void sh__report_mute(bool on) { muted = on; }
void sh__report_append(void) { atomic_store(&appends, true); }

char *sh__report_path(const char *out) {
    char *path = sh__alloc(strlen(out) * 8 + 1), *to = path;
    for (const char *at = out; path && *at; at++) {
        if (at[0] == '%' && at[1] == 'p')
            to += sprintf(to, "%ld", (long)getpid());
        else if (at[0] == '%' && at[1] == '%')
            *to++ = '%';
        else {
            *to++ = *at;
            continue;
        }
        at++;
    }
    if (path) *to = 0;
    return path;
}

static bool goes_on(void) {
    const char *text = secure_getenv("SHUNT_APPEND");
    return atomic_load(&appends) || (text && strcmp(text, "1") == 0);
}

static FILE *open_path(const char *path) {
    const bool append = goes_on() && !muted;
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
              fd = open(path, append ? flags : flags | O_TRUNC, 0666);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "a");
    if (fd >= 0 && !file) close(fd);
    if (file) setvbuf(file, NULL, _IOLBF, 0);
    return file;
}

/* ---- standard error of a program that isn't ours ---- it may close it, and a file of its own then has
 * that number. If it closes our copy too, nobody gets the rest. */

typedef struct origin {
    int fd; /* ours */
    dev_t device;
    ino_t inode;
} origin;

static ssize_t origin_write(void *cookie, const char *text, size_t n) {
    const origin *o = cookie;
    struct stat now;
    if (fstat(o->fd, &now) != 0 || now.st_dev != o->device || now.st_ino != o->inode) return (ssize_t)n;
    const ssize_t written = write(o->fd, text, n);
    return written < 0 ? 0 : written;
}

static int origin_close(void *cookie) {
    origin *o = cookie;
    struct stat now;
    if (fstat(o->fd, &now) == 0 && now.st_dev == o->device && now.st_ino == o->inode) close(o->fd);
    sh__free(o);
    return 0;
}

/* Above what programs number their files with. */
enum { HIGH = 200 };

static int dup_stderr(void) {
    const int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, HIGH);
    return fd >= 0 ? fd : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

/* Where the program began with none, reports are for nobody. */
static FILE *open_origin(void) {
    struct stat at;
    const int fd = dup_stderr();
    if (fd < 0 || fstat(fd, &at) != 0) return fopen("/dev/null", "we");
    origin *o = sh__alloc(sizeof *o);
    if (o) *o = (origin){fd, at.st_dev, at.st_ino};
    const cookie_io_functions_t functions = {.write = origin_write, .close = origin_close};
    FILE *file = o ? fopencookie(o, "w", functions) : NULL;
    if (file) {
        setvbuf(file, NULL, _IOLBF, 0);
        return file;
    }
    sh__free(o);
    close(fd);
    return NULL;
}

/* Reports are for nobody: the file is begun all the same. */
static FILE *open_muted(FILE *file) {
    if (file && file != stderr && fclose(file) != 0) return NULL;
    return file ? fopen("/dev/null", "we") : NULL;
}

sh_status sh_report_open(const char *out, FILE **file) {
    if (!out) out = secure_getenv("SHUNT_OUT");
    const bool named = out && *out && strcmp(out, "-") != 0;
    char *path = named ? sh__report_path(out) : NULL;
    if (named && !path) return SH_ERROR_MEMORY;
    *file = named ? open_path(path) : goes_on() ? open_origin() : stderr;
    if (muted) *file = open_muted(*file);
    const sh_status status =
        *file ? SH_OK
              : sh_fail(SH_ERROR_FILE, "can't write %s: %s", named ? path : "/dev/null", strerror(errno));
    sh__free(path);
    return status;
}

uint64_t sh_reports_lost(void) { return atomic_load(&reports_lost); }

/* What an earlier write failed of is not known any more. */
void sh_report_close(FILE *file) {
    if (!file) return;
    const bool failed = (file == stderr ? fflush(file) : 0) != 0 || ferror(file) != 0;
    const bool open = file != stderr && fclose(file) != 0;
    if (!failed && !open) return;
    atomic_fetch_add(&reports_lost, 1);
    sh_warn("a report is not complete: %s", failed ? "a write failed" : strerror(errno));
}
