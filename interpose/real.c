#include "interpose/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A library that came as a dependency of another has no scope of its own until it is opened. */
static void *find_from(const struct link_map *map, const char *symbol) {
    void *library = map ? dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *found = library ? dlsym(library, symbol) : NULL;
    if (library) dlclose(library);
    return found;
}

/* The linker looks in the global scope first, then in that of the object that calls; behind us in both. */
sh_function sh__real(const char *symbol, const void *caller) {
    struct link_map *map = NULL;
    Dl_info info = {0};
    sh_function function;
    void *found = dlsym(RTLD_NEXT, symbol);
    if (!found && dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP)) found = find_from(map, symbol);
    memcpy(&function, &found, sizeof found);
    if (found) return function;
    fprintf(stderr, "%s: symbol lookup error: %s: undefined symbol: %s\n", program_invocation_name,
            info.dli_fname ? info.dli_fname : program_invocation_name, symbol);
    _exit(127);
}

bool sh__nested(void) {
    const char *text = secure_getenv("SHUNT_NESTED");
    return text && strcmp(text, "1") == 0;
}
