#include "ops/infer_factory.h"

#include <math.h>
#include <string.h>

/* ---- numbers in dtypes ---- */

/* The least and largest that an integer dtype holds. */
static void integer_limits(sh_dtype dtype, int64_t *low, int64_t *high) {
    const int bits = 8 * (int)sh_dtype_size(dtype);
    const bool has_sign = dtype != SH_U8 && dtype != SH_B8;
    *high = dtype == SH_B8 ? 1 : has_sign ? INT64_MAX >> (64 - bits) : 255;
    *low = has_sign ? -*high - 1 : 0;
}

static double largest_float(sh_dtype dtype) {
    switch (dtype) {
    case SH_F16: return 65504;
    case SH_BF16: return 0x1.fep127;
    case SH_F32: return 0x1.fffffep127;
    default: return 0x1.fffffffffffffp1023;
    }
}

static bool fits_integer(sh_scalar number, sh_dtype dtype) {
    int64_t low, high;
    integer_limits(dtype, &low, &high);
    if (dtype == SH_U8) low = -high;
    if (number.tag != SH_TAG_FLOAT) return number.as.i >= low && number.as.i <= high;
    return number.as.f >= (double)low && number.as.f <= (double)high && number.as.f < 0x1p63;
}

static bool fits_float(sh_scalar number, sh_dtype dtype) {
    const double magnitude = fabs(sh_value_as_double(number));
    return !(magnitude > largest_float(dtype)) || isinf(magnitude);
}

sh_status sh__check_number(const char *op, const char *argument, sh_scalar number, sh_dtype dtype) {
    if (dtype == SH_B8 || number.tag == SH_TAG_FLAG) return SH_OK;
    if (sh_dtype_kind_of(dtype) == SH_KIND_FLOAT ? fits_float(number, dtype) : fits_integer(number, dtype))
        return SH_OK;
    return sh_fail(SH_ERROR_VALUE, "%s: %s is %g, which %s can't hold", op, argument,
                   sh_value_as_double(number), sh_dtype_name(dtype));
}

/* ---- sizes ---- */

sh_status sh_infer_factory(sh_spec *r, const char *op, sh_ints size, sh_dtype dtype) {
    if (size.n > SH_MAX_DIMS)
        return sh_fail(SH_ERROR_SHAPE, "%s: size has %zu dimensions, the most is %d", op, size.n,
                       SH_MAX_DIMS);
    r->ndim = (int32_t)size.n;
    r->dtype = dtype ? dtype : SH_F32;
    for (size_t i = 0; i < size.n; i++) {
        r->sizes[i] = size.at[i];
        if (size.at[i] < 0)
            return sh_fail(SH_ERROR_SHAPE, "%s: size[%zu] is negative: %lld", op, i, (long long)size.at[i]);
    }
    return SH_OK;
}

sh_status sh_infer_like(sh_spec *r, const sh_tensor *self, sh_dtype dtype) {
    r->dtype = dtype ? dtype : (sh_dtype)self->dtype;
    r->ndim = self->ndim;
    memcpy(r->sizes, self->sizes, sizeof r->sizes);
    return SH_OK;
}

sh_status sh_infer_full(sh_spec *r, sh_ints size, sh_scalar fill_value, sh_dtype dtype) {
    SH_TRY(sh_infer_factory(r, "full", size, dtype ? dtype : sh_default_dtype(fill_value)));
    return sh__check_number("full", "fill_value", fill_value, r->dtype);
}

sh_status sh_infer_full_like(sh_spec *r, const sh_tensor *self, sh_scalar fill_value, sh_dtype dtype) {
    SH_TRY(sh_infer_like(r, self, dtype));
    return sh__check_number("full_like", "fill_value", fill_value, r->dtype);
}

sh_status sh_infer_eye(sh_spec *r, int64_t n, int64_t m, sh_dtype dtype) {
    if (n < 0 || m < 0)
        return sh_fail(SH_ERROR_VALUE, "eye: %s is %lld, expected 0 or more", n < 0 ? "n" : "m",
                       (long long)(n < 0 ? n : m));
    return sh_infer_factory(r, "eye", (sh_ints){(const int64_t[]){n, m}, 2}, dtype);
}

/* ---- ranges ---- */

/* Checks that what a range is computed from fits, by the wide type in which that happens. */
static sh_status range_numbers(const char *op, sh_dtype dtype, sh_scalar start, sh_scalar end) {
    if (dtype == SH_B8) return sh_fail(SH_ERROR_DTYPE, "%s: there is no range of bool", op);
    const sh_dtype wide = sh_dtype_kind_of(dtype) == SH_KIND_FLOAT ? SH_F64 : SH_I64;
    SH_TRY(sh__check_number(op, "start", start, wide));
    return sh__check_number(op, "end", end, wide);
}

/* (end - start) / step, rounded up; of i64 with the difference taken in integers. */
static double range_length(sh_dtype dtype, sh_scalar start, sh_scalar end, sh_scalar step) {
    int64_t difference;
    if (dtype == SH_I64 && !__builtin_sub_overflow(sh_value_as_int(end), sh_value_as_int(start), &difference))
        return ceil((double)difference / (double)sh_value_as_int(step));
    return ceil((sh_value_as_double(end) - sh_value_as_double(start)) / sh_value_as_double(step));
}

static bool is_float(sh_scalar number) { return number.tag == SH_TAG_FLOAT; }

sh_status sh_infer_arange(sh_spec *r, sh_scalar start, sh_scalar end, sh_scalar step, sh_dtype dtype) {
    const double from = sh_value_as_double(start), to = sh_value_as_double(end),
                 by = sh_value_as_double(step);
    r->dtype = dtype ? dtype : is_float(start) || is_float(end) || is_float(step) ? SH_F32 : SH_I64;
    if (!isfinite(from) || !isfinite(to))
        return sh_fail(SH_ERROR_VALUE, "arange: from start %g to end %g there is no range", from, to);
    SH_TRY(range_numbers("arange", r->dtype, start, end));
    SH_TRY(sh__check_number("arange", "step", step,
                            sh_dtype_kind_of(r->dtype) == SH_KIND_FLOAT ? SH_F64 : SH_I64));
    const bool whole = sh_dtype_kind_of(r->dtype) != SH_KIND_FLOAT;
    if (!(by > 0 || by < 0) || (whole && sh_value_as_int(step) == 0))
        return sh_fail(SH_ERROR_VALUE, "arange: step is %g, expected another than 0%s", by,
                       whole ? " in integers" : "");
    if (by > 0 ? to < from : to > from)
        return sh_fail(SH_ERROR_VALUE, "arange: step %g does not lead from start %g to end %g", by, from, to);
    const double length = range_length(r->dtype, start, end, step);
    if (!(length >= 0 && length < 0x1p63))
        return sh_fail(SH_ERROR_VALUE, "arange: %g elements are too many", length);
    r->ndim = 1;
    r->sizes[0] = (int64_t)length;
    return SH_OK;
}

sh_status sh_infer_linspace(sh_spec *r, sh_scalar start, sh_scalar end, int64_t steps, sh_dtype dtype) {
    if (steps < 0)
        return sh_fail(SH_ERROR_VALUE, "linspace: steps is %lld, expected 0 or more", (long long)steps);
    SH_TRY(sh_infer_factory(r, "linspace", (sh_ints){&steps, 1}, dtype));
    SH_TRY(range_numbers("linspace", r->dtype, start, end));
    SH_TRY(sh__check_number("linspace", "start", start, r->dtype));
    return sh__check_number("linspace", "end", end, r->dtype);
}

/* ---- random ---- */

static sh_status check_real(const sh_spec *r, const char *op) {
    if (sh_dtype_kind_of(r->dtype) == SH_KIND_FLOAT) return SH_OK;
    return sh_fail(SH_ERROR_DTYPE, "%s: dtype is %s, expected f32, f64, f16 or bf16", op,
                   sh_dtype_name(r->dtype));
}

sh_status sh_infer_random(sh_spec *r, const char *op, sh_ints size, sh_dtype dtype) {
    SH_TRY(sh_infer_factory(r, op, size, dtype));
    return check_real(r, op);
}

sh_status sh_infer_random_like(sh_spec *r, const char *op, const sh_tensor *self, sh_dtype dtype) {
    SH_TRY(sh_infer_like(r, self, dtype));
    return check_real(r, op);
}

static sh_status check_bounds(const sh_spec *r, const char *op, int64_t low, int64_t high) {
    int64_t least = INT64_MIN, most = INT64_MAX;
    if (low >= high)
        return sh_fail(SH_ERROR_VALUE, "%s: low is %lld and high %lld, expected a higher one", op,
                       (long long)low, (long long)high);
    if (sh_dtype_kind_of(r->dtype) != SH_KIND_FLOAT)
        integer_limits(r->dtype, &least, &most);
    else if (r->dtype == SH_F16)
        most = 65504, least = -most;
    if (low >= least && high - 1 <= most) return SH_OK;
    return sh_fail(SH_ERROR_VALUE, "%s: %s is %lld, which %s can't hold", op,
                   low < least ? "low" : "high - 1", (long long)(low < least ? low : high - 1),
                   sh_dtype_name(r->dtype));
}

sh_status sh_infer_randint(sh_spec *r, int64_t low, int64_t high, sh_ints size, sh_dtype dtype) {
    SH_TRY(sh_infer_factory(r, "randint", size, dtype ? dtype : SH_I64));
    return check_bounds(r, "randint", low, high);
}

sh_status sh_infer_randint_like(sh_spec *r, const sh_tensor *self, int64_t low, int64_t high,
                                sh_dtype dtype) {
    SH_TRY(sh_infer_like(r, self, dtype));
    return check_bounds(r, "randint_like", low, high);
}
