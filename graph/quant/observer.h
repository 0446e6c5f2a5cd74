/* observer.h - modules that look at the tensors that pass and say how to put them into 8 bits: torch.ao.quantization's
 * observers, under their names.
 *
 *     const sh_observer_options o = {.kind = SH_HISTOGRAM_OBSERVER, .dtype = SH_U8, .reduce_range = true};
 *     sh_module *observer = sh_observer_new(&o);
 *     sh_forward(observer, x);                    // gives x back
 *     sh_observer_qparams(observer, &q);          // real = scale * (stored - zero_point)
 *
 * An observer's forward takes in the tensor and returns it as it is. What it has seen is in its buffers min_val and
 * max_val (inf and -inf before the first tensor; one entry a channel, none before the first), a histogram's in
 * `histogram` too: so a state dict keeps it. Tensors of other dtypes than floats pass unseen, empty ones too. A NaN or an
 * infinity is an error, and the tensor is not taken in.
 *
 * The results are those of torch 1.13 (torch/ao/quantization/observer.py), to a few units in the last place. */
#ifndef SH_GRAPH_QUANT_OBSERVER_H
#define SH_GRAPH_QUANT_OBSERVER_H

#include "graph/module/module.h"

SH_BEGIN_DECLS

typedef enum sh_observer_kind {
#define SH_OBSERVER(kind, name, function) SH_##kind##_OBSERVER,
#include "graph/quant/observers.def"
#undef SH_OBSERVER
} sh_observer_kind;

typedef enum sh_qscheme {
    SH_PER_TENSOR_AFFINE,
    SH_PER_TENSOR_SYMMETRIC,
    SH_PER_CHANNEL_AFFINE,
    SH_PER_CHANNEL_SYMMETRIC
} sh_qscheme;

/* An observer of the user's. It must outlive its observers. */
typedef struct sh_observer_type {
    const char *name;
    /* Takes in x, which is f32, row-major, finite and not empty: moves the buffers min_val and max_val, both f32, without
     * dimensions or 1-d with an entry for each channel. */
    sh_status (*observe)(sh_module *observer, const sh_tensor *x);
    /* The range to be stored, where that is not from min_val to max_val; per tensor only. Optional. */
    sh_status (*range)(const sh_module *observer, float *min, float *max);
} sh_observer_type;

/* What an observer is to do; all zero: min and max, u8, per tensor, affine. */
typedef struct sh_observer_options {
    sh_observer_kind kind;
    const sh_observer_type *type; /* instead of the kind */
    void *user;                   /* sh_observer_user */
    sh_dtype dtype;               /* SH_U8 (also for 0) or SH_I8 */
    sh_qscheme qscheme;
    int64_t ch_axis;              /* of the channels, where it is per channel */
    bool reduce_range;            /* one bit less: 0 to 127, -64 to 63 */
    int32_t quant_min, quant_max; /* both 0: all that dtype can hold */
    double eps;                   /* the least scale; 0: 2^-23 */
    double averaging_constant;    /* of moving averages; 0: 0.01 */
    int64_t bins, upsample_rate;  /* of histograms; 0: 2048 and 128 */
    double scale;                 /* of fixed ones */
    int64_t zero_point;
} sh_observer_options;

/* How reals are stored: real = scale * (stored - zero_point), stored clamped to quant_min and quant_max. */
typedef struct sh_qparams {
    sh_dtype dtype;
    int32_t quant_min, quant_max;
    bool per_channel;
    int64_t axis;
    sh_tensor *scale;      /* f32, 1-d: an entry for each channel, or one */
    sh_tensor *zero_point; /* i64, the same */
} sh_qparams;

/* The options are copied. NULL and an error where they don't fit: a histogram per channel, a range without 0, another dtype. */
SH_API sh_module *sh_observer_new(const sh_observer_options *options);
SH_API bool sh_is_observer(const sh_module *module);
/* `user` of its options. NULL and an error if it is no observer. */
SH_API void *sh_observer_user(const sh_module *observer);
/* Has it taken anything in? Fixed ones need not. */
SH_API bool sh_observer_is_calibrated(const sh_module *observer);
/* Forgets what it has seen. */
SH_API sh_status sh_observer_reset(sh_module *observer);
/* The tensors are owned by the scope. SH_ERROR_VALUE if it has seen nothing. */
SH_API sh_status sh_observer_qparams(const sh_module *observer, sh_qparams *qparams);

SH_END_DECLS

#endif
