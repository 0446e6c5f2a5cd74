#include "modes/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
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
    *file = named ? open_path(path) : stderr;
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
