/* linalg.c - matrix products of the ref backend: one result after the other, summed in double or modulo 2^64.
 *
 * A result may be an operand (out=self), so it is computed aside then. */
#include "ops/element.h"
#include "ops/kernels.h"

/* One run of elements along a dimension. */
typedef struct line {
    const char *at;
    int64_t step; /* bytes */
} line;

static line line_along(const sh_tensor *t, const char *at, int dim) {
    return (line){at, t->strides[dim] * (int64_t)t->element};
}

/* Sums products of `n` elements of two lines and rounds once. */
static void store_product(sh_dtype dtype, void *to, line a, line b, int64_t n) {
    double sum = 0;
    uint64_t whole = 0;
    const bool is_float = sh_dtype_kind_of(dtype) == SH_KIND_FLOAT;
    for (int64_t k = 0; k < n; k++) {
        const void *x = a.at + k * a.step, *y = b.at + k * b.step;
        if (is_float)
            sum += sh_load_f64(dtype, x) * sh_load_f64(dtype, y);
        else
            whole += (uint64_t)sh_load_i64(dtype, x) * (uint64_t)sh_load_i64(dtype, y);
    }
    if (is_float)
        sh_store_f64(dtype, to, sum);
    else
        sh_store_i64(dtype, to, (int64_t)whole);
}

/* Where a batched operand begins for result `index`, whose last `trailing` dimensions are rows and columns. */
static const char *matrix_of(const sh_tensor *t, const int64_t *index, int index_ndim, int trailing) {
    const int batch = t->ndim - 2, index_batch = index_ndim - trailing;
    const char *at = t->data;
    for (int i = 0; i < batch; i++)
        if (t->sizes[i] != 1) at += index[index_batch - batch + i] * t->strides[i] * (int64_t)t->element;
    return at;
}

static void multiply(sh_tensor *r, const sh_tensor *a, const sh_tensor *b) {
    const bool rows = a->ndim > 1, columns = b->ndim > 1;
    const int trailing = rows + columns, inner = rows ? a->ndim - 1 : 0;
    SH_EACH_ELEMENT(r, i) {
        line x = line_along(a, matrix_of(a, i, r->ndim, trailing), inner);
        line y = line_along(b, matrix_of(b, i, r->ndim, trailing), columns ? b->ndim - 2 : 0);
        if (rows) x.at += i[r->ndim - trailing] * a->strides[inner - 1] * (int64_t)a->element;
        if (columns) y.at += i[r->ndim - 1] * b->strides[b->ndim - 1] * (int64_t)b->element;
        store_product((sh_dtype)r->dtype, sh_element(r, i, r->ndim), x, y, a->sizes[inner]);
    }
}

sh_status sh_ref_matmul(sh_tensor *r, sh_tensor *self, sh_tensor *other) {
    if (r->storage != self->storage && r->storage != other->storage) {
        multiply(r, self, other);
        return SH_OK;
    }
    sh_spec spec = {.dtype = (sh_dtype)r->dtype, .ndim = r->ndim};
    for (int i = 0; i < r->ndim; i++) spec.sizes[i] = r->sizes[i];
    sh_tensor *aside = sh__tensor_alloc(&spec, SH_HOST);
    if (!aside) return SH_ERROR_MEMORY;
    multiply(aside, self, other);
    const sh_status status = sh_ref_copy(r, r, aside, false);
    sh__release(aside);
    return status;
}

sh_status sh_ref_mm(sh_tensor *r, sh_tensor *self, sh_tensor *mat2) { return sh_ref_matmul(r, self, mat2); }
sh_status sh_ref_bmm(sh_tensor *r, sh_tensor *self, sh_tensor *mat2) { return sh_ref_matmul(r, self, mat2); }
sh_status sh_ref_mv(sh_tensor *r, sh_tensor *self, sh_tensor *vec) { return sh_ref_matmul(r, self, vec); }
sh_status sh_ref_dot(sh_tensor *r, sh_tensor *self, sh_tensor *tensor) {
    return sh_ref_matmul(r, self, tensor);
}
