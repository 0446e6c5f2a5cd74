/* names.c - named scopes: "Net.layer1.conv", kept joined so that reading the path costs nothing. */
#include <string.h>

#include "dispatch/chain.h"

const char *sh__scope_path(void) {
    sh__recover_here(&sh__thread);
    return sh__thread.cold ? sh__thread.cold->path : "";
}

const char *sh_scope_path(void) {
    if (sh__thread.cold) sh__thread.cold->paths_read++;
    return sh__scope_path();
}

sh_status sh_name_push(const char *name) {
    sh_thread_cold *cold = sh__cold();
    if (!cold) return SH_ERROR_MEMORY;
    sh__recover_here(&sh__thread);
    if (!name) return sh_fail(SH_ERROR_NULL, "sh_name_push: name is NULL");
    const uint32_t length = sh__thread.state.names ? cold->names[sh__thread.state.names - 1].length : 0;
    const size_t n = strlen(name), more = n + (length != 0);
    if (sh__thread.state.names == SH_NAME_DEPTH || length + more >= SH_NAME_PATH)
        return sh_fail(SH_ERROR_NESTING, "sh_name_push: %s is named scope number %u, path %s", name,
                       sh__thread.state.names + 1, cold->path);
    if (length) cold->path[length] = '.';
    memcpy(cold->path + length + (length != 0), name, n + 1);
    sh__state_changes(&sh__thread);
    cold->names[sh__thread.state.names++].length = length + (uint32_t)more;
    sh__thread.state.balance++;
    return SH_OK;
}

void sh__names_truncate(sh_thread_cold *cold, uint32_t names) {
    cold->path[names ? cold->names[names - 1].length : 0] = 0;
}

void sh_name_pop(void) {
    sh_thread *thread = &sh__thread;
    sh__recover_here(thread);
    if (!thread->state.names) return;
    sh__state_changes(thread);
    if (thread->depth && thread->state.names <= thread->cold->frames[thread->depth - 1].state.names) {
        sh_fail(SH_ERROR_MODE, "sh_name_pop: a callback can't end a named scope that was opened outside it");
        return;
    }
    sh__names_truncate(thread->cold, --thread->state.names);
    thread->state.balance--;
}
