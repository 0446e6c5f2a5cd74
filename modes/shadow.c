/* shadow.c - the shadow mode: each op's result beside that of another backend.
 *
 * The other backend runs first, on copies of what the op writes; then the op; then they are compared by what verify
 * compares with. The caller keeps the result of the op. Ops of chance, and calls that the other backend can't do, are
 * passed over. */
#include "modes/shadow.h"

#include <string.h>

#include "dispatch/memory_impl.h"
#include "dispatch/policy.h"
#include "dispatch/where.h"
#include "modes/options.h"

const sh_option sh__shadow_options[] = {
    {"backend", SH_OPTION_STRING, NULL, NULL, "the backend to compare with; default ref"},
    {"lib", SH_OPTION_STRING, NULL, NULL, "a BLAS library to compare with, by path (under shunt exec)"},
    SH_COMPARE_OPTIONS("1000", "1/100"),
    {"out", SH_OPTION_STRING, NULL, NULL, "file to write, %p is the pid; default stderr"},
    {"level", SH_OPTION_CHOICE, "function", "function|dispatch",
     "dispatch also sees what composites are made of"},
    SH_WHERE_OPTIONS,
    {NULL, SH_OPTION_STRING, NULL, NULL, NULL},
};

sh_status (*sh__shadow_library)(const char *path, char *backend, size_t size);

typedef struct shadow {
    sh_selection where;
    sh_sampling sampling;
    sh_tolerance tolerance;
    uint32_t backend;
    char name[64];
    atomic_int_fast64_t calls;
    FILE *out;
} shadow;

/* Does the other backend know the call? Its results are then in `s`. An error only when memory is out. */
static sh_status run_other(const shadow *m, const sh_call *call, sh_shadow *s, bool *ran) {
    sh_status status = sh__shadow_begin(s, call);
    if (status >= 0) status = sh__shadow_run(s, sh__place_begin(call->op, m->backend));
    *ran = status >= 0;
    if (*ran || status == SH_ERROR_MEMORY) return status;
    sh_clear_error();
    return SH_OK;
}

static void compare(const shadow *m, const sh_call *call, const sh_shadow *s) {
    sh_difference d;
    sh_finding f;
    sh__shadow_compare(s, call, &m->tolerance, &d);
    if (!d.differs) return;
    sh__difference_tell(&d, call, "shadow", "the result", m->name, &f);
    snprintf(f.what, sizeof f.what, "%.80s differs from %.60s", sh_call_name(call), m->name);
    sh_finding_report(m->out, &f);
}

static sh_status run_both(const shadow *m, sh_call *call) {
    sh_shadow s;
    bool ran = false;
    sh_status status = run_other(m, call, &s, &ran);
    if (status >= 0) status = sh_next(call);
    if (status >= 0 && ran) compare(m, call, &s);
    sh__shadow_free(&s);
    return status < 0 ? status : SH_PASS;
}

static sh_status on_call(sh_mode *mode, sh_call *call) {
    shadow *m = sh_mode_user(mode);
    if (!sh_selection_match(&m->where, call) || (sh_op_tags(sh_call_op_of(call)) & SH_OP_RANDOM))
        return SH_PASS;
    if (!call->scanned) SH_TRY(sh__call_scan(call));
    if ((sh_device)call->device != sh_backend_device(m->backend)) return SH_PASS;
    const int64_t number = atomic_fetch_add_explicit(&m->calls, 1, memory_order_relaxed) + 1;
    return sh_sampling_takes(&m->sampling, number) ? run_both(m, call) : SH_PASS;
}

/* ---- making ---- */

static sh_status choose_backend(shadow *m, const sh_options *o) {
    const char *lib = sh_option_text(o, "lib"), *backend = sh_option_text(o, "backend");
    if (lib && backend) return sh_fail(SH_ERROR_SPEC, "shadow: give backend= or lib=, not both");
    if (lib && !sh__shadow_library)
        return sh_fail(SH_ERROR_SPEC, "shadow: lib=%s needs a program under `shunt exec`", lib);
    snprintf(m->name, sizeof m->name, "%s", backend ? backend : "ref");
    if (lib) SH_TRY(sh__shadow_library(lib, m->name, sizeof m->name));
    const int found = sh_backend_find(m->name);
    if (found < 0) return sh_fail(SH_ERROR_VALUE, "shadow: there is no backend %s", m->name);
    m->backend = (uint32_t)found;
    return SH_OK;
}

static void shadow_free(void *user) {
    shadow *m = user;
    sh_selection_free(&m->where);
    sh_report_close(m->out);
    sh__free(m);
}

static sh_status read_all(shadow *m, const sh_options *o) {
    SH_TRY(choose_backend(m, o));
    SH_TRY(sh_compare_read(&m->sampling, &m->tolerance, o));
    SH_TRY(sh_selection_read(&m->where, o));
    return sh_report_open(sh_option_text(o, "out"), &m->out);
}

sh_status sh__shadow_make(const sh_options *o, sh_mode **mode) {
    shadow *m = sh__calloc(1, sizeof *m);
    if (!m) return SH_ERROR_MEMORY;
    sh_status status = read_all(m, o);
    if (status >= 0) {
        *mode = sh_mode_new(on_call, &(sh_mode_options){
                                         .name = "shadow",
                                         .level = strcmp(sh_option_text(o, "level"), "dispatch") == 0
                                                      ? SH_LEVEL_DISPATCH
                                                      : SH_LEVEL_FUNCTION,
                                         .kind = SH_MODE_WATCHING,
                                         .flags = sh_selection_counts(&m->where) ? SH_MODE_COUNTS_CALLS : 0,
                                         .user = m,
                                         .destroy = shadow_free,
                                     });
        if (*mode) return SH_OK;
        status = sh_error()->code;
    }
    shadow_free(m);
    return status;
}
