#include "modes/options.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dispatch/memory_impl.h"

/* "%p" becomes the pid, "%%" a percent sign. */
static char *expand(const char *out) {
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

sh_status sh_report_open(const char *out, FILE **file) {
    if (!out) out = secure_getenv("SHUNT_OUT");
    *file = stderr;
    if (!out || !*out || strcmp(out, "-") == 0) return SH_OK;
    char *path = expand(out);
    if (!path) return SH_ERROR_MEMORY;
    *file = fopen(path, "we");
    const sh_status status =
        *file ? SH_OK : sh_fail(SH_ERROR_FILE, "can't write %s: %s", path, strerror(errno));
    sh__free(path);
    return status;
}

static atomic_uint_fast64_t reports_lost;

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
