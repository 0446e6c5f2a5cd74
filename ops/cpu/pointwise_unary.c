/* pointwise_unary.c - elementwise kernels of one operand of the cpu backend: unary ops and activations.
 *
 * Floats are the vector math's work; integers have loops of their own where an op keeps them. */
#include <math.h>
#include <string.h>

#include "ops/cpu/pointwise_maps.h"
#include "ops/kernels.h"

static sh_status vector(sh_tensor *r, sh_tensor *self, sh_vmath_unary id) {
    return sh__map_vector(r, self, sh_vector_unary[id], NULL);
}

/* ---- functions of floats; integers were promoted ---- */

#define FLOAT_ONLY(name) \
    sh_status sh_cpu_##name(sh_tensor *r, sh_tensor *self) { return vector(r, self, SH_VMATH_##name); }
FLOAT_ONLY(exp)
FLOAT_ONLY(expm1)
FLOAT_ONLY(exp2)
FLOAT_ONLY(log)
FLOAT_ONLY(log1p)
FLOAT_ONLY(log2)
FLOAT_ONLY(log10)
FLOAT_ONLY(sqrt)
FLOAT_ONLY(rsqrt)
FLOAT_ONLY(reciprocal)
FLOAT_ONLY(sin)
FLOAT_ONLY(cos)
FLOAT_ONLY(tan)
FLOAT_ONLY(asin)
FLOAT_ONLY(acos)
FLOAT_ONLY(atan)
FLOAT_ONLY(sinh)
FLOAT_ONLY(cosh)
FLOAT_ONLY(tanh)
FLOAT_ONLY(erf)
FLOAT_ONLY(erfc)
FLOAT_ONLY(sigmoid)
FLOAT_ONLY(silu)
FLOAT_ONLY(hardsigmoid)
FLOAT_ONLY(hardswish)

/* ---- functions that keep the dtype ---- */

#define WITH_INTEGERS(name, function, loop)                                                \
    sh_status sh_cpu_##name(sh_tensor *r, sh_tensor *self) {                               \
        if (sh__is_float((sh_dtype)r->dtype)) return vector(r, self, SH_VMATH_##function); \
        return sh__map_unary(r, self, SH_LOOP_##loop, NULL);                               \
    }
WITH_INTEGERS(neg, neg, negative)
WITH_INTEGERS(abs, abs, absolute)
WITH_INTEGERS(square, square, squared)

sh_status sh_cpu_sign(sh_tensor *r, sh_tensor *self) { return sh__map_unary(r, self, SH_LOOP_sign, NULL); }
sh_status sh_cpu_bitwise_not(sh_tensor *r, sh_tensor *self) {
    return sh__map_unary(r, self, SH_LOOP_bit_not, NULL);
}

/* Integers are whole already. */
static sh_status whole(sh_tensor *r, sh_tensor *self, sh_vmath_unary id) {
    return sh__is_float((sh_dtype)r->dtype) ? vector(r, self, id) : sh_cpu_copy(r, r, self, false);
}

sh_status sh_cpu_floor(sh_tensor *r, sh_tensor *self) { return whole(r, self, SH_VMATH_floor); }
sh_status sh_cpu_ceil(sh_tensor *r, sh_tensor *self) { return whole(r, self, SH_VMATH_ceil); }
sh_status sh_cpu_trunc(sh_tensor *r, sh_tensor *self) { return whole(r, self, SH_VMATH_trunc); }

sh_status sh_cpu_round(sh_tensor *r, sh_tensor *self, int64_t decimals) {
    if (decimals == 0 || !sh__is_float((sh_dtype)r->dtype)) return whole(r, self, SH_VMATH_round);
    const sh_dtype as = sh__computing((sh_dtype)r->dtype);
    sh_parameters p;
    sh__set_parameter(&p, as, 0, sh_value_float(pow(10, fabs((double)decimals))));
    return sh__map_unary(r, self, decimals > 0 ? SH_LOOP_round_below : SH_LOOP_round_above, &p);
}

/* ---- tests ---- */

static sh_status test(sh_tensor *r, sh_tensor *self, sh_loop_id id) {
    const sh_dtype common = (sh_dtype)self->dtype;
    return sh__map1(r, self, common, SH_B8, sh__loops()->loop[id][sh__computing(common)], NULL);
}

sh_status sh_cpu_isnan(sh_tensor *r, sh_tensor *self) { return test(r, self, SH_LOOP_isnan); }
sh_status sh_cpu_isinf(sh_tensor *r, sh_tensor *self) { return test(r, self, SH_LOOP_isinf); }
sh_status sh_cpu_isfinite(sh_tensor *r, sh_tensor *self) { return test(r, self, SH_LOOP_isfinite); }

sh_status sh_cpu_logical_not(sh_tensor *r, sh_tensor *self) {
    const sh_map map = {.loop = sh__loops()->loop[SH_LOOP_bit_not][SH_B8],
                        .to = r,
                        .made = SH_B8,
                        .n = 1,
                        .from = {{self, (sh_dtype)self->dtype, SH_B8}}};
    sh__map(&map);
    return SH_OK;
}

/* ---- activations ---- */

static sh_status with_parameters(sh_tensor *r, sh_tensor *self, sh_vmath_param id, sh_scalar a, sh_scalar b,
                                 sh_scalar c) {
    const sh_dtype as = sh__computing((sh_dtype)r->dtype);
    sh_parameters p;
    sh__set_parameter(&p, as, 0, a);
    sh__set_parameter(&p, as, 1, b);
    sh__set_parameter(&p, as, 2, c);
    return sh__map_vector(r, self, sh_vector_param[id], &p);
}

sh_status sh_cpu_relu(sh_tensor *r, sh_tensor *self) {
    if (sh__is_float((sh_dtype)r->dtype)) return vector(r, self, SH_VMATH_relu);
    return sh_cpu_clamp(r, self, sh_value_int(0), sh_none());
}

sh_status sh_cpu_hardtanh(sh_tensor *r, sh_tensor *self, sh_scalar min_val, sh_scalar max_val) {
    return sh_cpu_clamp(r, self, min_val, max_val);
}

sh_status sh_cpu_relu6(sh_tensor *r, sh_tensor *self) {
    return sh_cpu_clamp(r, self, sh_value_int(0), sh_value_int(6));
}

sh_status sh_cpu_leaky_relu(sh_tensor *r, sh_tensor *self, sh_scalar negative_slope) {
    return with_parameters(r, self, SH_VMATH_leaky_relu, negative_slope, sh_none(), sh_none());
}

sh_status sh_cpu_elu(sh_tensor *r, sh_tensor *self, sh_scalar alpha, sh_scalar scale, sh_scalar input_scale) {
    return with_parameters(r, self, SH_VMATH_elu, alpha, scale, input_scale);
}

sh_status sh_cpu_softplus(sh_tensor *r, sh_tensor *self, sh_scalar beta, sh_scalar threshold) {
    return with_parameters(r, self, SH_VMATH_softplus, beta, threshold, sh_none());
}

sh_status sh_cpu_gelu(sh_tensor *r, sh_tensor *self, const char *approximate) {
    return vector(r, self, strcmp(approximate, "tanh") == 0 ? SH_VMATH_gelu_tanh : SH_VMATH_gelu);
}
