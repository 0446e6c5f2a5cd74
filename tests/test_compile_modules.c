/* test_compile_modules.c - modules as plans: when they are made anew, what they let go of, for any batch; and failing memory. */
#include <stdlib.h>

#include "tests/compile.h"
#include "tests/fail_each.h"

TestSuite(compile_modules);

/* ---- modules ---- */

static sh_tensor *image(int64_t n) { return sh_reshape(some(n, 12), SH_SIZES(n, 3, 2, 2)); }

static sh_module *net_of(bool training) {
    sh_module *net =
        sh_nn_sequential(sh_nn_conv2d(3, 4, 1), sh_nn_batch_norm2d(4), sh_nn_relu(), sh_nn_conv2d(4, 2, 1));
    sh_module_train(net, training);
    return net;
}

Test(compile_modules, a_module_is_compiled_anew_when_a_parameter_is_replaced_or_written) {
    SH_SCOPE {
        sh_module *net = net_of(false);
        sh_compile_options exact = SH_COMPILE_OPTIONS_INIT;
        exact.exact = true;
        sh_compiled *c = sh_compile(net, &exact);
        sh_tensor *x = image(2);
        for (int i = 0; i < 3; i++) cr_expect(same_bits(sh_compiled_run(c, x), sh_forward(net, x)));
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 1));
        sh_mul_(sh_module_parameter(net, "0.weight"), 2.0);
        cr_expect(same_bits(sh_compiled_run(c, x), sh_forward(net, x)));
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 2));
        sh_module_set_parameter(sh_module_child(net, "3"), "bias", sh_ones(SH_SIZES(2)));
        cr_expect(same_bits(sh_compiled_run(c, x), sh_forward(net, x)));
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 3));
        no_error();
        sh_compiled_free(c);
        sh_module_release(net);
    }
}

Test(compile_modules, what_training_writes_to_buffers_is_written_and_compiles_nothing_anew) {
    SH_SCOPE {
        sh_manual_seed(1);
        sh_module *net = net_of(true);
        sh_manual_seed(1);
        sh_module *same = net_of(true);
        sh_compile_options exact = SH_COMPILE_OPTIONS_INIT;
        exact.exact = true;
        sh_compiled *c = sh_compile(net, &exact);
        for (int i = 0; i < 4; i++)
            cr_expect(same_bits(sh_compiled_run(c, image(4)), sh_forward(same, image(4))));
        no_error();
        cr_expect(
            same_bits(sh_module_buffer(net, "1.running_mean"), sh_module_buffer(same, "1.running_mean")));
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 1));
        sh_module_eval(net);
        sh_module_eval(same);
        cr_expect(same_bits(sh_compiled_run(c, image(4)), sh_forward(same, image(4))));
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 2));
        sh_compiled_free(c);
        sh_module_release(net);
        sh_module_release(same);
    }
}

Test(compile_modules, frozen_lets_the_module_go_and_says_so_to_other_calls) {
    SH_SCOPE {
        sh_compile_options frozen = SH_COMPILE_OPTIONS_INIT;
        frozen.frozen = frozen.exact = true;
        sh_module *net = net_of(false);
        sh_tensor *x = image(2), *y = sh_forward(net, x);
        const int64_t before = sh_memory_stats_get().live_tensors;
        sh_compiled *c = sh_compile(net, &frozen);
        sh_module_release(net);
        for (int i = 0; i < 3; i++) cr_expect(same_bits(sh_compiled_run(c, x), y));
        no_error();
        cr_expect(sh_compiled_run(c, image(5)) == NULL);
        expect_error("frozen");
        sh_compiled_free(c);
        cr_expect(lt(i64, sh_memory_stats_get().live_tensors, before));
    }
}

/* ---- graph modules ---- */

static sh_module *graph_module(void) {
    sh_module *net = net_of(false), *traced = sh_symbolic_trace(net, SH_INPUTS(image(2)), NULL);
    sh_module_release(net);
    return traced;
}

/* Case 35. */
Test(compile_modules, an_edited_graph_never_runs_stale_and_k_edits_compile_once) {
    SH_SCOPE {
        sh_module *m = graph_module();
        cr_assert(eq(int, sh_graph_module_recompile(m), SH_OK));
        sh_compiled *c = sh_graph_module_compiled(m);
        sh_tensor *x = image(2), *before = sh_forward(m, x);
        for (int i = 0; i < 3; i++) cr_expect(same_bits(sh_forward(m, x), before));
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 1));
        sh_graph *graph = sh_graph_module_graph(m);
        sh_node *output = sh_graph_output_node(graph), *last = NULL;
        sh_node_inputs(output, &last, 1);
        SH_INSERTING_BEFORE(output) {
            sh_node *neg = sh_graph_call_function(graph, "neg", last);
            sh_node *more = sh_graph_call_function(graph, "add", neg, 1.0);
            sh_node_replace_input_with(output, last, more);
        }
        for (int i = 0; i < 3; i++) cr_expect(same_bits(sh_forward(m, x), sh_add(sh_neg(before), 1.0)));
        no_error();
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 2));
        sh_module_release(m);
    }
}

Test(compile_modules, recompile_wants_a_graph_module_and_may_be_asked_twice) {
    SH_SCOPE {
        sh_module *net = net_of(false), *m = graph_module();
        cr_expect(ne(int, sh_graph_module_recompile(net), SH_OK));
        expect_error("no graph module");
        cr_expect(sh_graph_module_compiled(net) == NULL);
        cr_expect(eq(int, sh_graph_module_recompile(m), SH_OK));
        cr_expect(eq(int, sh_graph_module_recompile(m), SH_OK));
        cr_expect(sh_forward(m, image(2)) != NULL);
        sh_module *again = sh_symbolic_trace(m, SH_INPUTS(image(2)), NULL);
        cr_assert(again != NULL);
        cr_expect(same_bits(sh_forward(again, image(2)), sh_forward(m, image(2))));
        no_error();
        sh_module_release(again);
        sh_module_release(m);
        sh_module_release(net);
    }
}

/* ---- any batch ---- */

static sh_value flattens_by_size(sh_values in, void *user) {
    sh_tensor *x = in.at[0].as.tensor;
    const int64_t n = sh_tensor_size(x, 0), wide = sh_tensor_size(x, 1);
    (void)user;
    x = sh_reshape(sh_add(x, 1.0), SH_SIZES(n * wide));
    x = sh_cat(SH_LIST(x, sh_zeros(SH_SIZES(2 * n + 1))));
    return sh_value_tensor(sh_mul(x, n));
}
FUNCTION(squares_the_size, const int64_t n = sh_tensor_size(x, 0);
         return sh_value_tensor(sh_zeros(SH_SIZES(n * n)));)
FUNCTION(branches_on_the_size, return sh_value_tensor(sh_tensor_size(x, 0) > 5 ? sh_neg(x) : sh_exp(x));)
FUNCTION(loops_over_the_size, sh_tensor *z = sh_zeros(SH_SIZES(3));
         for (int64_t i = 0; i < sh_tensor_size(x, 0); i++) z = sh_add(z, sh_select(x, 0, i));
         return sh_value_tensor(z);)
FUNCTION(halves_the_size, return sh_value_tensor(sh_narrow(x, 0, 0, sh_tensor_size(x, 0) / 2));)

static sh_compile_options for_any_batch(void) {
    sh_compile_options options = SH_COMPILE_OPTIONS_INIT;
    options.any_batch = options.exact = true;
    return options;
}

Test(compile_modules, one_trace_serves_every_batch_size_from_two_on) {
    SH_SCOPE {
        const sh_compile_options any = for_any_batch();
        sh_compiled *c = sh_compile_function(flattens_by_size, NULL, &any);
        for (int64_t n = 2; n < 20; n++)
            for (int i = 0; i < 2; i++)
                cr_expect(same_bits(sh_compiled_run(c, some(n, 3)),
                                    call_eager(flattens_by_size, NULL, some(n, 3), NULL)),
                          "N = %d", (int)n);
        no_error();
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 1));
        cr_expect(eq(u64, sh_compiled_stats(c).resized, 17));
        cr_expect(
            same_bits(sh_compiled_run(c, some(1, 3)), call_eager(flattens_by_size, NULL, some(1, 3), NULL)));
        cr_expect(
            same_bits(sh_compiled_run(c, some(7, 4)), call_eager(flattens_by_size, NULL, some(7, 4), NULL)));
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 3));
        sh_compiled_free(c);
    }
}

Test(compile_modules, a_net_is_traced_once_for_every_batch_size) {
    SH_SCOPE {
        const sh_compile_options any = for_any_batch();
        sh_module *net = net_of(false);
        sh_compiled *c = sh_compile(net, &any);
        for (int64_t n = 2; n < 8; n++)
            cr_expect(same_bits(sh_compiled_run(c, image(n)), sh_forward(net, image(n))));
        no_error();
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 1));
        sh_compiled_free(c);
        sh_module_release(net);
    }
}

Test(compile_modules, what_training_writes_makes_no_new_trace_for_another_batch_size) {
    SH_SCOPE {
        const sh_compile_options any = for_any_batch();
        sh_manual_seed(1);
        sh_module *net = net_of(true);
        sh_manual_seed(1);
        sh_module *same = net_of(true);
        sh_compiled *c = sh_compile(net, &any);
        for (int64_t n = 2; n < 6; n++)
            cr_expect(same_bits(sh_compiled_run(c, image(n)), sh_forward(same, image(n))));
        no_error();
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, 1));
        cr_expect(same_bits(sh_module_buffer(net, "1.running_var"), sh_module_buffer(same, "1.running_var")));
        sh_compiled_free(c);
        sh_module_release(net);
        sh_module_release(same);
    }
}

Test(compile_modules, what_is_not_affine_in_the_batch_size_is_an_error_that_names_the_call) {
    SH_SCOPE {
        const struct {
            sh_traceable function;
            const char *says;
        } cases[] = {{squares_the_size, "%zeros"},
                     {branches_on_the_size, "%exp"},
                     {halves_the_size, "%narrow"},
                     {loops_over_the_size, "%select_4"}};
        const sh_compile_options any = for_any_batch();
        for (size_t i = 0; i < 4; i++) {
            sh_compiled *c = sh_compile_function(cases[i].function, NULL, &any);
            cr_expect(sh_compiled_run(c, some(4, 3)) == NULL);
            expect_error(cases[i].says);
            sh_compiled_free(c);
        }
    }
}

/* ---- memory that fails ---- */

static bool compile_and_call(void) {
    sh_compiled *c = sh_compile_function(x_plus_yx, NULL, NULL);
    sh_tensor *x = sh_ones(SH_SIZES(40, 3));
    bool worked = c && x && call_compiled(c, x, x) && call_compiled(c, x, x);
    char *report = worked ? sh_compiled_report(c) : NULL;
    free(report);
    sh_compiled_free(c);
    return worked;
}

static bool compile_and_call_net(void) {
    static sh_module *net;
    if (!net) net = net_of(false);
    sh_compiled *c = net ? sh_compile(net, NULL) : NULL;
    const bool worked = c && sh_compiled_run(c, image(2));
    sh_compiled_free(c);
    return worked;
}

Test(compile_modules, every_allocation_fails_once_and_nothing_is_lost) {
    compile_and_call();
    fail_each("a function", compile_and_call);
    compile_and_call_net();
    fail_each("a net", compile_and_call_net);
}
