/* infer_linalg.c - PyTorch's rules: vectors get a dimension that is dropped again, batch dimensions broadcast. */
#include "ops/infer_linalg.h"

static sh_status same_dtype(const char *op, const sh_tensor *a, const sh_tensor *b) {
    if (a->dtype == b->dtype) return SH_OK;
    return sh_fail(SH_ERROR_DTYPE, "%s: dtypes %s and %s differ", op, sh_dtype_name((sh_dtype)a->dtype), sh_dtype_name((sh_dtype)b->dtype));
}

static sh_status mismatch(const char *op, const sh_tensor *a, const sh_tensor *b) {
    char ta[160], tb[160];
    return sh_fail(SH_ERROR_SHAPE, "%s: shapes %s and %s don't multiply", op, sh__shape_text(a->ndim, a->sizes, ta, sizeof ta),
                   sh__shape_text(b->ndim, b->sizes, tb, sizeof tb));
}

sh_status sh_infer_matmul(sh_spec *r, const sh_tensor *a, const sh_tensor *b) {
    SH_TRY(same_dtype("matmul", a, b));
    if (!a->ndim || !b->ndim) return mismatch("matmul", a, b);
    const int an = a->ndim, bn = b->ndim;
    if (a->sizes[an - 1] != b->sizes[bn > 1 ? bn - 2 : 0]) return mismatch("matmul", a, b);
    SH_TRY(sh_broadcast("matmul", an > 2 ? an - 2 : 0, a->sizes, bn > 2 ? bn - 2 : 0, b->sizes, &r->ndim, r->sizes));
    if (r->ndim + (an > 1) + (bn > 1) > SH_MAX_DIMS) return mismatch("matmul", a, b);
    if (an > 1) r->sizes[r->ndim++] = a->sizes[an - 2];
    if (bn > 1) r->sizes[r->ndim++] = b->sizes[bn - 1];
    r->dtype = (sh_dtype)a->dtype;
    return SH_OK;
}

sh_status sh_infer_linear(sh_spec *r, const sh_tensor *input, const sh_tensor *weight, const sh_tensor *bias) {
    SH_TRY(same_dtype("linear", input, weight));
    if (bias) SH_TRY(same_dtype("linear", input, bias));
    if (!input->ndim || weight->ndim != 2 || input->sizes[input->ndim - 1] != weight->sizes[1]) return mismatch("linear", input, weight);
    if (bias && (bias->ndim != 1 || bias->sizes[0] != weight->sizes[0])) return mismatch("linear", weight, bias);
    for (int i = 0; i < input->ndim; i++) r->sizes[i] = input->sizes[i];
    r->ndim = input->ndim;
    r->sizes[r->ndim - 1] = weight->sizes[0];
    r->dtype = (sh_dtype)input->dtype;
    return SH_OK;
}
