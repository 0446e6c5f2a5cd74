/* backend.c - the columns of the table: which backends there are, on which device, which is the default. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/chain.h"
#include "dispatch/registry.h"
#include "dispatch/suggest.h"

typedef struct backend {
    char name[32];
    sh_device device;
    const char *registrant;
} backend;

static backend backends[SH_MAX_BACKENDS] = {
    [SH_BACKEND_CPU] = {"cpu", SH_HOST, "built-in"},
    [SH_BACKEND_REF] = {"ref", SH_HOST, "built-in"},
    [SH_BACKEND_META] = {"meta", SH_META, "built-in"},
};
enum { BUILT_IN = 3 };
static _Atomic uint32_t backend_count = BUILT_IN;

_Atomic uint8_t sh__default_backend[SH_MAX_DEVICES] = {
    [SH_HOST] = SH_BACKEND_CPU, [SH_META] = SH_BACKEND_META};

uint32_t sh_backend_count(void) { return atomic_load_explicit(&backend_count, memory_order_acquire); }
const char *sh_backend_name(uint32_t i) { return i < sh_backend_count() ? backends[i].name : "none"; }
sh_device sh_backend_device(uint32_t i) { return i < sh_backend_count() ? backends[i].device : SH_HOST; }

int sh_backend_find(const char *name) {
    for (uint32_t i = 0; name && i < sh_backend_count(); i++)
        if (strcmp(backends[i].name, name) == 0) return (int)i;
    return -1;
}

const char *sh__device_name(int device) {
    static const char *const names[] = {"host", "meta"};
    return device >= 0 && device < 2 ? names[device] : "a plug-in's device";
}

/* Added ones come first, the newest before older; then cpu, then ref. */
int sh__backend_next(uint32_t i) {
    const sh_device device = sh_backend_device(i);
    for (uint32_t b = i; b-- > BUILT_IN;)
        if (backends[b].device == device) return (int)b;
    for (uint32_t b = i >= BUILT_IN ? 0 : i + 1; b < BUILT_IN; b++)
        if (backends[b].device == device) return (int)b;
    return -1;
}

sh_status sh_backend_register(const char *name, sh_device device, const char *registrant) {
    (void)registrant;
    if (!name || !*name) return sh_fail(SH_ERROR_NULL, "sh_backend_register: the name is empty");
    if (device != SH_HOST && device != SH_META)
        return sh_fail(SH_ERROR_DEVICE, "sh_backend_register: device %d is not known", (int)device);
    if (strlen(name) >= sizeof backends->name || strcmp(name, SH_COMPOSITE) == 0)
        return sh_fail(SH_ERROR_VALUE, "sh_backend_register: %s can't be a backend's name", name);
    sh__table_lock();
    const uint32_t i = sh_backend_count();
    const bool taken = sh_backend_find(name) >= 0, full = i == SH_MAX_BACKENDS;
    if (!taken && !full) {
        snprintf(backends[i].name, sizeof backends[i].name, "%s", name);
        backends[i].device = device;
        atomic_store_explicit(&backend_count, i + 1, memory_order_release);
        sh__slots_publish_all();
    }
    sh__table_unlock();
    if (taken) return sh_fail(SH_ERROR_VALUE, "there is a backend %s already", name);
    if (full)
        return sh_fail(SH_ERROR_VALUE, "backend %s is one too many: the most is %d", name, SH_MAX_BACKENDS);
    return SH_OK;
}

static int find_or_fail(const char *name) {
    const int found = sh_backend_find(name);
    if (found >= 0) return found;
    const char *names[SH_MAX_BACKENDS];
    for (uint32_t i = 0; i < sh_backend_count(); i++) names[i] = backends[i].name;
    const char *near = name ? sh_suggest(name, names, sh_backend_count()) : NULL;
    sh_fail(SH_ERROR_VALUE, "there is no backend %s%s%s", name ? name : "NULL", near ? "; did you mean " : "",
            near ? near : "");
    return -1;
}

sh_status sh_backend_set_default(const char *name) {
    const int found = find_or_fail(name);
    if (found < 0) return SH_ERROR_VALUE;
    atomic_store_explicit(&sh__default_backend[backends[found].device], (uint8_t)found, memory_order_relaxed);
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
