#include "dispatch/copy.h"

#include <string.h>

static void copy_line(sh_tensor *to, char *dest, const sh_tensor *from, const char *source, int64_t *index) {
    const int last = from->ndim - 1;
    const size_t element = from->element;
    const int64_t n = from->ndim ? from->sizes[last] : 1;
    const int64_t step = from->ndim ? from->strides[last] * (int64_t)element : 0;
    const int64_t to_step = from->ndim ? to->strides[last] * (int64_t)element : 0;
    const bool part = (from->flags & SH_TENSOR_PART) != 0;
    if (!part && step == (int64_t)element && to_step == step) {
        memcpy(dest, source, (size_t)n * element);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        if (part) index[last] = i;
        if (!part || sh__in_part(from, index)) memcpy(dest + i * to_step, source + i * step, element);
    }
}

void sh__elements_copy(sh_tensor *to, const sh_tensor *from) {
    int64_t index[SH_MAX_DIMS] = {0};
    if (!from->numel) return;
    for (;;) {
        int64_t a = 0, b = 0;
        for (int i = 0; i + 1 < from->ndim; i++) {
            a += index[i] * to->strides[i];
            b += index[i] * from->strides[i];
        }
        copy_line(to, to->data + a * (int64_t)to->element, from, from->data + b * (int64_t)from->element,
                  index);
        int d = from->ndim - 2;
        for (; d >= 0 && ++index[d] == from->sizes[d]; d--) index[d] = 0;
        if (d < 0) return;
    }
}

sh_tensor *sh__tensor_double(const sh_tensor *t) {
    int64_t low = 0, high = 0;
    for (int i = 0; t->numel && i < t->ndim; i++) {
        const int64_t reach = (t->sizes[i] - 1) * t->strides[i];
        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
    }
    const sh_spec spec = {.dtype = (sh_dtype)t->dtype, .ndim = 1, .sizes = {t->numel ? high - low + 1 : 0}};
    sh_tensor *memory = sh__tensor_alloc_any(&spec, SH_HOST);
    sh_tensor *copy = memory ? sh__tensor_view(memory) : NULL;
    if (memory) sh__release(memory);
    if (!copy) return NULL;
    sh__tensor_set_layout(copy, t->ndim, t->sizes, t->strides, -low);
    copy->flags |= t->flags & SH_TENSOR_PART;
    sh__elements_copy(copy, t);
    return copy;
}
