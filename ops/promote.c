#include "ops/promote.h"

#include <stdio.h>
#include <string.h>

sh_dtype sh_promote(sh_dtype a, sh_dtype b) {
    if (a == b || !b) return a;
    if (!a) return b;
    const sh_dtype_kind ka = sh_dtype_kind_of(a), kb = sh_dtype_kind_of(b);
    if (ka != kb) return ka > kb ? a : b;
    const size_t sa = sh_dtype_size(a), sb = sh_dtype_size(b);
    if (ka == SH_KIND_FLOAT) return sa == sb ? SH_F32 : sa > sb ? a : b;
    if (sa != sb) return sa > sb ? a : b;
    return SH_I16; /* u8 with i8 */
}

sh_dtype sh_default_dtype(sh_scalar number) {
    return number.tag == SH_TAG_FLOAT ? SH_F32 : number.tag == SH_TAG_INT ? SH_I64 : SH_B8;
}

void sh_promotion_add(sh_promotion *p, const sh_tensor *t) {
    if (t->flags & SH_TENSOR_WRAPPED)
        p->number = sh_promote(p->number, t->dtype == SH_F64 ? SH_F32 : (sh_dtype)t->dtype);
    else if (t->ndim == 0)
        p->zero_dim = sh_promote(p->zero_dim, (sh_dtype)t->dtype);
    else
        p->dimensioned = sh_promote(p->dimensioned, (sh_dtype)t->dtype);
}

static sh_dtype lift(sh_dtype high, sh_dtype low) {
    if (!high) return low;
    return low && sh_dtype_kind_of(low) > sh_dtype_kind_of(high) ? sh_promote(high, low) : high;
}

sh_dtype sh_promotion_result(const sh_promotion *p) {
    return lift(p->dimensioned, lift(p->zero_dim, p->number));
}

sh_dtype sh_result_type(const sh_tensor *a, const sh_tensor *b) {
    if (SH_LIKELY(a->dtype == b->dtype && !((a->flags | b->flags) & SH_TENSOR_WRAPPED)))
        return (sh_dtype)a->dtype;
    sh_promotion p = {SH_NO_DTYPE, SH_NO_DTYPE, SH_NO_DTYPE};
    sh_promotion_add(&p, a);
    sh_promotion_add(&p, b);
    return sh_promotion_result(&p);
}

const char *sh__shape_text(int ndim, const int64_t *sizes, char *text, size_t size) {
    size_t n = (size_t)snprintf(text, size, "[");
    for (int i = 0; i < ndim && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, i ? ", %lld" : "%lld", (long long)sizes[i]);
    if (n < size) snprintf(text + n, size - n, "]");
    return text;
}

sh_status sh_wrap_dim(const char *op, int64_t dim, int ndim, int *wrapped) {
    const int n = ndim ? ndim : 1;
    if (dim < -n || dim >= n)
        return sh_fail(SH_ERROR_INDEX, "%s: dim is %lld, of a tensor with %d dimensions; expected %d to %d",
                       op, (long long)dim, ndim, -n, n - 1);
    *wrapped = (int)(dim < 0 ? dim + n : dim);
    return SH_OK;
}

sh_status sh_broadcast(const char *op, int a_ndim, const int64_t *a, int b_ndim, const int64_t *b,
                       int32_t *ndim, int64_t *sizes) {
    const int n = a_ndim > b_ndim ? a_ndim : b_ndim;
    for (int i = 1; i <= n; i++) {
        const int64_t sa = i <= a_ndim ? a[a_ndim - i] : 1, sb = i <= b_ndim ? b[b_ndim - i] : 1;
        if (sa != sb && sa != 1 && sb != 1) {
            char ta[160], tb[160];
            return sh_fail(SH_ERROR_SHAPE,
                           "%s: shapes %s and %s don't broadcast: dimension %d is %lld and %lld", op,
                           sh__shape_text(a_ndim, a, ta, sizeof ta), sh__shape_text(b_ndim, b, tb, sizeof tb),
                           n - i, (long long)sa, (long long)sb);
        }
        sizes[n - i] = sa == 1 ? sb : sa;
    }
    *ndim = n;
    return SH_OK;
}
