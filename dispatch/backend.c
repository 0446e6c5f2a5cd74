/* backend.c - the columns of the table: which backends there are, on which device, which is the default. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/chain.h"
#include "dispatch/device_impl.h"
#include "dispatch/journal.h"
#include "dispatch/registry.h"
#include "dispatch/suggest.h"

typedef struct backend {
    char name[32];
    sh_device device;
    atomic_bool ended;
} backend;

static backend backends[SH_MAX_BACKENDS] = {
    [SH_BACKEND_CPU] = {.name = "cpu", .device = SH_HOST},
    [SH_BACKEND_REF] = {.name = "ref", .device = SH_HOST},
    [SH_BACKEND_META] = {.name = "meta", .device = SH_META},
};
enum { BUILT_IN = 3 };
static _Atomic uint32_t backend_count = BUILT_IN;

_Atomic uint8_t sh__default_backend[SH_MAX_DEVICES] = {
    [SH_HOST] = SH_BACKEND_CPU, [SH_META] = SH_BACKEND_META};

uint32_t sh_backend_count(void) { return atomic_load_explicit(&backend_count, memory_order_acquire); }
const char *sh_backend_name(uint32_t i) { return i < sh_backend_count() ? backends[i].name : "none"; }
sh_device sh_backend_device(uint32_t i) { return i < sh_backend_count() ? backends[i].device : SH_HOST; }

static bool lives(int i) { return !atomic_load_explicit(&backends[i].ended, memory_order_acquire); }

int sh_backend_find(const char *name) {
    for (uint32_t i = 0; name && i < sh_backend_count(); i++)
        if (lives((int)i) && strcmp(backends[i].name, name) == 0) return (int)i;
    return -1;
}

/* Added ones come first, the newest before older; then cpu, then ref. */
int sh__backend_next(uint32_t i) {
    const sh_device device = sh_backend_device(i);
    for (uint32_t b = i; b-- > BUILT_IN;)
        if (backends[b].device == device && lives((int)b)) return (int)b;
    for (uint32_t b = i >= BUILT_IN ? 0 : i + 1; b < BUILT_IN; b++)
        if (backends[b].device == device) return (int)b;
    return -1;
}

/* ---- adding and removing ---- */

/* The place of an ended backend that was the same, or a new one; -1 if there are too many. */
static int free_place(const char *name, sh_device device) {
    const uint32_t n = sh_backend_count();
    for (uint32_t i = BUILT_IN; i < n; i++)
        if (!lives((int)i) && backends[i].device == device && strcmp(backends[i].name, name) == 0)
            return (int)i;
    return n < SH_MAX_BACKENDS ? (int)n : -1;
}

sh_status sh__backend_add(const char *name, int device, int *place) {
    if (strlen(name) >= sizeof backends->name || strcmp(name, SH_COMPOSITE) == 0)
        return sh_fail(SH_ERROR_VALUE, "sh_backend_register: %s can't be a backend's name", name);
    if (sh_backend_find(name) >= 0) return sh_fail(SH_ERROR_VALUE, "there is a backend %s already", name);
    const int i = free_place(name, (sh_device)device);
    if (i < 0)
        return sh_fail(SH_ERROR_VALUE, "backend %s is one too many: the most is %d", name, SH_MAX_BACKENDS);
    snprintf(backends[i].name, sizeof backends[i].name, "%s", name);
    backends[i].device = (sh_device)device;
    atomic_store_explicit(&backends[i].ended, false, memory_order_release);
    if ((uint32_t)i == sh_backend_count())
        atomic_store_explicit(&backend_count, (uint32_t)i + 1, memory_order_release);
    *place = i;
    return SH_OK;
}

static void undo_register(uint64_t i) { sh_backend_remove(backends[i].name); }

sh_status sh_backend_register(const char *name, sh_device device, const char *registrant) {
    int place = -1;
    (void)registrant;
    if (!name || !*name) return sh_fail(SH_ERROR_NULL, "sh_backend_register: the name is empty");
    SH_TRY(sh__device_check((int)device, "sh_backend_register"));
    SH_TRY(sh__journal_reserve());
    sh__table_lock();
    const sh_status status = sh__backend_add(name, (int)device, &place);
    if (status >= 0) sh__slots_publish_all();
    sh__table_unlock();
    if (status >= 0) sh__journal_note(undo_register, (uint64_t)place);
    return status;
}

/* Where it was the default, the next of its device is, and what threads chose stays their choice. */
static void end_locked(int i) {
    const sh_device device = backends[i].device;
    atomic_store_explicit(&backends[i].ended, true, memory_order_release);
    const int next = sh__backend_next((uint32_t)i);
    if (next >= 0 && atomic_load(&sh__default_backend[device]) == (uint8_t)i)
        atomic_store(&sh__default_backend[device], (uint8_t)next);
    sh__configuration_changed();
}

void sh__backends_end(int device) {
    for (int i = BUILT_IN; i < (int)sh_backend_count(); i++)
        if ((int)backends[i].device == device && lives(i)) end_locked(i);
}

sh_status sh_backend_remove(const char *name) {
    const int i = sh_backend_find(name);
    if (i < 0)
        return sh_fail(SH_ERROR_VALUE, "sh_backend_remove: there is no backend %s", name ? name : "NULL");
    if (i < BUILT_IN) return sh_fail(SH_ERROR_VALUE, "sh_backend_remove: %s is built in", name);
    sh__table_lock();
    if (lives(i)) end_locked(i);
    sh__table_unlock();
    return SH_OK;
}

static int find_or_fail(const char *name) {
    const int found = sh_backend_find(name);
    if (found >= 0) return found;
    const char *names[SH_MAX_BACKENDS];
    size_t n = 0;
    for (uint32_t i = 0; i < sh_backend_count(); i++)
        if (lives((int)i)) names[n++] = backends[i].name;
    const char *near = name ? sh_suggest(name, names, n) : NULL;
    sh_fail(SH_ERROR_VALUE, "there is no backend %s%s%s", name ? name : "NULL", near ? "; did you mean " : "",
            near ? near : "");
    return -1;
}

sh_status sh_backend_set_default(const char *name) {
    const int found = find_or_fail(name);
    if (found < 0) return SH_ERROR_VALUE;
    atomic_store_explicit(&sh__default_backend[backends[found].device], (uint8_t)found, memory_order_relaxed);
    sh__configuration_changed();
    return SH_OK;
}

sh_backend_guard sh_backend_enter(const char *name) {
    sh_thread *thread = &sh__thread;
    sh_backend_guard guard = {0, 0, 0};
    const int found = find_or_fail(name);
    if (found < 0) return guard;
    sh__recover_here(thread);
    guard.device = (int8_t)backends[found].device;
    guard.outer = (int8_t)thread->state.backend[guard.device];
    guard.open = 1;
    sh__state_changes(thread);
    thread->state.backend[guard.device] = (uint8_t)(found + 1);
    thread->state.balance++;
    sh__gate_update(thread);
    return guard;
}

void sh_backend_leave(sh_backend_guard *guard) {
    sh_thread *thread = &sh__thread;
    if (!guard->open) return;
    guard->open = 0;
    sh__recover_here(thread);
    sh__state_changes(thread);
    thread->state.backend[guard->device] = (uint8_t)guard->outer;
    thread->state.balance--;
    sh__gate_update(thread);
}
