/* shadow.c - the shadow mode: each op's result beside that of another backend.
 *
 * The other backend runs first, on copies of what the op writes; then the op; then they are compared by what verify
 * compares with. The caller keeps the result of the op. Ops of chance, and calls that the other backend can't do, are
 * passed over. A library to compare with is opened at the first call: modes of the environment are made before the
 * interposer can open one, and `shunt exec` reads them to check them. */
#include "modes/shadow.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

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

static sh_library_opener the_opener;
void sh__set_shadow_library(sh_library_opener opener) { the_opener = opener; }

enum { NOT_OPEN = -1, UNUSABLE = -2 };

typedef struct shadow {
    sh_selection where;
    sh_sampling sampling;
    sh_tolerance tolerance;
    pthread_mutex_t lock;
    char *lib;          /* to be opened */
    atomic_int backend; /* NOT_OPEN: not yet; UNUSABLE: it can't be, which was said */
    char name[64];
    atomic_int_fast64_t calls;
    FILE *out;
} shadow;

/* Does the other backend know the call? Its results are then in `s`. An error only when memory is out. */
static sh_status run_other(const shadow *m, const sh_call *call, sh_shadow *s, bool *ran) {
    sh_status status = sh__shadow_begin(s, call);
    if (status >= 0) status = sh__shadow_run(s, sh__place_begin(call->op, (uint32_t)m->backend));
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

static sh_status find_backend(shadow *m) {
    const int found = sh_backend_find(m->name);
    if (found < 0) return sh_fail(SH_ERROR_VALUE, "shadow: there is no backend %s", m->name);
    m->backend = found;
    return SH_OK;
}

static sh_status open_library(shadow *m) {
    if (!the_opener)
        return sh_fail(SH_ERROR_SPEC, "shadow: lib=%s needs a program under `shunt exec`", m->lib);
    SH_TRY(the_opener(m->lib, m->name, sizeof m->name));
    return find_backend(m);
}

/* Is there a backend to compare with? The program goes on without one, after a warning. */
static bool ready(shadow *m) {
    if (SH_LIKELY(m->backend != NOT_OPEN)) return m->backend >= 0;
    pthread_mutex_lock(&m->lock);
    if (m->backend == NOT_OPEN && open_library(m) < 0) {
        m->backend = UNUSABLE;
        sh_warn("%s; nothing is compared", sh_error() ? sh_error()->message : "shadow: no library");
        sh_clear_error();
    }
    pthread_mutex_unlock(&m->lock);
    return m->backend >= 0;
}

static sh_status on_call(sh_mode *mode, sh_call *call) {
    shadow *m = sh_mode_user(mode);
    if (!sh_selection_match(&m->where, call) || (sh_op_tags(sh_call_op_of(call)) & SH_OP_RANDOM))
        return SH_PASS;
    if (!ready(m)) return SH_PASS;
    if (!call->scanned) SH_TRY(sh__call_scan(call));
    if ((sh_device)call->device != sh_backend_device((uint32_t)m->backend)) return SH_PASS;
    const int64_t number = atomic_fetch_add_explicit(&m->calls, 1, memory_order_relaxed) + 1;
    return sh_sampling_takes(&m->sampling, number) ? run_both(m, call) : SH_PASS;
}

/* ---- making ---- */

static sh_status choose_backend(shadow *m, const sh_options *o) {
    const char *lib = sh_option_text(o, "lib"), *backend = sh_option_text(o, "backend");
    if (lib && backend) return sh_fail(SH_ERROR_SPEC, "shadow: give backend= or lib=, not both");
    m->backend = NOT_OPEN;
    if (lib && strchr(lib, '/') && access(lib, R_OK) < 0)
        return sh_fail(SH_ERROR_FILE, "shadow: can't read %s: %s", lib, strerror(errno));
    if (lib) return (m->lib = sh__strdup(lib)) ? SH_OK : SH_ERROR_MEMORY;
    snprintf(m->name, sizeof m->name, "%s", backend ? backend : "ref");
    return find_backend(m);
}

static void shadow_free(void *user) {
    shadow *m = user;
    sh_selection_free(&m->where);
    sh_report_close(m->out);
    pthread_mutex_destroy(&m->lock);
    sh__free(m->lib);
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
    pthread_mutex_init(&m->lock, NULL);
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
