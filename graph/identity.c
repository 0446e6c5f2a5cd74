/* identity.c - open addressing by the address of a tensor. */
#include "graph/identity.h"

#include "dispatch/memory_impl.h"

static sh_origin *find_place(const sh_identities *identities, const sh_tensor *tensor) {
    const uint64_t hash = ((uint64_t)(uintptr_t)tensor >> 4) * 0x9e3779b97f4a7c15u;
    for (uint64_t i = hash >> 20;; i++) {
        sh_origin *place = &identities->at[i & (identities->capacity - 1)];
        if (!place->tensor || place->tensor == tensor) return place;
    }
}

sh_origin *sh__identity_find(const sh_identities *identities, const sh_tensor *tensor) {
    if (!identities->capacity) return NULL;
    sh_origin *place = find_place(identities, tensor);
    return place->tensor ? place : NULL;
}

static sh_status grow(sh_identities *identities) {
    sh_identities larger = {NULL, identities->n, identities->capacity ? identities->capacity * 2 : 256};
    larger.at = sh__calloc(larger.capacity, sizeof *larger.at);
    if (!larger.at) return SH_ERROR_MEMORY;
    for (size_t i = 0; i < identities->capacity; i++)
        if (identities->at[i].tensor) *find_place(&larger, identities->at[i].tensor) = identities->at[i];
    sh__free(identities->at);
    *identities = larger;
    return SH_OK;
}

sh_status sh__identity_set(sh_identities *identities, sh_tensor *tensor, sh_node *node, int64_t item) {
    if ((identities->n + 1) * 2 > identities->capacity) SH_TRY(grow(identities));
    sh_origin *place = find_place(identities, tensor);
    if (!place->tensor) {
        identities->n++;
        place->tensor = sh_keep(tensor);
    }
    place->node = node;
    place->item = item;
    return SH_OK;
}

void sh__identities_free(sh_identities *identities) {
    for (size_t i = 0; i < identities->capacity; i++) sh_release(identities->at[i].tensor);
    sh__free(identities->at);
    *identities = (sh_identities){0};
}
