/* quantized_bytes.c - see quantized_bytes.h. Eight bytes at a time: x ^ 0x80 is x + 128 of i8, as u8. */
#include "ops/cpu/quantized_bytes.h"

#include <string.h>

#include "dispatch/memory_impl.h"
#include "ops/cpu/onednn.h"

enum { WORDS = 512 /* looked at before it is asked whether to go on */ };

static const uint64_t top = UINT64_C(0x8080808080808080);

static uint64_t word_at(const uint8_t *x, int64_t bytes) {
    uint64_t word = 0;
    memcpy(&word, x, (size_t)bytes);
    return word;
}

/* Has every byte this top bit? */
static bool have_top(const uint8_t *x, int64_t n, uint64_t bit) {
    const int64_t rest = n % 8, words = n / 8;
    uint64_t other = rest ? (word_at(x + n - rest, rest) ^ bit) & top >> (8 - rest) * 8 : 0;
    for (int64_t first = 0; first < words && !other; first += WORDS)
        for (int64_t i = first; i < words && i < first + WORDS; i++)
            other |= (word_at(x + i * 8, 8) ^ bit) & top;
    return !other;
}

static void flip_tops(uint8_t *to, const uint8_t *x, int64_t n) {
    _Pragma("omp simd") for (int64_t i = 0; i < n; i++) to[i] = x[i] ^ 0x80;
}

sh_status sh_quantized_bytes_of(const sh_tensor *x, int64_t zero_point, sh_quantized_bytes *bytes) {
    const bool is_signed = x->dtype == SH_I8;
    const uint8_t *data = (const uint8_t *)x->data;
    *bytes = (sh_quantized_bytes){.zero_point = (uint8_t)(zero_point + (is_signed ? 128 : 0))};
    if (bytes->zero_point >= sh_onednn_u8_end() ||
        (sh_onednn_u8_end() < 256 && !have_top(data, x->numel, is_signed ? top : 0)))
        return SH_OK;
    bytes->data = data;
    if (!is_signed) return SH_OK;
    uint8_t *copy = sh__block_alloc((size_t)x->numel + 1, &bytes->capacity);
    if (!copy) return SH_ERROR_MEMORY;
    flip_tops(copy, data, x->numel);
    bytes->data = bytes->block = copy;
    return SH_OK;
}

void sh_quantized_bytes_drop(sh_quantized_bytes *bytes) {
    if (bytes->block) sh__block_free(bytes->block, bytes->capacity);
}
