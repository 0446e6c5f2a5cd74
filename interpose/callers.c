/* callers.c - gives libshunt the namers of this process's interpreters. */
#include "interpose/callers.h"

#include "dispatch/site.h"

static bool name_caller(const sh_call *call, char *text, size_t size) {
    (void)call;
    return sh__python_line(text, size) || sh__r_line(text, size);
}

__attribute__((constructor)) static void name_callers(void) { sh__set_site_namer(name_caller); }
