/* ramp.h - the loops of arange and linspace, one table a level of the vector math (vmath.h). */
#ifndef SH_OPS_CPU_RAMP_H
#define SH_OPS_CPU_RAMP_H

#include <stdint.h>

/* `to` gets n elements base + step * index, computed in f64 and rounded once, for index, index + by, ...; n < 2^31. */
typedef void sh_ramp_real(void *to, int64_t n, double base, double step, double index, double by);
/* `to` gets n elements base, base + step, ... that wrap around. */
typedef void sh_ramp_whole(void *to, int64_t n, uint64_t base, uint64_t step);

typedef struct sh_ramp_loops {
    sh_ramp_real *f32, *f64;
    sh_ramp_whole *whole[9]; /* by bytes of an element */
} sh_ramp_loops;

extern const sh_ramp_loops sh_ramp_sse2, sh_ramp_avx2, sh_ramp_avx512;

#endif
