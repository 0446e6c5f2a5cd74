/* quantized_bytes.h - the input of a product as the bytes that oneDNN multiplies exactly.
 *
 * They are u8; i8 has 128 added, to its zero point too. Without VNNI only those below 128 will do, which is what
 * observers with a reduced range make of activations: the values are looked at, which costs next to nothing, and the
 * zero point, with which convolutions pad. */
#ifndef SH_OPS_CPU_QUANTIZED_BYTES_H
#define SH_OPS_CPU_QUANTIZED_BYTES_H

#include "dispatch/tensor_impl.h"

typedef struct sh_quantized_bytes {
    const uint8_t *data; /* NULL: the products would not be exact */
    uint8_t zero_point;
    void *block; /* what holds a copy, or NULL */
    size_t capacity;
} sh_quantized_bytes;

/* Of a contiguous x of u8 or i8, which must outlive them. They end with sh_quantized_bytes_drop. */
sh_status sh_quantized_bytes_of(const sh_tensor *x, int64_t zero_point, sh_quantized_bytes *bytes);
void sh_quantized_bytes_drop(sh_quantized_bytes *bytes);

#endif
