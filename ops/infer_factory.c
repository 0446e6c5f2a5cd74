#include "ops/infer_factory.h"

sh_status sh_infer_factory(sh_spec *r, sh_ints size, sh_dtype dtype) {
    if (size.n > SH_MAX_DIMS) return sh_fail(SH_ERROR_SHAPE, "size: %zu dimensions, the most is %d", size.n, SH_MAX_DIMS);
    r->ndim = (int32_t)size.n;
    r->dtype = dtype ? dtype : SH_F32;
    for (size_t i = 0; i < size.n; i++) {
        r->sizes[i] = size.at[i];
        if (size.at[i] < 0)
            return sh_fail(SH_ERROR_SHAPE, "size: %lld in dimension %zu is negative", (long long)size.at[i], i);
    }
    return SH_OK;
}

sh_status sh_infer_like(sh_spec *r, const sh_tensor *self, sh_dtype dtype) {
    return sh_infer_factory(r, (sh_ints){self->sizes, self->ndim}, dtype ? dtype : (sh_dtype)self->dtype);
}

sh_status sh_infer_full(sh_spec *r, sh_ints size, sh_scalar fill_value, sh_dtype dtype) {
    return sh_infer_factory(r, size, dtype ? dtype : sh_default_dtype(fill_value));
}
