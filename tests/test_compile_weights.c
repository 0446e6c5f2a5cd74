/* test_compile_weights.c - weights that are replaced or written between calls: each call runs with those that are there,
 * and plans for others are let go. */
#include "tests/compile.h"

TestSuite(compile_weights);

static sh_module *net_of(void) {
    sh_module *net = sh_nn_sequential(sh_nn_conv2d(3, 8, 3, .padding = 1), sh_nn_batch_norm2d(8),
                                      sh_nn_relu(), sh_nn_flatten(), sh_nn_linear(8 * 16, 5));
    sh_module_eval(net);
    return net;
}

static sh_compiled *compile_with(sh_module *net, bool any_batch) {
    sh_compile_options options = SH_COMPILE_OPTIONS_INIT;
    options.winograd = SH_WINOGRAD_OFF;
    options.any_batch = any_batch;
    return sh_compile(net, &options);
}

static void expect_as_eager(sh_module *net, sh_compiled *c, int i) {
    sh_tensor *x = sh_randn(SH_SIZES(2, 3, 4, 4));
    sh_tensor *y = sh_compiled_run(c, x), *expected = sh_forward(net, x);
    no_error();
    cr_expect(sh_allclose(y, expected, .rtol = 1e-4, .atol = 1e-4), "change %d", i);
}

/* What is packed is dropped by its plan, so that a new tensor comes to lie where an old one lay. */
Test(compile_weights, one_at_the_address_of_another_is_not_taken_for_it) {
    SH_SCOPE {
        sh_module *net = net_of();
        sh_compiled *c = compile_with(net, false);
        for (int i = 0; i < 20; i++) SH_SCOPE {
                sh_module_set_parameter(sh_module_child(net, "0"), "weight", sh_randn(SH_SIZES(8, 3, 3, 3)));
                sh_module_give(net, "4", sh_nn_linear(8 * 16, 5));
                expect_as_eager(net, c, i);
            }
        sh_compiled_free(c);
        sh_module_release(net);
    }
}

Test(compile_weights, plans_for_those_that_were_replaced_or_written_are_let_go) {
    for (int any_batch = 0; any_batch < 2; any_batch++) SH_SCOPE {
            sh_module *net = net_of();
            sh_compiled *c = compile_with(net, any_batch);
            int64_t live = 0;
            for (int i = 0; i < 8; i++) SH_SCOPE {
                    sh_mul_(sh_select(sh_module_parameter(net, "0.weight"), 0, 0), 1.5);
                    sh_module_set_parameter(sh_module_child(net, "4"), "bias", sh_randn(SH_SIZES(5)));
                    expect_as_eager(net, c, i);
                    if (i == 1) live = sh_memory_stats_get().live_tensors;
                }
            cr_expect(eq(sz, sh_compiled_stats(c).plans, 1));
            cr_expect(le(i64, sh_memory_stats_get().live_tensors, live));
            sh_module_train(net, true); /* another plan beside it, which comes back */
            sh_compiled_run(c, sh_randn(SH_SIZES(2, 3, 4, 4)));
            cr_expect(eq(u64, sh_compiled_stats(c).compilations, 9));
            sh_compiled_free(c);
            sh_module_release(net);
        }
}

static sh_value times_two(sh_values in, void *user) {
    (void)user;
    return sh_value_tensor(sh_mul(in.at[0].as.tensor, sh_full(SH_SIZES(2), 2)));
}

Test(compile_weights, an_attribute_of_a_graph_that_is_set_anew_counts) {
    SH_SCOPE {
        sh_tensor *x = SH_FLOATS(3, 4), *factor = SH_FLOATS(2, 2);
        sh_graph *graph = sh_trace_function(times_two, NULL, SH_INPUTS(x), NULL);
        sh_graph_set_attr(graph, "factor", factor);
        SH_EACH_NODE(node, graph) {
            if (strcmp(sh_node_target(node), "full") != 0) continue;
            SH_INSERTING_AFTER(node) sh_node_replace_all_uses_with(node, sh_graph_get_attr(graph, "factor"));
        }
        sh_module *none = sh_nn_identity(), *module = sh_graph_module_new(none, graph);
        sh_compiled *c = sh_compile(module, NULL);
        for (int i = 1; i < 4; i++) {
            sh_graph_set_attr(sh_graph_module_graph(module), "factor", sh_full(SH_SIZES(2), i));
            cr_expect(same_bits(sh_compiled_run(c, x), sh_mul(x, (double)i)), "%d", i);
            no_error();
        }
        sh_compiled_free(c);
        sh_module_release(module);
        sh_module_release(none);
    }
}

static sh_value minus_two(sh_values in, void *user) {
    (void)user;
    return sh_value_tensor(sh_sub(in.at[0].as.tensor, sh_full(SH_SIZES(2), 2)));
}

Test(compile_weights, a_graph_that_takes_the_place_of_another_is_not_taken_for_it) {
    SH_SCOPE {
        sh_tensor *x = SH_FLOATS(3, 4);
        sh_module *none = sh_nn_identity();
        sh_module *module = sh_graph_module_new(none, sh_trace_function(times_two, NULL, SH_INPUTS(x), NULL));
        sh_compiled *c = sh_compile(module, NULL);
        for (int i = 0; i < 6; i++) {
            sh_traceable function = i % 2 ? times_two : minus_two;
            sh_graph_module_set_graph(module, sh_graph_new());
            sh_graph_module_set_graph(module, sh_trace_function(function, NULL, SH_INPUTS(x), NULL));
            cr_expect(same_bits(sh_compiled_run(c, x), call_eager(function, NULL, x, NULL)), "%d", i);
            no_error();
        }
        sh_compiled_free(c);
        sh_module_release(module);
        sh_module_release(none);
    }
}

/* ---- overrides ---- */

static int answers;

static sh_status answers_seven(const sh_override_kind *kind, sh_call *call, void *user) {
    (void)kind, (void)user;
    answers++;
    SH_TRY(sh_call_set_result(call, 0, sh_value_tensor(sh_full(SH_SIZES(2), 7, .dtype = SH_F32))));
    return SH_OK;
}

static sh_value linear_of(sh_values in, void *weight) {
    return sh_value_tensor(sh_linear(in.at[0].as.tensor, weight));
}

Test(compile_weights, one_that_carries_an_override_is_met_as_in_the_eager_call) {
    SH_SCOPE {
        sh_override_kind *kind = sh_override_kind_new("Seven", answers_seven, NULL, NULL);
        sh_tensor *x = sh_ones(SH_SIZES(3));
        sh_module *net = sh_nn_linear(3, 2);
        sh_tensor *weight = sh_module_parameter(net, "weight");
        sh_compiled *compiled[] = {sh_compile(net, NULL), compile_exactly(linear_of, weight)};
        for (int i = 0; i < 6; i++) {
            const bool carries = i % 3 == 1;
            sh_compiled *c = compiled[i / 3];
            sh_tensor_set_override(weight, carries ? kind : NULL);
            answers = 0;
            sh_tensor *y = sh_compiled_run(c, x);
            no_error();
            cr_expect(eq(int, answers, carries));
            cr_expect(eq(int, sh_item(sh_select(y, 0, 0)) == 7, carries));
            cr_expect(eq(u64, sh_compiled_stats(c).eager, i % 3 > 0));
        }
        sh_compiled_free(compiled[0]);
        sh_compiled_free(compiled[1]);
        sh_module_release(net);
        sh_override_kind_free(kind);
    }
}
