/* infer_pointwise.c - results of elementwise ops where shapes or dtypes differ, and what each op refuses. */
#include "ops/infer_pointwise.h"

#include <string.h>

/* Does b broadcast to the shape of a? */
static bool covers(const sh_tensor *a, const sh_tensor *b) {
    const int more = a->ndim - b->ndim;
    if (more < 0) return false;
    for (int i = 0; i < b->ndim; i++)
        if (b->sizes[i] != 1 && b->sizes[i] != a->sizes[i + more]) return false;
    return true;
}

static bool serves_as_layout(const sh_tensor *t, sh_dtype dtype) {
    return t->dtype == dtype &&
           (t->flags & (SH_TENSOR_CONTIGUOUS | SH_TENSOR_WRAPPED)) == SH_TENSOR_CONTIGUOUS;
}

sh_status sh__infer_binary_any(sh_spec *r, const sh_tensor *a, const sh_tensor *b) {
    r->dtype = sh_result_type(a, b);
    if (serves_as_layout(a, r->dtype) && covers(a, b))
        r->like = a;
    else if (serves_as_layout(b, r->dtype) && covers(b, a))
        r->like = b;
    else
        return sh_broadcast("broadcast", a->ndim, a->sizes, b->ndim, b->sizes, &r->ndim, r->sizes);
    return SH_OK;
}

sh_status sh__infer_unary_any(sh_spec *r, const sh_tensor *a, sh_dtype dtype) {
    r->like = NULL;
    r->dtype = dtype;
    r->ndim = a->ndim;
    memcpy(r->sizes, a->sizes, (size_t)a->ndim * sizeof *r->sizes);
    return SH_OK;
}

static bool is_float(sh_dtype dtype) { return sh_dtype_kind_of(dtype) == SH_KIND_FLOAT; }

/* The spec so far, with another dtype. */
static sh_status change_dtype(sh_spec *r, sh_dtype dtype) {
    if (r->like) return sh__infer_unary_any(r, r->like, dtype);
    r->dtype = dtype;
    return SH_OK;
}

static sh_status refuse(const char *op, sh_dtype dtype, const char *expected) {
    return sh_fail(SH_ERROR_DTYPE, "%s: not for %s; expected %s", op, sh_dtype_name(dtype), expected);
}

/* ---- arithmetic ---- */

sh_status sh__check_alpha(const sh_spec *r, sh_scalar alpha) {
    if (alpha.tag == SH_TAG_FLOAT && !is_float(r->dtype))
        return sh_fail(SH_ERROR_TYPE, "alpha is %g: for tensors of %s it must be an integer", alpha.as.f,
                       sh_dtype_name(r->dtype));
    return SH_OK;
}

sh_status sh_infer_sub(sh_spec *r, const sh_tensor *a, const sh_tensor *b, sh_scalar alpha) {
    SH_TRY(sh_infer_add(r, a, b, alpha));
    if (SH_UNLIKELY(a->dtype == SH_B8 || b->dtype == SH_B8))
        return sh_fail(SH_ERROR_DTYPE, "sub: %s is bool; use logical_xor, bitwise_xor or logical_not",
                       a->dtype == SH_B8 ? "self" : "other");
    return SH_OK;
}

sh_status sh_infer_binary_float(sh_spec *r, const sh_tensor *a, const sh_tensor *b) {
    SH_TRY(sh_infer_binary(r, a, b));
    return SH_LIKELY(is_float(r->dtype)) ? SH_OK : change_dtype(r, SH_F32);
}

sh_status sh_infer_no_bool(sh_spec *r, const char *op, const sh_tensor *a, const sh_tensor *b) {
    SH_TRY(sh_infer_binary(r, a, b));
    return r->dtype == SH_B8 ? refuse(op, SH_B8, "numbers") : SH_OK;
}

sh_status sh_infer_div(sh_spec *r, const sh_tensor *a, const sh_tensor *b, const char *rounding_mode) {
    if (SH_LIKELY(!rounding_mode)) return sh_infer_binary_float(r, a, b);
    if (strcmp(rounding_mode, "trunc") != 0 && strcmp(rounding_mode, "floor") != 0)
        return sh_fail(SH_ERROR_VALUE, "div: rounding_mode is '%s'; expected 'trunc', 'floor' or none",
                       rounding_mode);
    return sh_infer_no_bool(r, "div", a, b);
}

sh_status sh_infer_pow(sh_spec *r, const sh_tensor *a, const sh_tensor *exponent) {
    SH_TRY(sh_infer_no_bool(r, "pow", a, exponent));
    if (is_float(r->dtype) || !(exponent->flags & SH_TENSOR_WRAPPED) || exponent->dtype != SH_I64)
        return SH_OK;
    const int64_t number = *(const int64_t *)exponent->data;
    if (number >= 0) return SH_OK;
    return sh_fail(SH_ERROR_VALUE,
                   "pow: exponent is %lld: integers have no negative powers; expected a float for one",
                   (long long)number);
}

/* ---- comparison and logic ---- */

sh_status sh_infer_compare(sh_spec *r, const sh_tensor *a, const sh_tensor *b) {
    SH_TRY(sh_infer_binary(r, a, b));
    return change_dtype(r, SH_B8);
}

sh_status sh_infer_bitwise(sh_spec *r, const char *op, const sh_tensor *a, const sh_tensor *b) {
    SH_TRY(sh_infer_binary(r, a, b));
    return is_float(r->dtype) ? refuse(op, r->dtype, "integers or bool") : SH_OK;
}

sh_status sh_infer_bitwise_not(sh_spec *r, const sh_tensor *a) {
    SH_TRY(sh_infer_unary(r, a));
    return is_float(r->dtype) ? refuse("bitwise_not", r->dtype, "integers or bool") : SH_OK;
}

/* ---- three operands ---- */

/* The shape so far, broadcast with one more tensor. */
static sh_status broadcast_more(sh_spec *r, const char *op, const sh_tensor *t) {
    SH_TRY(change_dtype(r, r->dtype));
    const sh_spec so_far = *r;
    return sh_broadcast(op, so_far.ndim, so_far.sizes, t->ndim, t->sizes, &r->ndim, r->sizes);
}

sh_status sh_infer_where(sh_spec *r, const sh_tensor *condition, const sh_tensor *a, const sh_tensor *b) {
    if (condition->dtype != SH_B8 && condition->dtype != SH_U8)
        return sh_fail(SH_ERROR_DTYPE, "where: condition is %s; expected bool",
                       sh_dtype_name((sh_dtype)condition->dtype));
    SH_TRY(sh_infer_binary(r, a, b));
    return broadcast_more(r, "where", condition);
}

sh_status sh_infer_clamp(sh_spec *r, const sh_tensor *self, sh_scalar min, sh_scalar max) {
    if (min.tag == SH_TAG_NONE && max.tag == SH_TAG_NONE)
        return sh_fail(SH_ERROR_ARGUMENT, "clamp: neither min nor max is given; expected one at least");
    sh_promotion p = {SH_NO_DTYPE, SH_NO_DTYPE, SH_NO_DTYPE};
    sh_promotion_add(&p, self);
    if (min.tag != SH_TAG_NONE) p.number = sh_promote(p.number, sh_default_dtype(min));
    if (max.tag != SH_TAG_NONE) p.number = sh_promote(p.number, sh_default_dtype(max));
    return sh__infer_unary_any(r, self, sh_promotion_result(&p));
}

sh_status sh_infer_clamp_tensors(sh_spec *r, const sh_tensor *self, const sh_tensor *min,
                                 const sh_tensor *max) {
    if (!min && !max)
        return sh_fail(SH_ERROR_ARGUMENT, "clamp: neither min nor max is given; expected one at least");
    sh_promotion p = {SH_NO_DTYPE, SH_NO_DTYPE, SH_NO_DTYPE};
    sh_promotion_add(&p, self);
    if (min) sh_promotion_add(&p, min);
    if (max) sh_promotion_add(&p, max);
    SH_TRY(sh__infer_unary_any(r, self, sh_promotion_result(&p)));
    if (min) SH_TRY(broadcast_more(r, "clamp", min));
    return max ? broadcast_more(r, "clamp", max) : SH_OK;
}

static sh_status check_lerp(const sh_tensor *self, const sh_tensor *t, const char *argument) {
    if ((t->flags & SH_TENSOR_WRAPPED) || t->dtype == self->dtype) return SH_OK;
    return sh_fail(SH_ERROR_DTYPE, "lerp: %s is %s; expected %s as self is", argument,
                   sh_dtype_name((sh_dtype)t->dtype), sh_dtype_name((sh_dtype)self->dtype));
}

sh_status sh_infer_lerp(sh_spec *r, const sh_tensor *self, const sh_tensor *end, const sh_tensor *weight) {
    SH_TRY(sh_infer_float(r, "lerp", self));
    SH_TRY(check_lerp(self, end, "end"));
    SH_TRY(check_lerp(self, weight, "weight"));
    SH_TRY(broadcast_more(r, "lerp", end));
    return broadcast_more(r, "lerp", weight);
}

/* ---- one operand ---- */

sh_status sh_infer_unary_float(sh_spec *r, const sh_tensor *a) {
    SH_TRY(sh_infer_unary(r, a));
    return SH_LIKELY(is_float(r->dtype)) ? SH_OK : change_dtype(r, SH_F32);
}

sh_status sh_infer_test(sh_spec *r, const sh_tensor *a) { return sh__infer_unary_any(r, a, SH_B8); }

sh_status sh_infer_numbers(sh_spec *r, const char *op, const sh_tensor *a) {
    SH_TRY(sh_infer_unary(r, a));
    return r->dtype == SH_B8 ? refuse(op, SH_B8, "numbers") : SH_OK;
}

sh_status sh_infer_square(sh_spec *r, const sh_tensor *a) {
    SH_TRY(sh_infer_unary(r, a));
    return r->dtype == SH_B8 ? change_dtype(r, SH_I64) : SH_OK;
}

sh_status sh_infer_float(sh_spec *r, const char *op, const sh_tensor *a) {
    SH_TRY(sh_infer_unary(r, a));
    return is_float(r->dtype) ? SH_OK : refuse(op, r->dtype, "floats");
}

sh_status sh_infer_gelu(sh_spec *r, const sh_tensor *a, const char *approximate) {
    if (!approximate || (strcmp(approximate, "none") != 0 && strcmp(approximate, "tanh") != 0))
        return sh_fail(SH_ERROR_VALUE, "gelu: approximate is '%s'; expected 'none' or 'tanh'",
                       approximate ? approximate : "");
    return sh_infer_float(r, "gelu", a);
}

sh_status sh_infer_hardtanh(sh_spec *r, const sh_tensor *a, sh_scalar min_val, sh_scalar max_val) {
    SH_TRY(sh_infer_numbers(r, "hardtanh", a));
    if (r->dtype == SH_U8 && (sh_value_as_int(min_val) < 0 || sh_value_as_int(max_val) < 0))
        return sh_fail(SH_ERROR_VALUE, "hardtanh: min_val or max_val is negative; expected none for u8");
    return SH_OK;
}
