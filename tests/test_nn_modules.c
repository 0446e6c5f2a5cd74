/* The built-in modules: what each computes, its parameters, and what it refuses. */
#include <math.h>

#include "tests/modes.h"
#include "tests/sample.h"

TestSuite(nn_modules);

static bool gives(sh_module *module, sh_tensor *x, const sh_tensor *expected) {
    const bool same = sample_same(sh_forward(module, x), expected);
    if (sh_error()) fprintf(stderr, "%s\n", sh_error()->message);
    sh_module_release(module);
    return same;
}

Test(nn_modules, each_is_its_op_with_its_options) {
    sh_tensor *x = sh_randn(SH_SIZES(2, 4, 9, 8)), *row = sh_randn(SH_SIZES(3, 8));
    cr_expect(gives(sh_nn_relu(), x, sh_relu(x)));
    cr_expect(gives(sh_nn_gelu(.approximate = "tanh"), x, sh_gelu(x, .approximate = "tanh")));
    cr_expect(gives(sh_nn_silu(), x, sh_silu(x)));
    cr_expect(gives(sh_nn_sigmoid(), x, sh_sigmoid(x)));
    cr_expect(gives(sh_nn_tanh(), x, sh_tanh(x)));
    cr_expect(gives(sh_nn_softmax(.dim = -1), x, sh_softmax(x, -1)));
    cr_expect(gives(sh_nn_identity(), x, x));
    cr_expect(gives(sh_nn_flatten(), x, sh_flatten(x, .start_dim = 1)));
    cr_expect(gives(sh_nn_max_pool2d(3, .stride = 2, .padding = 1), x,
                    sh_max_pool2d(x, SH_SIZES(3, 3), .stride = 2, .padding = 1)));
    cr_expect(gives(sh_nn_max_pool2d({3, 2}), x, sh_max_pool2d(x, SH_SIZES(3, 2))));
    cr_expect(gives(sh_nn_avg_pool2d(2, .padding = {1, 0}, .count_include_pad = false), x,
                    sh_avg_pool2d(x, SH_SIZES(2, 2), .padding = {1, 0}, .count_include_pad = false)));
    cr_expect(gives(sh_nn_adaptive_avg_pool2d({2, 3}), x, sh_adaptive_avg_pool2d(x, SH_SIZES(2, 3))));
    cr_expect(gives(sh_nn_layer_norm(8, .eps = 0.5), row, sh_layer_norm(row, SH_SIZES(8), .eps = 0.5)));
}

Test(nn_modules, convolutions_take_one_number_or_one_for_each_axis) {
    sh_tensor *x = sh_randn(SH_SIZES(2, 4, 9, 8)), *line = sh_randn(SH_SIZES(2, 4, 9));
    sh_module *conv = sh_nn_conv2d(4, 6, {3, 2}, .stride = {2, 1}, .padding = {1, 0}, .groups = 2);
    sh_tensor *w = sh_module_parameter(conv, "weight"), *b = sh_module_parameter(conv, "bias");
    cr_expect(eq(i64, sh_tensor_size(w, 1), 2));
    cr_expect(gives(conv, x, sh_conv2d(x, w, .bias = b, .stride = {2, 1}, .padding = {1, 0}, .groups = 2)));
    sh_module *conv1 = sh_nn_conv1d(4, 6, 3, .dilation = 2, .bias = false);
    cr_expect(sh_module_parameter(conv1, "bias") == NULL);
    cr_expect(gives(conv1, line, sh_conv1d(line, sh_module_parameter(conv1, "weight"), .dilation = {2})));
}

Test(nn_modules, in_place_activations_write_their_input) {
    sh_tensor *x = SH_FLOATS(-1, 2);
    sh_module *relu = sh_nn_relu(.inplace = true);
    cr_expect(sh_forward(relu, x) == x);
    cr_expect(eq(dbl, first(x), 0));
    sh_module_release(relu);
}

Test(nn_modules, dropout_drops_in_training_only) {
    sh_module *dropout = sh_nn_dropout(.p = 0.75);
    sh_tensor *x = sh_ones(SH_SIZES(1000));
    const double sum = sh_item(sh_sum(sh_forward(dropout, x)));
    cr_expect(sum > 800 && sum < 1200 && sum != 1000);
    sh_module_eval(dropout);
    cr_expect(sh_forward(dropout, x) == x);
    sh_module_release(dropout);
}

Test(nn_modules, embedding_rows_are_normal_and_the_padding_row_is_zero) {
    sh_module *embedding = sh_nn_embedding(5, 200, .padding_idx = -2);
    sh_tensor *rows = sh_forward(embedding, SH_INT64S(3, 0));
    cr_expect(eq(dbl, sh_item(sh_sum(sh_abs(sh_select(rows, 0, 0)))), 0));
    const double spread = sh_item(sh_std(sh_select(rows, 0, 1)));
    cr_expect(spread > 0.8 && spread < 1.2);
    sh_module_release(embedding);
}

/* A fresh one normalises by the batch; its running statistics then move by momentum, the variance unbiased. */
Test(nn_modules, batch_norm_in_training_moves_its_statistics_and_in_eval_uses_them) {
    sh_module *bn = sh_nn_batch_norm2d(2, .momentum = 0.25);
    sh_tensor *x = sh_randn(SH_SIZES(3, 2, 4, 4)), *channel = sh_select(x, 1, 0);
    sh_tensor *y = sh_select(sh_forward(bn, x), 1, 0);
    cr_expect(fabs(sh_item(sh_mean(y))) < 1e-6);
    cr_expect(fabs(sh_item(sh_var(y, .unbiased = false)) - 1) < 1e-3);
    cr_expect(fabs(first(sh_module_buffer(bn, "running_mean")) - 0.25 * sh_item(sh_mean(channel))) < 1e-6);
    cr_expect(fabs(first(sh_module_buffer(bn, "running_var")) - 0.75 - 0.25 * sh_item(sh_var(channel))) <
              1e-6);
    cr_expect(eq(i64, sh_item_int(sh_module_buffer(bn, "num_batches_tracked")), 1));
    sh_module_eval(bn);
    sh_tensor *again = sh_forward(bn, x);
    cr_expect(eq(i64, sh_item_int(sh_module_buffer(bn, "num_batches_tracked")), 1));
    cr_expect(sample_same(again, sh_batch_norm(x, .running_mean = sh_module_buffer(bn, "running_mean"),
                                               .running_var = sh_module_buffer(bn, "running_var"),
                                               .weight = sh_module_parameter(bn, "weight"),
                                               .bias = sh_module_parameter(bn, "bias"))));
    cr_expect(sh_forward(bn, sh_zeros(SH_SIZES(2, 2))) == NULL);
    cr_expect(failed_with(SH_ERROR_SHAPE, "BatchNorm2d: input has 2 dimensions, expected 4"));
    sh_module_release(bn);
}

Test(nn_modules, batch_norm_without_momentum_keeps_plain_averages) {
    sh_module *bn = sh_nn_batch_norm2d(1, .momentum = SH_NO_NUMBER);
    sh_forward(bn, sh_full(SH_SIZES(1, 1, 2, 2), 4, .dtype = SH_F32));
    cr_expect(fabs(first(sh_module_buffer(bn, "running_mean")) - 4) < 1e-6);
    sh_forward(bn, sh_full(SH_SIZES(1, 1, 2, 2), 1, .dtype = SH_F32));
    cr_expect(fabs(first(sh_module_buffer(bn, "running_mean")) - 2.5) < 1e-6);
    sh_module_release(bn);
}

/* Within the bound, filling it, and centred: what kaiming_uniform(a=sqrt(5)) gives. */
static bool uniform_within(const sh_tensor *w, double bound) {
    sh_tensor *t = (sh_tensor *)(uintptr_t)w;
    const double high = sh_item(sh_max(t)), low = sh_item(sh_min(t)), mean = sh_item(sh_mean(t));
    return high <= bound && low >= -bound && high > 0.9 * bound && low < -0.9 * bound &&
           fabs(mean) < 0.1 * bound;
}

Test(nn_modules, parameters_are_drawn_from_pytorchs_distributions_by_the_seed) {
    sh_manual_seed(5);
    sh_module *linear = sh_nn_linear(100, 60), *conv = sh_nn_conv2d(8, 30, 5, .groups = 2);
    cr_expect(uniform_within(sh_module_parameter(linear, "weight"), 0.1));
    cr_expect(uniform_within(sh_module_parameter(linear, "bias"), 0.1));
    cr_expect(uniform_within(sh_module_parameter(conv, "weight"), 0.1));
    sh_manual_seed(5);
    sh_module *again = sh_nn_linear(100, 60);
    cr_expect(sample_same(sh_module_parameter(linear, "weight"), sh_module_parameter(again, "weight")));
    sh_module_release(linear);
    sh_module_release(conv);
    sh_module_release(again);
}

Test(nn_modules, bad_arguments_are_refused_by_name) {
    cr_expect(sh_nn_linear(-1, 2) == NULL);
    cr_expect(failed_with(SH_ERROR_VALUE, "Linear: in_features is -1, expected at least 0"));
    cr_expect(sh_nn_conv2d(3, 4, 3, .groups = 2) == NULL);
    cr_expect(failed_with(SH_ERROR_VALUE, "must be divisible by groups 2"));
    cr_expect(sh_nn_conv2d(3, 4) == NULL);
    cr_expect(failed_with(SH_ERROR_VALUE, "Conv2d: kernel_size is 0"));
    cr_expect(sh_nn_dropout(.p = 2) == NULL);
    cr_expect(failed_with(SH_ERROR_VALUE, "Dropout: p is 2, expected 0 to 1"));
    cr_expect(sh_nn_gelu(.approximate = "erf") == NULL);
    cr_expect(failed_with(SH_ERROR_VALUE, "approximate is erf"));
    cr_expect(sh_nn_softmax() == NULL);
    cr_expect(failed_with(SH_ERROR_ARGUMENT, "dim is missing"));
    cr_expect(sh_nn_embedding(4, 2, .padding_idx = 4) == NULL);
    cr_expect(failed_with(SH_ERROR_INDEX, "padding_idx 4 of 4 rows"));
    cr_expect(sh_nn_sequential(sh_nn_relu(), sh_nn_linear(-1, 2), sh_nn_tanh()) == NULL);
    cr_expect(failed_with(SH_ERROR_VALUE, "in_features is -1"));
}
