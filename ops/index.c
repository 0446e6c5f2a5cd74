/* index.c - the checks of indices and values. */
#include "ops/index.h"

#include "ops/element.h"
#include "ops/infer_factory.h"

/* Without a branch, for nearly always all are inside; then once more with one. */
int64_t sh_first_outside(const int64_t *index, int64_t n, int64_t size) {
    uint64_t outside = 0;
    const uint64_t last = (uint64_t)size - 1;
    _Pragma("omp simd reduction(|:outside)") for (int64_t i = 0; i < n; i++) outside |=
        (uint64_t)index[i] | (last - (uint64_t)index[i]);
    int64_t first = outside >> 63 ? 0 : n;
    while (first < n && index[first] >= 0 && index[first] < size) first++;
    return first;
}

sh_status sh_check_index(const char *op, const sh_tensor *index, int64_t size, int64_t result_numel) {
    const bool packed = index->dtype == SH_I64 && (index->flags & SH_TENSOR_CONTIGUOUS);
    int64_t i = packed ? sh_first_outside((const int64_t *)(const void *)index->data, index->numel, size) : 0;
    for (; result_numel && i < index->numel; i++) {
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
