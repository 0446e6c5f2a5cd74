/* paths.c - open addressing by address; a walk over the tree fills it. */
#include "graph/paths.h"

#include <string.h>

#include "dispatch/memory_impl.h"

static struct sh_path_entry *find_place(const sh_paths *paths, const void *object) {
    for (uint64_t i = (uint64_t)(uintptr_t)object * 0x9e3779b97f4a7c15u >> 20;; i++) {
        struct sh_path_entry *place = &paths->entries[i & (paths->capacity - 1)];
        if (!place->object || place->object == object) return place;
    }
}

static sh_status grow(sh_paths *paths) {
    sh_paths larger = *paths;
    larger.capacity = paths->capacity ? paths->capacity * 2 : 256;
    larger.entries = sh__calloc(larger.capacity, sizeof *larger.entries);
    if (!larger.entries) return SH_ERROR_MEMORY;
    for (size_t i = 0; i < paths->capacity; i++)
        if (paths->entries[i].object) *find_place(&larger, paths->entries[i].object) = paths->entries[i];
    sh__free(paths->entries);
    *paths = larger;
    return SH_OK;
}

sh_status sh__paths_add(sh_paths *paths, const void *object, const char *path) {
    if ((paths->n + 1) * 2 > paths->capacity) SH_TRY(grow(paths));
    *find_place(paths, object) = (struct sh_path_entry){object, paths->text.length};
    paths->n++;
    sh__text_add(&paths->text, path, strlen(path) + 1);
    return paths->text.failed ? SH_ERROR_MEMORY : SH_OK;
}

static sh_status add_module(const char *path, sh_module *module, void *user) {
    return sh__paths_add(user, module, path);
}
static sh_status add_tensor(const char *path, sh_tensor *tensor, void *user) {
    return sh__paths_add(user, tensor, path);
}

sh_status sh__paths_of_modules(sh_paths *paths, sh_module *root) {
    return sh_module_walk(root, add_module, paths);
}

sh_status sh__paths_of_tensors(sh_paths *paths, sh_module *root) {
    return sh_module_walk_tensors(root, SH_PARAMETERS | SH_BUFFERS, add_tensor, paths);
}

const char *sh__path_of(const sh_paths *paths, const void *object) {
    const struct sh_path_entry *place = paths->capacity ? find_place(paths, object) : NULL;
    return place && place->object ? paths->text.at + place->at : NULL;
}

void sh__paths_free(sh_paths *paths) {
    sh__free(paths->entries);
    sh__text_drop(&paths->text);
}
