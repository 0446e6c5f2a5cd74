/* unit_conv.c - see unit_conv.h. */
#include "graph/compile/unit_conv.h"

#include <math.h>
#include <string.h>

#include "dispatch/tensor_impl.h"
#include "ops/cpu/onednn.h"
#include "ops/iter.h"
#include "ops/ops.h"

/* ---- reading steps ---- */

/* Entry i of an int[2], which may stand as one integer, or be left out. */
static int64_t entry(const sh_plan_step *step, const char *param, size_t i, int64_t missing) {
    const sh_value v = sh__step_argument(step, param);
    const sh_ints list = sh_value_as_ints(v);
    if (v.tag == SH_TAG_INT) return v.as.i;
    return list.n == 0 ? missing : list.at[list.n == 1 ? 0 : i];
}

static bool is_f32(const sh_tensor *t, int ndim) {
    return t && t->dtype == SH_F32 && t->ndim == ndim && t->numel > 0 && t->data;
}

static void read_axis(const sh_plan_step *step, const sh_plan_value *in, const sh_plan_value *out, int axis,
                      const sh_tensor *weight, sh_conv_shape *s) {
    s->in[axis] = in->spec.sizes[2 + axis];
    s->out[axis] = out->spec.sizes[2 + axis];
    s->kernel[axis] = weight->sizes[2 + axis];
    s->stride[axis] = entry(step, "stride", (size_t)axis, 1);
    s->dilation[axis] = entry(step, "dilation", (size_t)axis, 1);
    s->before[axis] = entry(step, "padding", (size_t)axis, 0);
    s->after[axis] = s->before[axis];
}

static bool take_bias(sh_conv_unit *conv, const sh_tensor *bias) {
    if (conv->nbiases == SH_CONV_BIASES || conv->norm.mean) return false;
    conv->biases[conv->nbiases++] = bias;
    conv->shape.has_bias = 1;
    return true;
}

bool sh__conv_read(const sh_plan *plan, const sh_plan_step *step, sh_conv_unit *conv) {
    if (!sh__step_is_own(plan, step) || step->op->id != SH_OP_conv2d) return false;
    memset(conv, 0, sizeof *conv); /* shapes are compared as bytes */
    conv->input = sh__step_value(step, "input");
    conv->output = step->results[0];
    conv->weight_value = sh__step_value(step, "weight");
    conv->weight = sh__value_constant(plan, conv->weight_value);
    const uint32_t bias = sh__step_value(step, "bias");
    if (conv->input == UINT32_MAX || !is_f32(conv->weight, 4)) return false;
    if (bias != UINT32_MAX && !is_f32(sh__value_constant(plan, bias), 1)) return false;
    if (bias != UINT32_MAX) take_bias(conv, sh__value_constant(plan, bias));
    const sh_plan_value *in = &plan->values[conv->input], *out = &plan->values[conv->output];
    if (in->spec.ndim != 4 || out->spec.ndim != 4 || !sh__value_is_contiguous(out)) return false;
    sh_conv_shape *s = &conv->shape;
    s->batch = in->spec.sizes[0];
    s->channels = in->spec.sizes[1];
    s->outputs = out->spec.sizes[1];
    s->groups = entry(step, "groups", 0, 1);
    for (int axis = 0; axis < 2; axis++) read_axis(step, in, out, axis, conv->weight, s);
    return s->batch > 0 && s->out[0] > 0 && s->out[1] > 0 && s->in[0] > 0 && s->in[1] > 0;
}

/* ---- fusing ---- */

bool sh__conv_take_pad(const sh_plan *plan, const sh_plan_step *pad, sh_conv_unit *conv) {
    if (!sh__step_is_own(plan, pad) || pad->op->id != SH_OP_pad) return false;
    const sh_value mode = sh__step_argument(pad, "mode"), value = sh__step_argument(pad, "value");
    const sh_ints pairs = sh_value_as_ints(sh__step_argument(pad, "pad"));
    const uint32_t input = sh__step_value(pad, "self");
    if (mode.tag != SH_TAG_STRING || strcmp(mode.as.string, "constant") != 0 || input == UINT32_MAX)
        return false;
    if (sh_value_is_number(value) && sh_value_as_double(value) != 0) return false;
    for (size_t i = 0; i < pairs.n; i++)
        if (pairs.at[i] < 0 || (i >= 4 && pairs.at[i] != 0)) return false;
    for (size_t i = 0; i + 1 < pairs.n && i < 4; i += 2) {
        const size_t axis = 1 - i / 2;
        conv->shape.before[axis] += pairs.at[i];
        conv->shape.after[axis] += pairs.at[i + 1];
    }
    for (int axis = 0; axis < 2; axis++) conv->shape.in[axis] = plan->values[input].spec.sizes[2 + axis];
    conv->input = input;
    return true;
}

/* A constant [C, 1, 1] or [1, C, 1, 1]. */
static bool is_per_channel(const sh_tensor *t, int64_t channels) {
    if (!t || t->dtype != SH_F32 || !t->data || t->numel != channels || t->ndim < 3 || t->ndim > 4)
        return false;
    return t->sizes[t->ndim - 3] == channels;
}

static bool has_add(const sh_postops *ops) {
    for (uint32_t i = 0; i < ops->n; i++)
        if (ops->at[i].kind != SH_POSTOP_FUNCTION) return true;
    return false;
}

static bool take_add(const sh_plan *plan, const sh_plan_step *step, uint32_t from, sh_conv_unit *conv) {
    const sh_value alpha = sh__step_argument(step, "alpha");
    const uint32_t self = sh__step_value(step, "self"), other = sh__step_value(step, "other");
    const uint32_t added = self == from ? other : self;
    if (added == UINT32_MAX || added == from || (sh_value_is_number(alpha) && sh_value_as_double(alpha) != 1))
        return false;
    const sh_tensor *constant = sh__value_constant(plan, added);
    if (is_per_channel(constant, conv->shape.outputs)) return conv->after.n == 0 && take_bias(conv, constant);
    if (!sh__same_sizes(&plan->values[added].spec, &plan->values[conv->output].spec) || has_add(&conv->after))
        return false;
    return sh__postop_append(&conv->after, (sh_postop){.kind = SH_POSTOP_ADD, .value = added});
}

/* An argument of one number a channel: a constant, or left out. */
static bool read_row(const sh_plan *plan, const sh_plan_step *step, const char *param, int64_t n,
                     const sh_tensor **row) {
    const uint32_t value = sh__step_value(step, param);
    *row = sh__value_constant(plan, value);
    return value == UINT32_MAX || (is_f32(*row, 1) && (*row)->numel == n);
}

static bool take_norm(const sh_plan *plan, const sh_plan_step *step, uint32_t from, sh_conv_unit *conv) {
    const int64_t n = conv->shape.outputs;
    const sh_value eps = sh__step_argument(step, "eps");
    sh_conv_norm norm = {.eps = sh_value_as_double(eps)};
    if (conv->after.n || conv->norm.mean || sh__step_value(step, "input") != from ||
        !sh_value_is_number(eps) || sh_value_as_int(sh__step_argument(step, "training")))
        return false;
    if (!read_row(plan, step, "running_mean", n, &norm.mean) ||
        !read_row(plan, step, "running_var", n, &norm.var) ||
        !read_row(plan, step, "weight", n, &norm.gamma) || !read_row(plan, step, "bias", n, &norm.beta) ||
        !norm.mean || !norm.var)
        return false;
    conv->norm = norm;
    conv->shape.has_bias = 1;
    return true;
}

static bool take(const sh_plan *plan, const sh_plan_step *step, uint32_t from, sh_conv_unit *conv) {
    if (step->op->id == SH_OP_add) return take_add(plan, step, from, conv);
    if (step->op->id == SH_OP_batch_norm) return take_norm(plan, step, from, conv);
    return sh__step_value(step, "self") == from && sh__postop_function(step, &conv->after);
}

bool sh__conv_take_step(const sh_plan *plan, const sh_plan_step *step, uint32_t from, sh_conv_unit *conv) {
    if (!sh__step_is_own(plan, step) ||
        !sh__same_sizes(&plan->values[step->results[0]].spec, &plan->values[from].spec) ||
        !sh__value_is_contiguous(&plan->values[step->results[0]]))
        return false;
    const bool taken = take(plan, step, from, conv);
    if (taken) conv->output = step->results[0];
    return taken;
}

/* ---- making ---- */

/* Filters with these strides, or, without, in any layout. */
static dnnl_status_t describe_weight(const sh_conv_unit *conv, const int64_t *lie, dnnl_memory_desc_t *d) {
    static const int64_t none[4];
    const int64_t groups = conv->shape.groups, *sizes = conv->weight->sizes, *strides = lie ? lie : none;
    const int64_t rows = sizes[0] / groups;
    const dnnl_dims_t grouped = {groups, rows, sizes[1], sizes[2], sizes[3]};
    const dnnl_dims_t grouped_strides = {rows * strides[0], strides[0], strides[1], strides[2], strides[3]};
    const dnnl_dims_t single = {rows, sizes[1], sizes[2], sizes[3]};
    const dnnl_dims_t single_strides = {strides[0], strides[1], strides[2], strides[3]};
    const int n = groups == 1 ? 4 : 5;
    const int64_t *of = groups == 1 ? single : grouped, *by = groups == 1 ? single_strides : grouped_strides;
    return lie ? dnnl_memory_desc_init_by_strides(d, n, of, dnnl_f32, by)
               : dnnl_memory_desc_init_by_tag(d, n, of, dnnl_f32, dnnl_format_tag_any);
}

static dnnl_status_t describe(const sh_conv_unit *conv, dnnl_convolution_desc_t *d,
                              dnnl_memory_desc_t *result) {
    const sh_conv_shape *s = &conv->shape;
    const int64_t in[] = {s->batch, s->channels, s->in[0], s->in[1]};
    const int64_t out[] = {s->batch, s->outputs, s->out[0], s->out[1]};
    const dnnl_dims_t outputs = {s->outputs}, gaps = {s->dilation[0] - 1, s->dilation[1] - 1};
    dnnl_memory_desc_t source, weight, bias;
    dnnl_status_t status = sh__layout_of(in, SH_LAYOUT_LAST, &source);
    if (!status) status = sh__layout_of(out, SH_LAYOUT_LAST, result);
    if (!status) status = describe_weight(conv, NULL, &weight);
    if (!status) status = dnnl_memory_desc_init_by_tag(&bias, 1, outputs, dnnl_f32, dnnl_a);
    if (!status)
        status = dnnl_dilated_convolution_forward_desc_init(
            d, dnnl_forward_inference, dnnl_convolution_direct, &source, &weight, s->has_bias ? &bias : NULL,
            result, s->stride, gaps, s->before, s->after);
    return status;
}

/* The first of oneDNN's implementations that is more than plain loops, or patches and a product. NULL: none. */
static dnnl_primitive_desc_t find_descriptor(dnnl_engine_t engine, const dnnl_convolution_desc_t *d,
                                             dnnl_primitive_attr_t attr) {
    dnnl_primitive_desc_t found = NULL;
    const char *name = "ref";
    if (dnnl_primitive_desc_create(&found, d, attr, engine, NULL) != dnnl_success) return NULL;
    dnnl_primitive_desc_query(found, dnnl_query_impl_info_str, 0, &name);
    if (strncmp(name, "ref", 3) != 0 && strncmp(name, "gemm", 4) != 0) return found;
    dnnl_primitive_desc_destroy(found);
    return NULL;
}

static sh_status bind_all(const sh_conv_unit *conv, const dnnl_memory_desc_t *result, sh_primitive *p) {
    SH_TRY(sh__primitive_bind(p, DNNL_ARG_SRC, dnnl_query_src_md, 0, SH_NO_VALUE));
    SH_TRY(sh__primitive_bind(p, DNNL_ARG_WEIGHTS, dnnl_query_weights_md, 0, SH_NO_VALUE));
    if (conv->shape.has_bias)
        SH_TRY(sh__primitive_bind(p, DNNL_ARG_BIAS, dnnl_query_weights_md, 1, SH_NO_VALUE));
    SH_TRY(sh__primitive_bind(p, DNNL_ARG_DST, dnnl_query_dst_md, 0, SH_NO_VALUE));
    return sh__postop_bind(&conv->after, result, p);
}

sh_primitive *sh__conv_new(const sh_conv_unit *conv) {
    dnnl_engine_t engine = sh__primitive_engine();
    dnnl_convolution_desc_t d;
    dnnl_memory_desc_t result;
    dnnl_primitive_attr_t attr = NULL;
    if (!engine || describe(conv, &d, &result) != dnnl_success) return NULL;
    dnnl_primitive_desc_t descriptor = NULL;
    if (sh__postop_attributes(&conv->after, &result, &attr) == dnnl_success)
        descriptor = find_descriptor(engine, &d, attr);
    if (attr) dnnl_primitive_attr_destroy(attr);
    sh_primitive *p = descriptor ? sh__primitive_new(descriptor) : NULL;
    if (!p) return NULL;
    snprintf(p->note, sizeof p->note, "%lldx%lld", (long long)conv->shape.kernel[0],
             (long long)conv->shape.kernel[1]);
    sh__postop_print(&conv->after, p->note, sizeof p->note);
    if (bind_all(conv, &result, p) == SH_OK) return p;
    sh__primitive_free(p);
    return NULL;
}

/* ---- constants ---- */

static float channel(const sh_tensor *t, int64_t i) {
    const int axis = t->ndim == 1 ? 0 : t->ndim - 3;
    return ((const float *)(const void *)t->data)[i * t->strides[axis]];
}

static double scale_of(const sh_conv_norm *norm, int64_t i) {
    const double gamma = norm->gamma ? (double)channel(norm->gamma, i) : 1;
    return gamma / sqrt((double)channel(norm->var, i) + norm->eps);
}

void sh__conv_bias(const sh_conv_unit *conv, float *sums) {
    const sh_conv_norm *norm = &conv->norm;
    for (int64_t i = 0; i < conv->shape.outputs; i++) {
        double sum = 0;
        for (uint32_t k = 0; k < conv->nbiases; k++) sum += (double)channel(conv->biases[k], i);
        if (norm->mean) sum = (sum - (double)channel(norm->mean, i)) * scale_of(norm, i);
        if (norm->beta) sum += (double)channel(norm->beta, i);
        sums[i] = (float)sum;
    }
}

/* In f64, rounded once. */
static void scale_filter(float *to, const float *from, const int64_t *sizes, const int64_t *strides,
                         double scale) {
    for (int64_t k = 0; k < sizes[1]; k++)
        for (int64_t y = 0; y < sizes[2]; y++)
            for (int64_t x = 0; x < sizes[3]; x++)
                *to++ = (float)((double)from[k * strides[1] + y * strides[2] + x * strides[3]] * scale);
}

sh_status sh__conv_filters(const sh_conv_unit *conv, sh_conv_filters *f) {
    const sh_tensor *w = conv->weight;
    *f = (sh_conv_filters){.data = (const float *)(const void *)w->data, .strides = w->strides};
    if (!conv->norm.mean) return SH_OK;
    const int64_t filter = w->numel / w->sizes[0];
    f->block = sh__block_alloc((size_t)w->numel * sizeof *f->block, &f->capacity);
    if (!f->block) return SH_ERROR_MEMORY;
    SH_PARALLEL(sh__threads(w->numel))
    for (int64_t i = 0; i < w->sizes[0]; i++)
        scale_filter(f->block + i * filter, f->data + i * w->strides[0], w->sizes, w->strides,
                     scale_of(&conv->norm, i));
    const int64_t strides[4] = {filter, w->sizes[2] * w->sizes[3], w->sizes[3], 1};
    memcpy(f->own_strides, strides, sizeof strides);
    f->strides = f->own_strides;
    f->data = f->block;
    return SH_OK;
}

void sh__conv_filters_end(sh_conv_filters *f) {
    if (f->block) sh__block_free(f->block, f->capacity);
}

static sh_status pack_bias(const sh_conv_unit *conv, sh_primitive *p) {
    const dnnl_memory_desc_t layout = sh__primitive_argument(p, DNNL_ARG_BIAS)->layout;
    float *sums = sh__alloc((size_t)conv->shape.outputs * sizeof *sums);
    if (!sums) return SH_ERROR_MEMORY;
    sh__conv_bias(conv, sums);
    const sh_status status = sh__primitive_pack(p, DNNL_ARG_BIAS, &layout, sums);
    sh__free(sums);
    return status;
}

sh_status sh__conv_pack(const sh_conv_unit *conv, sh_primitive *p) {
    dnnl_memory_desc_t lies;
    sh_conv_filters filters;
    SH_TRY(sh__conv_filters(conv, &filters));
    sh_status status = sh_onednn_status(describe_weight(conv, filters.strides, &lies), "describing weights");
    if (status == SH_OK) status = sh__primitive_pack(p, DNNL_ARG_WEIGHTS, &lies, filters.data);
    sh__conv_filters_end(&filters);
    if (status == SH_OK && conv->shape.has_bias) status = pack_bias(conv, p);
    return status;
}
