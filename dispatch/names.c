/* names.c - named scopes: "Net.layer1.conv", kept joined so that reading the path costs nothing. */
#include <stdio.h>
#include <string.h>

#include "dispatch/chain.h"

const char *sh_scope_path(void) { return sh__thread.cold ? sh__thread.cold->path : ""; }

sh_status sh_name_push(const char *name) {
    sh_thread_cold *cold = sh__cold();
    if (!cold) return SH_ERROR_MEMORY;
    if (!name) return sh_fail(SH_ERROR_NULL, "sh_name_push: name is NULL");
    const uint32_t length = cold->nnames ? cold->names[cold->nnames - 1].length : 0;
    const size_t more = strlen(name) + (length != 0);
    if (cold->nnames == SH_NAME_DEPTH || length + more >= SH_NAME_PATH)
        return sh_fail(SH_ERROR_NESTING, "sh_name_push: %s is named scope number %u, path %s", name, cold->nnames + 1, cold->path);
    snprintf(cold->path + length, SH_NAME_PATH - length, length ? ".%s" : "%s", name);
    cold->names[cold->nnames++].length = length + (uint32_t)more;
    sh__thread.balance++;
    return SH_OK;
}

void sh_name_pop(void) {
    sh_thread_cold *cold = sh__thread.cold;
    if (!cold || !cold->nnames) return;
    cold->nnames--;
    cold->path[cold->nnames ? cold->names[cold->nnames - 1].length : 0] = 0;
    sh__thread.balance--;
}
