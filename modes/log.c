/* log.c - the log mode: one line a call, with dtypes and shapes of inputs and outputs.
 *
 *     [Net.conv1] conv2d(f32[1, 3, 8, 8], f32[4, 3, 3, 3], stride=[2, 2]) -> f32[1, 4, 3, 3]
 *
 * With site=1 each line ends with where the call was made: " at net.c:31 in forward". `shunt exec` has that by default.
 * A line is written in one piece, so that threads do not mix. Calls inside composites are indented. */
#include <string.h>

#include "dispatch/memory_impl.h"
#include "dispatch/site.h"
#include "dispatch/where.h"
#include "modes/options.h"

const sh_option sh__log_options[] = {
    {"out", SH_OPTION_STRING, NULL, NULL, "file to write, %p is the pid; default stderr"},
    {"level", SH_OPTION_CHOICE, "function", "function|dispatch",
     "dispatch also sees what composites are made of"},
    {"site", SH_OPTION_FLAG, NULL, NULL,
     "end lines with the caller, its line or symbol; default 1 under shunt exec"},
    SH_WHERE_OPTIONS,
    {NULL, SH_OPTION_STRING, NULL, NULL, NULL},
};

typedef struct logger {
    sh_selection where;
    FILE *out;
    bool site, site_given;
} logger;

/* Where it was made, or nothing: asked for before the stream is locked, since an interpreter may have to be waited for. */
static void tell_site(const logger *l, const sh_call *call, char *text, size_t size) {
    *text = 0;
    if (l->site_given ? l->site : sh__has_site_namer()) sh__call_site_text(call, text, size);
}

static sh_status on_call(sh_mode *mode, sh_call *call) {
    const logger *l = sh_mode_user(mode);
    char line[2048], site[256];
    if (!sh_selection_match(&l->where, call)) return SH_PASS;
    const sh_status status = sh_next(call);
    sh_call_print(call, line, sizeof line);
    tell_site(l, call, site, sizeof site);
    const char *path = sh_scope_path();
    flockfile(l->out);
    for (uint32_t i = 0; i < sh_call_depth(call); i++) fputs("  ", l->out);
    if (*path) fprintf(l->out, "[%s] ", path);
    fprintf(l->out, "%s%s%s%s\n", line, status < 0 ? " -> error" : "", *site ? " at " : "", site);
    funlockfile(l->out);
    return status < 0 ? status : SH_PASS;
}

static void log_free(void *user) {
    logger *l = user;
    sh_selection_free(&l->where);
    sh_report_close(l->out);
    sh__free(l);
}

static void flush(sh_mode *mode, bool global) {
    (void)global;
    fflush(((const logger *)sh_mode_user(mode))->out);
}

sh_status sh__log_make(const sh_options *o, sh_mode **mode) {
    logger *l = sh__calloc(1, sizeof *l);
    if (!l) return SH_ERROR_MEMORY;
    l->site = sh_option_flag(o, "site");
    l->site_given = sh_option_text(o, "site") != NULL;
    sh_status status = sh_selection_read(&l->where, o);
    if (status >= 0) status = sh_report_open(sh_option_text(o, "out"), &l->out);
    if (status >= 0) {
        *mode = sh_mode_new(on_call, &(sh_mode_options){
                                         .name = "log",
                                         .level = strcmp(sh_option_text(o, "level"), "dispatch") == 0
                                                      ? SH_LEVEL_DISPATCH
                                                      : SH_LEVEL_FUNCTION,
                                         .kind = SH_MODE_WATCHING,
                                         .flags = sh_selection_counts(&l->where) ? SH_MODE_COUNTS_CALLS : 0,
                                         .user = l,
                                         .destroy = log_free,
                                         .popped = flush,
                                     });
        if (*mode) return SH_OK;
        status = sh_error()->code;
    }
    log_free(l);
    return status;
}
