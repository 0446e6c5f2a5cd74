#include <string.h>

#include "dispatch/memory_impl.h"
#include "ops/io/io.h"

struct sh_dict {
    size_t n, capacity;
    struct {
        char *name;
        sh_tensor *t;
    } * entries;
};

sh_dict *sh_dict_new(void) { return sh__calloc(1, sizeof(sh_dict)); }

void sh_dict_free(sh_dict *dict) {
    if (!dict) return;
    for (size_t i = 0; i < dict->n; i++) {
        sh__free(dict->entries[i].name);
        sh_release(dict->entries[i].t);
    }
    sh__free(dict->entries);
    sh__free(dict);
}

static size_t find(const sh_dict *dict, const char *name) {
    size_t i = 0;
    while (i < dict->n && strcmp(dict->entries[i].name, name) != 0) i++;
    return i;
}

static sh_status grow(sh_dict *dict) {
    if (dict->n < dict->capacity) return SH_OK;
    const size_t capacity = dict->capacity ? dict->capacity * 2 : 16;
    void *entries = sh__realloc(dict->entries, capacity * sizeof *dict->entries);
    if (!entries) return SH_ERROR_MEMORY;
    dict->entries = entries;
    dict->capacity = capacity;
    return SH_OK;
}

sh_status sh_dict_set(sh_dict *dict, const char *name, sh_tensor *t) {
    if (!dict || !name || !t)
        return sh_fail(SH_ERROR_NULL, "sh_dict_set: %s is NULL",
                       !dict   ? "dict"
                       : !name ? "name"
                               : "the tensor");
    const size_t i = find(dict, name);
    if (i == dict->n) {
        SH_TRY(grow(dict));
        dict->entries[i].name = sh__strdup(name);
        if (!dict->entries[i].name) return SH_ERROR_MEMORY;
        dict->entries[i].t = NULL;
        dict->n++;
    }
    sh_keep(t);
    sh_release(dict->entries[i].t);
    dict->entries[i].t = t;
    return SH_OK;
}

size_t sh_dict_size(const sh_dict *dict) { return dict ? dict->n : 0; }
const char *sh_dict_name(const sh_dict *dict, size_t i) { return i < dict->n ? dict->entries[i].name : NULL; }
sh_tensor *sh_dict_at(const sh_dict *dict, size_t i) { return i < dict->n ? dict->entries[i].t : NULL; }

sh_tensor *sh_dict_find(const sh_dict *dict, const char *name) {
    const size_t i = find(dict, name);
    return i < dict->n ? dict->entries[i].t : NULL;
}
