/* Quantisation ends: what an observed graph becomes, and how that compares. */
#include <math.h>
#include <unistd.h>

#include "tests/fail_each.h"
#include "tests/quantize_graphs.h"

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

/* ---- ops of others ---- */

static sh_status doubles(sh_call *k, void *user) {
    (void)user;
    return sh_call_set_tensor(k, sh_mul(sh_call_tensor(k, 0), 2.0));
}

Test(quantize_convert, ops_defined_at_run_time_stay_on_reals) {
    SH_SCOPE {
        sh_op_define("mylib::twice(Tensor x) -> Tensor",
                     &(sh_op_options){.composite = doubles, .tags = SH_OP_PURE}, NULL);
        sh_graph *g = sh_graph_new();
        sh_node *x = sh_graph_placeholder(g, "x"), *w = constant(g, "w", sh_ones(SH_SIZES(4, 4)));
        sh_graph_output(g, SH_ARG(call(g, "mylib::twice", linear(g, x, w))));
        sh_module *p = prepared_of(g, NULL);
        cr_expect(eq(sz, observers(p), 2));
        sh_forward(p, sh_full(SH_SIZES(2, 4), 0.5));
        sh_module *c = sh_quantize_convert(p);
        cr_assert(c != NULL, "%s", message());
        cr_expect(eq(sz, calls(c, "quantized_linear"), 1));
        cr_expect(eq(sz, calls(c, "mylib::twice"), 1));
        sh_tensor *y = sh_forward(c, sh_full(SH_SIZES(2, 4), 0.5));
        cr_assert(y != NULL, "%s", message());
        cr_expect(epsilon_eq(dbl, sh_tensor_at(y, (const int64_t[]){0, 0}), 4, 0.1));
        sh_module_release(c);
        sh_module_release(p);
    }
}
