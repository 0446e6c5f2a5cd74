/* The conversions of one level: what a convert_LEVEL.c file defines and convert.c chooses from. */
#ifndef SH_OPS_CPU_CONVERT_TABLE_H
#define SH_OPS_CPU_CONVERT_TABLE_H

#include "dispatch/dtype.h"

/* n elements; `from` and `to` don't overlap. */
typedef void sh_convert_fn(void *to, const void *from, int64_t n);

typedef struct sh_convert_table {
    sh_convert_fn *pair[SH_DTYPE_COUNT][SH_DTYPE_COUNT]; /* [from][to], the half types apart */
    sh_convert_fn *widen[SH_DTYPE_COUNT];                /* a half type to f32 */
    sh_convert_fn *narrow[SH_DTYPE_COUNT];               /* f32 to a half type */
} sh_convert_table;

extern const sh_convert_table sh_convert_sse2, sh_convert_avx2, sh_convert_avx512;

#endif
