/* .npz files from anywhere: read or refused with an error, nothing out of bounds, nothing leaked. */
#include <stdlib.h>

#include "dispatch/memory.h"
#include "dispatch/scope.h"
#include "ops/io/io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every element that the shape and strides promise is there. */
static void touch(const sh_tensor *t) {
    int64_t index[SH_MAX_DIMS];
    if (!sh_tensor_numel(t)) return;
    for (int i = 0; i < sh_tensor_ndim(t); i++) index[i] = sh_tensor_sizes(t)[i] - 1;
    sh_tensor_at(t, index);
    if (sh_error()) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const int64_t live = sh_memory_stats_get().live_tensors;
    sh_scope scope = sh_scope_begin(__FILE__, __LINE__);
    sh_dict *dict = NULL;
    const bool read = sh_parse_npz(data, size, "fuzzed", &dict) >= 0;
    for (size_t i = 0; read && i < sh_dict_size(dict); i++) touch(sh_dict_at(dict, i));
    sh_dict_free(dict);
    if (read == (sh_error() != NULL)) abort();
    sh_clear_error();
    sh_scope_end(&scope);
    if (sh_memory_stats_get().live_tensors != live) abort();
    return 0;
}
