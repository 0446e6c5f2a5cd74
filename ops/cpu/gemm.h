/* gemm.h - one matrix product.
 *
 * f32 goes to oneDNN unless the matrices are so small that the call would cost more than the work; the rest to tile.h.
 * Integers wrap around. */
#ifndef SH_OPS_CPU_GEMM_H
#define SH_OPS_CPU_GEMM_H

#include "dispatch/tensor_impl.h"

/* Element (i, j) is data[i * row + j * column]. Strides may be 0 or negative. */
typedef struct sh_matrix {
    void *data;
    int64_t row, column;
} sh_matrix;

/* f16 and, without AVX-512, bf16 have to be widened. */
bool sh_gemm_takes(sh_dtype dtype);

/* c = a @ b, or c += a @ b, with a of [m, k] and b of [k, n]. c.column is 1 and rows of c don't overlap; c shares nothing
 * with a and b. m, n and k may be 0. */
sh_status sh_gemm(sh_dtype dtype, int64_t m, int64_t n, int64_t k, sh_matrix a, sh_matrix b, sh_matrix c,
                  bool accumulate);

#endif
