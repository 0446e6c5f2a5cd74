/* models.c - address space for models, mapped for reading only, so that it takes no memory whatever the system's limits. */
#include "graph/compile/models.h"

#include <string.h>
#include <sys/mman.h>

enum { FIRST_ROOM = 64, FIRST_BYTES = 1 << 20 };

sh_status sh__models_set(sh_models *models, uint32_t id, sh_tensor *model) {
    if (id >= models->room) {
        const uint32_t room = id < FIRST_ROOM ? FIRST_ROOM : 2 * id;
        sh_tensor **moved = sh__realloc(models->at, room * sizeof *moved);
        if (!moved) return SH_ERROR_MEMORY;
        models->at = moved;
        models->room = room;
    }
    while (models->n <= id) models->at[models->n++] = NULL;
    models->at[id] = model;
    return SH_OK;
}

/* The newest mapping is the largest; one that is not large enough stays, as models lie in it. */
static char *memory_of(sh_models *models, size_t size) {
    const uint32_t n = models->nmemory;
    size_t have = n ? models->memory[n - 1].size : FIRST_BYTES / 2;
    if (n && have >= size) return models->memory[n - 1].at;
    while (have < size) have *= 2;
    void *at = n < SH_MODEL_MAPPINGS
                   ? mmap(NULL, have, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                   : MAP_FAILED;
    if (at == MAP_FAILED) {
        sh_fail(SH_ERROR_MEMORY, "sh_compile: no address space for a value of %zu bytes", size);
        return NULL;
    }
    models->memory[n].at = at;
    models->memory[n].size = have;
    models->nmemory++;
    return at;
}

sh_tensor *sh__model_new(sh_models *models, const sh_spec *spec, const int64_t *strides) {
    int64_t low = 0, high = 0;
    if (strides) sh__layout_reach(spec->ndim, spec->sizes, strides, &low, &high);
    int64_t numel = 1;
    for (int i = 0; i < spec->ndim; i++) numel *= spec->sizes[i];
    const int64_t reach = strides ? high + 1 : numel;
    char *memory = memory_of(models, (size_t)(reach > 0 ? reach : 1) * sh_dtype_size(spec->dtype));
    const sh_ints sizes = {spec->sizes, (size_t)spec->ndim};
    const sh_ints given = {strides, (size_t)spec->ndim};
    return memory ? sh_from_data(memory, spec->dtype, sizes, strides ? given : (sh_ints){NULL, 0}, NULL, NULL)
                  : NULL;
}

void sh__models_free(sh_models *models) {
    for (uint32_t i = 0; i < models->nmemory; i++) munmap(models->memory[i].at, models->memory[i].size);
    sh__free(models->at);
}
