/* observer_impl.h - what the kinds of observers share. An observer's state is its options, the defaults filled in. */
#ifndef SH_GRAPH_QUANT_OBSERVER_IMPL_H
#define SH_GRAPH_QUANT_OBSERVER_IMPL_H

#include "graph/quant/observer.h"

static inline const sh_observer_options *sh__observer_options(const sh_module *observer) {
    return sh_module_state(observer);
}
static inline bool sh__is_per_channel(const sh_observer_options *o) {
    return o->qscheme >= SH_PER_CHANNEL_AFFINE;
}
static inline bool sh__is_symmetric(const sh_observer_options *o) {
    return o->qscheme == SH_PER_TENSOR_SYMMETRIC || o->qscheme == SH_PER_CHANNEL_SYMMETRIC;
}

typedef struct sh_range {
    float min, max;
} sh_range;

/* The least and the largest element of a row-major f32 tensor with at least one. */
sh_range sh__range_of(const sh_tensor *x);
/* Sets what min_val and max_val hold, `n` entries each. */
sh_status sh__observer_set_range(sh_module *observer, const float *min, const float *max, int64_t n);
/* {inf, -inf} before anything was taken in. */
sh_range sh__observer_range(const sh_module *observer);

/* For each name of observers.def, what sh_observer_type says. */
sh_status sh__min_max_observe(sh_module *observer, const sh_tensor *x);
sh_status sh__moving_average_observe(sh_module *observer, const sh_tensor *x);
sh_status sh__histogram_observe(sh_module *observer, const sh_tensor *x);
sh_status sh__fixed_observe(sh_module *observer, const sh_tensor *x);
sh_status sh__histogram_range(const sh_module *observer, float *min, float *max);

/* scale and zero_point for each of n ranges. */
void sh__choose_qparams(const sh_observer_options *o, const float *min, const float *max, int64_t n,
                        float *scale, int64_t *zero_point);

#endif
