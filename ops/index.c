/* index.c - nonzero, whose shape depends on data, and the checks of indices and values. */
#include "ops/index.h"

#include "ops/element.h"
#include "ops/infer_factory.h"
#include "ops/kernels.h"

sh_status sh_check_index(const char *op, const sh_tensor *index, int64_t size, int64_t result_numel) {
    for (int64_t i = 0; result_numel && i < index->numel; i++) {
        const int64_t entry = sh_index_at(index, i);
        if (entry < 0 || entry >= size)
            return sh_fail(SH_ERROR_INDEX, "%s: index[%lld] is %lld, expected 0 to %lld", op, (long long)i,
                           (long long)entry, (long long)size - 1);
    }
    return SH_OK;
}

static sh_scalar number_of(const sh_tensor *t) {
    const sh_dtype dtype = (sh_dtype)t->dtype;
    if (sh_dtype_kind_of(dtype) == SH_KIND_FLOAT) return sh_value_float(sh_load_f64(dtype, t->data));
    return dtype == SH_B8 ? sh_value_flag(sh_load_i64(dtype, t->data) != 0)
                          : sh_value_int(sh_load_i64(dtype, t->data));
}

sh_status sh_read_fill(const sh_tensor *r, const sh_tensor *value, char *element) {
    const sh_scalar number = number_of(value);
    SH_TRY(sh__check_number("masked_fill", "value", number, (sh_dtype)r->dtype));
    if (number.tag == SH_TAG_FLOAT)
        sh_store_f64((sh_dtype)r->dtype, element, number.as.f);
    else
        sh_store_i64((sh_dtype)r->dtype, element, number.as.i);
    return SH_OK;
}

/* ---- nonzero ---- */

/* The bits that make an element of this dtype other than zero: all but the sign of a float. */
static uint64_t telling_bits(const sh_tensor *t) {
    const int bits = 8 * (int)t->element - (sh_dtype_kind_of((sh_dtype)t->dtype) == SH_KIND_FLOAT);
    return UINT64_MAX >> (64 - bits);
}

static uint64_t load_bits(const void *at, uint32_t width) {
    switch (width) {
    case 1: return *(const uint8_t *)at;
    case 2: return *(const uint16_t *)at;
    case 4: return *(const uint32_t *)at;
    default: return *(const uint64_t *)at;
    }
}

/* Counts the elements that are not zero and, where `to` is given, writes their indices. */
static int64_t find(const sh_tensor *self, int64_t *to) {
    const uint64_t telling = telling_bits(self);
    int64_t n = 0;
    SH_EACH_ELEMENT(self, i) {
        if (!(load_bits(sh_element(self, i, self->ndim), self->element) & telling)) continue;
        for (int k = 0; to && k < self->ndim; k++) *to++ = i[k];
        n++;
    }
    return n;
}

sh_status sh_any_nonzero(sh_value *results, sh_tensor *self) {
    if (self->device == SH_META)
        return sh_fail(SH_ERROR_DEVICE,
                       "nonzero: the shape of the result depends on data, and a meta tensor holds none");
    if (self->device != SH_HOST)
        return sh_fail(SH_ERROR_DEVICE, "nonzero: self is on device %d, expected host", self->device);
    const sh_spec spec = {.dtype = SH_I64, .ndim = 2, .sizes = {find(self, NULL), self->ndim}};
    sh_tensor *r = sh__tensor_alloc(&spec, SH_HOST);
    if (!r || !sh__own(r)) return SH_ERROR_MEMORY;
    find(self, (int64_t *)r->data);
    results[0] = sh_value_tensor(r);
    return SH_OK;
}
