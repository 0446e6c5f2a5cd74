/* pointwise.c - elementwise kernels of the cpu backend. */
#include "ops/kernels.h"

static bool plain(const sh_tensor *r, const sh_tensor *a, const sh_tensor *b) {
    return (r->flags & a->flags & b->flags & SH_TENSOR_CONTIGUOUS) && r->dtype == SH_F32 && a->dtype == SH_F32 && b->dtype == SH_F32 &&
           r->numel == a->numel && r->numel == b->numel;
}

sh_status sh_cpu_add(sh_tensor *r, sh_tensor *self, sh_tensor *other, sh_scalar alpha) {
    if (!plain(r, self, other)) return sh_ref_add(r, self, other, alpha);
    const float *a = (const float *)self->data, *b = (const float *)other->data, scale = (float)sh_value_as_double(alpha);
    float *to = (float *)r->data;
    if (scale == 1)
        for (int64_t i = 0; i < r->numel; i++) to[i] = a[i] + b[i];
    else
        for (int64_t i = 0; i < r->numel; i++) to[i] = a[i] + scale * b[i];
    return SH_OK;
}

sh_status sh_cpu_sub(sh_tensor *r, sh_tensor *self, sh_tensor *other, sh_scalar alpha) { return sh_ref_sub(r, self, other, alpha); }

sh_status sh_cpu_mul(sh_tensor *r, sh_tensor *self, sh_tensor *other) {
    if (!plain(r, self, other)) return sh_ref_mul(r, self, other);
    const float *a = (const float *)self->data, *b = (const float *)other->data;
    float *to = (float *)r->data;
    for (int64_t i = 0; i < r->numel; i++) to[i] = a[i] * b[i];
    return SH_OK;
}

sh_status sh_cpu_relu(sh_tensor *r, sh_tensor *self) { return sh_ref_relu(r, self); }
sh_status sh_cpu_copy(sh_tensor *r, sh_tensor *self, sh_tensor *src, bool non_blocking) { return sh_ref_copy(r, self, src, non_blocking); }
sh_status sh_cpu_matmul(sh_tensor *r, sh_tensor *self, sh_tensor *other) { return sh_ref_matmul(r, self, other); }

sh_status sh_cpu_linear(sh_tensor *r, sh_tensor *input, sh_tensor *weight, sh_tensor *bias) {
    (void)r;
    (void)input;
    (void)weight;
    (void)bias;
    return sh_fail(SH_ERROR_UNSUPPORTED, "linear");
}
