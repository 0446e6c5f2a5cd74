/* hooks.c - plug-ins as they are named in a flag or the environment: "a.so,numel=4..,policy=[verify]:b.so".
 *
 * A path ends at the first comma or colon, so one that holds these can only be given to sh_plugin_load. What follows the
 * comma is read like the options of a mode. */
#include "modes/hooks.h"

#include <stdlib.h>
#include <string.h>

#include "dispatch/cold.h"
#include "dispatch/memory_impl.h"
#include "dispatch/where.h"
#include "modes/plugin.h"

/* ---- options ---- */

static const sh_option options[] = {
    SH_WHERE_OPTIONS,
    {"policy", SH_OPTION_STRING, NULL, NULL, "how far its kernels are trusted: [verify:first=10;fallback]"},
    {NULL, SH_OPTION_STRING, NULL, NULL, NULL}};
static const sh_option_group group = {"hook", "", options};

/* All but the policy, as it was written. */
static char *condition_of(const char *text) {
    char *where = sh__calloc(1, strlen(text) + 1);
    for (const char *at = text; where && *at;) {
        const char *end = sh__options_end(at, ",");
        const bool policy = strncmp(at + strspn(at, " "), "policy", strlen("policy")) == 0;
        if (!policy && *where) strcat(where, ",");
        if (!policy) strncat(where, at, (size_t)(end - at));
        at = end + (*end == ',');
    }
    return where;
}

sh_status sh__hook_options_read(const char *text, sh_hook_options *read) {
    sh_spec_reader r = {text, text};
    sh_options o = {.type = &group};
    *read = (sh_hook_options){NULL, NULL};
    if (!text || !*text) return SH_OK;
    sh_status status = sh__reader_options(&r, &o);
    if (status >= 0 && *r.at) status = sh__reader_bad(&r, r.at, "expected , here", NULL, NULL);
    const char *policy = status >= 0 ? sh_option_text(&o, "policy") : NULL;
    if (policy) read->policy = sh__strdup(policy);
    if (status >= 0) read->where = condition_of(text);
    if (status >= 0 && (!read->where || (policy && !read->policy))) status = SH_ERROR_MEMORY;
    sh_options_free(&o);
    if (status < 0) sh__hook_options_free(read);
    return status < 0 ? sh__error_ensure(status) : SH_OK;
}

void sh__hook_options_free(sh_hook_options *o) {
    sh__free(o->where);
    sh__free(o->policy);
}

/* ---- lists ---- */

size_t sh__hook_length(const char *list) {
    const size_t path = strcspn(list, ",:");
    return list[path] == ',' ? (size_t)(sh__options_end(list + path, ":") - list) : path;
}

sh_status sh__hook_load(const char *hook, size_t n) {
    char *path = strndup(hook, n);
    if (!path) return sh_fail(SH_ERROR_MEMORY, "out of memory");
    char *comma = strchr(path, ',');
    if (comma) *comma = 0;
    const sh_status status = sh_plugin_load_with(path, comma ? comma + 1 : NULL, NULL);
    free(path);
    return status;
}

sh_status sh__hooks_load(const char *list, void (*failed)(void)) {
    sh_status first = SH_OK;
    for (const char *at = list; *at;) {
        const size_t n = sh__hook_length(at);
        const sh_status status = n ? sh__hook_load(at, n) : SH_OK;
        if (status < 0) failed();
        if (first >= 0) first = status;
        at += n + (at[n] == ':');
    }
    return first;
}
