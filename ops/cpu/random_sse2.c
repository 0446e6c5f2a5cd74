/* Random kernels for every x86-64: everything is in the included file. */
#include <emmintrin.h>

#define LANES 2
#define MULTIPLY(a, b) ((uvec)_mm_mul_epu32((__m128i)(a), (__m128i)(b)))
#define SQUARE_ROOT(a) ((vec)_mm_sqrt_pd((__m128d)(a)))
#define FRONT 0, 2
#define BACK 1, 3
#define LEVEL sh_random_sse2
#include "ops/cpu/random_level.inc"
