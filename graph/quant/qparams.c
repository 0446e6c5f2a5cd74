/* qparams.c - from a range of reals to scale and zero point, in f32 as torch computes them.
 *
 * UniformQuantizationObserverBase._calculate_qparams of torch/ao/quantization/observer.py: the range is made to hold 0, so
 * that 0 is stored exactly; a symmetric one is as wide on both sides; a scale is never below eps. */
#include <math.h>

#include "graph/quant/observer_impl.h"

static int64_t middle(const sh_observer_options *o) {
    if (o->dtype == SH_I8) return 0;
    return o->quant_max == 255 ? 128 : (o->quant_min + o->quant_max) / 2;
}

static void symmetric(const sh_observer_options *o, float low, float high, float *scale,
                      int64_t *zero_point) {
    const float reach = fmaxf(-low, high);
    *scale = fmaxf(reach / ((float)(o->quant_max - o->quant_min) / 2), (float)o->eps);
    *zero_point = middle(o);
}

static void affine(const sh_observer_options *o, float low, float high, float *scale, int64_t *zero_point) {
    *scale = fmaxf((high - low) / (float)(o->quant_max - o->quant_min), (float)o->eps);
    const double zero = (double)o->quant_min - (double)nearbyintf(low / *scale);
    *zero_point = (int64_t)fmin(fmax(zero, o->quant_min), o->quant_max);
}

void sh__choose_qparams(const sh_observer_options *o, const float *min, const float *max, int64_t n,
                        float *scale, int64_t *zero_point) {
    for (int64_t i = 0; i < n; i++)
        (sh__is_symmetric(o) ? symmetric : affine)(o, fminf(min[i], 0), fmaxf(max[i], 0), &scale[i],
                                                   &zero_point[i]);
}
