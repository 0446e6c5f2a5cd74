/* factory.c - tensors made from numbers, element by element. */
#include "ops/element.h"
#include "ops/kernels.h"

#define K(name) sh_ref_##name

static bool is_float(const sh_tensor *t) { return sh_dtype_kind_of((sh_dtype)t->dtype) == SH_KIND_FLOAT; }
static void *at(const sh_tensor *r, const int64_t *index) { return sh_element(r, index, r->ndim); }

static sh_status fill(sh_tensor *r, sh_scalar number) {
    SH_EACH_ELEMENT(r, i) {
        if (number.tag == SH_TAG_FLOAT)
            sh_store_f64((sh_dtype)r->dtype, at(r, i), number.as.f);
        else
            sh_store_i64((sh_dtype)r->dtype, at(r, i), number.as.i);
    }
    return SH_OK;
}

/* Integers wrap around where the dtype is too small, as in torch. */
static sh_status ramp(sh_tensor *r, sh_scalar start, sh_scalar step) {
    SH_EACH_ELEMENT(r, i) {
        const double value = sh_value_as_double(start) + sh_value_as_double(step) * (double)i[0];
        const uint64_t whole =
            (uint64_t)sh_value_as_int(start) + (uint64_t)sh_value_as_int(step) * (uint64_t)i[0];
        if (is_float(r))
            sh_store_f64((sh_dtype)r->dtype, at(r, i), value);
        else
            sh_store_i64((sh_dtype)r->dtype, at(r, i), (int64_t)whole);
    }
    return SH_OK;
}

/* From both ends to the middle, so that both are met exactly. */
static sh_status spread(sh_tensor *r, sh_scalar start, sh_scalar end) {
    const bool whole = !is_float(r);
    const double from = whole ? (double)sh_value_as_int(start) : sh_value_as_double(start);
    const double to = whole ? (double)sh_value_as_int(end) : sh_value_as_double(end);
    const int64_t steps = r->numel;
    const double step = steps > 1 ? (to - from) / (double)(steps - 1) : 0;
    SH_EACH_ELEMENT(r, i) {
        const bool first_half = i[0] < steps / 2 || steps == 1;
        const double value = first_half ? from + step * (double)i[0] : to - step * (double)(steps - i[0] - 1);
        sh_store_f64((sh_dtype)r->dtype, at(r, i), value);
    }
    return SH_OK;
}

static sh_status identity(sh_tensor *r) {
    SH_EACH_ELEMENT(r, i) sh_store_i64((sh_dtype)r->dtype, at(r, i), i[0] == i[1]);
    return SH_OK;
}

#include "ops/factory_kernels.inc"
