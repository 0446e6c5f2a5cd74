/* composite.c - kernels written with other ops, and so seen through by dispatch-level modes.
 *
 * A NULL goes through every op that it is given to, so an error is looked for once, at the end. */
#include "ops/infer_linalg.h"
#include "ops/kernels.h"
#include "ops/ops.h"
#include "ops/views.h"

static sh_status give(sh_value *results, sh_tensor *t) {
    results[0] = sh_value_tensor(t);
    return t ? SH_OK : sh_error()->code;
}

sh_status sh_composite_linear(sh_value *results, sh_tensor *input, sh_tensor *weight, sh_tensor *bias) {
    sh_spec spec;
    SH_TRY(sh_infer_linear(&spec, input, weight, bias));
    sh_tensor *y = sh_matmul(input, weight->ndim == 2 ? sh_transpose(weight, 0, 1) : weight);
    return give(results, bias ? sh_add(y, bias) : y);
}

/* A factor as the dtype takes it: PyTorch cuts 0.5 to 0 for integers. */
static sh_scalar factor(sh_scalar number, const sh_tensor *t) {
    return sh_dtype_kind_of((sh_dtype)t->dtype) == SH_KIND_INT ? sh_value_int(sh_value_as_int(number))
                                                               : number;
}

/* What is times 0 is not looked at, so its NaN does not get through. */
sh_status sh_composite_addmm(sh_value *results, sh_tensor *self, sh_tensor *mat1, sh_tensor *mat2,
                             sh_scalar beta, sh_scalar alpha) {
    const sh_scalar b = factor(beta, mat1), a = factor(alpha, mat1);
    sh_spec spec;
    SH_TRY(sh_infer_addmm(&spec, self, mat1, mat2));
    sh_tensor *y = sh_value_as_double(a) == 0
                       ? sh_full(SH_SIZES(spec.sizes[0], spec.sizes[1]), 0, .dtype = spec.dtype)
                       : sh_mm(mat1, mat2);
    if (sh_value_as_double(a) != 0 && sh_value_as_double(a) != 1) y = sh_mul(y, sh_tensor_from_number(a));
    if (sh_value_as_double(b) == 0) return give(results, y);
    if (sh_value_as_double(b) != 1) self = sh_mul(self, sh_tensor_from_number(b));
    return give(results, sh_add(self, y));
}

/* The tensor itself where it has the dtype. */
sh_status sh_composite_to(sh_value *results, sh_tensor *self, sh_dtype dtype) {
    if (!sh_dtype_size(dtype)) return sh_fail(SH_ERROR_DTYPE, "to: %d is no dtype", (int)dtype);
    if (self->dtype == dtype) return sh_give(results, sh_keep(self));
    return give(results, sh_copy_(sh_empty_like(self, .dtype = dtype), self));
}

sh_status sh_composite_outer(sh_value *results, sh_tensor *self, sh_tensor *vec2) {
    if (self->ndim != 1 || vec2->ndim != 1)
        return sh_fail(SH_ERROR_SHAPE, "outer: %s has %d dimensions, expected 1",
                       self->ndim != 1 ? "self" : "vec2", self->ndim != 1 ? self->ndim : vec2->ndim);
    return give(results, sh_mul(sh_unsqueeze(self, 1), vec2));
}

/* Where nothing is dropped the result is the input itself. */
sh_status sh_composite_dropout(sh_value *results, sh_tensor *input, double p, bool training) {
    if (!(p >= 0 && p <= 1)) return sh_fail(SH_ERROR_VALUE, "dropout: p is %g, expected 0 to 1", p);
    if (p == 0 || !training || !input->numel) return sh_give(results, sh_keep(input));
    if (sh_dtype_kind_of((sh_dtype)input->dtype) != SH_KIND_FLOAT)
        return sh_fail(SH_ERROR_DTYPE, "dropout: input is of %s, expected floats",
                       sh_dtype_name((sh_dtype)input->dtype));
    if (p == 1) return give(results, sh_mul(input, 0.0));
    sh_tensor *kept = sh_ge(sh_rand_like(input, .dtype = SH_F32), p);
    return give(results, sh_mul(sh_mul(input, kept), 1 / (1 - p)));
}
