/* nn_norm.c - the modules that normalise. */
#include <math.h>
#include <stdio.h>

#include "graph/module/nn_types.h"
#include "ops/ops.h"

/* ---- batch_norm2d ---- */

static void add_statistics(sh_module *module, int64_t n) {
    sh__nn_filled(module, "running_mean", SH_SIZES(n), 0, false);
    sh__nn_filled(module, "running_var", SH_SIZES(n), 1, false);
    sh_tensor *batches = sh_zeros(SH_SCALAR_SHAPE, .dtype = SH_I64);
    if (batches) sh_module_set_buffer(module, "num_batches_tracked", batches);
}

sh_module *(sh_nn_batch_norm2d)(const sh_nn_batch_norm2d_options *o) {
    sh_module *module = sh__nn_new(&sh__nn_batch_norm2d_type, o);
    if (module) SH_SCOPE {
            if (o->affine) sh__nn_filled(module, "weight", SH_SIZES(o->num_features), 1, true);
            if (o->affine) sh__nn_filled(module, "bias", SH_SIZES(o->num_features), 0, true);
            if (o->track_running_stats) add_statistics(module, o->num_features);
        }
    return sh__nn_finish(module);
}

/* How far the running statistics move: all they can at first, for a plain average. */
static double momentum_now(const sh_nn_batch_norm2d_options *o, const sh_tensor *batches) {
    return isnan(o->momentum) ? 1 / sh_item(batches) : o->momentum;
}

/* `moves`: the running statistics, as in training. */
static sh_tensor *normalize(sh_module *self, sh_tensor *x, bool moves) {
    const sh_nn_batch_norm2d_options *o = sh_module_state(self);
    sh_tensor *mean = sh_module_buffer(self, "running_mean"), *var = sh_module_buffer(self, "running_var");
    sh_tensor *batches = sh_module_buffer(self, "num_batches_tracked");
    if (sh_tensor_ndim(x) != 4) {
        sh_fail(SH_ERROR_SHAPE, "BatchNorm2d: input has %d dimensions, expected 4", sh_tensor_ndim(x));
        return NULL;
    }
    moves = moves && mean && batches;
    if (moves) sh_add_(batches, 1);
    return sh_batch_norm(x, .running_mean = mean, .running_var = var,
                         .weight = sh_module_parameter(self, "weight"),
                         .bias = sh_module_parameter(self, "bias"), .training = self->training || !mean,
                         .momentum = moves ? momentum_now(o, batches) : 0.0, .eps = o->eps);
}

sh_tensor *sh__nn_batch_norm2d_forward(sh_module *self, sh_tensor *x) {
    return normalize(self, x, self->training);
}

sh_value sh__nn_batch_norm2d_infer(sh_module *self, sh_values inputs) {
    if (inputs.n != 1 || inputs.at[0].tag != SH_TAG_TENSOR) return sh__module_forward(self, inputs);
    return sh_value_tensor(normalize(self, inputs.at[0].as.tensor, false));
}

bool sh__nn_batch_norm2d_is_impure(const sh_module *self) { return self->training && self->buffers.n; }

size_t sh__nn_batch_norm2d_repr(const sh_module *self, char *text, size_t size) {
    const sh_nn_batch_norm2d_options *o = sh_module_state(self);
    return (size_t)snprintf(text, size, "%lld, eps=%s, momentum=%s, affine=%s, track_running_stats=%s",
                            (long long)o->num_features, sh__nn_number_text(o->eps).text,
                            isnan(o->momentum) ? "None" : sh__nn_number_text(o->momentum).text,
                            sh__nn_flag_text(o->affine), sh__nn_flag_text(o->track_running_stats));
}

/* ---- layer_norm ---- */

static sh_ints normalized_shape(const sh_nn_layer_norm_options *o) {
    size_t n = 0;
    while (n < SH_MAX_DIMS && o->normalized_shape[n]) n++;
    return (sh_ints){o->normalized_shape, n};
}

sh_module *(sh_nn_layer_norm)(const sh_nn_layer_norm_options *o) {
    const sh_ints shape = normalized_shape(o);
    sh_module *module = sh__nn_new(&sh__nn_layer_norm_type, o);
    if (module && o->elementwise_affine) SH_SCOPE {
            sh__nn_filled(module, "weight", shape, 1, true);
            sh__nn_filled(module, "bias", shape, 0, true);
        }
    return sh__nn_finish(module);
}

sh_tensor *sh__nn_layer_norm_forward(sh_module *self, sh_tensor *x) {
    const sh_nn_layer_norm_options *o = sh_module_state(self);
    return sh_layer_norm(x, normalized_shape(o), .weight = sh_module_parameter(self, "weight"),
                         .bias = sh_module_parameter(self, "bias"), .eps = o->eps);
}

size_t sh__nn_layer_norm_repr(const sh_module *self, char *text, size_t size) {
    const sh_nn_layer_norm_options *o = sh_module_state(self);
    const sh_ints shape = normalized_shape(o);
    char list[200];
    int n = 0;
    for (size_t i = 0; i < shape.n; i++)
        n += snprintf(list + n, sizeof list - (size_t)n, i ? ", %lld" : "%lld", (long long)shape.at[i]);
    return (size_t)snprintf(text, size, "(%s%s), eps=%s, elementwise_affine=%s", list,
                            shape.n == 1 ? "," : "", sh__nn_number_text(o->eps).text,
                            sh__nn_flag_text(o->elementwise_affine));
}
