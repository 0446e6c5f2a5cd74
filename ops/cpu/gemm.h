/* gemm.h - one matrix product, of f32, f64 or integers.
 *
 * f32 goes to oneDNN unless the matrices are so small that the call would cost more than the work; f64 and small f32
 * to tile.h; integers, which wrap around, to plain loops. */
#ifndef SH_OPS_CPU_GEMM_H
#define SH_OPS_CPU_GEMM_H

#include "dispatch/tensor_impl.h"

/* Element (i, j) is data[i * row + j * column]. Strides may be 0 or negative. */
typedef struct sh_matrix {
    void *data;
    int64_t row, column;
} sh_matrix;

/* c = a @ b, or c += a @ b, with a of [m, k] and b of [k, n]. c.column is 1 and rows of c don't overlap; c shares nothing
 * with a and b. m, n and k may be 0. */
sh_status sh_gemm(sh_dtype dtype, int64_t m, int64_t n, int64_t k, sh_matrix a, sh_matrix b, sh_matrix c,
                  bool accumulate);

#endif
