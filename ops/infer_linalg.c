/* infer_linalg.c - PyTorch's rules: matmul gives vectors a dimension that it drops again and broadcasts batch
 * dimensions; the others take tensors of one rank each. Messages show both operands as they are. */
#include "ops/infer_linalg.h"

#include <stdio.h>

/* The operands of one product and the names they go by in messages. */
typedef struct operands {
    const char *op, *first, *second;
    const sh_tensor *a, *b;
} operands;

static sh_status refuse(const operands *o, sh_status code, const char *reason) {
    char a[160], b[160];
    sh__tensor_print_type(o->a, a, sizeof a);
    sh__tensor_print_type(o->b, b, sizeof b);
    return sh_fail(code, "%s: %s is %s and %s is %s: %s", o->op, o->first, a, o->second, b, reason);
}

static sh_status check_dtypes(const operands *o) {
    if (o->a->dtype != o->b->dtype) return refuse(o, SH_ERROR_DTYPE, "expected the same dtype");
    if (o->a->dtype == SH_B8) return refuse(o, SH_ERROR_DTYPE, "there is no product of bool matrices");
    return SH_OK;
}

static sh_status check_ranks(const operands *o, int a_ndim, int b_ndim) {
    char reason[64];
    SH_TRY(check_dtypes(o));
    if (o->a->ndim == a_ndim && o->b->ndim == b_ndim) return SH_OK;
    snprintf(reason, sizeof reason, "expected %d-d and %d-d tensors", a_ndim, b_ndim);
    return refuse(o, SH_ERROR_SHAPE, reason);
}

/* Dimension `a_dim` of the first runs along `b_dim` of the second. */
static sh_status check_inner(const operands *o, int a_dim, int b_dim) {
    char reason[128];
    const long long a = o->a->sizes[a_dim], b = o->b->sizes[b_dim];
    if (a == b) return SH_OK;
    snprintf(reason, sizeof reason, "dimension %d of %s is %lld, expected %lld as dimension %d of %s", b_dim,
             o->second, b, a, a_dim, o->first);
    return refuse(o, SH_ERROR_SHAPE, reason);
}

static sh_status set(sh_spec *r, const sh_tensor *like, int ndim, const int64_t *sizes) {
    r->dtype = (sh_dtype)like->dtype;
    r->ndim = ndim;
    for (int i = 0; i < ndim; i++) r->sizes[i] = sizes[i];
    return SH_OK;
}

sh_status sh_infer_matmul(sh_spec *r, const sh_tensor *self, const sh_tensor *other) {
    const operands o = {"matmul", "self", "other", self, other};
    const int an = self->ndim, bn = other->ndim;
    SH_TRY(check_dtypes(&o));
    if (!an || !bn) return refuse(&o, SH_ERROR_SHAPE, "expected at least 1 dimension each");
    SH_TRY(check_inner(&o, an - 1, bn > 1 ? bn - 2 : 0));
    SH_TRY(sh_broadcast("matmul", an > 2 ? an - 2 : 0, self->sizes, bn > 2 ? bn - 2 : 0, other->sizes,
                        &r->ndim, r->sizes));
    if (an > 1) r->sizes[r->ndim++] = self->sizes[an - 2];
    if (bn > 1) r->sizes[r->ndim++] = other->sizes[bn - 1];
    r->dtype = (sh_dtype)self->dtype;
    return SH_OK;
}

sh_status sh_infer_mm(sh_spec *r, const sh_tensor *self, const sh_tensor *other) {
    const operands o = {"mm", "self", "mat2", self, other};
    SH_TRY(check_ranks(&o, 2, 2));
    SH_TRY(check_inner(&o, 1, 0));
    return set(r, self, 2, (const int64_t[]){self->sizes[0], other->sizes[1]});
}

sh_status sh_infer_bmm(sh_spec *r, const sh_tensor *self, const sh_tensor *other) {
    const operands o = {"bmm", "self", "mat2", self, other};
    SH_TRY(check_ranks(&o, 3, 3));
    SH_TRY(check_inner(&o, 0, 0));
    SH_TRY(check_inner(&o, 2, 1));
    return set(r, self, 3, (const int64_t[]){self->sizes[0], self->sizes[1], other->sizes[2]});
}

sh_status sh_infer_mv(sh_spec *r, const sh_tensor *self, const sh_tensor *other) {
    const operands o = {"mv", "self", "vec", self, other};
    SH_TRY(check_ranks(&o, 2, 1));
    SH_TRY(check_inner(&o, 1, 0));
    return set(r, self, 1, self->sizes);
}

sh_status sh_infer_dot(sh_spec *r, const sh_tensor *self, const sh_tensor *other) {
    const operands o = {"dot", "self", "tensor", self, other};
    SH_TRY(check_ranks(&o, 1, 1));
    SH_TRY(check_inner(&o, 0, 0));
    return set(r, self, 0, NULL);
}

/* PyTorch's expand: sizes count from the last dimension, 1 is repeated. */
static sh_status check_expands(const char *op, const char *name, const sh_tensor *t, const sh_spec *r) {
    bool fits = t->ndim <= r->ndim && t->dtype == r->dtype;
    for (int i = 1; fits && i <= t->ndim; i++) {
        const int64_t size = t->sizes[t->ndim - i];
        fits = size == 1 || size == r->sizes[r->ndim - i];
    }
    if (fits) return SH_OK;
    char got[160], expected[160];
    sh__tensor_print_type(t, got, sizeof got);
    return sh_fail(t->dtype == r->dtype ? SH_ERROR_SHAPE : SH_ERROR_DTYPE,
                   "%s: %s is %s, expected %s that expands to %s", op, name, got, sh_dtype_name(r->dtype),
                   sh__shape_text(r->ndim, r->sizes, expected, sizeof expected));
}

sh_status sh_infer_addmm(sh_spec *r, const sh_tensor *self, const sh_tensor *mat1, const sh_tensor *mat2) {
    const operands o = {"addmm", "mat1", "mat2", mat1, mat2};
    SH_TRY(check_ranks(&o, 2, 2));
    SH_TRY(check_inner(&o, 1, 0));
    set(r, mat1, 2, (const int64_t[]){mat1->sizes[0], mat2->sizes[1]});
    return check_expands("addmm", "self", self, r);
}

sh_status sh_infer_linear(sh_spec *r, const sh_tensor *input, const sh_tensor *weight,
                          const sh_tensor *bias) {
    const operands o = {"linear", "input", "weight", input, weight};
    SH_TRY(check_dtypes(&o));
    if (!input->ndim || weight->ndim < 1 || weight->ndim > 2)
        return refuse(&o, SH_ERROR_SHAPE, "expected at least 1 dimension and a weight with 1 or 2");
    SH_TRY(check_inner(&o, input->ndim - 1, weight->ndim - 1));
    set(r, input, input->ndim - 1, input->sizes);
    if (weight->ndim == 2) r->sizes[r->ndim++] = weight->sizes[0];
    if (!bias) return SH_OK;
    if (bias->ndim > 1 && r->ndim != 2)
        return sh_fail(SH_ERROR_SHAPE, "linear: bias has %d dimensions, expected 1", bias->ndim);
    return check_expands("linear", "bias", bias, r);
}
