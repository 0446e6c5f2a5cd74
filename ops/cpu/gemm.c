/* gemm.c - which code multiplies, and what it must be given.
 *
 * oneDNN's sgemm takes matrices with a unit stride in one of two dimensions, so transposed views go there as they are;
 * anything else is packed first. The tile wants rows of b with unit stride: others are packed block by block. */
#include "ops/cpu/gemm.h"

#include <string.h>

#include "ops/cpu/onednn.h"
#include "ops/cpu/tile.h"

enum {
    SMALL = 32 * 32 * 32, /* multiplications up to which oneDNN's f32 loses to the tile */
    STACK_BLOCK = 1024,   /* numbers of b packed on the stack */
    BLOCK_K = 256,        /* rows of b in one packed block, */
    BLOCK_N = 480         /* and columns: whole vectors of every level */
};

/* c = a, contiguous, for elements of 4 or 8 bytes. */
static void pack(size_t element, void *c, sh_matrix a, int64_t m, int64_t n) {
    for (int64_t i = 0; i < m; i++) {
        if (element == 4) {
            const uint32_t *from = (const uint32_t *)a.data + i * a.row;
            uint32_t *to = (uint32_t *)c + i * n;
            for (int64_t j = 0; j < n; j++) to[j] = from[j * a.column];
        } else {
            const uint64_t *from = (const uint64_t *)a.data + i * a.row;
            uint64_t *to = (uint64_t *)c + i * n;
            for (int64_t j = 0; j < n; j++) to[j] = from[j * a.column];
        }
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
    for (int64_t i = 0; i < k; i += BLOCK_K)
        for (int64_t j = 0; j < n; j += BLOCK_N) {
            const int64_t rows = least(k - i, BLOCK_K), columns = least(n - j, BLOCK_N);
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
    void *block = sh__block_alloc(BLOCK_K * BLOCK_N * sh_dtype_size(dtype), &capacity);
    if (!block) return SH_ERROR_MEMORY;
    multiply_packed(dtype, m, n, k, a, b, c, accumulate, block);
    sh__block_free(block, capacity);
    return SH_OK;
}

/* ---- oneDNN ---- */

/* Is this what BLAS can take: one unit stride, and rows (or columns) that don't overlap? */
static bool is_plain(sh_matrix a, int64_t columns) { return a.column == 1 && a.row >= columns; }
static bool is_transposed(sh_matrix a, int64_t rows) { return a.row == 1 && a.column >= rows; }

/* The matrix itself or a packed copy of it, whose block is to be freed. */
static sh_status as_plain(sh_matrix *a, int64_t rows, int64_t columns, void **block, size_t *capacity) {
    *block = NULL;
    if (is_plain(*a, columns) || is_transposed(*a, rows)) return SH_OK;
    *block = sh__block_alloc((size_t)(rows * columns) * sizeof(float), capacity);
    if (!*block) return SH_ERROR_MEMORY;
    pack(sizeof(float), *block, *a, rows, columns);
    *a = (sh_matrix){*block, columns, 1};
    return SH_OK;
}

static sh_status multiply_onednn(int64_t m, int64_t n, int64_t k, sh_matrix a, sh_matrix b, sh_matrix c,
                                 bool accumulate) {
    void *a_block = NULL, *b_block = NULL;
    size_t a_capacity = 0, b_capacity = 0;
    sh_status status = as_plain(&a, m, k, &a_block, &a_capacity);
    if (status >= 0) status = as_plain(&b, k, n, &b_block, &b_capacity);
    if (status >= 0) {
        const bool ta = !is_plain(a, k), tb = !is_plain(b, n);
        status = sh_onednn_status(dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, 1, a.data,
                                             ta ? a.column : a.row, b.data, tb ? b.column : b.row, accumulate,
                                             c.data, c.row > n ? c.row : n),
                                  "sgemm");
    }
    if (a_block) sh__block_free(a_block, a_capacity);
    if (b_block) sh__block_free(b_block, b_capacity);
    return status;
}

static sh_status multiply_f32(int64_t m, int64_t n, int64_t k, sh_matrix a, sh_matrix b, sh_matrix c,
                              bool accumulate) {
    if (m * n * k > SMALL || (n == 1 && m * k > 256)) return multiply_onednn(m, n, k, a, b, c, accumulate);
    return multiply_blocks(SH_F32, m, n, k, a, b, c, accumulate);
}

/* ---- integers ---- */

/* Multiplied in W, an unsigned type that does not become a signed one, and cut to T. */
#define DEFINE_INTEGERS(name, T, W)                                                                     \
    static void multiply_##name(int64_t m, int64_t n, int64_t k, sh_matrix a, sh_matrix b, sh_matrix c, \
                                bool accumulate) {                                                      \
        for (int64_t i = 0; i < m; i++) {                                                               \
            T *restrict to = (T *)c.data + i * c.row;                                                   \
            if (!accumulate) memset(to, 0, (size_t)n * sizeof(T));                                      \
            for (int64_t j = 0; j < k; j++) {                                                           \
                const W factor = ((const T *)a.data)[i * a.row + j * a.column];                         \
                const T *row = (const T *)b.data + j * b.row;                                           \
                if (b.column == 1)                                                                      \
                    _Pragma("omp simd") for (int64_t p = 0; p < n; p++) to[p] =                         \
                        (T)(to[p] + factor * row[p]);                                                   \
                else                                                                                    \
                    for (int64_t p = 0; p < n; p++) to[p] = (T)(to[p] + factor * row[p * b.column]);    \
            }                                                                                           \
        }                                                                                               \
    }
DEFINE_INTEGERS(i64, uint64_t, uint64_t)
DEFINE_INTEGERS(i32, uint32_t, uint32_t)
DEFINE_INTEGERS(i16, uint16_t, uint32_t)
DEFINE_INTEGERS(i8, uint8_t, uint32_t)

/* ---- all ---- */

/* A stride that is never used must not mislead. */
static sh_matrix tidy(sh_matrix a, int64_t rows, int64_t columns) {
    if (columns <= 1) a.column = 1;
    if (rows <= 1) a.row = a.column == 1 ? columns : 1;
    return a;
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
    switch (dtype) {
    case SH_F32: return multiply_f32(m, n, k, a, b, c, accumulate);
    case SH_F64: return multiply_blocks(SH_F64, m, n, k, a, b, c, accumulate);
    case SH_I64: multiply_i64(m, n, k, a, b, c, accumulate); return SH_OK;
    case SH_I32: multiply_i32(m, n, k, a, b, c, accumulate); return SH_OK;
    case SH_I16: multiply_i16(m, n, k, a, b, c, accumulate); return SH_OK;
    default: multiply_i8(m, n, k, a, b, c, accumulate); return SH_OK;
    }
}
