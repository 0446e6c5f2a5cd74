/* fast.h - what the generated typed functions share on the way that meets no mode. */
#ifndef SH_OPS_FAST_H
#define SH_OPS_FAST_H

#include <string.h>

#include "dispatch/chain.h"
#include "dispatch/known.h"
#include "ops/ops.h"

extern sh_op sh__ops[SH_OP_BUILTIN_COUNT] SH_HIDDEN;
extern const sh_builtin_kernel sh__builtin_kernels[];
extern const size_t sh__builtin_kernel_count;

/* Axes packed by SH_DIMS, or one, or none, as a list in `at` (SH_MAX_DIMS entries). */
sh_ints sh__option_axes(int64_t packed, int64_t *at);

/* An int[n] option: SH_SAME repeats the first. Where zero makes no sense a zero repeats it too, and a leading zero
 * means that none was given. */
static inline sh_ints sh__option_list(const int64_t *given, int n, int64_t *at, bool zero_repeats) {
    if (zero_repeats && given[0] == 0) return (sh_ints){at, 0};
    for (int i = 0; i < n; i++)
        at[i] = given[i] == SH_SAME || (zero_repeats && given[i] == 0) ? given[0] : given[i];
    return (sh_ints){at, (size_t)n};
}

static inline void sh__specs_begin(sh_spec *specs, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) specs[i].like = NULL;
}

void sh__fast_drop(sh_tensor **t, uint32_t n);
bool sh__fast_own(sh_tensor **t, uint32_t n);

static inline bool sh__fast_alloc(sh_tensor **t, const sh_spec *specs, uint32_t n, uint32_t device) {
    for (uint32_t i = 0; i < n; i++) {
        t[i] = sh__tensor_alloc(&specs[i], (int)device);
        if (SH_LIKELY(t[i] != NULL)) continue;
        sh__fast_drop(t, i);
        return false;
    }
    return true;
}

/* Can an in-place result go straight into self? Same shape and dtype; self overlaps nothing but itself, which the
 * slow path decides for views. */
static inline bool sh__fast_target(const sh_tensor *self, const sh_spec *spec) {
    if (spec->like == self)
        return self->storage && atomic_load_explicit(&self->storage->refs, memory_order_relaxed) == 1;
    if (spec->like) return false;
    return self->dtype == spec->dtype && self->ndim == spec->ndim && (self->flags & SH_TENSOR_CONTIGUOUS) &&
           self->storage && atomic_load_explicit(&self->storage->refs, memory_order_relaxed) == 1 &&
           memcmp(self->sizes, spec->sizes, (size_t)spec->ndim * sizeof *spec->sizes) == 0;
}

static inline sh_tensor *sh__fast_written(sh_tensor *self) {
    atomic_fetch_add_explicit(&self->storage->version, 1, memory_order_relaxed);
    return self;
}

/* A returns-form kernel is done: keeps its results, drops what else it made, names the op in an error. */
bool sh__fast_returned(sh_status status, uint32_t mark, const sh_value *results, uint32_t n, const char *op,
                       const sh_slot *slot);

#endif
