/* pointwise_maps.c - the vector math as loops, loops' parameters, and the usual maps. */
#include "ops/cpu/pointwise_maps.h"

#define VMATH_LOOP(name, s, call)                                                                         \
    static void name##_##s(void *to, const void *first, const void *second, const void *third, int64_t n, \
                           const void *p) {                                                               \
        (void)second, (void)third, (void)p;                                                               \
        call;                                                                                             \
    }
#define SH_VMATH_UNARY(name, ...)                                      \
    VMATH_LOOP(name, f32, sh_vmath_##name##_f32(first, to, (size_t)n)) \
    VMATH_LOOP(name, f64, sh_vmath_##name##_f64(first, to, (size_t)n))
#define SH_VMATH_PARAM(name, ...)                                         \
    VMATH_LOOP(name, f32, sh_vmath_##name##_f32(first, to, (size_t)n, p)) \
    VMATH_LOOP(name, f64, sh_vmath_##name##_f64(first, to, (size_t)n, p))
#define SH_VMATH_BINARY(name, ...)                                             \
    VMATH_LOOP(name, f32, sh_vmath_##name##_f32(first, second, to, (size_t)n)) \
    VMATH_LOOP(name, f64, sh_vmath_##name##_f64(first, second, to, (size_t)n))
#include "ops/cpu/vmath.def"
#undef SH_VMATH_UNARY
#undef SH_VMATH_PARAM
#undef SH_VMATH_BINARY

#define SH_VMATH_UNARY(name, ...) [SH_VMATH_##name] = {name##_f32, name##_f64},
#define SH_VMATH_PARAM(name, ...)
#define SH_VMATH_BINARY(name, ...)
const sh_vector_loop sh_vector_unary[SH_VMATH_UNARY_COUNT] = {
#include "ops/cpu/vmath.def"
};
#undef SH_VMATH_UNARY
#undef SH_VMATH_PARAM
#define SH_VMATH_UNARY(name, ...)
#define SH_VMATH_PARAM(name, ...) [SH_VMATH_##name] = {name##_f32, name##_f64},
const sh_vector_loop sh_vector_param[SH_VMATH_PARAM_COUNT] = {
#include "ops/cpu/vmath.def"
};
#undef SH_VMATH_PARAM
#undef SH_VMATH_BINARY
#define SH_VMATH_PARAM(name, ...)
#define SH_VMATH_BINARY(name, ...) [SH_VMATH_##name] = {name##_f32, name##_f64},
const sh_vector_loop sh_vector_binary[SH_VMATH_BINARY_COUNT] = {
#include "ops/cpu/vmath.def"
};

void sh__set_parameter(sh_parameters *p, sh_dtype as, int i, sh_scalar v) {
    switch (as) {
    case SH_F32: p->f32[i] = (float)sh_value_as_double(v); break;
    case SH_F64: p->f64[i] = sh_value_as_double(v); break;
    case SH_I64: p->i64[i] = sh_value_as_int(v); break;
    case SH_I32: p->i32[i] = (int32_t)sh_value_as_int(v); break;
    case SH_I16: p->i16[i] = (int16_t)sh_value_as_int(v); break;
    case SH_I8: p->i8[i] = (int8_t)sh_value_as_int(v); break;
    case SH_U8: p->u8[i] = (uint8_t)sh_value_as_int(v); break;
    default: p->u8[i] = sh_value_as_double(v) != 0;
    }
}

sh_status sh__map1(sh_tensor *r, const sh_tensor *a, sh_dtype common, sh_dtype made, sh_loop *loop,
                   const void *p) {
    const sh_map map = {
        .loop = loop, .parameters = p, .to = r, .made = made, .n = 1, .from = {sh__operand(a, common)}};
    sh__map(&map);
    return SH_OK;
}

sh_status sh__map2(sh_tensor *r, const sh_tensor *a, const sh_tensor *b, sh_dtype common, sh_dtype made,
                   sh_loop *loop, const void *p) {
    const sh_map map = {.loop = loop,
                        .parameters = p,
                        .to = r,
                        .made = made,
                        .n = 2,
                        .from = {sh__operand(a, common), sh__operand(b, common)}};
    sh__map(&map);
    return SH_OK;
}

sh_status sh__map_unary(sh_tensor *r, const sh_tensor *a, sh_loop_id id, const void *p) {
    const sh_dtype as = sh__computing((sh_dtype)r->dtype);
    return sh__map1(r, a, (sh_dtype)r->dtype, as, sh__loops()->loop[id][as], p);
}
sh_status sh__map_binary(sh_tensor *r, const sh_tensor *a, const sh_tensor *b, sh_loop_id id, const void *p) {
    const sh_dtype as = sh__computing((sh_dtype)r->dtype);
    return sh__map2(r, a, b, (sh_dtype)r->dtype, as, sh__loops()->loop[id][as], p);
}
sh_status sh__map_vector(sh_tensor *r, const sh_tensor *a, sh_vector_loop l, const void *p) {
    const sh_dtype as = sh__computing((sh_dtype)r->dtype);
    return sh__map1(r, a, (sh_dtype)r->dtype, as, as == SH_F64 ? l.f64 : l.f32, p);
}
