/* pointwise_copy.c - copying and converting between any two layouts.
 *
 * Where source and target are row-major it is one array after the other; where the source's rows are the
 * target's columns, square blocks that stay in the first cache; else the engine's tiles (iter.h). */
#include <emmintrin.h>
#include <string.h>

#include "ops/cpu/pointwise_maps.h"
#include "ops/kernels.h"

#define MOVE(bytes)                                                                                         \
    static void move_##bytes(void *to, const void *first, const void *second, const void *third, int64_t n, \
                             const void *parameters) {                                                      \
        (void)second, (void)third, (void)parameters;                                                        \
        if (to != first) memcpy(to, first, (size_t)n *bytes);                                               \
    }
MOVE(1)
MOVE(2)
MOVE(4)
MOVE(8)

/* ---- rows that become columns ---- */

enum { BLOCK = 32, FEW = 8 };

/* The target's innermost dimension is `row`, the source's is `column`; strides in bytes, of the source as it
 * broadcasts to the target. */
typedef struct crossing {
    int ndim, row, column;
    int64_t sizes[SH_MAX_DIMS], to[SH_MAX_DIMS], from[SH_MAX_DIMS], element, bands;
} crossing;

static bool find_crossing(crossing *c, const sh_tensor *r, const sh_tensor *src) {
    *c = (crossing){.ndim = r->ndim, .row = -1, .column = -1, .element = r->element};
    for (int i = 0; i < c->ndim; i++) {
        const int dim = i - (r->ndim - src->ndim);
        c->sizes[i] = r->sizes[i];
        c->to[i] = r->strides[i] * c->element;
        c->from[i] = dim < 0 || src->sizes[dim] == 1 ? 0 : src->strides[dim] * c->element;
        if (c->sizes[i] < FEW) continue;
        if (c->to[i] == c->element) c->row = i;
        if (c->from[i] == c->element) c->column = i;
    }
    if (c->row < 0 || c->column < 0 || c->row == c->column || r->dtype != src->dtype) return false;
    c->bands = (c->sizes[c->column] + BLOCK - 1) / BLOCK;
    return true;
}

/* One block, or what is left of it: strides in bytes, `width` elements of a target row, `height` of its rows. */
typedef struct block {
    char *to;
    const char *from;
    int64_t to_stride, from_stride, width, height;
} block;

#define CROSS(T)                                            \
    for (int64_t j = 0; j < b.height; j++)                  \
        for (int64_t i = 0; i < b.width; i++)               \
    memcpy(b.to + j * b.to_stride + i * (int64_t)sizeof(T), \
           b.from + i * b.from_stride + j * (int64_t)sizeof(T), sizeof(T))

static void cross_single(block b, int64_t element) {
    switch (element) {
    case 1: CROSS(uint8_t); break;
    case 2: CROSS(uint16_t); break;
    case 4: CROSS(uint32_t); break;
    default: CROSS(uint64_t);
    }
}

static inline __m128i load(const char *at) { return _mm_loadu_si128((const __m128i_u *)(const void *)at); }
static inline void store(char *at, __m128i v) { _mm_storeu_si128((__m128i_u *)(void *)at, v); }

/* Four by four elements of 4 bytes, and two by two of 8, in registers. */
static inline void cross_four(char *to, int64_t to_stride, const char *from, int64_t from_stride) {
    const __m128i a = load(from), b = load(from + from_stride), c = load(from + 2 * from_stride),
                  d = load(from + 3 * from_stride);
    const __m128i ab = _mm_unpacklo_epi32(a, b), cd = _mm_unpacklo_epi32(c, d);
    const __m128i high_ab = _mm_unpackhi_epi32(a, b), high_cd = _mm_unpackhi_epi32(c, d);
    store(to, _mm_unpacklo_epi64(ab, cd));
    store(to + to_stride, _mm_unpackhi_epi64(ab, cd));
    store(to + 2 * to_stride, _mm_unpacklo_epi64(high_ab, high_cd));
    store(to + 3 * to_stride, _mm_unpackhi_epi64(high_ab, high_cd));
}
static inline void cross_two(char *to, int64_t to_stride, const char *from, int64_t from_stride) {
    const __m128i a = load(from), b = load(from + from_stride);
    store(to, _mm_unpacklo_epi64(a, b));
    store(to + to_stride, _mm_unpackhi_epi64(a, b));
}

#define CROSS_SQUARES(cross, side)                                                                     \
    for (int64_t j = 0; j < height; j += (side))                                                       \
        for (int64_t i = 0; i < width; i += (side))                                                    \
    cross(b.to + j * b.to_stride + i * element, b.to_stride, b.from + i * b.from_stride + j * element, \
          b.from_stride)

/* By squares as far as they go, then the rows and the columns that are left. */
static void cross_block(block b, int64_t element) {
    const int64_t side = element < 4 ? BLOCK + 1 : 16 / element;
    const int64_t width = b.width / side * side, height = b.height / side * side;
    if (element == 4) CROSS_SQUARES(cross_four, 4);
    if (element == 8) CROSS_SQUARES(cross_two, 2);
    block right = b, below = b;
    right.to += width * element;
    right.from += width * b.from_stride;
    right.width -= width;
    right.height = height;
    below.to += height * b.to_stride;
    below.from += height * element;
    below.height -= height;
    cross_single(right, element);
    cross_single(below, element);
}

/* A band of up to BLOCK target rows; bands are counted over the other dimensions, then down the column. */
static void cross_band(const crossing *c, char *to, const char *from, int64_t band) {
    const int64_t first = band % c->bands * BLOCK, left = c->sizes[c->column] - first,
                  width = c->sizes[c->row];
    int64_t rest = band / c->bands;
    to += first * c->to[c->column];
    from += first * c->element;
    for (int d = c->ndim; d-- > 0;) {
        if (d == c->row || d == c->column) continue;
        to += rest % c->sizes[d] * c->to[d];
        from += rest % c->sizes[d] * c->from[d];
        rest /= c->sizes[d];
    }
    for (int64_t i = 0; i < width; i += BLOCK)
        cross_block((block){to + i * c->element, from + i * c->from[c->row], c->to[c->column],
                            c->from[c->row], width - i < BLOCK ? width - i : BLOCK,
                            left < BLOCK ? left : BLOCK},
                    c->element);
}

static void cross(const crossing *c, sh_tensor *r, const sh_tensor *src) {
    int64_t bands = c->bands;
    for (int d = 0; d < c->ndim; d++)
        if (d != c->row && d != c->column) bands *= c->sizes[d];
    const int threads = sh__threads(r->numel);
    SH_PARALLEL(threads)
    for (int64_t band = 0; band < bands; band++) cross_band(c, r->data, src->data, band);
}

/* ---- the kernel ---- */

/* One array after the other, or blocks; false: it is for the engine. */
static bool copy_straight(sh_tensor *r, const sh_tensor *src) {
    crossing c;
    if ((r->flags & src->flags & SH_TENSOR_CONTIGUOUS) && r->numel == src->numel &&
        sh__threads(r->numel) == 1) {
        sh__convert((sh_dtype)r->dtype, r->data, (sh_dtype)src->dtype, src->data, r->numel);
        return true;
    }
    if (!find_crossing(&c, r, src)) return false;
    cross(&c, r, src);
    return true;
}

sh_status sh_cpu_copy(sh_tensor *r, sh_tensor *self, sh_tensor *src, bool non_blocking) {
    (void)self, (void)non_blocking;
    static sh_loop *const moves[] = {[1] = move_1, [2] = move_2, [4] = move_4, [8] = move_8};
    if (r->numel == 0 || r == src) return SH_OK;
    const sh_map map = {.loop = moves[r->element],
                        .to = r,
                        .made = (sh_dtype)r->dtype,
                        .n = 1,
                        .from = {{src, (sh_dtype)src->dtype, (sh_dtype)r->dtype}}};
    if (!sh__map_noted(&map) && !copy_straight(r, src)) sh__map(&map);
    return SH_OK;
}
