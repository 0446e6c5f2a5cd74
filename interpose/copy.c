/* copy.c - elements from one layout into another, whatever they are: numbers, complex or not, vectors, triangles. */
#include <string.h>

#include "dispatch/tensor_impl.h"
#include "interpose/machine.h"

void wr_copy(sh_tensor *to, const sh_tensor *from) {
    const int64_t rows = to->ndim > 1 ? to->sizes[0] : 1, columns = to->ndim ? to->sizes[to->ndim - 1] : 1;
    const int64_t down = to->ndim > 1, across = to->ndim - 1;
    const int64_t element = to->element;
    if (to->data == from->data && memcmp(to->strides, from->strides, to->ndim * sizeof *to->strides) == 0)
        return;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            const int64_t index[2] = {i, j};
            if (to->ndim == 2 && !sh__in_part(to, index)) continue;
            const int64_t t = (down ? i * to->strides[0] : 0) + (to->ndim ? j * to->strides[across] : 0),
                          f = (down ? i * from->strides[0] : 0) + (to->ndim ? j * from->strides[across] : 0);
            memcpy(to->data + t * element, from->data + f * element, (size_t)element);
        }
}
