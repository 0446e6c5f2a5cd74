/* Quantisation: what is observed and with whom, what it becomes, what stays float, what is refused. */
#include <math.h>
#include <unistd.h>

#include "tests/fail_each.h"
#include "tests/graphs.h"
#include "tests/quantize_net.h"

/* ---- making ---- */

static sh_module *traced_net(void) {
    sh_module *net = quantize_net();
    sh_module *traced = net ? sh_symbolic_trace(net, SH_INPUTS(quantize_net_images(0)), NULL) : NULL;
    sh_module_release(net);
    return traced;
}

/* A graph without modules, as a graph module in eval mode. */
static sh_module *module_of(sh_graph *graph) {
    static const sh_module_type type = {.name = "Root"};
    sh_module *root = sh_module_new(&type);
    if (root) sh_module_eval(root);
    sh_module *module = sh_graph_module_new(root, graph);
    sh_module_release(root);
    return module;
}

static sh_node *call(sh_graph *g, const char *op, sh_node *x) { return sh_graph_call_function(g, op, x); }

static sh_node *constant(sh_graph *g, const char *name, sh_tensor *value) {
    sh_graph_set_attr(g, name, value);
    return sh_graph_get_attr(g, name);
}

static sh_node *linear(sh_graph *g, sh_node *x, sh_node *weight) {
    return sh_graph_call_function(g, "linear", x, weight);
}

static sh_module *prepared_of(sh_graph *g, const sh_qconfig_mapping *mapping) {
    sh_module *module = module_of(g), *prepared = sh_quantize_prepare(module, mapping, NULL);
    cr_assert(prepared != NULL, "%s", message());
    cr_expect(sh_graph_lint(sh_graph_module_graph(prepared)) == SH_OK, "%s", message());
    sh_module_release(module);
    return prepared;
}

static size_t observers(const sh_module *m) {
    size_t n = 0;
    SH_EACH_NODE(node, sh_graph_module_graph(m)) n += sh_is_observer(sh_node_module(node));
    return n;
}

/* The observer of the value of this node; NULL if there is none. */
static sh_module *observer_of(const sh_module *m, const char *name) {
    sh_node *users[16], *node = sh_graph_find(sh_graph_module_graph(m), name);
    const size_t n = node ? sh_node_users(node, users, 16) : 0;
    for (size_t i = 0; i < n; i++)
        if (sh_is_observer(sh_node_module(users[i]))) return sh_node_module(users[i]);
    return NULL;
}

static size_t calls(const sh_module *m, const char *op) {
    return sh_graph_find_nodes(sh_graph_module_graph(m), SH_CALL_FUNCTION, op, NULL, 0);
}

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

/* ---- convert ---- */

static sh_module *calibrated_net(const sh_qconfig_mapping *mapping) {
    sh_module *traced = traced_net(), *p = traced ? sh_quantize_prepare(traced, mapping, NULL) : NULL;
    for (uint64_t i = 0; p && i < 3; i++)
        SH_SCOPE sh_quantize_calibrate(p, SH_INPUTS(quantize_net_images(i)));
    sh_module_release(traced);
    return p;
}

Test(quantize_convert, refuses_observers_that_have_seen_nothing_and_names_them) {
    SH_SCOPE {
        sh_module *traced = traced_net(), *p = sh_quantize_prepare(traced, NULL, NULL);
        cr_expect(sh_quantize_convert(p) == NULL);
        cr_expect(
            error_says(SH_ERROR_VALUE, "%activation_post_process_0, which observes %x, has seen nothing"));
        cr_expect(sh_quantize_convert(NULL) == NULL && error_says(SH_ERROR_NULL, "NULL is no graph module"));
        cr_expect(sh_quantize_lower(NULL) == NULL && error_says(SH_ERROR_NULL, "NULL is no graph module"));
        sh_module_release(p);
        sh_module_release(traced);
    }
}

Test(quantize_convert, names_the_layer_whose_weight_has_a_nan) {
    SH_SCOPE {
        sh_module *p = calibrated_net(NULL);
        ((float *)sh_tensor_data(sh_module_parameter(p, "fc1.weight")))[3] = NAN;
        cr_expect(sh_quantize_convert(p) == NULL);
        cr_expect(error_says(SH_ERROR_FINDING, "PerChannelMinMaxObserver fc1: a NaN or an infinity"));
        sh_module_release(p);
    }
}

Test(quantize_convert, gives_integer_ops_from_input_to_output) {
    SH_SCOPE {
        sh_module *p = calibrated_net(NULL), *q = sh_quantize_convert(p);
        cr_assert(q != NULL, "%s", message());
        cr_expect(sh_graph_lint(sh_graph_module_graph(q)) == SH_OK, "%s", message());
        cr_expect(eq(sz, calls(q, "quantized_conv2d"), 3));
        cr_expect(eq(sz, calls(q, "quantized_linear"), 2));
        cr_expect(eq(sz, calls(q, "quantized_add"), 1));
        cr_expect(eq(sz, calls(q, "quantize_per_tensor"), 2),
                  "of the input, and behind the mean, which is of reals");
        cr_expect(eq(sz, calls(q, "dequantize_per_tensor"), 2));
        cr_expect(eq(sz, calls(q, "relu"), 0));
        cr_expect(eq(sz, observers(q), 0));
        cr_expect(eq(int, sh_tensor_dtype(sh_graph_attr(sh_graph_module_graph(q), "conv1_weight")), SH_I8));
        cr_expect(sh_module_parameter(q, "fc1.weight") == NULL, "float weights are gone");
        cr_expect(sh_graph_find(sh_graph_module_graph(q), "conv1") != NULL, "layers keep their names");
        sh_module_release(q);
        sh_module_release(p);
    }
}

Test(quantize_convert, integers_agree_with_the_reference_form) {
    SH_SCOPE {
        sh_module *p = calibrated_net(NULL), *r = sh_quantize_convert_to_reference(p),
                  *q = sh_quantize_lower(r);
        cr_assert(q != NULL, "%s", message());
        cr_expect(eq(sz, calls(r, "conv2d"), 3));
        cr_expect(eq(sz, calls(r, "quantize_per_tensor"), 11));
        sh_tensor *x = quantize_net_images(9);
        const double db = sh_compute_sqnr(sh_forward(r, x), sh_forward(q, x));
        cr_expect(gt(dbl, db, 35));
        sh_module_release(q);
        sh_module_release(r);
        sh_module_release(p);
    }
}

Test(quantize_convert, layers_left_out_run_on_reals_between_integers) {
    SH_SCOPE {
        sh_qconfig_mapping *m = sh_get_default_qconfig_mapping("onednn");
        sh_qconfig_mapping_set_module_name(m, "conv2", NULL);
        sh_qconfig_mapping_set_object_type(m, "add", NULL);
        sh_module *p = calibrated_net(m), *q = sh_quantize_convert(p), *traced = traced_net();
        cr_assert(q != NULL, "%s", message());
        cr_expect(eq(sz, calls(q, "quantized_conv2d"), 2));
        cr_expect(eq(sz, sh_graph_find_nodes(sh_graph_module_graph(q), SH_CALL_MODULE, "conv2", NULL, 0), 1));
        sh_tensor *x = quantize_net_images(9);
        cr_expect(gt(dbl, sh_compute_sqnr(sh_forward(traced, x), sh_forward(q, x)), 30));
        sh_qconfig_mapping_free(m);
        sh_module_release(traced);
        sh_module_release(q);
        sh_module_release(p);
    }
}

Test(quantize_convert, leaves_what_the_mapping_leaves_out) {
    const struct {
        sh_status (*set)(sh_qconfig_mapping *, const char *, const sh_qconfig *);
        const char *what;
        size_t convs, linears;
    } cases[] = {{sh_qconfig_mapping_set_module_name, "fc1", 3, 1},
                 {sh_qconfig_mapping_set_module_name, "fc", 3, 2},
                 {sh_qconfig_mapping_set_module_name_regex, "^fc|conv[12]", 1, 0},
                 {sh_qconfig_mapping_set_object_type, "Conv*", 0, 2},
                 {sh_qconfig_mapping_set_object_type, "!Conv2d", 3, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) SH_SCOPE {
            sh_qconfig_mapping *m = sh_get_default_qconfig_mapping(NULL);
            cr_assert(cases[i].set(m, cases[i].what, NULL) == SH_OK, "%s", message());
            sh_module *p = calibrated_net(m), *q = sh_quantize_convert(p);
            cr_assert(q != NULL, "%s", message());
            cr_expect(eq(sz, calls(q, "quantized_conv2d"), cases[i].convs), "%s", cases[i].what);
            cr_expect(eq(sz, calls(q, "quantized_linear"), cases[i].linears), "%s", cases[i].what);
            sh_qconfig_mapping_free(m);
            sh_module_release(q);
            sh_module_release(p);
        }
}

Test(quantize_convert, a_module_used_twice_has_its_weight_stored_once) {
    SH_SCOPE {
        sh_module *net = sh_nn_sequential(), *layer = sh_nn_linear(4, 4);
        for (int i = 0; i < 2; i++) sh_module_append(net, sh_module_keep(layer));
        sh_module_eval(net);
        sh_tensor *x = sh_randn(SH_SIZES(3, 4));
        sh_module *traced = sh_symbolic_trace(net, SH_INPUTS(x), NULL),
                  *p = sh_quantize_prepare(traced, NULL, NULL);
        sh_quantize_calibrate(p, SH_INPUTS(x));
        sh_module *q = sh_quantize_convert(p);
        cr_assert(q != NULL, "%s", message());
        cr_expect(eq(sz, calls(q, "quantized_linear"), 2));
        cr_expect(eq(sz,
                     sh_graph_find_nodes(sh_graph_module_graph(q), SH_GET_ATTR, "0_weight", NULL, 0) +
                         sh_graph_find_nodes(sh_graph_module_graph(q), SH_GET_ATTR, "_0_weight", NULL, 0),
                     1));
        cr_expect(gt(dbl, sh_compute_sqnr(sh_forward(net, x), sh_forward(q, x)), 20));
        sh_module_release(q);
        sh_module_release(p);
        sh_module_release(traced);
        sh_module_release(layer);
        sh_module_release(net);
    }
}

/* Each kind of product and of move, as calls with constants: relu and clamp in between, padding, a strided depthwise conv. */
static sh_graph *functional(void) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_node *w = constant(g, "w", sh_randn(SH_SIZES(4, 1, 3, 3))),
            *b = constant(g, "b", sh_randn(SH_SIZES(4)));
    sh_node *v = constant(g, "v", sh_randn(SH_SIZES(6, 4, 1, 1)));
    sh_node *padded = sh_graph_call_function(g, "pad", x, sh_arg_list(SH_ARGS(0, 1, 0, 1)));
    sh_node *depthwise = sh_graph_create_node(
        g, SH_CALL_FUNCTION, "conv2d", SH_ARGS(padded, w),
        SH_KWARGS(SH_KWARG("bias", b), SH_KWARG("stride", 2), SH_KWARG("groups", 4)), NULL);
    sh_node *clamped = sh_graph_create_node(g, SH_CALL_FUNCTION, "clamp", SH_ARGS(depthwise),
                                            SH_KWARGS(SH_KWARG("min", 0), SH_KWARG("max", 6)), NULL);
    sh_node *again = sh_graph_call_function(g, "pad", clamped, sh_arg_list(SH_ARGS(1, 1)));
    sh_node *pointwise = sh_graph_call_function(g, "conv2d", again, v);
    sh_node *relu =
        call(g, "relu", sh_graph_call_function(g, "max_pool2d", pointwise, sh_arg_list(SH_ARGS(2, 2))));
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "permute", relu, sh_arg_list(SH_ARGS(0, 2, 3, 1)))));
    return g;
}

Test(quantize_convert, graphs_of_calls_are_quantised_as_those_of_modules_are) {
    SH_SCOPE {
        sh_qconfig_mapping *m = sh_get_default_qconfig_mapping("onednn");
        sh_graph *g = functional();
        sh_module *module = module_of(sh_graph_clone(g)), *p = prepared_of(g, m);
        sh_tensor *x = sh_randn(SH_SIZES(2, 4, 9, 9));
        sh_quantize_calibrate(p, SH_INPUTS(x));
        sh_module *q = sh_quantize_convert(p);
        cr_assert(q != NULL, "%s", message());
        cr_expect(eq(sz, calls(q, "quantized_conv2d"), 2));
        cr_expect(eq(sz, calls(q, "quantize_per_tensor"), 2), "of the input, and behind the clamp");
        const double db = sh_compute_sqnr(sh_forward(module, x), sh_forward(q, x));
        cr_expect(gt(dbl, db, 22));
        sh_qconfig_mapping_free(m);
        sh_module_release(q);
        sh_module_release(p);
        sh_module_release(module);
    }
}

Test(quantize_convert, weights_per_tensor_are_lowered_too) {
    SH_SCOPE {
        sh_qconfig_mapping *m = sh_get_default_qconfig_mapping("qnnpack");
        sh_module *p = calibrated_net(m), *q = sh_quantize_convert(p);
        cr_assert(q != NULL, "%s", message());
        cr_expect(eq(sz, calls(q, "quantized_conv2d") + calls(q, "quantized_linear"), 5));
        sh_qconfig_mapping_free(m);
        sh_module_release(q);
        sh_module_release(p);
    }
}

Test(quantize_convert, weights_off_center_stay_in_the_reference_form) {
    SH_SCOPE {
        sh_qconfig q8 = sh_get_default_qconfig("onednn");
        q8.weight = (sh_observer_options){.dtype = SH_U8};
        sh_qconfig_mapping *m = sh_qconfig_mapping_new();
        sh_qconfig_mapping_set_global(m, &q8);
        sh_module *p = calibrated_net(m), *q = sh_quantize_convert(p), *traced = traced_net();
        cr_assert(q != NULL, "%s", message());
        cr_expect(eq(sz, calls(q, "quantized_conv2d"), 0));
        cr_expect(eq(sz, calls(q, "conv2d"), 3));
        sh_tensor *x = quantize_net_images(9);
        cr_expect(gt(dbl, sh_compute_sqnr(sh_forward(traced, x), sh_forward(q, x)), 25));
        sh_qconfig_mapping_free(m);
        sh_module_release(traced);
        sh_module_release(q);
        sh_module_release(p);
    }
}

Test(quantize_convert, what_comes_out_is_copied_and_interpreted_like_any_other) {
    SH_SCOPE {
        sh_module *p = calibrated_net(NULL), *q = sh_quantize_convert(p);
        sh_graph *copy = sh_graph_clone(sh_graph_module_graph(q));
        sh_tensor *x = quantize_net_images(9);
        sh_list *out = sh_graph_run(copy, SH_LIST(x));
        cr_assert(out != NULL, "%s", message());
        cr_expect(sh_equal(sh_list_at(out, 0), sh_forward(q, x)));
        sh_quantize_calibrate(p, SH_INPUTS(x)); /* which goes on being calibrated */
        sh_module *later = sh_quantize_convert(p);
        cr_expect(later != NULL);
        sh_graph_free(copy);
        sh_module_release(later);
        sh_module_release(q);
        sh_module_release(p);
    }
}

Test(quantize_convert, what_comes_out_goes_through_a_file) {
    char path[] = "/tmp/shunt-quantized-XXXXXX";
    close(mkstemp(path));
    SH_SCOPE {
        sh_module *p = calibrated_net(NULL), *r = sh_quantize_convert_to_reference(p),
                  *q = sh_quantize_lower(r);
        sh_module *const forms[] = {r, q};
        sh_tensor *x = quantize_net_images(9);
        for (int i = 0; i < 2; i++) {
            cr_assert(sh_graph_module_save(forms[i], path) == SH_OK, "%s", message());
            sh_module *again = sh_graph_module_load(path);
            cr_assert(again != NULL, "%s", message());
            cr_expect(sh_equal(sh_forward(again, x), sh_forward(forms[i], x)));
            sh_module_release(again);
        }
        sh_module_release(q);
        sh_module_release(r);
        sh_module_release(p);
    }
    unlink(path);
}

/* ---- compare ---- */

Test(quantize_compare, lists_each_layer_and_the_worst_first_on_request) {
    SH_SCOPE {
        sh_module *traced = traced_net(), *p = calibrated_net(NULL), *q = sh_quantize_convert(p);
        sh_comparison *c = sh_quantize_compare(traced, q, SH_ARGUMENTS(quantize_net_images(9)));
        cr_assert(c != NULL, "%s", message());
        cr_expect(eq(sz, sh_comparison_size(c), 10));
        const sh_comparison_row *row = sh_comparison_find(c, "conv1");
        cr_assert(row != NULL);
        cr_expect(eq(str, (char *)(uintptr_t)row->op, (char *)"conv2d + relu"));
        cr_expect(row->sqnr > 30 && row->sqnr < 60, "%g dB", row->sqnr);
        cr_expect(sh_comparison_find(c, "nothing") == NULL && sh_comparison_at(c, 10) == NULL);
        char *table = sh_comparison_table(c, false), *worst = sh_comparison_table(c, true);
        cr_expect(strncmp(table, "layer", 5) == 0 && strstr(table, "\nconv1    conv2d + relu"), "%s", table);
        double last = -1000, db;
        char name[32];
        for (const char *line = strchr(worst, '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
            const char *number = strchr(line + 1, '\n') ? strchr(line + 1, '\n') - 9 : line;
            cr_assert(sscanf(line, "%31s", name) == 1 && sscanf(number, "%lf", &db) == 1);
            cr_expect(ge(dbl, db, last), "%s", name);
            last = db;
        }
        free(table);
        free(worst);
        sh_comparison_free(c);
        sh_module_release(q);
        sh_module_release(p);
        sh_module_release(traced);
    }
}

Test(quantize_compare, computes_decibels_and_refuses_what_does_not_belong_together) {
    SH_SCOPE {
        sh_tensor *x = sh_full(SH_SIZES(10), 2.0), *y = sh_full(SH_SIZES(10), 1.8);
        cr_expect(epsilon_eq(dbl, sh_compute_sqnr(x, y), 20, 1e-5));
        cr_expect(isinf(sh_compute_sqnr(x, x)));
        cr_expect(isnan(sh_compute_sqnr(x, sh_ones(SH_SIZES(2, 5)))) &&
                  error_says(SH_ERROR_SHAPE, "different shapes"));
        cr_expect(isnan(sh_compute_sqnr(x, NULL)) && error_says(SH_ERROR_NULL, "a tensor is NULL"));
        sh_module *traced = traced_net(), *p = calibrated_net(NULL), *q = sh_quantize_convert(p);
        sh_graph *g = sh_graph_new();
        sh_graph_output(g, SH_ARG(sh_graph_placeholder(g, "x")));
        sh_module *other = module_of(g);
        cr_expect(sh_quantize_compare(other, q, SH_ARGUMENTS(quantize_net_images(9))) == NULL);
        cr_expect(error_says(SH_ERROR_VALUE, "the float graph has no %relu"));
        cr_expect(sh_quantize_compare(NULL, q, SH_ARGUMENTS(x)) == NULL &&
                  error_says(SH_ERROR_NULL, "float module"));
        sh_module_release(other);
        sh_module_release(q);
        sh_module_release(p);
        sh_module_release(traced);
    }
}

/* ---- size and memory ---- */

Test(quantize_fx, goes_through_ten_thousand_nodes) {
    SH_SCOPE {
        sh_graph *g = sh_graph_new();
        sh_node *at = linear(g, sh_graph_placeholder(g, "x"), constant(g, "w", sh_ones(SH_SIZES(2, 2))));
        for (int i = 0; i < 10000; i++) at = call(g, "relu", at);
        sh_graph_output(g, SH_ARG(at));
        sh_module *p = prepared_of(g, NULL);
        cr_expect(eq(sz, observers(p), 10001));
        sh_quantize_calibrate(p, SH_INPUTS(sh_ones(SH_SIZES(1, 2))));
        sh_module *q = sh_quantize_convert(p);
        cr_assert(q != NULL, "%s", message());
        cr_expect(eq(sz, calls(q, "clamp"), 9999));
        sh_module_release(q);
        sh_module_release(p);
    }
}

static bool quantize_all(void) {
    sh_graph *g = sh_graph_new();
    sh_node *x = g ? sh_graph_placeholder(g, "x") : NULL;
    sh_node *y = x ? linear(g, x, constant(g, "w", sh_ones(SH_SIZES(2, 2)))) : NULL;
    if (y) sh_graph_output(g, SH_ARG(call(g, "relu", sh_graph_call_function(g, "add", y, x))));
    sh_module *module = y ? module_of(g) : NULL;
    if (!y) sh_graph_free(g);
    sh_module *p = module ? sh_quantize_prepare(module, NULL, NULL) : NULL;
    sh_tensor *input = sh_ones(SH_SIZES(1, 2));
    if (p && input) sh_quantize_calibrate(p, SH_INPUTS(input));
    sh_module *q = p && !sh_error() ? sh_quantize_convert(p) : NULL;
    sh_comparison *c = q ? sh_quantize_compare(module, q, SH_ARGUMENTS(input)) : NULL;
    char *table = c ? sh_comparison_table(c, true) : NULL;
    const bool done = table != NULL;
    free(table);
    sh_comparison_free(c);
    sh_module_release(q);
    sh_module_release(p);
    sh_module_release(module);
    return done;
}

Test(quantize_fx, each_allocation_may_fail) { fail_each("quantize", quantize_all); }
