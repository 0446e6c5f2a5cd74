/* module.c - modules made, ended, and what hangs on them by name.
 *
 * What fails changes nothing. Paths are resolved part by part through the children; the last part may name a tensor. */
#include "graph/given.h"
#include "graph/module/module_impl.h"

#include <stdio.h>
#include <string.h>

/* ---- making and ending ---- */

sh_module *sh_module_new(const sh_module_type *type) {
    if (sh__error_pending()) return NULL;
    if (!type || !type->name) {
        sh_fail(SH_ERROR_NULL, "sh_module_new: %s is NULL", type ? "the type's name" : "type");
        return NULL;
    }
    sh_module *module = sh__calloc(1, sizeof *module + type->state_size);
    if (!module) return NULL;
    atomic_init(&module->refs, 1);
    module->type = type;
    module->training = true;
    return module;
}

sh_module *sh_module_keep(sh_module *module) {
    if (module) atomic_fetch_add_explicit(&module->refs, 1, memory_order_relaxed);
    return module;
}

static void release_tensor(void *tensor) { sh_release(tensor); }
static void release_module(void *module) { sh_module_release(module); }

static void free_slots(sh_slots *slots, void (*release)(void *object)) {
    for (uint32_t i = 0; i < slots->n; i++) {
        sh__free(slots->at[i].name);
        release(slots->at[i].object);
    }
    sh__free(slots->at);
}

void sh_module_release(sh_module *module) {
    if (!module || atomic_fetch_sub_explicit(&module->refs, 1, memory_order_acq_rel) != 1) return;
    if (module->type->finish) module->type->finish(module);
    free_slots(&module->parameters, release_tensor);
    free_slots(&module->buffers, release_tensor);
    free_slots(&module->children, release_module);
    sh__free(module->hooks);
    sh__free(module->name);
    sh__free(module);
}

const sh_module_type *sh_module_type_of(const sh_module *module) {
    SH_GIVEN(module, NULL);
    return module->type;
}
bool sh_module_is(const sh_module *module, const char *type) {
    return module && strcmp(module->type->name, type) == 0;
}
void *sh_module_state(const sh_module *module) {
    SH_GIVEN(module, NULL);
    return (void *)(uintptr_t)module->state;
}

/* ---- slots ---- */

sh_slot_entry *sh__slot_named(const sh_slots *slots, const char *name, size_t length) {
    for (uint32_t i = 0; i < slots->n; i++)
        if (slots->at[i].length == length && memcmp(slots->at[i].name, name, length) == 0)
            return &slots->at[i];
    return NULL;
}

/* Room for one more entry. */
static sh_status reserve(sh_slots *slots) {
    if (slots->n < slots->capacity) return SH_OK;
    const uint32_t capacity = slots->capacity ? slots->capacity * 2 : 4;
    sh_slot_entry *at = sh__realloc(slots->at, capacity * sizeof *at);
    if (!at) return SH_ERROR_MEMORY;
    slots->at = at;
    slots->capacity = capacity;
    return SH_OK;
}

void sh__slot_fill(sh_slot_entry *entry, void *object, void (*release)(void *object)) {
    static atomic_uint_fast64_t last;
    void *before = entry->object;
    entry->object = object;
    entry->serial = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
    if (before) release(before);
}

/* The object's reference is taken over, if this succeeds. */
static sh_status put(sh_slots *slots, const char *name, void *object, void (*release)(void *object)) {
    sh_slot_entry *entry = sh__slot_named(slots, name, strlen(name));
    if (!entry) {
        SH_TRY(reserve(slots));
        char *copy = sh__strdup(name);
        if (!copy) return SH_ERROR_MEMORY;
        entry = &slots->at[slots->n++];
        *entry = (sh_slot_entry){.name = copy, .length = strlen(copy)};
    }
    sh__slot_fill(entry, object, release);
    return SH_OK;
}

static bool take_out(sh_slots *slots, const char *name, void (*release)(void *object)) {
    sh_slot_entry *entry = sh__slot_named(slots, name, strlen(name));
    if (!entry) return false;
    const sh_slot_entry gone = *entry;
    slots->n--;
    memmove(entry, entry + 1, (size_t)(slots->at + slots->n - entry) * sizeof *entry);
    sh__free(gone.name);
    release(gone.object);
    return true;
}

bool sh__module_drop(sh_module *module, const char *name) {
    return take_out(&module->children, name, release_module) ||
           take_out(&module->parameters, name, release_tensor) ||
           take_out(&module->buffers, name, release_tensor);
}

/* ---- names and paths ---- */

/* A name is one part of a path, and means one thing. */
static sh_status check_name(const sh_module *module, const char *name, const sh_slots *own) {
    static const char *const kinds[] = {"parameter", "buffer", "child"};
    const sh_slots *const all[] = {&module->parameters, &module->buffers, &module->children};
    if (!*name || strchr(name, '.'))
        return sh_fail(SH_ERROR_VALUE, "%s: \"%s\" is no name: it is %s", module->type->name, name,
                       *name ? "of several parts" : "empty");
    for (int i = 0; i < 3; i++)
        if (all[i] != own && sh__slot_named(all[i], name, strlen(name)))
            return sh_fail(SH_ERROR_VALUE, "%s has a %s %s already", module->type->name, kinds[i], name);
    return SH_OK;
}

sh_module *sh__module_at(const sh_module *module, const char *path, size_t length) {
    const char *const end = path + length;
    while (module && path < end) {
        const char *dot = memchr(path, '.', (size_t)(end - path));
        const size_t part = (size_t)((dot ? dot : end) - path);
        const sh_slot_entry *entry = sh__slot_named(&module->children, path, part);
        module = entry ? entry->object : NULL;
        path += part + (dot != NULL);
    }
    return (sh_module *)(uintptr_t)module;
}

sh_module *sh_module_child(const sh_module *module, const char *path) {
    SH_GIVEN(path, NULL);
    return sh__module_at(module, path, strlen(path));
}

/* The module that holds the last part of the path, which `*name` becomes; NULL and an error if there is none. */
static sh_module *holder(sh_module *module, const char *path, const char **name) {
    const char *dot = strrchr(path, '.');
    *name = dot ? dot + 1 : path;
    sh_module *found = sh__module_at(module, path, dot ? (size_t)(dot - path) : 0);
    if (!found)
        sh_fail(SH_ERROR_VALUE, "%s has no module %.*s", module->type->name, (int)(dot ? dot - path : 0),
                path);
    return found;
}

/* ---- parameters and buffers ---- */

static sh_status set_tensor(sh_module *module, sh_slots *slots, const char *name, sh_tensor *value) {
    if (sh__error_pending()) return sh_error()->code;
    if (!module || !name || !value)
        return sh_fail(SH_ERROR_NULL, "a parameter or buffer is set, and %s is NULL",
                       !module ? "its module"
                       : !name ? "its name"
                               : "its tensor");
    SH_TRY(check_name(module, name, slots));
    const sh_status status = put(slots, name, sh_keep(value), release_tensor);
    if (status < 0) sh_release(value);
    return status;
}

sh_status sh_module_set_parameter(sh_module *module, const char *name, sh_tensor *value) {
    return set_tensor(module, module ? &module->parameters : NULL, name, value);
}

sh_status sh_module_set_buffer(sh_module *module, const char *name, sh_tensor *value) {
    return set_tensor(module, module ? &module->buffers : NULL, name, value);
}

sh_tensor *sh__module_tensor(const sh_module *module, const char *path, uint32_t what) {
    const char *dot = strrchr(path, '.'), *name = dot ? dot + 1 : path;
    module = sh__module_at(module, path, dot ? (size_t)(dot - path) : 0);
    const sh_slot_entry *entry = NULL;
    if (module && (what & SH_PARAMETERS)) entry = sh__slot_named(&module->parameters, name, strlen(name));
    if (module && !entry && (what & SH_BUFFERS)) entry = sh__slot_named(&module->buffers, name, strlen(name));
    return entry ? entry->object : NULL;
}

sh_tensor *sh_module_parameter(const sh_module *module, const char *path) {
    SH_GIVEN(path, NULL);
    return sh__module_tensor(module, path, SH_PARAMETERS);
}

sh_tensor *sh_module_buffer(const sh_module *module, const char *path) {
    SH_GIVEN(path, NULL);
    return sh__module_tensor(module, path, SH_BUFFERS);
}

/* ---- children ---- */

size_t sh_module_children(const sh_module *module) {
    SH_GIVEN(module, 0);
    return module->children.n;
}

sh_module *sh_module_child_at(const sh_module *module, size_t i) {
    SH_GIVEN(module, NULL);
    return i < module->children.n ? module->children.at[i].object : NULL;
}

const char *sh_module_child_name(const sh_module *module, size_t i) {
    SH_GIVEN(module, NULL);
    return i < module->children.n ? module->children.at[i].name : NULL;
}

/* Clears the pointer that `user` points to where the walk meets that module. */
static sh_status find_in_tree(const char *path, sh_module *module, void *user) {
    sh_module **wanted = user;
    (void)path;
    if (module == *wanted) *wanted = NULL;
    return SH_OK;
}

/* A module inside itself would never end, nor be freed. */
static sh_status check_cycle(sh_module *holding, sh_module *child) {
    sh_module *wanted = holding;
    if (child->children.n) SH_TRY(sh_module_walk(child, find_in_tree, &wanted));
    if (wanted && child != holding) return SH_OK;
    return sh_fail(SH_ERROR_VALUE, "a %s can't be added inside itself", child->type->name);
}

static sh_status add_child(sh_module *holding, const char *name, sh_module *child) {
    SH_TRY(check_name(holding, name, &holding->children));
    SH_TRY(check_cycle(holding, child));
    char *first_name = child->name ? NULL : sh__strdup(name);
    if (!child->name && !first_name) return SH_ERROR_MEMORY;
    const sh_status status = put(&holding->children, name, sh_module_keep(child), release_module);
    if (status < 0) {
        sh__free(first_name);
        sh_module_release(child);
    } else if (first_name) {
        child->name = first_name;
    }
    return status;
}

sh_status sh_module_set(sh_module *module, const char *path, sh_module *child) {
    if (sh__error_pending()) return sh_error()->code;
    if (!module || !path || !child)
        return sh_fail(SH_ERROR_NULL, "sh_module_set: %s is NULL",
                       !module ? "module"
                       : !path ? "path"
                               : "child");
    const char *name;
    sh_module *holding = holder(module, path, &name);
    return holding ? add_child(holding, name, child) : sh_error()->code;
}

sh_module *sh_module_give(sh_module *module, const char *path, sh_module *child) {
    const sh_status status = sh_module_set(module, path, child);
    sh_module_release(child);
    return status < 0 ? NULL : child;
}

sh_module *sh_module_append(sh_module *module, sh_module *child) {
    char name[24];
    uint32_t n = module ? module->children.n : 0;
    do snprintf(name, sizeof name, "%u", n++);
    while (module && sh__slot_named(&module->children, name, strlen(name)));
    return sh_module_give(module, name, child);
}

sh_status sh_module_delete(sh_module *module, const char *path) {
    if (sh__error_pending()) return sh_error()->code;
    if (!module || !path)
        return sh_fail(SH_ERROR_NULL, "sh_module_delete: %s is NULL", module ? "path" : "module");
    const char *name;
    sh_module *holding = holder(module, path, &name);
    if (!holding) return sh_error()->code;
    if (take_out(&holding->children, name, release_module)) return SH_OK;
    return sh_fail(SH_ERROR_VALUE, "%s has no module %s", module->type->name, path);
}
