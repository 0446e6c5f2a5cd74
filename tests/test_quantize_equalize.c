/* Equalisation: the same in reals, channels nearer in range, decibels for nets with an outlier, and what is left alone. */
#include <math.h>

#include "tests/fail_each.h"
#include "tests/graphs.h"

/* ---- nets ---- */

static bool no_leaf(const char *path, const sh_module *module, void *user) {
    (void)path, (void)module, (void)user;
    return false;
}

/* Takes the net over. With `calls` there are ops only, no modules. */
static sh_module *traced(sh_module *net, sh_tensor *x, bool calls) {
    const sh_trace_options all = {.is_leaf = no_leaf};
    if (net) sh_module_eval(net);
    sh_module *m = net && x ? sh_symbolic_trace(net, SH_INPUTS(x), calls ? &all : NULL) : NULL;
    sh_module_release(net);
    return m;
}

static sh_module *depthwise_and_pointwise(void) {
    return sh_nn_sequential(sh_nn_conv2d(6, 6, 3, .groups = 6), sh_nn_conv2d(6, 4, 1), sh_nn_relu(),
                            sh_nn_max_pool2d(2), sh_nn_conv2d(4, 4, 1, .groups = 4, .bias = false));
}
static sh_module *grouped(void) {
    return sh_nn_sequential(sh_nn_conv2d(6, 8, 3, .bias = false, .groups = 2), sh_nn_relu(),
                            sh_nn_avg_pool2d(2), sh_nn_conv2d(8, 6, 1, .groups = 2, .stride = 2));
}
static sh_module *in_a_line(void) {
    return sh_nn_sequential(sh_nn_conv1d(6, 4, 3), sh_nn_relu(), sh_nn_dropout(), sh_nn_conv1d(4, 2, 3),
                            sh_nn_conv1d(2, 2, 1));
}
static sh_module *with_norms(void) {
    return sh_nn_sequential(sh_nn_conv2d(6, 4, 3, .bias = false), sh_nn_batch_norm2d(4), sh_nn_relu(),
                            sh_nn_conv2d(4, 3, 3), sh_nn_batch_norm2d(3));
}
static sh_module *linears(void) {
    return sh_nn_sequential(sh_nn_linear(9, 5), sh_nn_relu(.inplace = true),
                            sh_nn_linear(5, 4, .bias = false), sh_nn_linear(4, 3));
}

/* ---- what is the same, and what is not ---- */

static bool near(sh_tensor *a, sh_tensor *b) {
    return a && b && sh_item(sh_amax(sh_abs(sh_sub(a, b)))) <= 1e-5 * sh_item(sh_amax(sh_abs(a)));
}

/* Both the text and the weights of its graph. */
static bool same_module(sh_module *a, sh_module *b, sh_tensor *x) {
    char *text = sh_graph_text(sh_graph_module_graph(a));
    const bool same = text_is(sh_graph_text(sh_graph_module_graph(b)), text);
    free(text);
    return same && sh_allclose(sh_forward(a, x), sh_forward(b, x), .rtol = 0, .atol = 0);
}

static const struct {
    const char *what;
    sh_module *(*net)(void);
    int ndim;
} nets[] = {{"depthwise and pointwise", depthwise_and_pointwise, 4},
            {"grouped", grouped, 4},
            {"grouped, one image", grouped, 3},
            {"in a line", in_a_line, 2},
            {"norms", with_norms, 4},
            {"linear", linears, 4}};

static sh_tensor *input(int ndim) {
    if (ndim == 2) return sh_randn(SH_SIZES(6, 9));
    return ndim == 4 ? sh_randn(SH_SIZES(2, 6, 9, 9)) : sh_randn(SH_SIZES(6, 9, 9));
}

static void check_net(size_t i, bool calls, double alpha) {
    sh_tensor *x = input(nets[i].ndim);
    sh_module *m = traced(nets[i].net(), x, calls);
    cr_assert(m != NULL, "%s: %s", nets[i].what, message());
    sh_tensor *before = sh_forward(m, x);
    const sh_arguments batch = SH_ARGUMENTS(x);
    sh_module *e = sh_quantize_equalize(m, &batch, 1, &(sh_equalize_options){.alpha = alpha});
    cr_assert(e != NULL, "%s: %s", nets[i].what, message());
    cr_expect(sh_graph_lint(sh_graph_module_graph(e)) == SH_OK, "%s: %s", nets[i].what, message());
    cr_expect(near(before, sh_forward(e, x)), "%s, calls %d", nets[i].what, calls);
    cr_expect(sh_allclose(before, sh_forward(m, x), .rtol = 0, .atol = 0), "%s: changed", nets[i].what);
    sh_module_release(e);
    sh_module_release(m);
}

Test(quantize_equalize, gives_the_same_in_reals_for_modules_and_calls) {
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++)
        for (int calls = 0; calls < 2; calls++)
            for (int alpha = 1; alpha < 4; alpha++) SH_SCOPE check_net(i, calls, alpha / 3.0);
}

/* Scales of powers of two, so that all is exact: ranges 16 and 1, weights 1, alpha 0.5. */
Test(quantize_equalize, divides_rows_and_bias_and_multiplies_columns_by_nagels_scales) {
    SH_SCOPE {
        sh_module *net = sh_nn_sequential(sh_nn_linear(2, 2), sh_nn_linear(2, 1));
        sh_module_set_parameter(sh_module_child(net, "0"), "weight",
                                sh_reshape(SH_FLOATS(8, 0, 0, 1), SH_SIZES(2, 2)));
        sh_module_set_parameter(sh_module_child(net, "0"), "bias", SH_FLOATS(8, 0));
        sh_module_set_parameter(sh_module_child(net, "1"), "weight", sh_ones(SH_SIZES(1, 2)));
        sh_tensor *x = sh_ones(SH_SIZES(1, 2));
        sh_module *m = traced(net, x, false);
        const sh_arguments batch = SH_ARGUMENTS(x);
        sh_module *e = sh_quantize_equalize(m, &batch, 1, NULL);
        cr_assert(e != NULL, "%s", message());
        const sh_module *first = sh_node_module(sh_graph_find(sh_graph_module_graph(e), "_0"));
        const sh_module *last = sh_node_module(sh_graph_find(sh_graph_module_graph(e), "_1"));
        cr_assert(first && last);
        cr_expect(sh_equal(sh_flatten(sh_module_parameter(first, "weight")), SH_FLOATS(2, 0, 0, 1)));
        cr_expect(sh_equal(sh_module_parameter(first, "bias"), SH_FLOATS(2, 0)));
        cr_expect(sh_equal(sh_flatten(sh_module_parameter(last, "weight")), SH_FLOATS(4, 1)));
        sh_module_release(e);
        sh_module_release(m);
    }
}

/* ---- decibels ---- */

static double decibels(sh_module *m, sh_tensor *x) {
    sh_qconfig_mapping *map = sh_get_default_qconfig_mapping("onednn");
    sh_module *p = sh_quantize_prepare(m, map, NULL);
    sh_quantize_calibrate(p, SH_INPUTS(x));
    sh_module *q = sh_quantize_convert(p);
    cr_assert(q != NULL, "%s", message());
    const double db = sh_compute_sqnr(sh_forward(m, x), sh_forward(q, x));
    sh_module_release(q);
    sh_module_release(p);
    sh_qconfig_mapping_free(map);
    return db;
}

Test(quantize_equalize, an_outlier_channel_costs_decibels_no_more) {
    SH_SCOPE {
        sh_manual_seed(7);
        sh_tensor *x = sh_randn(SH_SIZES(2, 6, 9, 9));
        sh_module *net = sh_nn_sequential(sh_nn_conv2d(6, 6, 3, .groups = 6), sh_nn_conv2d(6, 4, 1));
        sh_tensor *row = sh_select(sh_module_parameter(net, "0.weight"), 0, 2);
        sh_tensor *column = sh_select(sh_module_parameter(net, "1.weight"), 1, 2);
        sh_mul_(row, 200);
        sh_mul_(column, 0.005);
        sh_module *m = traced(net, x, false);
        const sh_arguments batch = SH_ARGUMENTS(x);
        sh_module *e = sh_quantize_equalize(m, &batch, 1, NULL);
        cr_assert(e != NULL, "%s", message());
        const double before = decibels(m, x), after = decibels(e, x);
        cr_expect(gt(dbl, after, before + 15), "%.1f dB, then %.1f", before, after);
        cr_expect(gt(dbl, after, 30), "%.1f dB, then %.1f", before, after);
        sh_module_release(e);
        sh_module_release(m);
    }
}

/* ---- what stays ---- */

static sh_tensor *two_users(sh_module *self, sh_tensor *x) {
    sh_tensor *y = sh_forward(sh_module_child(self, "a"), x);
    return sh_add(sh_forward(sh_module_child(self, "b"), y), y);
}
static sh_tensor *twice(sh_module *self, sh_tensor *x) {
    return sh_forward(sh_module_child(self, "a"), sh_forward(sh_module_child(self, "a"), x));
}
static sh_tensor *not_alike(sh_module *self, sh_tensor *x) {
    return sh_forward(sh_module_child(self, "b"), sh_sigmoid(sh_forward(sh_module_child(self, "a"), x)));
}
static sh_tensor *written(sh_module *self, sh_tensor *x) {
    sh_tensor *y = sh_forward(sh_module_child(self, "a"), x);
    sh_add_(sh_module_parameter(self, "a.bias"), 0);
    return sh_forward(sh_module_child(self, "b"), y);
}
static sh_tensor *alone(sh_module *self, sh_tensor *x) {
    return sh_relu(sh_forward(sh_module_child(self, "a"), x));
}

Test(quantize_equalize, where_nothing_is_to_be_done_nothing_changes) {
    static const sh_module_type types[] = {{.name = "TwoUsers", .forward = two_users},
                                           {.name = "Twice", .forward = twice},
                                           {.name = "NotAlike", .forward = not_alike},
                                           {.name = "Written", .forward = written},
                                           {.name = "Alone", .forward = alone}};
    for (size_t i = 0; i < 2 * sizeof types / sizeof *types; i++) SH_SCOPE {
            sh_module *net = sh_module_new(&types[i / 2]);
            sh_module_give(net, "a", sh_nn_linear(4, 4));
            sh_module_give(net, "b", sh_nn_linear(4, 4));
            sh_tensor *x = sh_randn(SH_SIZES(3, 4));
            sh_module *m = traced(net, x, i % 2 == 1);
            const sh_arguments batch = SH_ARGUMENTS(x);
            sh_module *e = sh_quantize_equalize(m, &batch, 1, NULL);
            cr_assert(e != NULL, "%s: %s", types[i / 2].name, message());
            cr_expect(same_module(m, e, x), "%s", types[i / 2].name);
            sh_module_release(e);
            sh_module_release(m);
        }
}

/* Channels that are always 0, or that nobody reads. */
Test(quantize_equalize, dead_channels_keep_their_weights) {
    SH_SCOPE {
        sh_module *net = sh_nn_sequential(sh_nn_linear(3, 3), sh_nn_relu(), sh_nn_linear(3, 2));
        sh_mul_(sh_select(sh_module_parameter(net, "0.weight"), 0, 0), 0);
        sh_mul_(sh_module_parameter(net, "0.bias"), 0);
        sh_mul_(sh_select(sh_module_parameter(net, "2.weight"), 1, 1), 0);
        sh_tensor *x = sh_rand(SH_SIZES(4, 3));
        sh_module *m = traced(net, x, true);
        const sh_arguments batch = SH_ARGUMENTS(x);
        sh_module *e = sh_quantize_equalize(m, &batch, 1, NULL);
        cr_assert(e != NULL, "%s", message());
        cr_expect(near(sh_forward(m, x), sh_forward(e, x)));
        sh_module_release(e);
        sh_module_release(m);
    }
}

/* ---- refusals, size, memory ---- */

static bool refused(const sh_module *result, sh_status code, const char *part) {
    return !result && error_says(code, part);
}

Test(quantize_equalize, refuses_what_it_can_not_run_and_names_it) {
    SH_SCOPE {
        sh_tensor *x = sh_randn(SH_SIZES(3, 9)), *bad = sh_full(SH_SIZES(3, 9), NAN);
        sh_module *net = linears(), *m = traced(linears(), x, false);
        const sh_arguments batch = SH_ARGUMENTS(x), poisoned = SH_ARGUMENTS(bad);
        cr_expect(refused(sh_quantize_equalize(NULL, &batch, 1, NULL), SH_ERROR_NULL, "NULL is no graph"));
        cr_expect(refused(sh_quantize_equalize(net, &batch, 1, NULL), SH_ERROR_TYPE, "Sequential is no"));
        cr_expect(refused(sh_quantize_equalize(m, NULL, 1, NULL), SH_ERROR_ARGUMENT, "no batches"));
        cr_expect(refused(sh_quantize_equalize(m, &batch, 0, NULL), SH_ERROR_ARGUMENT, "no batches"));
        cr_expect(refused(sh_quantize_equalize(m, &batch, 1, &(sh_equalize_options){.alpha = 2}),
                          SH_ERROR_VALUE, "alpha is 2, expected"));
        cr_expect(refused(sh_quantize_equalize(m, &poisoned, 1, NULL), SH_ERROR_FINDING, "a NaN"));
        sh_module_train(m, true);
        cr_expect(refused(sh_quantize_equalize(m, &batch, 1, NULL), SH_ERROR_VALUE, "training mode"));
        sh_module_release(net);
        sh_module_release(m);
    }
}

Test(quantize_equalize, goes_through_ten_thousand_nodes) {
    SH_SCOPE {
        sh_graph *g = sh_graph_new();
        sh_node *at = sh_graph_placeholder(g, "x");
        for (int i = 0; i < 3000; i++) {
            char name[16];
            snprintf(name, sizeof name, "w%d", i);
            sh_graph_set_attr(g, name, sh_ones(SH_SIZES(1, 1)));
            at = sh_graph_call_function(g, "linear", at, sh_graph_get_attr(g, name));
            at = sh_graph_call_function(g, "relu", at);
        }
        sh_graph_output(g, SH_ARG(at));
        static const sh_module_type type = {.name = "Root"};
        sh_module *root = sh_module_new(&type), *m = sh_graph_module_new(root, g);
        sh_module_eval(m);
        const sh_arguments batch = SH_ARGUMENTS(sh_ones(SH_SIZES(1, 1)));
        sh_module *e = sh_quantize_equalize(m, &batch, 1, NULL);
        cr_assert(e != NULL, "%s", message());
        cr_expect(eq(dbl, sh_item(sh_forward(e, sh_ones(SH_SIZES(1, 1)))), 1));
        sh_module_release(e);
        sh_module_release(m);
        sh_module_release(root);
    }
}

static bool equalize_calls(bool calls) {
    sh_tensor *x = sh_ones(SH_SIZES(1, 2, 3, 3));
    sh_module *net = x ? sh_nn_sequential(sh_nn_conv2d(2, 2, 1), sh_nn_relu(), sh_nn_conv2d(2, 1, 1)) : NULL;
    sh_module *m = traced(net, x, calls);
    const sh_arguments batch = SH_ARGUMENTS(x);
    sh_module *e = m ? sh_quantize_equalize(m, &batch, 1, NULL) : NULL;
    const bool done = e != NULL;
    sh_module_release(e);
    sh_module_release(m);
    return done;
}
static bool equalize_ops(void) { return equalize_calls(true); }
static bool equalize_modules(void) { return equalize_calls(false); }

Test(quantize_equalize, each_allocation_may_fail) {
    fail_each("equalize calls", equalize_ops);
    fail_each("equalize modules", equalize_modules);
}
