/* status.c - the thread's pending error, and warnings.
 *
 * Messages quote names and bytes of files, so control characters are taken out of them.
 * Reporting cannot fail: a thread without a cold part (no memory for it) shares one static record that
 * says so. The first error stays; a later sh_fail leaves it in place. */
#include "dispatch/status.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/cold.h"
#include "dispatch/text.h"

static const sh_error_info out_of_memory = {SH_ERROR_MEMORY, "", "", "out of memory"};

const sh_error_info *sh_error(void) {
    const sh_thread *thread = &sh__thread;
    if (!(thread->gate & SH_GATE_ERROR)) return NULL;
    return thread->cold ? &thread->cold->error : &out_of_memory;
}

void sh_clear_error(void) { sh__thread.gate &= ~(uint32_t)SH_GATE_ERROR; }

sh_status sh_fail(sh_status code, const char *format, ...) {
    const sh_error_info *pending = sh_error();
    if (pending) return pending->code;
    if (code >= 0) code = SH_ERROR_CALLBACK;
    sh_thread_cold *cold = sh__thread.cold ? sh__thread.cold : sh__cold();
    sh__thread.gate |= SH_GATE_ERROR;
    if (!cold) return SH_ERROR_MEMORY;
    va_list list;
    va_start(list, format);
    vsnprintf(cold->message, sizeof cold->message, format, list);
    va_end(list);
    sh__disarm(cold->message);
    cold->error_op[0] = cold->error_where[0] = 0;
    cold->error = (sh_error_info){code, cold->error_op, cold->error_where, cold->message};
    return code;
}

void sh__error_at(const char *op, const char *where_kind, const char *where_name) {
    sh_thread_cold *cold = sh__thread.cold;
    if (!cold || !sh__error_pending()) return;
    if (op && !cold->error_op[0]) snprintf(cold->error_op, sizeof cold->error_op, "%s", op);
    if (where_kind && !cold->error_where[0])
        snprintf(cold->error_where, sizeof cold->error_where, "%s %s", where_kind, where_name);
}

sh_status sh__error_ensure(sh_status status) {
    const sh_error_info *pending = sh_error();
    if (pending) return pending->code;
    return sh_fail(status, "%s", sh_status_text(status));
}

void sh__error_put_aside(sh_aside *aside) {
    const sh_thread_cold *cold = sh__thread.cold;
    const sh_error_info *error = sh_error();
    aside->pending = error != NULL;
    if (!error) return;
    aside->error = *error;
    sh_clear_error();
    if (!cold) return;
    memcpy(aside->message, cold->message, sizeof aside->message);
    memcpy(aside->error_op, cold->error_op, sizeof aside->error_op);
    memcpy(aside->error_where, cold->error_where, sizeof aside->error_where);
}

/* The static error points to no text of the thread's. */
void sh__error_put_back(const sh_aside *aside) {
    sh_thread_cold *cold = sh__thread.cold;
    sh_clear_error();
    if (!aside->pending) return;
    sh__thread.gate |= SH_GATE_ERROR;
    if (!cold) return;
    cold->error = aside->error;
    if (aside->error.message != cold->message) return;
    memcpy(cold->message, aside->message, sizeof aside->message);
    memcpy(cold->error_op, aside->error_op, sizeof aside->error_op);
    memcpy(cold->error_where, aside->error_where, sizeof aside->error_where);
}

static const struct {
    const char *name, *text;
} codes[] = {
#define SH_ERROR(name, text) {"SH_ERROR_" #name, text},
#include "dispatch/errors.def"
#undef SH_ERROR
};

static int code_index(sh_status status) {
    const int i = (int)status - SH__ERROR_BASE - 1;
    return i >= 0 && i < (int)(sizeof codes / sizeof *codes) ? i : -1;
}

const char *sh_status_text(sh_status status) {
    if (status >= 0) return status == SH_PASS ? "go on with the call" : "no error";
    return code_index(status) < 0 ? "an error of an unknown kind" : codes[code_index(status)].text;
}

const char *sh_status_name(sh_status status) {
    if (status >= 0) return status == SH_PASS ? "SH_PASS" : "SH_OK";
    return code_index(status) < 0 ? "SH_ERROR_?" : codes[code_index(status)].name;
}

static void sink_stderr(const char *line, void *user) {
    (void)user;
    fprintf(stderr, "shunt: %s\n", line);
}

void sh_warnings_off(const char *line, void *user) {
    (void)line;
    (void)user;
}

static pthread_mutex_t sink_lock = PTHREAD_MUTEX_INITIALIZER;
static sh_warning_sink the_sink = sink_stderr;
static void *sink_user;

void sh_set_warning_sink(sh_warning_sink sink, void *user) {
    pthread_mutex_lock(&sink_lock);
    the_sink = sink ? sink : sink_stderr;
    sink_user = user;
    pthread_mutex_unlock(&sink_lock);
}

void sh_warn(const char *format, ...) {
    char line[SH_MESSAGE_SIZE];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    sh__disarm(line);
    pthread_mutex_lock(&sink_lock);
    const sh_warning_sink sink = the_sink;
    void *user = sink_user;
    pthread_mutex_unlock(&sink_lock);
    sink(line, user);
}

const char *sh_version(void) { return SH_VERSION_STRING; }
