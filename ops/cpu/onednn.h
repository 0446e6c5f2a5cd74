/* onednn.h - what is asked of oneDNN, the only place that knows it.
 *
 * Matrices are row-major with a unit stride along rows, or, where `transposed`, along columns; `leading` is the other
 * stride, at least as long as what it steps over. */
#ifndef SH_OPS_CPU_ONEDNN_H
#define SH_OPS_CPU_ONEDNN_H

#include "dispatch/status.h"

typedef struct sh_blas_matrix {
    const void *data;
    int64_t leading;
    bool transposed;
} sh_blas_matrix;

/* c = a @ b + (accumulate ? c : 0), of f32, on at most so many threads, with an a of [m, k] and a b of [k, n], none of
 * them 0. */
sh_status sh_onednn_f32(int threads, int64_t m, int64_t n, int64_t k, sh_blas_matrix a, sh_blas_matrix b,
                        bool accumulate, void *c, int64_t c_leading);

/* The same in bf16, summed in f32 and rounded once; where this CPU can do it fast. */
bool sh_onednn_has_bf16(void);
sh_status sh_onednn_bf16(int threads, int64_t m, int64_t n, int64_t k, sh_blas_matrix a, sh_blas_matrix b,
                         bool accumulate, void *c, int64_t c_leading);

/* c = (a - zero) @ b in i32, of u8 and i8, with a c of [m, n] without gaps. Sums that fit are exact where each of a is
 * below sh_onednn_u8_end(). Returns what sh_onednn_status makes an error of, or 0: unlike the others it may be called
 * in a parallel region, whose threads have no error to set. */
int sh_onednn_u8_i8(int threads, int64_t m, int64_t n, int64_t k, sh_blas_matrix a, uint8_t zero,
                    sh_blas_matrix b, int32_t *c);
sh_status sh_onednn_status(int status, const char *what);
/* Gives OpenMP's next regions `threads` threads, or fewer; returns how many they had, which ends it. */
int sh_onednn_limit(int threads);
void sh_onednn_restore(int before);
/* The process's engine for the CPU, a dnnl_engine_t; NULL if there is no memory for it. */
struct dnnl_engine *sh_onednn_engine(void);
/* 256 with VNNI; 128 without, as two products are then added up in i16, which saturates. */
int sh_onednn_u8_end(void);

#endif
