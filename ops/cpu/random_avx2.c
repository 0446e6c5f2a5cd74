/* Random kernels for AVX2: everything is in the included file. FMA is left out on purpose: a compiler that fused
 * operations would give other bits. */
#include <immintrin.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif

#define LANES 4
#define MULTIPLY(a, b) ((uvec)_mm256_mul_epu32((__m256i)(a), (__m256i)(b)))
#define SQUARE_ROOT(a) ((vec)_mm256_sqrt_pd((__m256d)(a)))
#define FRONT 0, 4, 1, 5
#define BACK 2, 6, 3, 7
#define LEVEL sh_random_avx2
#include "ops/cpu/random_level.inc"

#ifdef __clang__
#pragma clang attribute pop
#endif
