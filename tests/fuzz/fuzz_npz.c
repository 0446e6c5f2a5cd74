/* .npz files from anywhere: read or refused with an error, nothing out of bounds, nothing leaked. What is read comes
 * back from a file of our own. */
#include "dispatch/memory.h"
#include "dispatch/scope.h"
#include "tests/fuzz/round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const int64_t live = sh_memory_stats_get().live_tensors;
    sh_scope scope = sh_scope_begin(__FILE__, __LINE__);
    sh_dict *dict;
    const bool read = sh_parse_npz(data, size, "fuzzed", &dict) >= 0;
    require(read != (sh_error() != NULL) && read == (dict != NULL));
    if (read) round_trip(dict, sh_save_npz, sh_load_npz);
    sh_dict_free(dict);
    sh_clear_error();
    sh_scope_end(&scope);
    require(sh_memory_stats_get().live_tensors == live);
    return 0;
}
