/* nn_layers.c - the modules with a weight that multiplies: linear, convolutions, embedding.
 *
 * Weights and biases are drawn as PyTorch draws them: kaiming_uniform with a = sqrt(5), which comes to uniform within
 * 1 / sqrt(fan_in) (torch/nn/modules/linear.py, conv.py), and a standard normal for embedding. */
#include <math.h>
#include <stdio.h>

#include "graph/module/nn_types.h"
#include "ops/ops.h"

/* ---- linear ---- */

sh_module *(sh_nn_linear)(const sh_nn_linear_options *o) {
    sh_module *module = sh__nn_new(&sh__nn_linear_type, o);
    if (!module) return NULL;
    const double bound = o->in_features ? 1 / sqrt((double)o->in_features) : 0;
    SH_SCOPE {
        sh__nn_uniform(module, "weight", SH_SIZES(o->out_features, o->in_features), bound);
        if (o->bias) sh__nn_uniform(module, "bias", SH_SIZES(o->out_features), bound);
    }
    return sh__nn_finish(module);
}

sh_tensor *sh__nn_linear_forward(sh_module *self, sh_tensor *x) {
    return sh_linear(x, sh_module_parameter(self, "weight"), .bias = sh_module_parameter(self, "bias"));
}

size_t sh__nn_linear_repr(const sh_module *self, char *text, size_t size) {
    const sh_nn_linear_options *o = sh_module_state(self);
    return (size_t)snprintf(text, size, "in_features=%lld, out_features=%lld, bias=%s",
                            (long long)o->in_features, (long long)o->out_features,
                            sh__nn_flag_text(sh_module_parameter(self, "bias") != NULL));
}

/* ---- convolutions ---- */

/* A module whose channels its groups divide. */
static sh_module *new_conv(const sh_module_type *type, const void *options, int64_t in, int64_t out,
                           int64_t groups) {
    sh_module *module = sh__nn_new(type, options);
    if (module && (in % groups || out % groups))
        sh_fail(SH_ERROR_VALUE, "%s: in_channels %lld and out_channels %lld must be divisible by groups %lld",
                type->name, (long long)in, (long long)out, (long long)groups);
    return sh__nn_finish(module);
}

/* `sizes` of the weight: out, in of a group, kernel. */
static void draw_conv(sh_module *module, sh_ints sizes, bool bias) {
    int64_t fan_in = 1;
    for (size_t i = 1; i < sizes.n; i++) fan_in *= sizes.at[i];
    const double bound = 1 / sqrt((double)fan_in);
    SH_SCOPE {
        sh__nn_uniform(module, "weight", sizes, bound);
        if (bias) sh__nn_uniform(module, "bias", SH_SIZES(sizes.at[0]), bound);
    }
}

sh_module *(sh_nn_conv1d)(const sh_nn_conv1d_options *o) {
    sh_module *module = new_conv(&sh__nn_conv1d_type, o, o->in_channels, o->out_channels, o->groups);
    if (!module) return NULL;
    draw_conv(module, SH_SIZES(o->out_channels, o->in_channels / o->groups, o->kernel_size), o->bias);
    return sh__nn_finish(module);
}

sh_tensor *sh__nn_conv1d_forward(sh_module *self, sh_tensor *x) {
    const sh_nn_conv1d_options *o = sh_module_state(self);
    return sh_conv1d(x, sh_module_parameter(self, "weight"), .bias = sh_module_parameter(self, "bias"),
                     .stride = {o->stride}, .padding = {o->padding}, .dilation = {o->dilation},
                     .groups = o->groups);
}

sh_module *(sh_nn_conv2d)(const sh_nn_conv2d_options *o) {
    const sh_pair kernel = sh__nn_pair(o->kernel_size);
    sh_module *module = new_conv(&sh__nn_conv2d_type, o, o->in_channels, o->out_channels, o->groups);
    if (!module) return NULL;
    draw_conv(module, SH_SIZES(o->out_channels, o->in_channels / o->groups, kernel.at[0], kernel.at[1]),
              o->bias);
    return sh__nn_finish(module);
}

sh_tensor *sh__nn_conv2d_forward(sh_module *self, sh_tensor *x) {
    const sh_nn_conv2d_options *o = sh_module_state(self);
    return sh_conv2d(x, sh_module_parameter(self, "weight"), .bias = sh_module_parameter(self, "bias"),
                     .stride = {o->stride[0], o->stride[1]}, .padding = {o->padding[0], o->padding[1]},
                     .dilation = {o->dilation[0], o->dilation[1]}, .groups = o->groups);
}

/* What a convolution shows, each list with `axes` entries. */
typedef struct conv_shape {
    int64_t in, out, groups;
    sh_pair kernel, stride, padding, dilation;
    int axes;
    bool bias;
} conv_shape;

static sh_words axes_text(const conv_shape *c, sh_pair pair) {
    sh_words words;
    if (c->axes == 1)
        snprintf(words.text, sizeof words.text, "(%lld,)", (long long)pair.at[0]);
    else
        snprintf(words.text, sizeof words.text, "(%lld, %lld)", (long long)pair.at[0], (long long)pair.at[1]);
    return words;
}

/* ", name=(1, 1)" where the pair is not all `plain`. */
static sh_words optional_text(const conv_shape *c, const char *name, sh_pair pair, int64_t plain) {
    sh_words words = {""};
    if (pair.at[0] == plain && (c->axes == 1 || pair.at[1] == plain)) return words;
    snprintf(words.text, sizeof words.text, ", %s=%.48s", name, axes_text(c, pair).text);
    return words;
}

static size_t conv_text(const conv_shape *c, char *text, size_t size) {
    sh_words groups = {""};
    if (c->groups != 1) snprintf(groups.text, sizeof groups.text, ", groups=%lld", (long long)c->groups);
    return (size_t)snprintf(text, size, "%lld, %lld, kernel_size=%s, stride=%s%s%s%s%s", (long long)c->in,
                            (long long)c->out, axes_text(c, c->kernel).text, axes_text(c, c->stride).text,
                            optional_text(c, "padding", c->padding, 0).text,
                            optional_text(c, "dilation", c->dilation, 1).text, groups.text,
                            c->bias ? "" : ", bias=False");
}

size_t sh__nn_conv1d_repr(const sh_module *self, char *text, size_t size) {
    const sh_nn_conv1d_options *o = sh_module_state(self);
    const conv_shape c = {o->in_channels,
                          o->out_channels,
                          o->groups,
                          {{o->kernel_size}},
                          {{o->stride}},
                          {{o->padding}},
                          {{o->dilation}},
                          1,
                          sh_module_parameter(self, "bias") != NULL};
    return conv_text(&c, text, size);
}

size_t sh__nn_conv2d_repr(const sh_module *self, char *text, size_t size) {
    const sh_nn_conv2d_options *o = sh_module_state(self);
    const conv_shape c = {o->in_channels,
                          o->out_channels,
                          o->groups,
                          sh__nn_pair(o->kernel_size),
                          sh__nn_pair(o->stride),
                          sh__nn_pair(o->padding),
                          sh__nn_pair(o->dilation),
                          2,
                          sh_module_parameter(self, "bias") != NULL};
    return conv_text(&c, text, size);
}

/* ---- embedding ---- */

/* The row, or none; a negative one counts from the end. */
static sh_status padding_row(const sh_nn_embedding_options *o, int64_t *row) {
    *row = o->padding_idx < 0 && o->padding_idx != SH_NO_INT ? o->padding_idx + o->num_embeddings
                                                             : o->padding_idx;
    if (*row == SH_NO_INT || (*row >= 0 && *row < o->num_embeddings)) return SH_OK;
    return sh_fail(SH_ERROR_INDEX, "Embedding: padding_idx %lld of %lld rows", (long long)o->padding_idx,
                   (long long)o->num_embeddings);
}

sh_module *(sh_nn_embedding)(const sh_nn_embedding_options *options) {
    sh_nn_embedding_options o = *options;
    if (padding_row(options, &o.padding_idx) < 0) return NULL;
    sh_module *module = sh__nn_new(&sh__nn_embedding_type, &o);
    if (module) SH_SCOPE {
            sh_tensor *weight = sh_randn(SH_SIZES(o.num_embeddings, o.embedding_dim));
            if (o.padding_idx != SH_NO_INT) sh_mul_(sh_select(weight, 0, o.padding_idx), 0.0);
            if (weight) sh_module_set_parameter(module, "weight", weight);
        }
    return sh__nn_finish(module);
}

sh_tensor *sh__nn_embedding_forward(sh_module *self, sh_tensor *x) {
    const sh_nn_embedding_options *o = sh_module_state(self);
    return sh_embedding(sh_module_parameter(self, "weight"), x,
                        .padding_idx = o->padding_idx == SH_NO_INT ? -1 : o->padding_idx);
}

size_t sh__nn_embedding_repr(const sh_module *self, char *text, size_t size) {
    const sh_nn_embedding_options *o = sh_module_state(self);
    sh_words padding = {""};
    if (o->padding_idx != SH_NO_INT)
        snprintf(padding.text, sizeof padding.text, ", padding_idx=%lld", (long long)o->padding_idx);
    return (size_t)snprintf(text, size, "%lld, %lld%s", (long long)o->num_embeddings,
                            (long long)o->embedding_dim, padding.text);
}
