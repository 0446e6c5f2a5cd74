/* pool.c - pooling in the cpu backend. */
#include "ops/kernels.h"

sh_status sh_cpu_max_pool2d(sh_tensor *r, sh_tensor *a, sh_ints b, sh_ints c, sh_ints d, sh_ints e, bool f) {
    return sh_ref_max_pool2d(r, a, b, c, d, e, f);
}
sh_status sh_cpu_avg_pool2d(sh_tensor *r, sh_tensor *a, sh_ints b, sh_ints c, sh_ints d, bool f, bool g,
                            int64_t h) {
    return sh_ref_avg_pool2d(r, a, b, c, d, f, g, h);
}
sh_status sh_cpu_adaptive_avg_pool2d(sh_tensor *r, sh_tensor *a, sh_ints b) {
    return sh_ref_adaptive_avg_pool2d(r, a, b);
}
