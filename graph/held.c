/* held.c - references behind values, taken and given back. */
#include "graph/held.h"

#include "dispatch/chain.h"

sh_status sh__value_hold(sh_value *value) {
    if (value->tag == SH_TAG_TENSOR) sh_keep(value->as.tensor);
    if (value->tag != SH_TAG_TENSORS) return SH_OK;
    sh_list *list = sh__list_new(value->count);
    if (!list) return SH_ERROR_MEMORY;
    for (uint32_t i = 0; i < value->count; i++) list->at[i] = sh_keep(value->as.tensors[i]);
    value->as.tensors = list->at;
    return SH_OK;
}

void sh__value_drop(sh_value *value) {
    if (value->tag == SH_TAG_TENSOR) sh_release(value->as.tensor);
    if (value->tag == SH_TAG_TENSORS) sh__list_release(sh__list_of(*value));
    *value = sh__absent();
}

sh_status sh__value_own(sh_value *value) {
    const bool tensor = value->tag == SH_TAG_TENSOR, list = value->tag == SH_TAG_TENSORS;
    if ((!tensor || sh__own(value->as.tensor)) && (!list || sh__own_list(sh__list_of(*value)))) return SH_OK;
    *value = sh__absent();
    return SH_ERROR_MEMORY;
}
