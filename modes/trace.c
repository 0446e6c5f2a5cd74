/* trace.c - the trace mode: Chrome trace JSON, for chrome://tracing and Perfetto.
 *
 * The array form, streamed: a begin event is on disk before its op runs, so after a crash the file still loads and ends
 * with that op, its shapes and the kernel that it was to run. The closing bracket comes when the mode dies and is optional in this format. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dispatch/candidates.h"
#include "dispatch/memory_impl.h"
#include "dispatch/quote.h"
#include "dispatch/site.h"
#include "dispatch/where.h"
#include "modes/options.h"

const sh_option sh__trace_options[] = {
    {"out", SH_OPTION_STRING, "trace-%p.json", NULL, "file to write, %p is the pid"},
    {"level", SH_OPTION_CHOICE, "function", "function|dispatch",
     "dispatch also sees what composites are made of"},
    SH_WHERE_OPTIONS,
    {NULL, SH_OPTION_STRING, NULL, NULL, NULL},
};

typedef struct tracer {
    sh_selection where;
    FILE *out;
    struct timespec start;
    bool warned;
} tracer;

static double now_us(const tracer *t) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - t->start.tv_sec) * 1e6 + (double)(now.tv_nsec - t->start.tv_nsec) / 1e3;
}

static void end_event(tracer *t) {
    fputs("},\n", t->out);
    if (fflush(t->out) != 0 && !t->warned) {
        t->warned = true;
        sh_warn("trace: can't write: %s; the trace ends here", strerror(errno));
    }
    funlockfile(t->out);
}

static void begin_event(tracer *t, char phase, const char *name) {
    flockfile(t->out);
    fputs("{\"name\":", t->out);
    sh__quote(t->out, name);
    fprintf(t->out, ",\"ph\":\"%c\",\"ts\":%.3f,\"pid\":%ld,\"tid\":%ld", phase, now_us(t), (long)getpid(),
            (long)gettid());
}

static void put_results(FILE *out, const sh_call *call) {
    char text[512] = "";
    size_t n = 0;
    for (uint32_t i = 0; i < sh_call_nresults(call) && n < sizeof text; i++) {
        if (i) n += (size_t)snprintf(text + n, sizeof text - n, ", ");
        if (n < sizeof text) n += sh_value_print(sh_call_result(call, i), text + n, sizeof text - n);
    }
    sh__quote(out, text);
}

static sh_status on_call(sh_mode *mode, sh_call *call) {
    tracer *t = sh_mode_user(mode);
    if (!sh_selection_match(&t->where, call)) return SH_PASS;
    char line[1024], name[96], kernel[160], site[256] = "";
    sh_call_print(call, line, sizeof line);
    sh__call_kernel_print(call, kernel, sizeof kernel);
    snprintf(name, sizeof name, "%s", sh_call_name(call));
    if (sh__has_site_namer()) sh__call_site_text(call, site, sizeof site);
    begin_event(t, 'B', name);
    fputs(",\"args\":{\"call\":", t->out);
    sh__quote(t->out, line);
    fputs(",\"scope\":", t->out);
    sh__quote(t->out, sh_scope_path());
    fputs(",\"kernel\":", t->out);
    sh__quote(t->out, kernel);
    if (*site) fputs(",\"site\":", t->out);
    if (*site) sh__quote(t->out, site);
    fputc('}', t->out);
    end_event(t);
    const sh_status status = sh_next(call);
    begin_event(t, 'E', name);
    fputs(",\"args\":{\"result\":", t->out);
    if (status < 0)
        sh__quote(t->out, sh_error()->message);
    else
        put_results(t->out, call);
    fputc('}', t->out);
    end_event(t);
    return status < 0 ? status : SH_PASS;
}

static void tracer_free(void *user) {
    tracer *t = user;
    if (t->out)
        fprintf(t->out,
                "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%ld,\"args\":{\"name\":\"shunt\"}}\n]\n",
                (long)getpid());
    sh_selection_free(&t->where);
    sh_report_close(t->out);
    sh__free(t);
}

sh_status sh__trace_make(const sh_options *o, sh_mode **mode) {
    tracer *t = sh__calloc(1, sizeof *t);
    if (!t) return SH_ERROR_MEMORY;
    clock_gettime(CLOCK_MONOTONIC, &t->start);
    sh_status status = sh_selection_read(&t->where, o);
    if (status >= 0) status = sh_report_open(sh_option_text(o, "out"), &t->out);
    if (status >= 0) {
        fputs("[\n", t->out);
        *mode = sh_mode_new(on_call, &(sh_mode_options){
                                         .name = "trace",
                                         .level = strcmp(sh_option_text(o, "level"), "dispatch") == 0
                                                      ? SH_LEVEL_DISPATCH
                                                      : SH_LEVEL_FUNCTION,
                                         .kind = SH_MODE_WATCHING,
                                         .flags = sh_selection_counts(&t->where) ? SH_MODE_COUNTS_CALLS : 0,
                                         .user = t,
                                         .destroy = tracer_free,
                                     });
        if (*mode) return SH_OK;
        status = sh_error()->code;
    }
    tracer_free(t);
    return status;
}
