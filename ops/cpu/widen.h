/* widen.h - tensors aside: contiguous copies, f32 ones of the half types, room for results.
 *
 * Every tensor that comes from here is the caller's and goes back with sh_aside_drop, which takes NULL too. */
#ifndef SH_OPS_CPU_WIDEN_H
#define SH_OPS_CPU_WIDEN_H

#include "dispatch/tensor_impl.h"

static inline bool sh_is_half(const sh_tensor *t) { return t->dtype == SH_F16 || t->dtype == SH_BF16; }

/* Uninitialised, with t's sizes. */
sh_tensor *sh_aside_like(const sh_tensor *t, sh_dtype dtype);
/* t's values in `dtype`, contiguous. NULL gives NULL, which is no error. */
sh_status sh_aside_copy(sh_tensor *t, sh_dtype dtype, sh_tensor **copy);
/* The same, but t itself, with one more reference, if it is so already. */
sh_status sh_aside_contiguous(sh_tensor *t, sh_dtype dtype, sh_tensor **contiguous);
static inline void sh_aside_drop(sh_tensor *t) {
    if (t) sh__release(t);
}

#endif
