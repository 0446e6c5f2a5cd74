/* gemm.c - which code multiplies, and what it must be given.
 *
 * oneDNN takes matrices with a unit stride in one of two dimensions, so transposed views go there as they are; anything
 * else is packed first. The tile wants rows of b with unit stride: others are packed block by block. */
#include "ops/cpu/gemm.h"

#include <string.h>

#include "ops/cpu/onednn.h"
#include "ops/cpu/tile.h"
#include "ops/iter.h"

enum {
    SMALL = 32 * 32 * 32, /* multiplications up to which oneDNN's f32 loses to the tile, */
    SMALL_VECTOR = 256,   /* and those with a vector */
    STACK_BLOCK = 1024,   /* numbers of b packed on the stack */
    BLOCK_K = 256,        /* rows of b in one packed block, */
    BLOCK_ROW = 1536      /* bytes in each: whole blocks of the tile in every level and dtype */
};

/* c = a @ b, or c += a @ b; none of the sizes is 0. */
typedef struct job {
    sh_dtype dtype;
    size_t element;
    int64_t m, n, k;
    sh_matrix a, b, c;
    bool accumulate;
} job;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The matrix whose first element is (i, j) of this one. */
static sh_matrix part(sh_matrix a, size_t element, int64_t i, int64_t j) {
    a.data = (char *)a.data + (i * a.row + j * a.column) * (int64_t)element;
    return a;
}

#define DEFINE_PACK(T)                                                                              \
    static void pack_##T(T *to, const T *from, int64_t row, int64_t column, int64_t m, int64_t n) { \
        for (int64_t i = 0; i < m; i++, from += row)                                                \
            for (int64_t j = 0; j < n; j++) *to++ = from[j * column];                               \
    }
DEFINE_PACK(uint64_t)
DEFINE_PACK(uint32_t)
DEFINE_PACK(uint16_t)
DEFINE_PACK(uint8_t)

/* c = a, contiguous. */
static void pack(size_t element, void *c, sh_matrix a, int64_t m, int64_t n) {
    switch (element) {
    case 8: pack_uint64_t(c, a.data, a.row, a.column, m, n); break;
    case 4: pack_uint32_t(c, a.data, a.row, a.column, m, n); break;
    case 2: pack_uint16_t(c, a.data, a.row, a.column, m, n); break;
    default: pack_uint8_t(c, a.data, a.row, a.column, m, n);
    }
}

/* How many threads are worth it: 64 multiplications cost about as much as one element of a loop. */
static int threads_for(const job *j) {
    const double share = (double)j->m * (double)j->n * (double)j->k / 64;
    return sh__threads(share < 0x1p40 ? (int64_t)share : INT64_C(1) << 40);
}

/* ---- the tile ---- */

/* b has rows of unit stride. */
static void multiply_tile(const job *j) {
    static const int64_t one_tap[1] = {0};
    const sh_tile tile = {.a = j->a.data,
                          .b = j->b.data,
                          .c = j->c.data,
                          .a_row = j->a.row,
                          .a_step = j->a.column,
                          .b_plane = j->b.row,
                          .planes = j->k,
                          .ntaps = 1,
                          .taps = one_tap,
                          .c_row = j->c.row,
                          .lines = 1,
                          .accumulate = j->accumulate};
    sh_tile_for(j->dtype)(&tile, j->m, j->n);
}

/* Block by block, each packed into `block`. */
static void multiply_packed(const job *j, void *block) {
    const int64_t width = BLOCK_ROW / (int64_t)j->element;
    for (int64_t k = 0; k < j->k; k += BLOCK_K)
        for (int64_t n = 0; n < j->n; n += width) {
            job b = *j;
            b.k = least(j->k - k, BLOCK_K);
            b.n = least(j->n - n, width);
            b.a = part(j->a, j->element, 0, k);
            b.c = part(j->c, j->element, 0, n);
            b.b = (sh_matrix){block, b.n, 1};
            b.accumulate |= k > 0;
            pack(j->element, block, part(j->b, j->element, k, n), b.k, b.n);
            multiply_tile(&b);
        }
}

/* Rows are shared out among threads, each of which packs for itself. */
static sh_status multiply_shared(const job *j) {
    const int parts = threads_for(j);
    size_t capacity;
    char *blocks = sh__block_alloc((size_t)parts * BLOCK_K * BLOCK_ROW, &capacity);
    if (!blocks) return SH_ERROR_MEMORY;
    SH_PARALLEL(parts)
    for (int i = 0; i < parts; i++) {
        const int64_t first = j->m * i / parts;
        job mine = *j;
        mine.m = j->m * (i + 1) / parts - first;
        mine.a = part(j->a, j->element, first, 0);
        mine.c = part(j->c, j->element, first, 0);
        multiply_packed(&mine, blocks + (size_t)i * BLOCK_K * BLOCK_ROW);
    }
    sh__block_free(blocks, capacity);
    return SH_OK;
}

static sh_status multiply_blocks(const job *j) {
    double on_stack[STACK_BLOCK];
    const bool fits = j->k <= BLOCK_K && j->k * j->n <= STACK_BLOCK;
    if (j->b.column == 1 && (j->m <= 16 || fits))
        multiply_tile(j);
    else if (fits)
        multiply_packed(j, on_stack);
    else
        return multiply_shared(j);
    return SH_OK;
}

/* ---- vectors ---- */

/* Rows of a times the one column of b: neither the tile nor oneDNN has columns to work on. Sums of a piece are in T, of
 * pieces in double. */
#define DEFINE_ROWS(T)                                                                                 \
    static void multiply_rows_##T(const job *j) {                                                      \
        enum { PIECE = 4096 };                                                                         \
        for (int64_t i = 0; i < j->m; i++) {                                                           \
            const T *x = (const T *)j->a.data + i * j->a.row, *y = j->b.data;                          \
            T *to = (T *)j->c.data + i * j->c.row;                                                     \
            double sum = j->accumulate ? (double)*to : 0;                                              \
            for (int64_t from = 0; from < j->k; from += PIECE) {                                       \
                const int64_t end = least(j->k, from + PIECE);                                         \
                T piece = 0;                                                                           \
                _Pragma("omp simd reduction(+ : piece)") for (int64_t p = from; p < end; p++) piece += \
                    x[p] * y[p];                                                                       \
                sum += (double)piece;                                                                  \
            }                                                                                          \
            *to = (T)sum;                                                                              \
        }                                                                                              \
    }
DEFINE_ROWS(float)
DEFINE_ROWS(double)

/* Where a call of oneDNN's would cost more, or there is none. */
static bool is_rows(const job *j) {
    if (j->n != 1 || (j->a.column != 1 && j->k > 1) || (j->b.row != 1 && j->k > 1)) return false;
    return j->dtype == SH_F64 ||
           (j->dtype == SH_F32 && (j->m == 1 || (double)j->m * (double)j->k <= SMALL_VECTOR));
}

/* ---- oneDNN ---- */

/* Is this what BLAS can take: one unit stride, and rows (or columns) that don't overlap? */
static bool is_plain(sh_matrix a, int64_t columns) { return a.column == 1 && a.row >= columns; }
static bool is_transposed(sh_matrix a, int64_t rows) { return a.row == 1 && a.column >= rows; }

/* The matrix itself or a packed copy of it, whose block is to be freed. */
static sh_status as_blas(size_t element, sh_matrix a, int64_t rows, int64_t columns, sh_blas_matrix *blas,
                         void **block, size_t *capacity) {
    *block = NULL;
    *blas = (sh_blas_matrix){a.data, a.row, false};
    if (is_plain(a, columns)) return SH_OK;
    if (is_transposed(a, rows)) {
        *blas = (sh_blas_matrix){a.data, a.column, true};
        return SH_OK;
    }
    *block = sh__block_alloc((size_t)(rows * columns) * element, capacity);
    if (!*block) return SH_ERROR_MEMORY;
    pack(element, *block, a, rows, columns);
    *blas = (sh_blas_matrix){*block, columns, false};
    return SH_OK;
}

static sh_status multiply_onednn(const job *j) {
    void *a_block = NULL, *b_block = NULL;
    size_t a_capacity = 0, b_capacity = 0;
    sh_blas_matrix a, b;
    const int64_t leading = j->c.row > j->n ? j->c.row : j->n;
    sh_status status = as_blas(j->element, j->a, j->m, j->k, &a, &a_block, &a_capacity);
    if (status >= 0) status = as_blas(j->element, j->b, j->k, j->n, &b, &b_block, &b_capacity);
    if (status >= 0)
        status = (j->dtype == SH_F32 ? sh_onednn_f32 : sh_onednn_bf16)(threads_for(j), j->m, j->n, j->k, a, b,
                                                                       j->accumulate, j->c.data, leading);
    if (a_block) sh__block_free(a_block, a_capacity);
    if (b_block) sh__block_free(b_block, b_capacity);
    return status;
}

/* ---- all ---- */

/* A stride that is never used must not mislead. */
static sh_matrix tidy(sh_matrix a, int64_t rows, int64_t columns) {
    if (columns <= 1) a.column = 1;
    if (rows <= 1) a.row = a.column == 1 ? columns : 1;
    return a;
}

static void clear(sh_matrix c, size_t element, int64_t m, int64_t n) {
    for (int64_t i = 0; i < m; i++) memset(part(c, element, i, 0).data, 0, (size_t)n * element);
}

bool sh_gemm_takes(sh_dtype dtype) {
    return dtype == SH_BF16 ? sh_onednn_has_bf16() : dtype != SH_F16 && dtype != SH_B8;
}

sh_status sh_gemm(sh_dtype dtype, int64_t m, int64_t n, int64_t k, sh_matrix a, sh_matrix b, sh_matrix c,
                  bool accumulate) {
    const job j = {dtype, sh_dtype_size(dtype), m, n, k, tidy(a, m, k), tidy(b, k, n), c, accumulate};
    if (!m || !n) return SH_OK;
    if (!k) {
        if (!accumulate) clear(c, j.element, m, n);
        return SH_OK;
    }
    if (is_rows(&j)) {
        (dtype == SH_F32 ? multiply_rows_float : multiply_rows_double)(&j);
        return SH_OK;
    }
    const bool small = (double)m * (double)n * (double)k <= (n == 1 ? SMALL_VECTOR : SMALL);
    if (dtype == SH_BF16 || (dtype == SH_F32 && !small)) return multiply_onednn(&j);
    return multiply_blocks(&j);
}
