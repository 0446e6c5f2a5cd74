/* What is made of interpreters: transformer, shape propagation, timing. */
#include "tests/graphs.h"

/* relu(x @ w + 1) */
static sh_graph *small_net(void) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_graph_set_attr(g, "w", sh_ones(SH_SIZES(3, 4)));
    sh_node *mm = sh_graph_call_function(g, "matmul", x, sh_graph_get_attr(g, "w"));
    sh_node *add = sh_graph_call_function(g, "add", mm, 1.0);
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "relu", add)));
    return g;
}

/* ---- transformer ---- */

static sh_status neg_for_relu(sh_transformer *t, const sh_node *node, sh_args args, sh_kwargs kwargs,
                              sh_arg *result) {
    sh_graph *to = sh_transformer_graph(t);
    if (strcmp(sh_node_target(node), "relu") != 0) return sh_transform_node(t, node, args, kwargs, result);
    ++*(int *)sh_transformer_user(t);
    *result = sh_arg_node(sh_graph_call_function(to, "neg", sh_graph_call_function(to, "abs", args.at[0])));
    return SH_OK;
}

Test(transformer, a_hook_writes_other_nodes_and_the_rest_is_copied) {
    sh_graph *g = small_net();
    int replaced = 0;
    char *before = sh_graph_text(g);
    sh_node_set_meta_int(sh_graph_find(g, "add"), "rank", 7);
    sh_graph *other =
        sh_graph_transform(g, &(sh_transformer_options){.user = &replaced, .call_function = neg_for_relu});
    cr_assert(other != NULL);
    cr_expect(
        text_is(sh_graph_text(other),
                "graph():\n"
                "    %x : [num_users=1] = placeholder[target=x]\n"
                "    %w : [num_users=1] = get_attr[target=w]\n"
                "    %matmul : [num_users=1] = call_function[target=matmul](args = (%x, %w), kwargs = {})\n"
                "    %add : [num_users=1] = call_function[target=add](args = (%matmul, 1.0), kwargs = {})\n"
                "    %abs_1 : [num_users=1] = call_function[target=abs](args = (%add,), kwargs = {})\n"
                "    %neg : [num_users=1] = call_function[target=neg](args = (%abs_1,), kwargs = {})\n"
                "    return neg"));
    cr_expect(eq(int, replaced, 1));
    cr_expect(sh_node_meta(sh_graph_find(other, "add"), "rank").as.i == 7);
    cr_expect(sh_graph_attr(other, "w") == sh_graph_attr(g, "w"));
    cr_expect(text_is(sh_graph_text(g), before));
    cr_expect(eq(dbl, run_sum(other, SH_LIST(sh_ones(SH_SIZES(2, 3)))), -32));
    free(before);
    sh_graph_free(other);
    sh_graph_free(g);
}

static sh_status fold_input(sh_transformer *t, const sh_node *node, sh_args args, sh_kwargs kwargs,
                            sh_arg *result) {
    (void)t, (void)node, (void)args, (void)kwargs;
    *result = SH_ARG(2.5);
    return SH_OK;
}
static sh_status foreign(sh_transformer *t, const sh_node *node, sh_args args, sh_kwargs kwargs,
                         sh_arg *result) {
    (void)t, (void)args, (void)kwargs;
    *result = sh_arg_node((sh_node *)(uintptr_t)node);
    return SH_OK;
}

Test(transformer, a_literal_may_stand_for_a_node_and_a_foreign_node_may_not) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "relu", x)));
    sh_graph *other = sh_graph_transform(g, &(sh_transformer_options){.placeholder = fold_input});
    cr_expect(text_is(sh_graph_text(other),
                      "graph():\n"
                      "    %relu : [num_users=1] = call_function[target=relu](args = (2.5,), kwargs = {})\n"
                      "    return relu"));
    sh_graph_free(other);
    cr_expect(sh_graph_transform(g, &(sh_transformer_options){.placeholder = foreign}) == NULL);
    cr_expect(error_says(SH_ERROR_VALUE, "%x is of another graph than the new one; while transforming %x"));
    sh_graph_free(g);
}

static sh_status keep_count(sh_transformer *t, const sh_node *node, sh_args args, sh_kwargs kwargs,
                            sh_arg *result) {
    ++*(int *)sh_transformer_user(t);
    return sh_transform_node(t, node, args, kwargs, result);
}

Test(transformer, submodules_are_there_after_the_old_graph_is_gone) {
    int modules = 0;
    sh_graph *g = sh_graph_new();
    sh_module *net = sh_nn_sequential(sh_nn_relu());
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_graph_output(g, SH_ARG(sh_graph_create_node(g, SH_CALL_MODULE, "0", SH_ARGS(x), SH_NO_KWARGS, NULL)));
    sh_graph_set_module(g, net);
    sh_graph *other =
        sh_graph_transform(g, &(sh_transformer_options){.user = &modules, .call_module = keep_count});
    sh_graph_free(g);
    sh_module_release(net);
    cr_assert(other && modules == 1);
    cr_expect(eq(dbl, run_sum(other, SH_LIST(SH_FLOATS(-3, 2))), 2));
    sh_graph_free(other);
}

/* ---- shapes ---- */

static bool spec_is(const sh_graph *g, const char *name, sh_dtype dtype, int ndim, int64_t first,
                    int64_t last) {
    const sh_spec *s = sh_node_spec(sh_graph_find(g, name));
    return s && s->dtype == dtype && s->ndim == ndim && s->sizes[0] == first && s->sizes[ndim - 1] == last;
}

static sh_status count(sh_mode *mode, sh_call *call) {
    (void)call;
    ++*(int *)sh_mode_user(mode);
    return SH_PASS;
}

Test(shapes, they_are_found_without_computing_from_the_specs_of_the_inputs) {
    sh_graph *g = small_net();
    int calls = 0;
    sh_mode *mode = sh_mode_new(count, &(sh_mode_options){.user = &calls});
    sh_node_set_spec(sh_graph_find(g, "x"), &(sh_spec){.dtype = SH_F32, .ndim = 2, .sizes = {5, 3}});
    SH_WITH_MODE(mode) cr_assert(sh_graph_propagate_shapes(g, (sh_arguments){NULL, 0}) == SH_OK);
    cr_expect(spec_is(g, "matmul", SH_F32, 2, 5, 4) && spec_is(g, "relu", SH_F32, 2, 5, 4));
    cr_expect(spec_is(g, "w", SH_F32, 2, 3, 4));
    cr_expect(eq(int, calls, 0));
    sh_node_set_spec(sh_graph_find(g, "x"), &(sh_spec){.dtype = SH_F32, .ndim = 2, .sizes = {-1, 3}});
    cr_expect(sh_graph_propagate_shapes(g, (sh_arguments){NULL, 0}) < 0);
    cr_expect(error_says(SH_ERROR_SHAPE, "size that is not known; while executing %x"));
    sh_mode_release(mode);
    sh_graph_free(g);
}

Test(shapes, a_batch_norm_in_training_counts_no_batch_for_them) {
    SH_SCOPE {
        sh_module *bn = sh_nn_batch_norm2d(2);
        sh_module *net = sh_nn_sequential(bn);
        sh_tensor *x = sh_tensor_new_on(SH_META, SH_F32, SH_SIZES(3, 2, 4, 4));
        sh_module *traced = sh_symbolic_trace(net, SH_INPUTS(x), NULL);
        cr_assert(traced != NULL);
        cr_expect(eq(int, sh_graph_propagate_shapes(sh_graph_module_graph(traced), SH_ARGUMENTS(x)), SH_OK));
        cr_expect(eq(i64, sh_item_int(sh_module_buffer(bn, "num_batches_tracked")), 0));
        const sh_spec *spec = sh_node_spec(sh_graph_find(sh_graph_module_graph(traced), "_0"));
        cr_expect(spec && spec->ndim == 4 && spec->sizes[1] == 2);
        sh_module_release(traced);
        sh_module_release(net);
    }
}

Test(shapes, they_are_those_of_a_run_where_inputs_are_given) {
    sh_graph *g = small_net();
    cr_assert(sh_graph_propagate_shapes(g, SH_ARGUMENTS(sh_ones(SH_SIZES(7, 3)))) == SH_OK);
    cr_expect(spec_is(g, "x", SH_F32, 2, 7, 3) && spec_is(g, "relu", SH_F32, 2, 7, 4));
    cr_assert(sh_graph_propagate_shapes(g, SH_ARGUMENTS(sh_tensor_new_on(SH_META, SH_F64, SH_SIZES(2, 3)))) <
              0);
    cr_expect(sh_error() && strstr(message(), "while executing %matmul"));
    sh_clear_error();
    sh_graph_free(g);
}

/* ---- timing ---- */

Test(timing, runs_are_counted_and_each_node_has_its_time_and_flops) {
    sh_graph *g = small_net();
    sh_timing *t = sh_timing_new(g);
    sh_tensor *x = sh_ones(SH_SIZES(2, 3));
    sh_value y;
    for (int i = 0; i < 4; i++) cr_assert(sh_timing_run(t, SH_ARGUMENTS(x), &y) == SH_OK);
    cr_expect(eq(dbl, sh_item(sh_sum(y.as.tensor)), 32));
    cr_expect(eq(sz, sh_timing_runs(t), 3)); /* the first one warmed up */
    sh_node *mm = sh_graph_find(g, "matmul");
    cr_expect(eq(dbl, sh_timing_node_flops(t, mm), 2 * 2 * 3 * 4));
    cr_expect(eq(dbl, sh_timing_node_flops(t, sh_graph_find(g, "relu")), 0));
    cr_expect(sh_timing_node_ns(t, mm) > 0 && sh_timing_node_ns(t, mm) <= sh_timing_run_ns(t));
    char *table = sh_timing_table(t);
    cr_expect(table && strstr(table, "3 runs, ") && strstr(table, "matmul  ") && strstr(table, "GFLOP/s"));
    free(table);
    sh_timing_free(t);
    sh_graph_free(g);
}

/* ---- memory ---- */

static bool transform_and_time(void) {
    sh_graph *g = small_net(), *other = NULL;
    int replaced = 0;
    sh_tensor *x = sh_ones(SH_SIZES(2, 3));
    sh_value y;
    bool done = g && x && sh_graph_size(g) == 6 && sh_graph_propagate_shapes(g, SH_ARGUMENTS(x)) >= 0;
    if (done)
        other = sh_graph_transform(
            g, &(sh_transformer_options){.user = &replaced, .call_function = neg_for_relu});
    sh_timing *t = other ? sh_timing_new(other) : NULL;
    done = t && sh_timing_run(t, SH_ARGUMENTS(x), &y) >= 0 && sh_timing_run(t, SH_ARGUMENTS(x), &y) >= 0;
    char *table = done ? sh_timing_table(t) : NULL;
    done = table != NULL;
    free(table);
    sh_timing_free(t);
    sh_graph_free(other);
    sh_graph_free(g);
    return done;
}

Test(timing, each_failed_allocation_is_an_error_and_leaves_nothing) {
    cr_expect(each_allocation_may_fail(transform_and_time));
}
