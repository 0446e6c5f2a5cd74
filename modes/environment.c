/* environment.c - SHUNT_HOOK, SHUNT_MODES, SHUNT_BACKEND, SHUNT_VERBOSE, SHUNT_STRICT: the twins of the command line's flags, obeyed by any
 * program linked with the library, statically too.
 *
 * Read once, before main, by secure_getenv. A bad value is one warning, and the program goes on without it
 * unless SHUNT_STRICT=1. Modes from the environment stay pushed to the end, when their reports are written. */
#include "modes/environment.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/finding.h"
#include "dispatch/site.h"
#include "dispatch/verbose.h"
#include "modes/hooks.h"
#include "modes/report.h"
#include "modes/spec.h"

static sh_status result = SH_OK;

static void tell(const char *name) {
    const sh_error_info *error = sh_error();
    sh_warn("%s: %s", name, error ? error->message : "not usable");
    if (result >= 0) result = error ? error->code : SH_ERROR_SPEC;
    sh_clear_error();
}

static void obey(const char *name, sh_status (*use)(const char *value)) {
    const char *value = secure_getenv(name);
    if (value && *value && use(value) < 0) tell(name);
}

/* Plug-ins go first: they may bring the backend and the modes that are asked for. */
static void hook_failed(void) { tell("SHUNT_HOOK"); }
static sh_status load_hooks(const char *paths) {
    sh__hooks_load(paths, hook_failed);
    return SH_OK;
}

sh_status sh_environment_status(void) { return result; }

__attribute__((constructor(200))) static void read_environment(void) {
    if (!sh__is_first_copy()) return;
    obey("SHUNT_VERBOSE", sh_set_verbose);
    obey("SHUNT_HOOK", load_hooks);
    obey("SHUNT_BACKEND", sh_backend_set_default);
    obey("SHUNT_MODES", sh_mode_push_spec_global);
    const char *strict = secure_getenv("SHUNT_STRICT");
    if (result < 0 && strict && strcmp(strict, "1") == 0) exit(2);
}

/* ---- forks and early ends ---- */

static atomic_bool stale; /* the modes are another process's, or were popped */

void sh__environment_forked(void) {
    sh__report_append();
    sh__findings_forked();
    sh__site_forked();
    atomic_store(&stale, true);
}

void sh__environment_renew(void) {
    if (!atomic_load(&stale) || !atomic_exchange(&stale, false)) return;
    sh__globals_abandon();
    obey("SHUNT_MODES", sh_mode_push_spec_global);
}

void sh__environment_report(void) {
    if (atomic_exchange(&stale, true)) return;
    sh__report_append();
    sh_mode_pop_all_global();
}

/* Reports are written when a mode dies: the environment's die here, if they are this process's. */
__attribute__((destructor)) static void drop_global_modes(void) {
    if (atomic_load(&stale))
        sh__globals_abandon();
    else
        sh_mode_pop_all_global();
}
