/* gemm.c - which code multiplies, and what it must be given.
 *
 * oneDNN's sgemm takes matrices with a unit stride in one of two dimensions, so transposed views go there as they are;
 * anything else is packed first. The tile wants rows of b with unit stride: others are packed block by block. */
#include "ops/cpu/gemm.h"

#include <string.h>

#include "ops/cpu/onednn.h"
#include "ops/cpu/tile.h"

enum {
    SMALL = 32 * 32 * 32, /* multiplications up to which oneDNN's f32 loses to the tile, */
    SMALL_VECTOR = 256,   /* and those with a vector */
    STACK_BLOCK = 1024,   /* numbers of b packed on the stack */
    BLOCK_K = 256,        /* rows of b in one packed block, */
    BLOCK_ROW = 1536      /* bytes in each: whole blocks of the tile in every level and dtype */
};

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

static char *element_of(sh_matrix a, size_t element, int64_t i, int64_t j) {
    return (char *)a.data + (i * a.row + j * a.column) * (int64_t)element;
}

/* ---- the tile ---- */

static const int64_t one_tap[1] = {0};

/* b has rows of unit stride. */
static void multiply_tile(sh_dtype dtype, int64_t m, int64_t n, int64_t k, sh_matrix a, sh_matrix b,
                          sh_matrix c, bool accumulate) {
    const sh_tile tile = {.a = a.data,
                          .b = b.data,
                          .c = c.data,
                          .a_row = a.row,
                          .a_step = a.column,
                          .b_plane = b.row,
                          .planes = k,
                          .ntaps = 1,
                          .taps = one_tap,
                          .c_row = c.row,
                          .lines = 1,
                          .accumulate = accumulate};
    sh_tile_for(dtype)(&tile, m, n);
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Block by block, each packed into `block`. */
static void multiply_packed(sh_dtype dtype, int64_t m, int64_t n, int64_t k, sh_matrix a, sh_matrix b,
                            sh_matrix c, bool accumulate, void *block) {
    const size_t element = sh_dtype_size(dtype);
    const int64_t width = BLOCK_ROW / (int64_t)element;
    for (int64_t i = 0; i < k; i += BLOCK_K)
        for (int64_t j = 0; j < n; j += width) {
            const int64_t rows = least(k - i, BLOCK_K), columns = least(n - j, width);
            pack(element, block, (sh_matrix){element_of(b, element, i, j), b.row, b.column}, rows, columns);
            multiply_tile(dtype, m, columns, rows, (sh_matrix){element_of(a, element, 0, i), a.row, a.column},
                          (sh_matrix){block, columns, 1}, (sh_matrix){element_of(c, element, 0, j), c.row, 1},
                          accumulate || i > 0);
        }
}

static sh_status multiply_blocks(sh_dtype dtype, int64_t m, int64_t n, int64_t k, sh_matrix a, sh_matrix b,
                                 sh_matrix c, bool accumulate) {
    double on_stack[STACK_BLOCK];
    size_t capacity;
    if (b.column == 1 && (m <= 16 || k * n <= STACK_BLOCK)) {
        multiply_tile(dtype, m, n, k, a, b, c, accumulate);
        return SH_OK;
    }
    if (k * n <= STACK_BLOCK) {
        multiply_packed(dtype, m, n, k, a, b, c, accumulate, on_stack);
        return SH_OK;
    }
    void *block = sh__block_alloc(BLOCK_K * BLOCK_ROW, &capacity);
    if (!block) return SH_ERROR_MEMORY;
    multiply_packed(dtype, m, n, k, a, b, c, accumulate, block);
    sh__block_free(block, capacity);
    return SH_OK;
}

/* ---- vectors ---- */

/* Rows of a times the one column of b: neither the tile nor oneDNN has columns to work on. Sums of a piece are in T, of
 * pieces in double. */
#define DEFINE_ROWS(T)                                                                              \
    static void multiply_rows_##T(int64_t m, int64_t k, sh_matrix a, sh_matrix b, sh_matrix c,      \
                                  bool accumulate) {                                                \
        enum { PIECE = 4096 };                                                                      \
        for (int64_t i = 0; i < m; i++) {                                                           \
            const T *x = (const T *)a.data + i * a.row, *y = b.data;                                \
            T *to = (T *)c.data + i * c.row;                                                        \
            double sum = accumulate ? (double)*to : 0;                                              \
            for (int64_t j = 0; j < k; j += PIECE) {                                                \
                const int64_t end = least(k, j + PIECE);                                            \
                T piece = 0;                                                                        \
                _Pragma("omp simd reduction(+ : piece)") for (int64_t p = j; p < end; p++) piece += \
                    x[p] * y[p];                                                                    \
                sum += (double)piece;                                                               \
            }                                                                                       \
            *to = (T)sum;                                                                           \
        }                                                                                           \
    }
DEFINE_ROWS(float)
DEFINE_ROWS(double)

/* Where a call of oneDNN's would cost more, or there is none. */
static bool is_rows(sh_dtype dtype, int64_t m, int64_t n, int64_t k, sh_matrix a, sh_matrix b) {
    if (n != 1 || (a.column != 1 && k > 1) || (b.row != 1 && k > 1)) return false;
    return dtype == SH_F64 || (dtype == SH_F32 && (m == 1 || (double)m * (double)k <= SMALL_VECTOR));
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

static sh_status multiply_onednn(sh_dtype dtype, int64_t m, int64_t n, int64_t k, sh_matrix a, sh_matrix b,
                                 sh_matrix c, bool accumulate) {
    void *a_block = NULL, *b_block = NULL;
    size_t a_capacity = 0, b_capacity = 0;
    sh_blas_matrix left, right;
    const size_t element = sh_dtype_size(dtype);
    const int64_t leading = c.row > n ? c.row : n;
    sh_status status = as_blas(element, a, m, k, &left, &a_block, &a_capacity);
    if (status >= 0) status = as_blas(element, b, k, n, &right, &b_block, &b_capacity);
    if (status >= 0)
        status = dtype == SH_F32 ? sh_onednn_f32(m, n, k, left, right, accumulate, c.data, leading)
                                 : sh_onednn_bf16(m, n, k, left, right, accumulate, c.data, leading);
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

bool sh_gemm_takes(sh_dtype dtype) {
    return dtype == SH_BF16 ? sh_onednn_has_bf16() : dtype != SH_F16 && dtype != SH_B8;
}

sh_status sh_gemm(sh_dtype dtype, int64_t m, int64_t n, int64_t k, sh_matrix a, sh_matrix b, sh_matrix c,
                  bool accumulate) {
    if (!m || !n) return SH_OK;
    if (!k) {
        for (int64_t i = 0; i < m && !accumulate; i++)
            memset(element_of(c, sh_dtype_size(dtype), i, 0), 0, (size_t)n * sh_dtype_size(dtype));
        return SH_OK;
    }
    a = tidy(a, m, k);
    b = tidy(b, k, n);
    if (is_rows(dtype, m, n, k, a, b)) {
        (dtype == SH_F32 ? multiply_rows_float : multiply_rows_double)(m, k, a, b, c, accumulate);
        return SH_OK;
    }
    const bool small = (double)m * (double)n * (double)k <= (n == 1 ? SMALL_VECTOR : SMALL);
    if (dtype == SH_BF16 || (dtype == SH_F32 && !small))
        return multiply_onednn(dtype, m, n, k, a, b, c, accumulate);
    return multiply_blocks(dtype, m, n, k, a, b, c, accumulate);
}
