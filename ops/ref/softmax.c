/* softmax.c - logsumexp, softmax and running sums of the ref backend. */
#include <math.h>

#include "ops/infer.h"
#include "ops/kernels.h"
#include "ops/ref/line.h"

/* What is taken off the exponents; -inf where there is no number, NaN where one is NaN. */
static double largest(sh_line line, sh_dtype dtype) {
    double best = -INFINITY;
    SH_EACH_OF_LINE(line) {
        const double v = sh_line_f64(&line, dtype);
        if (isnan(v)) return NAN;
        best = fmax(best, v);
    }
    return best;
}

static double sum_of_exponentials(sh_line line, sh_dtype dtype, double shift) {
    double total = 0;
    SH_EACH_OF_LINE(line) total += exp(sh_line_f64(&line, dtype) - shift);
    return total;
}

sh_status sh_ref_logsumexp(sh_tensor *r, sh_tensor *self, sh_ints dim, bool keepdim) {
    (void)keepdim;
    const sh_dtype dtype = (sh_dtype)r->dtype;
    uint32_t mask;
    SH_TRY(sh_axes_mask("logsumexp", self, dim, &mask));
    SH_EACH_ELEMENT(r, at) {
        const sh_line line = sh_line_of(self, mask, r, at);
        const double most = largest(line, dtype), shift = isinf(most) ? 0 : most;
        sh_store_f64(dtype, sh_element(r, at, r->ndim), log(sum_of_exponentials(line, dtype, shift)) + shift);
    }
    return SH_OK;
}

static void softmax_line(sh_tensor *r, sh_line line, bool in_logarithms) {
    const sh_dtype dtype = (sh_dtype)r->dtype;
    const double most = largest(line, dtype), total = sum_of_exponentials(line, dtype, most);
    SH_EACH_OF_LINE(line) {
        const double v = sh_line_f64(&line, dtype) - most;
        sh_store_f64(dtype, sh_element(r, line.index, r->ndim),
                     in_logarithms ? v - log(total) : exp(v) / total);
    }
}

static void cumsum_line(sh_tensor *r, sh_line line, bool unused) {
    (void)unused;
    const sh_dtype dtype = (sh_dtype)r->dtype;
    uint64_t integers = 0;
    double floats = 0;
    SH_EACH_OF_LINE(line) {
        char *to = sh_element(r, line.index, r->ndim);
        if (sh_dtype_kind_of(dtype) == SH_KIND_FLOAT)
            sh_store_f64(dtype, to, floats += sh_line_f64(&line, dtype));
        else
            sh_store_i64(dtype, to, (int64_t)(integers += (uint64_t)sh_line_i64(&line, dtype)));
    }
}

/* Every line along `dim`, from its first element. */
static sh_status each_line(sh_tensor *r, const sh_tensor *self, int64_t dim,
                           void (*make)(sh_tensor *r, sh_line line, bool flag), bool flag) {
    int axis;
    SH_TRY(sh_wrap_dim("line", dim, self->ndim, &axis));
    SH_EACH_ELEMENT(r, at) if (at[axis] == 0) make(r, sh_line_of(self, 1u << axis, r, at), flag);
    return SH_OK;
}

sh_status sh_ref_softmax(sh_tensor *r, sh_tensor *self, int64_t dim, sh_dtype dtype) {
    (void)dtype;
    return each_line(r, self, dim, softmax_line, false);
}
sh_status sh_ref_log_softmax(sh_tensor *r, sh_tensor *self, int64_t dim, sh_dtype dtype) {
    (void)dtype;
    return each_line(r, self, dim, softmax_line, true);
}
sh_status sh_ref_cumsum(sh_tensor *r, sh_tensor *self, int64_t dim, sh_dtype dtype) {
    (void)dtype;
    return each_line(r, self, dim, cumsum_line, false);
}
