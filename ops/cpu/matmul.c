/* matmul.c - matrix products of the cpu backend: tensors of any rank, dtype and layout as runs of sh_gemm.
 *
 * A result is made in place where it is contiguous and shares nothing with what is still to be read, else aside and
 * then copied. The half types are multiplied as f32 and rounded once. Batches of the first operand that lie as one
 * taller matrix are one product. */
#include <string.h>

#include "ops/cpu/gemm.h"
#include "ops/cpu/widen.h"
#include "ops/kernels.h"

/* ---- operands and targets ---- */

static bool shares(const sh_tensor *r, const sh_tensor *t) { return t && r->storage == t->storage; }

/* What to compute into so that `r` can follow: r, or a tensor aside. */
static sh_tensor *open_target(sh_tensor *r, bool aside) {
    if ((r->flags & SH_TENSOR_CONTIGUOUS) && !aside) return r;
    return sh_aside_like(r, (sh_dtype)r->dtype);
}

static sh_status close_target(sh_tensor *r, sh_tensor *target, sh_status status) {
    if (target == r) return status;
    if (status >= 0) status = sh_cpu_copy(r, r, target, false);
    sh__release(target);
    return status;
}

/* ---- batches ---- */

/* r = a @ b in matrices: the dimensions before the last two, or one where an operand is a vector, are batches. */
typedef struct product {
    sh_tensor *r;
    const sh_tensor *a, *b;
    int64_t m, n, k;
    sh_matrix a_matrix, b_matrix;
    int batch; /* dimensions of r that are batches */
} product;

static product product_of(sh_tensor *r, const sh_tensor *a, const sh_tensor *b) {
    const bool rows = a->ndim > 1, columns = b->ndim > 1;
    const int al = a->ndim - 1, bl = b->ndim - 1;
    product p = {r,
                 a,
                 b,
                 rows ? a->sizes[al - 1] : 1,
                 columns ? b->sizes[bl] : 1,
                 a->sizes[al],
                 {0},
                 {0},
                 r->ndim - rows - columns};
    p.a_matrix = (sh_matrix){a->data, rows ? a->strides[al - 1] : 0, a->strides[al]};
    p.b_matrix =
        (sh_matrix){b->data, columns ? b->strides[bl - 1] : b->strides[0], columns ? b->strides[bl] : 1};
    return p;
}

/* Makes batches of `a` rows where b has none and the rows follow each other at one distance. */
static void fold_batches(product *p) {
    const sh_tensor *a = p->a;
    int64_t rows = p->m, step = p->a_matrix.row * p->m;
    if (p->b->ndim > 2 || a->ndim - 2 != p->batch) return;
    if (p->m == 1) p->a_matrix.row = step = a->strides[a->ndim - 3];
    for (int i = a->ndim - 3; i >= 0; i--) {
        if (a->sizes[i] != 1 && a->strides[i] != step) return;
        rows *= a->sizes[i];
        step *= a->sizes[i];
    }
    p->m = rows;
    p->batch = 0;
}

/* Where matrix `index` of an operand lies. */
static char *matrix_at(const sh_tensor *t, const int64_t *index, int batch) {
    char *at = t->data;
    const int own = t->ndim > 2 ? t->ndim - 2 : 0;
    for (int i = 0; i < own; i++)
        if (t->sizes[i] != 1) at += index[batch - own + i] * t->strides[i] * (int64_t)t->element;
    return at;
}

static sh_status multiply_batches(const product *p, bool accumulate) {
    int64_t index[SH_MAX_DIMS] = {0};
    const int64_t size = p->m * p->n, count = size ? p->r->numel / size : 0;
    for (int64_t i = 0; i < count; i++) {
        sh_matrix a = p->a_matrix, b = p->b_matrix,
                  c = {p->r->data + i * size * (int64_t)p->r->element, p->n, 1};
        for (int64_t rest = i, d = p->batch; d-- > 0; rest /= p->r->sizes[d])
            index[d] = rest % p->r->sizes[d];
        a.data = matrix_at(p->a, index, p->batch);
        b.data = matrix_at(p->b, index, p->batch);
        SH_TRY(sh_gemm((sh_dtype)p->r->dtype, p->m, p->n, p->k, a, b, c, accumulate));
    }
    return SH_OK;
}

/* r is contiguous, of the operands' dtype and shares nothing with them. */
static sh_status multiply(sh_tensor *r, const sh_tensor *a, const sh_tensor *b, bool accumulate) {
    product p = product_of(r, a, b);
    if (p.batch) fold_batches(&p);
    if (p.batch) return multiply_batches(&p, accumulate);
    return sh_gemm((sh_dtype)r->dtype, p.m, p.n, p.k, p.a_matrix, p.b_matrix, (sh_matrix){r->data, p.n, 1},
                   accumulate);
}

/* ---- addition ---- */

/* One number of each kind; which is meant follows from the dtype. */
typedef struct factors {
    double beta, alpha;
    int64_t whole_beta, whole_alpha; /* cut off for integers, as PyTorch does */
} factors;

static factors factors_of(sh_scalar beta, sh_scalar alpha, sh_dtype dtype) {
    factors f = {sh_value_as_double(beta), sh_value_as_double(alpha), sh_value_as_int(beta),
                 sh_value_as_int(alpha)};
    if (sh_dtype_kind_of(dtype) != SH_KIND_FLOAT) {
        f.beta = (double)f.whole_beta;
        f.alpha = (double)f.whole_alpha;
    }
    return f;
}

/* A row of r: alpha times itself (0: it is not read) plus beta times a row of s, of any stride. */
#define DEFINE_COMBINE(name, T, W, BETA, ALPHA)                                                     \
    static void combine_##name(void *r, const void *s, int64_t step, int64_t n, const factors *f) { \
        T *to = r;                                                                                  \
        const T *from = s;                                                                          \
        const W beta = (W)f->BETA, alpha = (W)f->ALPHA;                                             \
        if (f->alpha == 0)                                                                          \
            for (int64_t i = 0; i < n; i++) to[i] = (T)(beta * from[i * step]);                     \
        else                                                                                        \
            for (int64_t i = 0; i < n; i++) to[i] = (T)(alpha * to[i] + beta * from[i * step]);     \
    }
DEFINE_COMBINE(f32, float, float, beta, alpha)
DEFINE_COMBINE(f64, double, double, beta, alpha)
DEFINE_COMBINE(i64, uint64_t, uint64_t, whole_beta, whole_alpha)
DEFINE_COMBINE(i32, uint32_t, uint32_t, whole_beta, whole_alpha)
DEFINE_COMBINE(i16, uint16_t, uint32_t, whole_beta, whole_alpha)
DEFINE_COMBINE(i8, uint8_t, uint32_t, whole_beta, whole_alpha)

typedef void combine_fn(void *r, const void *s, int64_t step, int64_t n, const factors *f);
static combine_fn *combine_for(sh_dtype dtype) {
    switch (dtype) {
    case SH_F32: return combine_f32;
    case SH_F64: return combine_f64;
    case SH_I64: return combine_i64;
    case SH_I32: return combine_i32;
    case SH_I16: return combine_i16;
    default: return combine_i8;
    }
}

/* r = alpha * r + beta * s, or beta * s if alpha is 0, for a contiguous r and an s that expands to it. With beta 0 s is
 * not read. */
static void combine(sh_tensor *r, const sh_tensor *s, const factors *f) {
    static const int64_t zero;
    combine_fn *rows = combine_for((sh_dtype)r->dtype);
    const int64_t n = r->ndim ? r->sizes[r->ndim - 1] : 1, m = n ? r->numel / n : 0;
    const int64_t step = s->ndim && s->sizes[s->ndim - 1] != 1 ? s->strides[s->ndim - 1] : 0;
    const int64_t row = s->ndim > 1 && s->sizes[s->ndim - 2] != 1 ? s->strides[s->ndim - 2] : 0;
    for (int64_t i = 0; i < m; i++) {
        const bool reads = f->beta != 0;
        rows(r->data + i * n * (int64_t)r->element,
             reads ? s->data + i * row * (int64_t)s->element : (const char *)&zero, reads ? step : 0, n, f);
    }
}

/* ---- kernels ---- */

static sh_status matmul_half(sh_tensor *r, sh_tensor *self, sh_tensor *other) {
    sh_tensor *a, *b = NULL, *y = NULL;
    sh_status status = sh_aside_copy(self, SH_F32, &a);
    if (status >= 0) status = sh_aside_copy(other, SH_F32, &b);
    if (status >= 0) status = (y = sh_aside_like(r, SH_F32)) ? multiply(y, a, b, false) : SH_ERROR_MEMORY;
    if (status >= 0) status = sh_cpu_copy(r, r, y, false);
    sh_aside_drop(a);
    sh_aside_drop(b);
    sh_aside_drop(y);
    return status;
}

/* A product this small is widened sooner than oneDNN is called. */
static bool must_widen(const sh_tensor *r, const sh_tensor *a) {
    if (!sh_is_half(r)) return false;
    return r->numel * (a->ndim ? a->sizes[a->ndim - 1] : 1) <= 32 * 32 * 32 ||
           !sh_gemm_takes((sh_dtype)r->dtype);
}

sh_status sh_cpu_matmul(sh_tensor *r, sh_tensor *self, sh_tensor *other) {
    if (must_widen(r, self)) return matmul_half(r, self, other);
    sh_tensor *y = open_target(r, shares(r, self) || shares(r, other));
    return y ? close_target(r, y, multiply(y, self, other, false)) : SH_ERROR_MEMORY;
}

sh_status sh_cpu_mm(sh_tensor *r, sh_tensor *self, sh_tensor *mat2) { return sh_cpu_matmul(r, self, mat2); }
sh_status sh_cpu_bmm(sh_tensor *r, sh_tensor *self, sh_tensor *mat2) { return sh_cpu_matmul(r, self, mat2); }
sh_status sh_cpu_mv(sh_tensor *r, sh_tensor *self, sh_tensor *vec) { return sh_cpu_matmul(r, self, vec); }
sh_status sh_cpu_dot(sh_tensor *r, sh_tensor *self, sh_tensor *tensor) {
    return sh_cpu_matmul(r, self, tensor);
}

/* y = beta * s + alpha * (a @ b), for a y as `multiply` wants it; with alpha 1 it may be s. */
static sh_status add_product(sh_tensor *y, const sh_tensor *s, const sh_tensor *a, const sh_tensor *b,
                             const factors *f) {
    const factors first = {f->beta, 0, f->whole_beta, 0};
    if (y->dtype == SH_BF16) {
        SH_TRY(sh_cpu_copy(y, y, (sh_tensor *)(uintptr_t)s, false));
        return multiply(y, a, b, true);
    }
    if (f->alpha == 0 || f->alpha == 1) {
        if (f->beta != 0 || f->alpha == 0) combine(y, s, &first);
        return f->alpha == 0 ? SH_OK : multiply(y, a, b, f->beta != 0);
    }
    SH_TRY(multiply(y, a, b, false));
    combine(y, s, f);
    return SH_OK;
}

static sh_status add_product_half(sh_tensor *r, sh_tensor *s, sh_tensor *a, sh_tensor *b, const factors *f) {
    sh_tensor *ws, *wa = NULL, *wb = NULL, *y = NULL;
    sh_status status = sh_aside_copy(s, SH_F32, &ws);
    if (status >= 0) status = sh_aside_copy(a, SH_F32, &wa);
    if (status >= 0) status = sh_aside_copy(b, SH_F32, &wb);
    if (status >= 0)
        status = (y = sh_aside_like(r, SH_F32)) ? add_product(y, ws, wa, wb, f) : SH_ERROR_MEMORY;
    if (status >= 0) status = sh_cpu_copy(r, r, y, false);
    sh_aside_drop(ws);
    sh_aside_drop(wa);
    sh_aside_drop(wb);
    sh_aside_drop(y);
    return status;
}

static bool same_layout(const sh_tensor *a, const sh_tensor *b) {
    return a->data == b->data && a->ndim == b->ndim &&
           memcmp(a->sizes, b->sizes, a->ndim * sizeof *a->sizes) == 0 &&
           memcmp(a->strides, b->strides, a->ndim * sizeof *a->strides) == 0;
}

static sh_status add_product_to(sh_tensor *r, sh_tensor *s, sh_tensor *a, sh_tensor *b, const factors *f) {
    if (must_widen(r, a) || (sh_is_half(r) && (f->alpha != 1 || f->beta != 1)))
        return add_product_half(r, s, a, b, f);
    const bool in_place = f->alpha == 1 && same_layout(r, s);
    sh_tensor *y = open_target(r, shares(r, a) || shares(r, b) || (shares(r, s) && !in_place));
    return y ? close_target(r, y, add_product(y, s, a, b, f)) : SH_ERROR_MEMORY;
}

sh_status sh_cpu_addmm(sh_tensor *r, sh_tensor *self, sh_tensor *mat1, sh_tensor *mat2, sh_scalar beta,
                       sh_scalar alpha) {
    const factors f = factors_of(beta, alpha, (sh_dtype)r->dtype);
    return add_product_to(r, self, mat1, mat2, &f);
}

static void transpose(sh_tensor *view, const sh_tensor *t) {
    memcpy((void *)view, t, sizeof *t);
    view->sizes[0] = t->sizes[1];
    view->sizes[1] = t->sizes[0];
    view->strides[0] = t->strides[1];
    view->strides[1] = t->strides[0];
    view->flags &= ~(uint32_t)SH_TENSOR_CONTIGUOUS;
}

sh_status sh_cpu_linear(sh_tensor *r, sh_tensor *input, sh_tensor *weight, sh_tensor *bias) {
    static const factors plain = {1, 1, 1, 1};
    sh_tensor turned;
    if (weight->ndim == 2) {
        transpose(&turned, weight);
        weight = &turned;
    }
    return bias ? add_product_to(r, bias, input, weight, &plain) : sh_cpu_matmul(r, input, weight);
}
