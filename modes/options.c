#include "modes/options.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dispatch/memory_impl.h"

const char *sh_option_text(const sh_options *o, const char *name) {
    for (size_t i = 0; o->type->options[i].name; i++)
        if (strcmp(o->type->options[i].name, name) == 0)
            return o->text[i] ? o->text[i] : o->type->options[i].standard;
    return NULL;
}

bool sh_option_flag(const sh_options *o, const char *name) {
    const char *text = sh_option_text(o, name);
    return text && strchr("1tyTY", *text) != NULL && *text ? true : text && strcmp(text, "on") == 0;
}

int64_t sh_option_int(const sh_options *o, const char *name) {
    const char *text = sh_option_text(o, name);
    return text ? strtoll(text, NULL, 10) : 0;
}

double sh_option_number(const sh_options *o, const char *name) {
    const char *text = sh_option_text(o, name);
    return text ? strtod(text, NULL) : 0;
}

static bool read_bound(const char **at, int64_t *bound) {
    char *end;
    if (**at < '0' || **at > '9') return true;
    errno = 0;
    *bound = strtoll(*at, &end, 10);
    *at = end;
    return errno == 0;
}

bool sh__range_parse(const char *text, int64_t *low, int64_t *high) {
    const char *at = text;
    *low = 0;
    *high = INT64_MAX;
    if (!read_bound(&at, low)) return false;
    if (at != text && !*at) {
        *high = *low;
        return true;
    }
    if (strncmp(at, "..", 2) != 0) return false;
    at += 2;
    return read_bound(&at, high) && !*at && strlen(text) > 2 && *high >= *low;
}

void sh_option_range(const sh_options *o, const char *name, int64_t *low, int64_t *high) {
    const char *text = sh_option_text(o, name);
    *low = 0;
    *high = INT64_MAX;
    if (text) sh__range_parse(text, low, high);
}

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
