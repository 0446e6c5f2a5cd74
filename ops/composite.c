/* composite.c - kernels written with other ops, and so seen through by dispatch-level modes. */
#include "ops/kernels.h"
#include "ops/ops.h"

sh_status sh_composite_linear(sh_value *results, sh_tensor *input, sh_tensor *weight, sh_tensor *bias) {
    sh_tensor *y = sh_matmul(input, sh_transpose(weight, 0, 1));
    if (bias) y = sh_add(y, bias);
    results[0] = sh_value_tensor(y);
    return y ? SH_OK : sh_error()->code;
}
