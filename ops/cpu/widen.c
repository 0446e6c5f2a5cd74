/* widen.c - see widen.h. */
#include "ops/cpu/widen.h"

#include <string.h>

#include "ops/kernels.h"

sh_tensor *sh_aside_like(const sh_tensor *t, sh_dtype dtype) {
    sh_spec spec = {.dtype = dtype, .ndim = t->ndim};
    memcpy(spec.sizes, t->sizes, sizeof t->sizes);
    return sh__tensor_alloc(&spec, SH_HOST);
}

sh_status sh_aside_copy(sh_tensor *t, sh_dtype dtype, sh_tensor **copy) {
    *copy = NULL;
    if (!t) return SH_OK;
    *copy = sh_aside_like(t, dtype);
    return *copy ? sh_cpu_copy(*copy, *copy, t, false) : SH_ERROR_MEMORY;
}

sh_status sh_aside_contiguous(sh_tensor *t, sh_dtype dtype, sh_tensor **contiguous) {
    if (t && (t->dtype != dtype || !(t->flags & SH_TENSOR_CONTIGUOUS)))
        return sh_aside_copy(t, dtype, contiguous);
    *contiguous = t ? sh_keep(t) : NULL;
    return SH_OK;
}
