/* Loops over contiguous arrays of one type: what elementwise kernels are made of.
 *
 * The loops of pointwise_loops.def are compiled for each level of the vector math (vmath.h), and the level in
 * force there is the one in force here. A result may be one of the operands, element on element. */
#ifndef SH_OPS_CPU_POINTWISE_LOOPS_H
#define SH_OPS_CPU_POINTWISE_LOOPS_H

#include "ops/cpu/vmath.h"
#include "ops/iter.h"

#define SH_LOOP1(name, ...) SH_LOOP_##name,
#define SH_LOOP2(name, ...) SH_LOOP_##name,
#define SH_LOOP3(name, ...) SH_LOOP_##name,
#define SH_TEST1(name, ...) SH_LOOP_##name,
#define SH_TEST2(name, ...) SH_LOOP_##name,
typedef enum sh_loop_id {
#include "ops/cpu/pointwise_loops.def"
    SH_LOOP_COUNT
} sh_loop_id;
#undef SH_LOOP1
#undef SH_LOOP2
#undef SH_LOOP3
#undef SH_TEST1
#undef SH_TEST2

typedef struct sh_loop_table {
    sh_loop *loop[SH_LOOP_COUNT][SH_DTYPE_COUNT];
    sh_loop *choose[9]; /* z's where x is true, y's where not; by bytes of an element */
} sh_loop_table;

extern const sh_loop_table sh_loops_sse2, sh_loops_avx2, sh_loops_avx512;

/* The table of the level in force. */
static inline const sh_loop_table *sh__loops(void) {
    static const sh_loop_table *const tables[SH_VMATH_LEVEL_COUNT] = {[SH_VMATH_SSE2] = &sh_loops_sse2,
                                                                      [SH_VMATH_AVX2] = &sh_loops_avx2,
                                                                      [SH_VMATH_AVX512] = &sh_loops_avx512};
    return tables[sh_vmath_level_now()];
}

#endif
