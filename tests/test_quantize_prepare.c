/* Quantisation begins: what is observed and with whom, what stays float, what is refused. */
#include <math.h>

#include "tests/quantize_graphs.h"

/* ---- prepare ---- */

Test(quantize_prepare, keeps_patterns_whole_and_folds_batch_norms) {
    SH_SCOPE {
        sh_module *traced = traced_net(), *prepared = sh_quantize_prepare(traced, NULL, NULL);
        cr_assert(prepared != NULL, "%s", message());
        cr_expect(sh_graph_lint(sh_graph_module_graph(prepared)) == SH_OK, "%s", message());
        const char *const inner[] = {"conv1", "conv2", "add", "fc1", "bn1", "bn2"};
        for (int i = 0; i < 6; i++) cr_expect(observer_of(prepared, inner[i]) == NULL, "%s", inner[i]);
        const char *const outer[] = {"x",   "relu", "relu_1",  "relu_2", "pool", "conv3",
                                     "cat", "mean", "flatten", "relu_3", "fc2"};
        for (int i = 0; i < 11; i++) cr_expect(observer_of(prepared, outer[i]) != NULL, "%s", outer[i]);
        cr_expect(eq(sz, observers(prepared), 11), "each value once");
        cr_expect(sh_graph_find(sh_graph_module_graph(prepared), "bn1") == NULL);
        sh_module_release(prepared);
        sh_module_release(traced);
    }
}

Test(quantize_prepare, names_observers_as_torch_does_and_changes_nothing_but_the_result) {
    SH_SCOPE {
        sh_module *traced = traced_net();
        char *before = sh_graph_text(sh_graph_module_graph(traced));
        sh_module *prepared = sh_quantize_prepare(traced, NULL, NULL);
        cr_expect(text_is(sh_graph_text(sh_graph_module_graph(traced)), before));
        cr_expect(
            text_is(sh_node_text(sh_graph_find(sh_graph_module_graph(prepared), "activation_post_process_0")),
                    "%activation_post_process_0 : [num_users=1] = "
                    "call_module[target=activation_post_process_0](args = (%x,), kwargs = {})"));
        sh_tensor *x = quantize_net_images(1);
        cr_expect(sh_allclose(sh_forward(traced, x), sh_forward(prepared, x), .rtol = 1e-4, .atol = 1e-5));
        free(before);
        sh_module_release(prepared);
        sh_module_release(traced);
    }
}

Test(quantize_prepare, inputs_and_output_of_cat_share_an_observer_and_so_do_inputs_of_add) {
    for (int separate = 0; separate < 2; separate++) SH_SCOPE {
            sh_module *traced = traced_net();
            sh_module *p =
                sh_quantize_prepare(traced, NULL, &(sh_quantize_options){.separate_add_inputs = separate});
            cr_expect(observer_of(p, "cat") == observer_of(p, "conv3"));
            cr_expect(observer_of(p, "cat") == observer_of(p, "pool"));
            cr_expect(observer_of(p, "cat") == observer_of(p, "relu_2"), "the pool shares its input's");
            cr_expect(eq(int, observer_of(p, "relu") == observer_of(p, "relu_1"), !separate));
            cr_expect(observer_of(p, "relu_2") != observer_of(p, "relu"), "the sum has its own");
            sh_module_release(p);
            sh_module_release(traced);
        }
}

Test(quantize_prepare, what_moves_floats_has_no_observer_and_what_moves_quantised_values_has_the_inputs) {
    SH_SCOPE {
        sh_graph *g = sh_graph_new();
        sh_node *x = sh_graph_placeholder(g, "x"), *w = constant(g, "w", sh_ones(SH_SIZES(4, 4)));
        sh_node *moved = call(g, "contiguous", x), *y = linear(g, moved, w);
        sh_graph_output(g, SH_ARG(call(g, "exp", call(g, "clone", call(g, "relu6", y)))));
        sh_module *p = prepared_of(g, NULL);
        cr_expect(observer_of(p, "x") == NULL);
        cr_expect(observer_of(p, "contiguous") != NULL);
        cr_expect(observer_of(p, "clone") == observer_of(p, "linear") && observer_of(p, "relu6") != NULL);
        cr_expect(observer_of(p, "exp") == NULL);
        cr_expect(eq(sz, observers(p), 4));
        sh_module_release(p);
    }
}

Test(quantize_prepare, a_value_that_many_use_is_observed_once) {
    SH_SCOPE {
        sh_graph *g = sh_graph_new();
        sh_node *x = sh_graph_placeholder(g, "x"), *w = constant(g, "w", sh_ones(SH_SIZES(4, 4)));
        sh_node *a = linear(g, x, w), *b = linear(g, x, w), *sum = sh_graph_call_function(g, "mul", a, b);
        sh_graph_output(g, sh_arg_list(SH_ARGS(sum, call(g, "exp", x), call(g, "exp", a))));
        sh_module *p = prepared_of(g, NULL);
        cr_expect(eq(sz, observers(p), 4));
        sh_node *users[4], *seen = sh_graph_find(sh_graph_module_graph(p), "activation_post_process_0");
        cr_expect(eq(sz, sh_node_users(seen, users, 4), 2), "exp of the input stays float");
        sh_module_release(p);
    }
}

Test(quantize_prepare, names_go_before_types_and_types_before_everything) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *y = call(g, "sigmoid", x);
    const sh_qconfig q = sh_get_default_qconfig(NULL), full = sh_get_default_qconfig("onednn");
    sh_qconfig_mapping *m = sh_qconfig_mapping_new();
    cr_expect(sh_qconfig_mapping_find(m, y) == NULL);
    sh_qconfig_mapping_set_global(m, &q);
    cr_expect(sh_qconfig_mapping_find(m, y)->activation.reduce_range);
    sh_qconfig_mapping_set_object_type(m, "sig*", &full);
    cr_expect(not(sh_qconfig_mapping_find(m, y)->activation.reduce_range));
    sh_qconfig_mapping_set_module_name(m, "sigmoid", NULL);
    cr_expect(sh_qconfig_mapping_find(m, y) == NULL);
    cr_expect(sh_qconfig_mapping_find(m, x)->activation.reduce_range);
    sh_qconfig_mapping_set_global(m, NULL);
    cr_expect(sh_qconfig_mapping_find(m, x) == NULL);
    sh_qconfig_mapping_free(m);
    sh_graph_free(g);
}

Test(quantize_prepare, what_is_said_of_everything_anew_leaves_the_order_of_the_rest) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *y = call(g, "sigmoid", x);
    const sh_qconfig q = sh_get_default_qconfig(NULL);
    sh_qconfig bad = q;
    bad.activation.dtype = SH_F32;
    sh_qconfig_mapping *m = sh_qconfig_mapping_new();
    sh_qconfig_mapping_set_global(m, &q);
    sh_qconfig_mapping_set_object_type(m, "sig*", NULL);
    sh_qconfig_mapping_set_object_type(m, "sigmoid", &q);
    cr_expect(sh_qconfig_mapping_set_global(m, &q) == SH_OK);
    cr_expect(sh_qconfig_mapping_find(m, y) == NULL, "the rule set first still stands");
    cr_expect(sh_qconfig_mapping_set_global(m, &bad) < 0 && error_says(SH_ERROR_DTYPE, "dtype is f32"));
    cr_expect(sh_qconfig_mapping_find(m, x) != NULL, "what is refused changes nothing");
    sh_qconfig_mapping_free(m);
    sh_graph_free(g);
}

Test(quantize_prepare, a_fixed_range_is_for_the_output_only) {
    SH_SCOPE {
        sh_graph *g = sh_graph_new();
        sh_node *x = sh_graph_placeholder(g, "x");
        sh_graph_output(g, SH_ARG(call(g, "tanh", call(g, "sigmoid", x))));
        sh_module *p = prepared_of(g, NULL);
        sh_qparams q;
        cr_assert(sh_observer_qparams(observer_of(p, "sigmoid"), &q) == SH_OK, "%s", message());
        cr_expect(eq(dbl, sh_item(q.scale), 1.0 / 256));
        cr_assert(sh_observer_qparams(observer_of(p, "tanh"), &q) == SH_OK);
        cr_expect(eq(i64, sh_item_int(q.zero_point), 128));
        cr_expect(not(sh_observer_is_calibrated(observer_of(p, "x"))));
        sh_module_release(p);
    }
}

/* A linear of x, whose value and a view of it are used, and something written to one of them. */
static sh_module *written(const char *what) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *w = constant(g, "w", sh_ones(SH_SIZES(4, 4)));
    sh_node *y = linear(g, x, w), *other = y;
    if (strcmp(what, "x") == 0) sh_graph_call_function(g, "add_", x, 1.0);
    if (strcmp(what, "y") == 0) sh_graph_call_function(g, "add_", y, 1.0);
    if (strcmp(what, "w") == 0) sh_graph_call_function(g, "add_", w, 1.0);
    if (strcmp(what, "view") == 0) sh_graph_call_function(g, "add_", call(g, "contiguous", y), 1.0);
    if (strcmp(what, "alone") == 0) other = call(g, "relu_", y);
    sh_graph_output(g, SH_ARG(call(g, "exp", other)));
    return prepared_of(g, NULL);
}

Test(quantize_prepare, leaves_values_that_are_written_to_where_others_look) {
    const char *const seen[] = {"x", "y", "w", "view"};
    for (int i = 0; i < 4; i++) SH_SCOPE {
            sh_module *p = written(seen[i]);
            cr_expect(eq(sz, observers(p), 0), "%s", seen[i]);
            sh_module_release(p);
        }
    SH_SCOPE {
        sh_module *p = written("alone");
        cr_expect(eq(sz, observers(p), 2), "a relu in place, whose input is its own");
        sh_quantize_calibrate(p, SH_INPUTS(sh_rand(SH_SIZES(2, 4))));
        sh_module *q = sh_quantize_convert(p);
        cr_assert(q != NULL, "%s", message());
        cr_expect(eq(sz, calls(q, "quantized_linear"), 1));
        sh_module_release(q);
        sh_module_release(p);
    }
}

Test(quantize_prepare, leaves_computed_weights_and_integers) {
    SH_SCOPE {
        sh_graph *g = sh_graph_new();
        sh_node *x = sh_graph_placeholder(g, "x"), *w = sh_graph_placeholder(g, "w");
        sh_graph_output(g, SH_ARG(linear(g, x, w)));
        sh_module *p = prepared_of(g, NULL);
        cr_expect(eq(sz, observers(p), 0));
        sh_module_release(p);
        g = sh_graph_new();
        x = sh_graph_placeholder(g, "x");
        const sh_spec spec = {.dtype = SH_I64, .ndim = 1, .sizes = {4}};
        sh_node_set_spec(x, &spec);
        sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "add", x, x)));
        p = prepared_of(g, NULL);
        cr_expect(eq(sz, observers(p), 0));
        sh_module_release(p);
    }
}

static sh_status look(sh_module *module, sh_values inputs, sh_value *output, void *user) {
    (void)module;
    (void)inputs;
    (void)output;
    ++*(int *)user;
    return SH_OK;
}

Test(quantize_prepare, leaves_floats_that_are_not_f32) {
    SH_SCOPE {
        sh_module *net = sh_nn_sequential(sh_nn_linear(4, 4), sh_nn_relu());
        sh_module_to(net, SH_F64);
        sh_module_eval(net);
        sh_tensor *x = sh_to(sh_randn(SH_SIZES(2, 4)), SH_F64);
        sh_module *traced = sh_symbolic_trace(net, SH_INPUTS(x), NULL);
        sh_module *prepared = sh_quantize_prepare(traced, NULL, NULL);
        cr_assert(prepared && sh_quantize_calibrate(prepared, SH_INPUTS(x)) == SH_OK, "%s", message());
        sh_module *converted = sh_quantize_convert(prepared);
        cr_assert(converted != NULL, "%s", message());
        cr_expect(sh_allclose(sh_forward(converted, x), sh_forward(net, x), .rtol = 0, .atol = 0), "%s",
                  message());
        sh_module_release(converted);
        sh_module_release(prepared);
        sh_module_release(traced);
        sh_module_release(net);
    }
}

Test(quantize_prepare, leaves_modules_with_hooks_which_go_on_running) {
    int looks = 0;
    SH_SCOPE {
        sh_module *traced = traced_net();
        sh_module_hook_after(sh_module_child(traced, "fc1"), look, &looks);
        sh_module *p = sh_quantize_prepare(traced, NULL, NULL);
        sh_quantize_calibrate(p, SH_INPUTS(quantize_net_images(0)));
        sh_module *q = sh_quantize_convert(p);
        cr_assert(q != NULL, "%s", message());
        looks = 0;
        sh_forward(q, quantize_net_images(0));
        cr_expect(eq(int, looks, 1));
        cr_expect(eq(sz, calls(q, "quantized_linear"), 1));
        sh_module_release(q);
        sh_module_release(p);
        sh_module_release(traced);
    }
}

Test(quantize_prepare, refuses_what_it_can_not_prepare) {
    SH_SCOPE {
        sh_module *plain = sh_nn_linear(2, 2), *traced = traced_net();
        cr_expect(sh_quantize_prepare(NULL, NULL, NULL) == NULL &&
                  error_says(SH_ERROR_NULL, "NULL is no graph module"));
        cr_expect(sh_quantize_prepare(plain, NULL, NULL) == NULL &&
                  error_says(SH_ERROR_TYPE, "Linear is no graph"));
        sh_module_train(traced, true);
        cr_expect(sh_quantize_prepare(traced, NULL, NULL) == NULL &&
                  error_says(SH_ERROR_VALUE, "training mode"));
        sh_module_eval(traced);
        sh_module *prepared = sh_quantize_prepare(traced, NULL, NULL);
        cr_expect(sh_quantize_prepare(prepared, NULL, NULL) == NULL);
        cr_expect(error_says(SH_ERROR_VALUE, "activation_post_process_0 is an observer"));
        cr_expect(sh_quantize_calibrate(NULL, SH_INPUTS(1)) < 0 &&
                  error_says(SH_ERROR_NULL, "module is NULL"));
        cr_expect(sh_quantize_reset(NULL) < 0 && error_says(SH_ERROR_NULL, "module is NULL"));
        sh_module_release(prepared);
        sh_module_release(traced);
        sh_module_release(plain);
    }
}

Test(quantize_prepare, refuses_configurations_that_no_observer_fits) {
    sh_qconfig_mapping *m = sh_qconfig_mapping_new();
    sh_qconfig q = sh_get_default_qconfig("fbgemm");
    q.activation.dtype = SH_F32;
    cr_expect(sh_qconfig_mapping_set_global(m, &q) < 0 &&
              error_says(SH_ERROR_DTYPE, "HistogramObserver: dtype is f32"));
    q.activation = q.weight;
    cr_expect(sh_qconfig_mapping_set_global(m, &q) < 0 &&
              error_says(SH_ERROR_VALUE, "per tensor, not per channel"));
    cr_expect(sh_qconfig_mapping_set_object_type(m, "[", NULL) < 0 && error_says(SH_ERROR_VALUE, "filter"));
    cr_expect(sh_qconfig_mapping_set_module_name(m, NULL, NULL) < 0 &&
              error_says(SH_ERROR_NULL, "name is NULL"));
    cr_expect(sh_qconfig_mapping_set_module_name(NULL, "a", NULL) < 0 &&
              error_says(SH_ERROR_NULL, "mapping is NULL"));
    cr_expect(sh_get_default_qconfig("cuda").activation.reduce_range, "as fbgemm");
    cr_expect(error_says(SH_ERROR_VALUE, "backend is cuda"));
    sh_qconfig_mapping_free(m);
}

/* ---- calibrate ---- */

Test(quantize_calibrate, names_the_node_where_a_nan_passes_and_can_start_again) {
    SH_SCOPE {
        sh_module *traced = traced_net(), *p = sh_quantize_prepare(traced, NULL, NULL);
        sh_tensor *bad = quantize_net_images(0);
        ((float *)sh_tensor_data(bad))[7] = NAN;
        cr_expect(sh_quantize_calibrate(p, SH_INPUTS(bad)) < 0);
        cr_expect(error_says(SH_ERROR_FINDING, "activation_post_process_0"));
        cr_expect(sh_quantize_calibrate(p, SH_INPUTS(quantize_net_images(0))) == SH_OK, "%s", message());
        cr_expect(sh_observer_is_calibrated(observer_of(p, "x")));
        cr_expect(sh_quantize_reset(p) == SH_OK);
        cr_expect(not(sh_observer_is_calibrated(observer_of(p, "x"))));
        sh_module_release(p);
        sh_module_release(traced);
    }
}
