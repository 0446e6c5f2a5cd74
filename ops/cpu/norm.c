/* norm.c - normalisation in the cpu backend. */
#include "ops/kernels.h"

sh_status sh_cpu_batch_norm(sh_tensor *r, sh_tensor *a, sh_tensor *b, sh_tensor *c, sh_tensor *d,
                            sh_tensor *e, bool f, double g, double h) {
    return sh_ref_batch_norm(r, a, b, c, d, e, f, g, h);
}
sh_status sh_cpu_layer_norm(sh_tensor *r, sh_tensor *a, sh_ints b, sh_tensor *c, sh_tensor *d, double e) {
    return sh_ref_layer_norm(r, a, b, c, d, e);
}
