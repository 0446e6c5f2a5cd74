/* unit_pool.c - see unit_pool.h. */
#include "graph/compile/unit_pool.h"

#include <string.h>

#include "dispatch/tensor_impl.h"
#include "ops/ops.h"

/* ---- windows ---- */

typedef struct window {
    dnnl_alg_kind_t algorithm;
    dnnl_dims_t in, out, kernel, stride, before, after;
} window;

static int64_t entry(const sh_plan_step *step, const char *param, size_t i, int64_t missing) {
    const sh_value v = sh__step_argument(step, param);
    const sh_ints list = sh_value_as_ints(v);
    if (v.tag == SH_TAG_INT) return v.as.i;
    return list.n == 0 ? missing : list.at[list.n == 1 ? 0 : i];
}

static bool flag(const sh_plan_step *step, const char *param) {
    return sh_value_as_int(sh__step_argument(step, param)) != 0;
}

/* As the step says them; what the last window reaches past the input is padding. */
static void read_window(const sh_plan_step *step, window *w) {
    for (size_t axis = 0; axis < 2; axis++) {
        w->kernel[axis] = entry(step, "kernel_size", axis, 1);
        w->stride[axis] = entry(step, "stride", axis, w->kernel[axis]);
        w->before[axis] = entry(step, "padding", axis, 0);
        const int64_t reach = (w->out[2 + axis] - 1) * w->stride[axis] + w->kernel[axis] - w->in[2 + axis];
        w->after[axis] = reach - w->before[axis] > 0 ? reach - w->before[axis] : 0;
    }
}

static bool read_max(const sh_plan_step *step, window *w) {
    read_window(step, w);
    w->algorithm = dnnl_pooling_max;
    return entry(step, "dilation", 0, 1) == 1 && entry(step, "dilation", 1, 1) == 1;
}

/* In a window past the padding fewer elements count than oneDNN would divide by. */
static bool read_avg(const sh_plan_step *step, window *w) {
    read_window(step, w);
    w->algorithm =
        flag(step, "count_include_pad") ? dnnl_pooling_avg_include_padding : dnnl_pooling_avg_exclude_padding;
    return sh__step_argument(step, "divisor_override").tag == SH_TAG_NONE && w->after[0] <= w->before[0] &&
           w->after[1] <= w->before[1];
}

/* Windows of equal size without gaps. */
static bool read_adaptive(window *w) {
    w->algorithm = dnnl_pooling_avg_exclude_padding;
    for (size_t axis = 0; axis < 2; axis++) {
        if (w->in[2 + axis] % w->out[2 + axis] != 0) return false;
        w->kernel[axis] = w->stride[axis] = w->in[2 + axis] / w->out[2 + axis];
    }
    return true;
}

static bool read_mean(const sh_plan_step *step, window *w) {
    const sh_ints axes = sh_value_as_ints(sh__step_argument(step, "dim"));
    if (axes.n != 2 || sh__step_argument(step, "dtype").tag != SH_TAG_NONE) return false;
    const int64_t first = (axes.at[0] + 4) % 4, second = (axes.at[1] + 4) % 4;
    return first + second == 5 && (first == 2 || second == 2) && read_adaptive(w);
}

static bool read_pool(const sh_plan *plan, const sh_plan_step *step, window *w) {
    const uint32_t self = sh__step_value(step, "self");
    if (self == UINT32_MAX || !sh__step_is_own(plan, step)) return false;
    const sh_spec *in = &plan->values[self].spec, *out = &plan->values[step->results[0]].spec;
    if (in->ndim != 4) return false;
    *w = (window){.out = {in->sizes[0], in->sizes[1], 1, 1}};
    memcpy(w->in, in->sizes, 4 * sizeof *w->in);
    if (out->ndim == 4) memcpy(w->out, out->sizes, 4 * sizeof *w->out);
    for (int i = 0; i < 4; i++)
        if (w->in[i] == 0 || w->out[i] == 0) return false;
    switch (step->op->id) {
    case SH_OP_max_pool2d: return read_max(step, w);
    case SH_OP_avg_pool2d: return read_avg(step, w);
    case SH_OP_adaptive_avg_pool2d: return read_adaptive(w);
    case SH_OP_mean: return read_mean(step, w);
    default: return false;
    }
}

/* ---- primitives ---- */

static const sh_postops none;

static sh_primitive *bound(sh_primitive *p, const int *roles, const dnnl_memory_desc_t *const *layouts,
                           int n) {
    for (int i = 0; p && i < n; i++)
        if (sh__primitive_bind_as(p, roles[i], layouts[i], SH_NO_VALUE) < 0) {
            sh__primitive_free(p);
            return NULL;
        }
    return p;
}

sh_primitive *sh__pool_new(const sh_plan *plan, const sh_plan_step *step) {
    window w;
    dnnl_memory_desc_t from, to;
    dnnl_pooling_desc_t d;
    if (!read_pool(plan, step, &w)) return NULL;
    if (sh__layout_of(w.in, SH_LAYOUT_LAST, &from) || sh__layout_of(w.out, SH_LAYOUT_LAST, &to)) return NULL;
    if (dnnl_pooling_forward_desc_init(&d, dnnl_forward_inference, w.algorithm, &from, &to, w.stride,
                                       w.kernel, w.before, w.after))
        return NULL;
    return bound(sh__primitive_of(&d, &none, NULL), (int[]){DNNL_ARG_SRC, DNNL_ARG_DST},
                 (const dnnl_memory_desc_t *[]){&from, &to}, 2);
}

sh_primitive *sh__eltwise_new(const sh_plan *plan, const sh_plan_step *step) {
    const uint32_t self = sh__step_value(step, "self");
    sh_postops ops = {0};
    dnnl_memory_desc_t at;
    dnnl_eltwise_desc_t d;
    if (self == UINT32_MAX || !sh__step_is_own(plan, step) || !sh__postop_function(step, &ops) || ops.n != 1)
        return NULL;
    if (plan->values[self].spec.ndim != 4 ||
        sh__layout_of(plan->values[self].spec.sizes, SH_LAYOUT_LAST, &at))
        return NULL;
    if (dnnl_eltwise_forward_desc_init(&d, dnnl_forward_inference, ops.at[0].function, &at, ops.at[0].alpha,
                                       ops.at[0].beta))
        return NULL;
    return bound(sh__primitive_of(&d, &none, NULL), (int[]){DNNL_ARG_SRC, DNNL_ARG_DST},
                 (const dnnl_memory_desc_t *[]){&at, &at}, 2);
}

sh_primitive *sh__binary_new(const sh_plan *plan, const sh_plan_step *step) {
    const uint32_t self = sh__step_value(step, "self"), other = sh__step_value(step, "other");
    dnnl_memory_desc_t at;
    dnnl_binary_desc_t d;
    if (step->op->id != SH_OP_add || self == UINT32_MAX || other == UINT32_MAX ||
        !sh__step_is_own(plan, step))
        return NULL;
    const sh_value alpha = sh__step_argument(step, "alpha");
    const sh_spec *a = &plan->values[self].spec, *b = &plan->values[other].spec;
    if (sh_value_is_number(alpha) && sh_value_as_double(alpha) != 1) return NULL;
    if (a->ndim != 4 || b->ndim != 4 || memcmp(a->sizes, b->sizes, 4 * sizeof *a->sizes) != 0) return NULL;
    if (sh__layout_of(a->sizes, SH_LAYOUT_LAST, &at) ||
        dnnl_binary_desc_init(&d, dnnl_binary_add, &at, &at, &at))
        return NULL;
    return bound(sh__primitive_of(&d, &none, NULL), (int[]){DNNL_ARG_SRC_0, DNNL_ARG_SRC_1, DNNL_ARG_DST},
                 (const dnnl_memory_desc_t *[]){&at, &at, &at}, 3);
}
