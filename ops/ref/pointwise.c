/* pointwise.c - elementwise kernels of the ref backend: plain loops in double. */
#include "ops/element.h"
#include "ops/kernels.h"

static double get(const sh_tensor *t, const int64_t *index, int ndim) { return sh_load_f64((sh_dtype)t->dtype, sh_element(t, index, ndim)); }
static void put(sh_tensor *t, const int64_t *index, double v) { sh_store_f64((sh_dtype)t->dtype, sh_element(t, index, t->ndim), v); }

sh_status sh_ref_add(sh_tensor *r, sh_tensor *self, sh_tensor *other, sh_scalar alpha) {
    SH_EACH_ELEMENT(r, i) put(r, i, get(self, i, r->ndim) + sh_value_as_double(alpha) * get(other, i, r->ndim));
    return SH_OK;
}
sh_status sh_ref_sub(sh_tensor *r, sh_tensor *self, sh_tensor *other, sh_scalar alpha) {
    SH_EACH_ELEMENT(r, i) put(r, i, get(self, i, r->ndim) - sh_value_as_double(alpha) * get(other, i, r->ndim));
    return SH_OK;
}
sh_status sh_ref_mul(sh_tensor *r, sh_tensor *self, sh_tensor *other) {
    SH_EACH_ELEMENT(r, i) put(r, i, get(self, i, r->ndim) * get(other, i, r->ndim));
    return SH_OK;
}
sh_status sh_ref_relu(sh_tensor *r, sh_tensor *self) {
    SH_EACH_ELEMENT(r, i) {
        const double v = get(self, i, r->ndim);
        put(r, i, v < 0 ? 0 : v);
    }
    return SH_OK;
}
sh_status sh_ref_copy(sh_tensor *r, sh_tensor *self, sh_tensor *src, bool non_blocking) {
    (void)self;
    (void)non_blocking;
    SH_EACH_ELEMENT(r, i) put(r, i, get(src, i, r->ndim));
    return SH_OK;
}
sh_status sh_ref_matmul(sh_tensor *r, sh_tensor *self, sh_tensor *other) {
    if (self->ndim != 2 || other->ndim != 2) return sh_fail(SH_ERROR_UNSUPPORTED, "matmul");
    SH_EACH_ELEMENT(r, i) {
        double sum = 0;
        for (int64_t k = 0; k < self->sizes[1]; k++) {
            const int64_t a[2] = {i[0], k}, b[2] = {k, i[1]};
            sum += sh_tensor_at(self, a) * sh_tensor_at(other, b);
        }
        put(r, i, sum);
    }
    return SH_OK;
}
