#include "ops/infer_pointwise.h"

sh_status sh__infer_binary_any(sh_spec *r, const sh_tensor *a, const sh_tensor *b) {
    r->dtype = sh_result_type(a, b);
    return sh_broadcast("broadcast", a->ndim, a->sizes, b->ndim, b->sizes, &r->ndim, r->sizes);
}

sh_status sh__check_alpha(const sh_spec *r, sh_scalar alpha) {
    if (alpha.tag == SH_TAG_FLOAT && sh_dtype_kind_of(r->dtype) != SH_KIND_FLOAT)
        return sh_fail(SH_ERROR_TYPE, "alpha is %g: for tensors of %s it must be an integer", alpha.as.f, sh_dtype_name(r->dtype));
    if (alpha.tag != SH_TAG_FLAG && r->dtype == SH_B8 && sh_value_as_int(alpha) != 1 && sh_value_as_int(alpha) != 0)
        return sh_fail(SH_ERROR_TYPE, "alpha is %lld: for bool tensors it must be 0 or 1", (long long)alpha.as.i);
    return SH_OK;
}

sh_status sh_infer_sub(sh_spec *r, const sh_tensor *a, const sh_tensor *b, sh_scalar alpha) {
    SH_TRY(sh_infer_add(r, a, b, alpha));
    if (a->dtype == SH_B8 && b->dtype == SH_B8)
        return sh_fail(SH_ERROR_DTYPE, "sub: both arguments are bool; use logical_xor or bitwise_xor");
    return SH_OK;
}
