/* .npy files from anywhere: read or refused with an error, nothing out of bounds, nothing leaked. What is read comes back
 * from a file of our own. */
#include "dispatch/memory.h"
#include "dispatch/scope.h"
#include "tests/fuzz/round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const int64_t live = sh_memory_stats_get().live_tensors;
    sh_scope scope = sh_scope_begin(__FILE__, __LINE__);
    sh_tensor *t = sh_parse_npy(data, size, "fuzzed");
    require((t != NULL) != (sh_error() != NULL));
    if (t) {
        require(sh_save_npy(scratch_file(), t) >= 0);
        require_same(t, sh_load_npy(scratch_file()));
        unlink(scratch_file());
    }
    sh_clear_error();
    sh_scope_end(&scope);
    require(sh_memory_stats_get().live_tensors == live);
    return 0;
}
