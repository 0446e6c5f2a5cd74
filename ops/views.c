/* views.c - ops whose result shares the storage of their argument, on every device. */
#include "ops/kernels.h"

sh_status sh_any_transpose(sh_value *results, sh_tensor *self, int64_t dim0, int64_t dim1) {
    const int64_t n = self->ndim ? self->ndim : 1;
    if (dim0 < -n || dim0 >= n || dim1 < -n || dim1 >= n)
        return sh_fail(SH_ERROR_INDEX, "transpose: dimensions %lld and %lld of a tensor with %d", (long long)dim0, (long long)dim1, self->ndim);
    sh_tensor *view = sh__tensor_view(self);
    if (!view) return SH_ERROR_MEMORY;
    if (self->ndim) {
        const int64_t a = dim0 < 0 ? dim0 + n : dim0, b = dim1 < 0 ? dim1 + n : dim1;
        int64_t sizes[SH_MAX_DIMS], strides[SH_MAX_DIMS];
        for (int i = 0; i < self->ndim; i++) {
            const int64_t from = i == a ? b : i == b ? a : i;
            sizes[i] = self->sizes[from];
            strides[i] = self->strides[from];
        }
        sh__tensor_set_layout(view, self->ndim, sizes, strides, 0);
    }
    results[0] = sh_value_tensor(sh__own(view));
    return results[0].as.tensor ? SH_OK : SH_ERROR_MEMORY;
}
