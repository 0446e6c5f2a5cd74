/* bind.c - the functions that a program would have called without us.
 *
 * A name is looked up in the global scope, behind us, then in the scope of the object that calls: its own libraries, and
 * where it came in with others, theirs. An object opened with RTLD_DEEPBIND looks in its own scope first, but then a call
 * that arrives here found nothing there. What was found is kept by object, since each may mean another function; an object's
 * place may be another's after dlclose, so that ends all findings. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose/machine.h"

atomic_uint wr_generation = 1;

/* ---- objects ---- */

static int (*real_dlclose)(void *);

static void find_dlclose(void) {
    void *found = dlsym(RTLD_NEXT, "dlclose");
    memcpy(&real_dlclose, &found, sizeof found);
}

__attribute__((visibility("default"))) int dlclose(void *handle) {
    if (!real_dlclose) find_dlclose();
    atomic_fetch_add(&wr_generation, 1);
    const int status = real_dlclose(handle);
    atomic_fetch_add(&wr_generation, 1);
    return status;
}

void *wr_library_open(const char *path) { return dlopen(path, RTLD_LAZY | RTLD_NOLOAD); }

void wr_library_close(void *handle) {
    if (!real_dlclose) find_dlclose();
    if (handle) real_dlclose(handle);
}

/* The object around an address; false in code that no library holds. */
static bool object_of(const void *site, struct dl_find_object *object) {
    return site && _dl_find_object((void *)(uintptr_t)site, object) == 0;
}

/* ---- looking up ---- */

/* Our own functions are no answer. */
static bool is_ours(const void *found) {
    struct dl_find_object object;
    return object_of(found, &object) && (char *)&wr_generation >= (char *)object.dlfo_map_start &&
           (char *)&wr_generation < (char *)object.dlfo_map_end;
}

static void *find_in(const struct link_map *map, const char *symbol) {
    void *handle = map->l_name && *map->l_name ? wr_library_open(map->l_name) : NULL;
    void *found = handle ? dlsym(handle, symbol) : NULL;
    wr_library_close(handle);
    return is_ours(found) ? NULL : found;
}

/* An object that came as a library of another shares its scope; which one's can't be asked, so all are searched. */
static void *find_anywhere(const struct link_map *map, const char *symbol) {
    void *found = NULL;
    while (map->l_prev) map = map->l_prev;
    for (; map && !found; map = map->l_next) found = find_in(map, symbol);
    return found;
}

static wr_function as_function(void *found) {
    wr_function function;
    memcpy(&function, &found, sizeof function);
    return function;
}

wr_function wr_find(const char *symbol, const void *site) {
    struct dl_find_object object;
    void *found = dlsym(RTLD_NEXT, symbol);
    if (!found && object_of(site, &object)) found = find_in(object.dlfo_link_map, symbol);
    if (!found && object_of((const void *)(uintptr_t)wr_find, &object))
        found = find_anywhere(object.dlfo_link_map, symbol);
    return as_function(found);
}

/* ---- keeping ---- */

static __attribute__((noreturn)) void missing(const char *symbol, const void *site) {
    struct dl_find_object object;
    const char *library = object_of(site, &object) ? object.dlfo_link_map->l_name : "";
    dprintf(STDERR_FILENO, "%s: symbol lookup error: %s: undefined symbol: %s\n", program_invocation_name,
            *library ? library : program_invocation_name, symbol);
    _exit(127);
}

static wr_target *target_new(wr_binding *binding, wr_function function, uintptr_t low, uintptr_t size,
                             unsigned generation) {
    wr_target *t = calloc(1, sizeof *t);
    if (!t) abort();
    t->low = low;
    t->size = size;
    t->function = function;
    atomic_init(&t->generation, generation);
    t->next = atomic_load(&binding->all);
    while (!atomic_compare_exchange_weak(&binding->all, &t->next, t)) {}
    return t;
}

wr_target *wr_bind(wr_binding *binding, const void *site) {
    const unsigned generation = atomic_load(&wr_generation);
    struct dl_find_object object;
    wr_target *t = atomic_load(&binding->all);
    while (t && !wr_serves(t, site)) t = t->next;
    if (!t) {
        const wr_function function = wr_find(binding->symbol, site);
        if (!function) missing(binding->symbol, site);
        uintptr_t low = (uintptr_t)site, size = 1;
        if (object_of(site, &object)) {
            low = (uintptr_t)object.dlfo_map_start;
            size = (uintptr_t)object.dlfo_map_end - low;
        }
        for (t = atomic_load(&binding->all); t; t = t->next)
            if (t->low == low && t->size == size && t->function == function) break;
        if (t)
            atomic_store(&t->generation, generation);
        else
            t = target_new(binding, function, low, size, generation);
    }
    atomic_store_explicit(&binding->last, t, memory_order_release);
    return t;
}
