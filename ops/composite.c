/* composite.c - kernels written with other ops, and so seen through by dispatch-level modes. */
#include "ops/kernels.h"
#include "ops/ops.h"
#include "ops/views.h"

sh_status sh_composite_linear(sh_value *results, sh_tensor *input, sh_tensor *weight, sh_tensor *bias) {
    sh_tensor *y = sh_matmul(input, sh_transpose(weight, 0, 1));
    if (bias) y = sh_add(y, bias);
    results[0] = sh_value_tensor(y);
    return y ? SH_OK : sh_error()->code;
}

/* The tensor itself where it has the dtype. */
sh_status sh_composite_to(sh_value *results, sh_tensor *self, sh_dtype dtype) {
    if (!sh_dtype_size(dtype)) return sh_fail(SH_ERROR_DTYPE, "to: %d is no dtype", (int)dtype);
    if (self->dtype == dtype) return sh_give(results, sh_keep(self));
    sh_tensor *converted = sh_copy_(sh_empty_like(self, .dtype = dtype), self);
    results[0] = sh_value_tensor(converted);
    return converted ? SH_OK : sh_error()->code;
}
