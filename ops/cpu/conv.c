/* conv.c - convolution in the cpu backend. */
#include "ops/kernels.h"

sh_status sh_cpu_conv1d(sh_tensor *r, sh_tensor *a, sh_tensor *b, sh_tensor *c, sh_ints d, sh_ints e,
                        sh_ints f, int64_t g) {
    return sh_ref_conv1d(r, a, b, c, d, e, f, g);
}
sh_status sh_cpu_conv2d(sh_tensor *r, sh_tensor *a, sh_tensor *b, sh_tensor *c, sh_ints d, sh_ints e,
                        sh_ints f, int64_t g) {
    return sh_ref_conv2d(r, a, b, c, d, e, f, g);
}
