/* types.c - types of modules by name, and the ranges of what their states hold.
 *
 * The built-in types are a table; registered ones a list, newest first, under a lock. The list borrows the types. */
#include <pthread.h>
#include <string.h>

#include "graph/module/nn_types.h"

/* ---- the registry ---- */

#define SH_NN(name, ...) &sh__nn_##name##_type,
static const sh_module_type *const built_in[] = {
#include "graph/module/nn.def"
    &sh__nn_identity_type,  &sh__nn_sequential_type, &sh__nn_module_list_type,
    &sh__graph_module_type, &sh__container_type,
};
#undef SH_NN

typedef struct registration {
    const sh_module_type *type;
    struct registration *next;
} registration;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static registration *newest;

static const sh_module_type *find_built_in(const char *name) {
    for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++)
        if (strcmp(built_in[i]->name, name) == 0) return built_in[i];
    return NULL;
}

const sh_module_type *sh_module_type_find(const char *name) {
    const sh_module_type *found = name ? find_built_in(name) : NULL;
    pthread_mutex_lock(&lock);
    for (const registration *r = newest; name && r && !found; r = r->next)
        if (strcmp(r->type->name, name) == 0) found = r->type;
    pthread_mutex_unlock(&lock);
    return found;
}

sh_status sh_module_type_register(const sh_module_type *type) {
    if (sh__error_pending()) return sh_error()->code;
    if (!type || !type->name)
        return sh_fail(SH_ERROR_NULL, "sh_module_type_register: %s is NULL",
                       type ? "the type's name" : "type");
    if (find_built_in(type->name))
        return sh_fail(SH_ERROR_VALUE, "sh_module_type_register: %s is the name of a built-in type",
                       type->name);
    registration *r = sh__alloc(sizeof *r);
    if (!r) return SH_ERROR_MEMORY;
    pthread_mutex_lock(&lock);
    *r = (registration){type, newest};
    newest = r;
    pthread_mutex_unlock(&lock);
    return SH_OK;
}

sh_status sh_module_type_remove(const sh_module_type *type) {
    if (sh__error_pending()) return sh_error()->code;
    if (!type) return sh_fail(SH_ERROR_NULL, "sh_module_type_remove: type is NULL");
    pthread_mutex_lock(&lock);
    registration **link = &newest, *found;
    while (*link && (*link)->type != type) link = &(*link)->next;
    found = *link;
    if (found) *link = found->next;
    pthread_mutex_unlock(&lock);
    sh__free(found);
    return found ? SH_OK : sh_fail(SH_ERROR_VALUE, "sh_module_type_remove: %s is not registered", type->name);
}

/* ---- ranges ---- */

/* A list ends at SH_SAME, a long one at its first 0. */
static size_t entries(const sh_module_field *field, const int64_t *at) {
    size_t n = 0;
    while (n < field->count && !(n && at[n] == SH_SAME) && !(n && field->count > 2 && !at[n])) n++;
    return n;
}

sh_status sh__fields_check(const sh_module_type *type, const void *state) {
    if (sh__error_pending()) return sh_error()->code;
    for (const sh_module_field *field = type->fields; field && field->name; field++) {
        if (field->range == SH_FIELD_ANY) continue;
        const int64_t *at = (const int64_t *)(const void *)((const char *)state + field->offset);
        const int64_t least = field->range == SH_FIELD_POSITIVE;
        const size_t n = field->kind == SH_FIELD_INTS ? entries(field, at) : 1;
        for (size_t i = 0; i < n; i++)
            if (at[i] < least)
                return sh_fail(SH_ERROR_VALUE, "%s: %s is %lld, expected at least %lld", type->name,
                               field->name, (long long)at[i], (long long)least);
    }
    return SH_OK;
}
