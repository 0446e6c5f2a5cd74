/* onednn.c - what oneDNN's statuses mean here. */
#include "ops/cpu/onednn.h"

sh_status sh_onednn_status(dnnl_status_t status, const char *what) {
    switch (status) {
    case dnnl_success: return SH_OK;
    case dnnl_out_of_memory: return sh_fail(SH_ERROR_MEMORY, "oneDNN: out of memory in %s", what);
    case dnnl_unimplemented:
        return sh_fail(SH_ERROR_UNSUPPORTED, "oneDNN: %s is not implemented for this case", what);
    default: return sh_fail(SH_ERROR_KERNEL, "oneDNN: %s failed with status %d", what, (int)status);
    }
}
