/* Vector math: elementary functions over contiguous arrays of f32 and f64.
 *
 * Nothing here knows a tensor. Each function takes n elements from x, of any alignment, and writes n to y,
 * which may be x but not overlap it otherwise. An element's result depends on its value alone (which NaN
 * apart), never on its place or its neighbours, so an array may be cut into pieces anywhere. Special values
 * are those of the C library and of PyTorch; subnormals are kept; the documented errors stand in vmath.def.
 * The functions keep no state and may run on any number of threads.
 *
 * One binary holds each function for three instruction sets, its level; the best that the CPU has is chosen
 * when the program is loaded. The last bit of a result may differ from level to level.
 *
 *     sh_vmath_exp_f32(x, y, n);                   by name
 *     sh_vmath_unary_f32(SH_VMATH_exp)(x, y, n);   by id: the kernel itself, for a plan to keep */
#ifndef SH_OPS_CPU_VMATH_H
#define SH_OPS_CPU_VMATH_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sh_vmath_level {
    SH_VMATH_SSE2,   /* what every x86-64 has */
    SH_VMATH_AVX2,   /* AVX2 and FMA */
    SH_VMATH_AVX512, /* AVX-512 F, VL, BW and DQ */
    SH_VMATH_LEVEL_COUNT
} sh_vmath_level;

#define SH_VMATH_PARAM(name, ...)
#define SH_VMATH_BINARY(name, ...)
#define SH_VMATH_UNARY(name, ...) SH_VMATH_##name,
typedef enum sh_vmath_unary {
#include "ops/cpu/vmath.def"
    SH_VMATH_UNARY_COUNT
} sh_vmath_unary;
#undef SH_VMATH_UNARY
#undef SH_VMATH_PARAM

#define SH_VMATH_UNARY(name, ...)
#define SH_VMATH_PARAM(name, ...) SH_VMATH_##name,
typedef enum sh_vmath_param {
#include "ops/cpu/vmath.def"
    SH_VMATH_PARAM_COUNT
} sh_vmath_param;
#undef SH_VMATH_PARAM
#undef SH_VMATH_BINARY

#define SH_VMATH_PARAM(name, ...)
#define SH_VMATH_BINARY(name, ...) SH_VMATH_##name,
typedef enum sh_vmath_binary {
#include "ops/cpu/vmath.def"
    SH_VMATH_BINARY_COUNT
} sh_vmath_binary;
#undef SH_VMATH_UNARY
#undef SH_VMATH_PARAM
#undef SH_VMATH_BINARY

typedef void sh_vmath_unary_f32_fn(const float *x, float *y, size_t n);
typedef void sh_vmath_unary_f64_fn(const double *x, double *y, size_t n);

/* The parameters p, in PyTorch's order:
 *   elu         alpha, scale, input_scale     x > 0 ? scale*x : scale*alpha*expm1(input_scale*x)
 *   softplus    beta, threshold               beta*x > threshold ? x : log1p(exp(beta*x))/beta
 *   leaky_relu  negative_slope                x > 0 ? x : negative_slope*x
 *   hardtanh    min_val, max_val              min(max(x, min_val), max_val), NaN stays NaN */
typedef void sh_vmath_param_f32_fn(const float *x, float *y, size_t n, const float *p);
typedef void sh_vmath_param_f64_fn(const double *x, double *y, size_t n, const double *p);

/* out may be x or y. fmod is C's: the result has the sign of x. */
typedef void sh_vmath_binary_f32_fn(const float *x, const float *y, float *out, size_t n);
typedef void sh_vmath_binary_f64_fn(const double *x, const double *y, double *out, size_t n);

#define SH_VMATH_UNARY(name, ...)                \
    sh_vmath_unary_f32_fn sh_vmath_##name##_f32; \
    sh_vmath_unary_f64_fn sh_vmath_##name##_f64;
#define SH_VMATH_PARAM(name, ...)                \
    sh_vmath_param_f32_fn sh_vmath_##name##_f32; \
    sh_vmath_param_f64_fn sh_vmath_##name##_f64;
#define SH_VMATH_BINARY(name, ...)                \
    sh_vmath_binary_f32_fn sh_vmath_##name##_f32; \
    sh_vmath_binary_f64_fn sh_vmath_##name##_f64;
#include "ops/cpu/vmath.def"
#undef SH_VMATH_UNARY
#undef SH_VMATH_PARAM
#undef SH_VMATH_BINARY

/* The kernel of the level in force. Never NULL. */
sh_vmath_unary_f32_fn *sh_vmath_unary_f32(sh_vmath_unary id);
sh_vmath_unary_f64_fn *sh_vmath_unary_f64(sh_vmath_unary id);
sh_vmath_param_f32_fn *sh_vmath_param_f32(sh_vmath_param id);
sh_vmath_param_f64_fn *sh_vmath_param_f64(sh_vmath_param id);
sh_vmath_binary_f32_fn *sh_vmath_binary_f32(sh_vmath_binary id);
sh_vmath_binary_f64_fn *sh_vmath_binary_f64(sh_vmath_binary id);

/* The level in force, its name for reports, and the way for a test to force another: false, and nothing
 * changed, if this CPU lacks it. Forcing is for one thread alone: no other may be computing meanwhile. */
sh_vmath_level sh_vmath_level_now(void);
const char *sh_vmath_level_name(sh_vmath_level level);
bool sh_vmath_force_level(sh_vmath_level level);

#ifdef __cplusplus
}
#endif
#endif
