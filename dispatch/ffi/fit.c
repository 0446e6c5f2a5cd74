/* fit.c - tensors that can't be passed as they are: of another dtype, or lying otherwise in memory. */
#include <stdio.h>

#include "dispatch/device_impl.h"
#include "dispatch/ffi/program.h"

static sh_status wrong_dtype(const sh_crun *r, const sh_cstep *s, const sh_tensor *t) {
    char type[160], result[32];
    sh__tensor_print_type(t, type, sizeof type);
    snprintf(result, sizeof result, "result %d", s->source);
    return sh_fail(SH_ERROR_DTYPE, "%s: %s is %s, parameter %.*s of the C signature is of %s",
                   r->call->op->name,
                   s->flags & SH_STEP_RESULT ? result : r->call->schema->params[s->source].name, type,
                   (int)s->item->name.n, s->item->name.at, sh__ctype_name((sh_ctype)s->type));
}

static bool inner_is_row_major(const sh_tensor *t, int inner) {
    int64_t expected = 1;
    for (int d = t->ndim; d-- > 0 && inner-- > 0;) {
        if (t->sizes[d] != 1 && t->strides[d] != expected) return false;
        expected *= t->sizes[d];
    }
    return true;
}

/* Elements of any size, one by one: what no op converts. */
static void copy_bytes(sh_tensor *to, const sh_tensor *from) {
    int64_t index[SH_MAX_DIMS] = {0};
    for (int64_t k = 0; k < from->numel; k++) {
        int64_t a = 0, b = 0;
        for (int d = 0; d < from->ndim; d++) {
            a += index[d] * to->strides[d];
            b += index[d] * from->strides[d];
        }
        memcpy(to->data + a * (int64_t)to->element, from->data + b * (int64_t)from->element, from->element);
        for (int d = from->ndim; d-- > 0 && ++index[d] == from->sizes[d];) index[d] = 0;
    }
}

sh_status sh__copy_elements(sh_tensor *to, const sh_tensor *from) {
    if (!(from->flags & SH_TENSOR_COMPLEX) || to->dtype != from->dtype) return sh__host_copy(to, from);
    copy_bytes(to, from);
    return SH_OK;
}

sh_status sh__step_fit(sh_crun *r, const sh_cstep *s, sh_tensor **t, int inner) {
    sh_tensor *given = *t;
    const bool fits = s->dtypes >> given->dtype & 1, lies = s->flags & SH_STEP_AS_IT_LIES;
    if (!fits && !(r->program->flags & SH_C_CONVERT)) return wrong_dtype(r, s, given);
    if (!given->data && given->device == SH_META)
        return sh_fail(SH_ERROR_DEVICE, "%s: parameter %.*s: a tensor on meta has no data", r->call->op->name,
                       (int)s->item->name.n, s->item->name.at);
    if (fits && (lies || inner_is_row_major(given, inner))) return SH_OK;
    sh_spec spec = {.dtype = fits ? (sh_dtype)given->dtype : sh__ctype_dtype((sh_ctype)s->type),
                    .ndim = given->ndim};
    memcpy(spec.sizes, given->sizes, sizeof spec.sizes);
    if (!spec.dtype) return wrong_dtype(r, s, given);
    sh_tensor *copy = sh__tensor_alloc_any(&spec, given->device);
    if (!copy || !sh__own(copy)) return SH_ERROR_MEMORY;
    if (!(s->flags & SH_STEP_RESULT)) SH_TRY(sh__copy_elements(copy, given));
    if (s->flags & SH_STEP_WRITES) {
        r->back |= 1u << s->index;
        r->behind[s->index] = given;
    }
    *t = copy;
    return SH_OK;
}

sh_tensor *sh__step_view(const sh_tensor *t, int ndim, const int64_t *sizes, const int64_t *strides) {
    sh_tensor *view = sh__tensor_view(t);
    if (!view) return NULL;
    sh__tensor_set_layout(view, ndim, sizes, strides, 0);
    return sh__own(view);
}
