#include "ops/infer_shape.h"

#include <string.h>

sh_status sh_infer_copy(sh_spec *r, const sh_tensor *self, const sh_tensor *src) {
    SH_TRY(sh_broadcast("copy", self->ndim, self->sizes, src->ndim, src->sizes, &r->ndim, r->sizes));
    r->dtype = (sh_dtype)self->dtype;
    if (r->ndim == self->ndim && memcmp(r->sizes, self->sizes, (size_t)r->ndim * sizeof *r->sizes) == 0) return SH_OK;
    char ts[160], tr[160];
    return sh_fail(SH_ERROR_SHAPE, "copy: src %s doesn't broadcast to self %s", sh__shape_text(src->ndim, src->sizes, ts, sizeof ts),
                   sh__shape_text(self->ndim, self->sizes, tr, sizeof tr));
}
