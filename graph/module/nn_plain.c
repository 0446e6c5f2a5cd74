/* nn_plain.c - the modules without parameters: activations, pooling, flatten, dropout, identity. */
#include <stdio.h>
#include <string.h>

#include "graph/module/nn_types.h"
#include "ops/ops.h"

/* ---- activations ---- */

sh_module *(sh_nn_relu)(const sh_nn_relu_options *o) { return sh__nn_new(&sh__nn_relu_type, o); }
sh_module *(sh_nn_silu)(const sh_nn_silu_options *o) { return sh__nn_new(&sh__nn_silu_type, o); }
sh_module *sh_nn_sigmoid(void) { return sh_module_new(&sh__nn_sigmoid_type); }
sh_module *sh_nn_tanh(void) { return sh_module_new(&sh__nn_tanh_type); }

static bool in_place(const sh_module *self) {
    const sh_nn_inplace_options *o = sh_module_state(self);
    return o->inplace;
}

bool sh__nn_relu_is_impure(const sh_module *self) { return in_place(self); }
bool sh__nn_silu_is_impure(const sh_module *self) { return in_place(self); }

sh_tensor *sh__nn_relu_forward(sh_module *self, sh_tensor *x) {
    return in_place(self) ? sh_relu_(x) : sh_relu(x);
}

sh_tensor *sh__nn_silu_forward(sh_module *self, sh_tensor *x) {
    return in_place(self) ? sh_silu_(x) : sh_silu(x);
}

sh_tensor *sh__nn_sigmoid_forward(sh_module *self, sh_tensor *x) {
    (void)self;
    return sh_sigmoid(x);
}

sh_tensor *sh__nn_tanh_forward(sh_module *self, sh_tensor *x) {
    (void)self;
    return sh_tanh(x);
}

size_t sh__nn_relu_repr(const sh_module *self, char *text, size_t size) {
    return (size_t)snprintf(text, size, "%s", in_place(self) ? "inplace=True" : "");
}

size_t sh__nn_silu_repr(const sh_module *self, char *text, size_t size) {
    return sh__nn_relu_repr(self, text, size);
}

sh_module *(sh_nn_gelu)(const sh_nn_gelu_options *o) {
    if (o->approximate && (!strcmp(o->approximate, "none") || !strcmp(o->approximate, "tanh")))
        return sh__nn_new(&sh__nn_gelu_type, o);
    sh_fail(SH_ERROR_VALUE, "GELU: approximate is %s, expected none or tanh",
            o->approximate ? o->approximate : "NULL");
    return NULL;
}

sh_tensor *sh__nn_gelu_forward(sh_module *self, sh_tensor *x) {
    const sh_nn_gelu_options *o = sh_module_state(self);
    return sh_gelu(x, .approximate = o->approximate);
}

size_t sh__nn_gelu_repr(const sh_module *self, char *text, size_t size) {
    const sh_nn_gelu_options *o = sh_module_state(self);
    return (size_t)snprintf(text, size, "approximate='%s'", o->approximate);
}

sh_module *(sh_nn_softmax)(const sh_nn_softmax_options *o) {
    if (o->dim != SH_NO_INT) return sh__nn_new(&sh__nn_softmax_type, o);
    sh_fail(SH_ERROR_ARGUMENT, "Softmax: argument dim is missing");
    return NULL;
}

sh_tensor *sh__nn_softmax_forward(sh_module *self, sh_tensor *x) {
    const sh_nn_softmax_options *o = sh_module_state(self);
    return sh_softmax(x, o->dim);
}

size_t sh__nn_softmax_repr(const sh_module *self, char *text, size_t size) {
    const sh_nn_softmax_options *o = sh_module_state(self);
    return (size_t)snprintf(text, size, "dim=%lld", (long long)o->dim);
}

/* ---- pooling ---- */

/* PyTorch shows the kernel's size where no stride was given. */
static const int64_t *stride_shown(const int64_t *stride, const int64_t *kernel_size) {
    return stride[0] ? stride : kernel_size;
}

sh_module *(sh_nn_max_pool2d)(const sh_nn_max_pool2d_options *o) {
    return sh__nn_new(&sh__nn_max_pool2d_type, o);
}

sh_tensor *sh__nn_max_pool2d_forward(sh_module *self, sh_tensor *x) {
    const sh_nn_max_pool2d_options *o = sh_module_state(self);
    const sh_pair kernel = sh__nn_pair(o->kernel_size);
    return sh_max_pool2d(x, sh_ints_of(kernel.at, 2), .stride = {o->stride[0], o->stride[1]},
                         .padding = {o->padding[0], o->padding[1]},
                         .dilation = {o->dilation[0], o->dilation[1]}, .ceil_mode = o->ceil_mode);
}

size_t sh__nn_max_pool2d_repr(const sh_module *self, char *text, size_t size) {
    const sh_nn_max_pool2d_options *o = sh_module_state(self);
    return (size_t)snprintf(text, size, "kernel_size=%s, stride=%s, padding=%s, dilation=%s, ceil_mode=%s",
                            sh__nn_pair_text(o->kernel_size).text,
                            sh__nn_pair_text(stride_shown(o->stride, o->kernel_size)).text,
                            sh__nn_pair_text(o->padding).text, sh__nn_pair_text(o->dilation).text,
                            sh__nn_flag_text(o->ceil_mode));
}

sh_module *(sh_nn_avg_pool2d)(const sh_nn_avg_pool2d_options *o) {
    return sh__nn_new(&sh__nn_avg_pool2d_type, o);
}

sh_tensor *sh__nn_avg_pool2d_forward(sh_module *self, sh_tensor *x) {
    const sh_nn_avg_pool2d_options *o = sh_module_state(self);
    const sh_pair kernel = sh__nn_pair(o->kernel_size);
    return sh_avg_pool2d(x, sh_ints_of(kernel.at, 2), .stride = {o->stride[0], o->stride[1]},
                         .padding = {o->padding[0], o->padding[1]}, .ceil_mode = o->ceil_mode,
                         .count_include_pad = o->count_include_pad, .divisor_override = o->divisor_override);
}

size_t sh__nn_avg_pool2d_repr(const sh_module *self, char *text, size_t size) {
    const sh_nn_avg_pool2d_options *o = sh_module_state(self);
    return (size_t)snprintf(
        text, size, "kernel_size=%s, stride=%s, padding=%s", sh__nn_pair_text(o->kernel_size).text,
        sh__nn_pair_text(stride_shown(o->stride, o->kernel_size)).text, sh__nn_pair_text(o->padding).text);
}

sh_module *(sh_nn_adaptive_avg_pool2d)(const sh_nn_adaptive_avg_pool2d_options *o) {
    return sh__nn_new(&sh__nn_adaptive_avg_pool2d_type, o);
}

sh_tensor *sh__nn_adaptive_avg_pool2d_forward(sh_module *self, sh_tensor *x) {
    const sh_nn_adaptive_avg_pool2d_options *o = sh_module_state(self);
    const sh_pair size = sh__nn_pair(o->output_size);
    return sh_adaptive_avg_pool2d(x, sh_ints_of(size.at, 2));
}

size_t sh__nn_adaptive_avg_pool2d_repr(const sh_module *self, char *text, size_t size) {
    const sh_nn_adaptive_avg_pool2d_options *o = sh_module_state(self);
    return (size_t)snprintf(text, size, "output_size=%s", sh__nn_pair_text(o->output_size).text);
}

/* ---- flatten, dropout ---- */

sh_module *(sh_nn_flatten)(const sh_nn_flatten_options *o) { return sh__nn_new(&sh__nn_flatten_type, o); }

sh_tensor *sh__nn_flatten_forward(sh_module *self, sh_tensor *x) {
    const sh_nn_flatten_options *o = sh_module_state(self);
    return sh_flatten(x, .start_dim = o->start_dim, .end_dim = o->end_dim);
}

size_t sh__nn_flatten_repr(const sh_module *self, char *text, size_t size) {
    const sh_nn_flatten_options *o = sh_module_state(self);
    return (size_t)snprintf(text, size, "start_dim=%lld, end_dim=%lld", (long long)o->start_dim,
                            (long long)o->end_dim);
}

sh_module *(sh_nn_dropout)(const sh_nn_dropout_options *o) {
    if (o->p >= 0 && o->p <= 1) return sh__nn_new(&sh__nn_dropout_type, o);
    sh_fail(SH_ERROR_VALUE, "Dropout: p is %g, expected 0 to 1", o->p);
    return NULL;
}

sh_tensor *sh__nn_dropout_forward(sh_module *self, sh_tensor *x) {
    const sh_nn_dropout_options *o = sh_module_state(self);
    return o->inplace ? sh_dropout_(x, .p = o->p, .training = self->training)
                      : sh_dropout(x, .p = o->p, .training = self->training);
}

bool sh__nn_dropout_is_impure(const sh_module *self) {
    const sh_nn_dropout_options *o = sh_module_state(self);
    return o->inplace || (self->training && o->p > 0);
}

size_t sh__nn_dropout_repr(const sh_module *self, char *text, size_t size) {
    const sh_nn_dropout_options *o = sh_module_state(self);
    return (size_t)snprintf(text, size, "p=%s, inplace=%s", sh__nn_number_text(o->p).text,
                            sh__nn_flag_text(o->inplace));
}
