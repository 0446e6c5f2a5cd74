/* bounds.h - is anything in an array too large? Asked of bit patterns without their sign, which sort as the magnitudes of
 * floats do: beyond the pattern of infinity lies NaN. So one subtraction an element finds NaN, or NaN and Inf, in any float
 * type, at the speed of memory and without raising an exception flag. */
#ifndef SH_OPS_CPU_BOUNDS_H
#define SH_OPS_CPU_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

/* One for each width of 2, 4 and 8 bytes: does any of n elements without its sign bit pass `limit`? */
typedef bool sh_bounds_fn(const void *x, int64_t n, uint64_t limit);
typedef struct sh_bounds_loops {
    sh_bounds_fn *passes[9]; /* by bytes of an element */
} sh_bounds_loops;

extern const sh_bounds_loops sh_bounds_sse2, sh_bounds_avx2, sh_bounds_avx512;

/* The same on as many threads as are worth it. */
bool sh_any_passes(uint32_t width, const void *x, int64_t n, uint64_t limit);

#endif
