/* types.c - the modes that a specification can name: the shipped ones, then those that were registered. */
#include <string.h>

#include "dispatch/journal.h"
#include "dispatch/memory_impl.h"
#include "dispatch/thread.h"
#include "modes/options.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct entry {
    sh_mode_type type;
    sh_mode_maker make;
    atomic_bool live;
} entry;

enum {
    SHIPPED =
#define SH_MODE_TYPE(name, help) +1
#include "modes/modes.def"
#undef SH_MODE_TYPE
};
_Static_assert((int)SHIPPED < (int)SH_MODE_TYPES, "there is room for more");

/* An entry keeps its place for ever, since options point at its type; its name may come back there. */
static entry entries[SH_MODE_TYPES] = {
#define SH_MODE_TYPE(name, help) {{#name, help, sh__##name##_options}, sh__##name##_make, true},
#include "modes/modes.def"
#undef SH_MODE_TYPE
};
static _Atomic size_t count = SHIPPED;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool lives(const entry *e) { return atomic_load_explicit(&e->live, memory_order_acquire); }

static entry *find(const char *name) {
    const size_t n = atomic_load_explicit(&count, memory_order_acquire);
    for (size_t i = 0; i < n; i++)
        if (lives(&entries[i]) && strcmp(entries[i].type.name, name) == 0) return &entries[i];
    return NULL;
}

const sh_mode_type *sh_mode_type_at(size_t i) {
    const size_t n = atomic_load_explicit(&count, memory_order_acquire);
    for (size_t k = 0; k < n; k++)
        if (lives(&entries[k]) && i-- == 0) return &entries[k].type;
    return NULL;
}

size_t sh__mode_types(sh_mode_type *types) {
    const sh_mode_type *type;
    size_t n = 0;
    while (n < SH_MODE_TYPES && (type = sh_mode_type_at(n))) types[n++] = *type;
    return n;
}

const sh_mode_type *sh__mode_type_find(const char *name, sh_mode_maker *make) {
    const entry *e = find(name);
    if (!e) return NULL;
    *make = e->make;
    return &e->type;
}

/* ---- registering ---- */

static sh_status check(const sh_mode_type *type, sh_mode_maker make) {
    if (!type || !make || !type->name)
        return sh_fail(SH_ERROR_NULL, "sh_mode_type_register: the %s is NULL",
                       !type   ? "type"
                       : !make ? "maker"
                               : "name");
    if (!*type->name || strpbrk(type->name, ":;,= \t\n"))
        return sh_fail(SH_ERROR_VALUE, "sh_mode_type_register: '%s' can't be a mode's name", type->name);
    size_t n = 0;
    while (type->options && type->options[n].name) n++;
    if (n > SH_MAX_OPTIONS)
        return sh_fail(SH_ERROR_VALUE, "sh_mode_type_register: mode %s has %zu options, the most is %d",
                       type->name, n, SH_MAX_OPTIONS);
    return SH_OK;
}

static sh_status enter(const sh_mode_type *type, sh_mode_maker make, size_t *place) {
    static const sh_option none[] = {{NULL, SH_OPTION_STRING, NULL, NULL, NULL}};
    const size_t n = atomic_load(&count);
    size_t i = SHIPPED;
    if (find(type->name)) return sh_fail(SH_ERROR_VALUE, "there is a mode %s already", type->name);
    while (i < n && (lives(&entries[i]) || strcmp(entries[i].type.name, type->name) != 0)) i++;
    if (i == SH_MODE_TYPES)
        return sh_fail(SH_ERROR_VALUE, "mode %s is one too many: the most is %d", type->name, SH_MODE_TYPES);
    entries[i].type =
        (sh_mode_type){type->name, type->help ? type->help : "", type->options ? type->options : none};
    entries[i].make = make;
    atomic_store_explicit(&entries[i].live, true, memory_order_release);
    if (i == n) atomic_store_explicit(&count, n + 1, memory_order_release);
    *place = i;
    return SH_OK;
}

static void end(uint64_t place) { atomic_store_explicit(&entries[place].live, false, memory_order_release); }

sh_status sh_mode_type_register(const sh_mode_type *type, sh_mode_maker make) {
    size_t place = 0;
    if (sh__error_pending()) return sh_error()->code;
    SH_TRY(check(type, make));
    SH_TRY(sh__journal_reserve());
    pthread_mutex_lock(&lock);
    const sh_status status = enter(type, make, &place);
    pthread_mutex_unlock(&lock);
    if (status >= 0) sh__journal_note(end, place);
    return status;
}

sh_status sh_mode_type_remove(const char *name) {
    pthread_mutex_lock(&lock);
    const entry *e = name ? find(name) : NULL;
    const size_t place = e ? (size_t)(e - entries) : 0;
    if (place >= SHIPPED) end(place);
    pthread_mutex_unlock(&lock);
    if (place >= SHIPPED) return SH_OK;
    return sh_fail(SH_ERROR_VALUE,
                   e ? "sh_mode_type_remove: %s is built in" : "sh_mode_type_remove: there is no mode %s",
                   name ? name : "NULL");
}
