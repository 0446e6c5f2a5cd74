/* Graph modules: run, edited, hung in trees, pruned, saved. */
#include <stdlib.h>

#include "tests/fail_each.h"
#include "tests/modes.h"
#include "tests/sample.h"

TestSuite(graph_module);

static sh_tensor *net_forward(sh_module *self, sh_tensor *x) {
    return sh_relu(sh_forward(sh_module_child(self, "body.linear"), x));
}
static const sh_module_type net_type = {.name = "Net", .forward = net_forward};

static sh_module *new_net(void) {
    sh_module *net = sh_module_new(&net_type);
    sh_module_give(net, "body", sh_nn_sequential(sh_nn_tanh()));
    sh_module_give(net, "body.linear", sh_nn_linear(2, 2));
    sh_module_give(net, "unused", sh_nn_sequential(sh_nn_relu()));
    return net;
}

static sh_module *trace(sh_module *net) {
    return sh_symbolic_trace(net, SH_INPUTS(sh_zeros(SH_SIZES(3, 2))), NULL);
}

Test(graph_module, gives_what_the_module_gives_and_shares_its_tensors) {
    sh_module *net = new_net(), *traced = trace(net);
    cr_assert(traced != NULL);
    sh_tensor *x = sh_randn(SH_SIZES(3, 2));
    cr_expect(sample_same(sh_forward(traced, x), sh_forward(net, x)));
    cr_expect(sh_module_parameter(traced, "body.linear.weight") ==
              sh_module_parameter(net, "body.linear.weight"));
    cr_expect(sh_module_child(traced, "unused") == NULL, "only what the graph uses");
    char *text = sh_module_text(traced);
    cr_expect(eq(
        str, text,
        "GraphModule(\n  (body): Module(\n    (linear): Linear(in_features=2, out_features=2, bias=True)\n  )\n)"));
    free(text);
    sh_module_release(net);
    cr_expect(sh_forward(traced, x) != NULL, "it keeps what it uses");
    sh_module_release(traced);
}

Test(graph_module, an_edit_counts_from_the_next_call_on) {
    sh_module *net = new_net(), *traced = trace(net);
    sh_tensor *x = sh_randn(SH_SIZES(3, 2)), *before = sh_forward(traced, x);
    SH_EACH_NODE(node, sh_graph_module_graph(traced))
    if (strcmp(sh_node_target(node), "relu") == 0) sh_node_set_target(node, "neg");
    sh_tensor *linear = sh_forward(sh_module_child(net, "body.linear"), x);
    cr_expect(sample_same(before, sh_relu(linear)));
    cr_expect(sample_same(sh_forward(traced, x), sh_neg(linear)));
    sh_module_release(net);
    sh_module_release(traced);
}

Test(graph_module, calling_one_under_a_mode_obeys_it_and_shows_where) {
    sh_module *net = new_net(), *traced = trace(net);
    sh_mode *mode = noting_mode("M");
    sh_tensor *x = sh_zeros(SH_SIZES(3, 2));
    SH_WITH_MODE(mode) sh_forward(traced, x);
    cr_expect(eq(str, seen, "M:linear M:relu "));
    sh_mode_release(mode);
    sh_module_release(net);
    sh_module_release(traced);
}

Test(graph_module, hangs_in_another_module_and_is_traced_through) {
    sh_module *net = new_net(), *traced = trace(net), *outer = sh_nn_sequential(traced, sh_nn_tanh());
    sh_tensor *x = sh_randn(SH_SIZES(3, 2));
    cr_expect(sample_same(sh_forward(outer, x), sh_tanh(sh_forward(net, x))));
    sh_module *again = trace(outer);
    cr_assert(again != NULL, "%s", sh_error() ? sh_error()->message : "");
    cr_expect(sh_graph_find(sh_graph_module_graph(again), "_0_body_linear") != NULL);
    cr_expect(sample_same(sh_forward(again, x), sh_forward(outer, x)));
    sh_module_release(again);
    sh_module_release(outer);
    sh_module_release(net);
}

Test(graph_module, submodules_are_added_called_deleted_and_swept) {
    sh_module *net = new_net(), *traced = trace(net), *act = sh_nn_sigmoid();
    sh_graph *g = sh_graph_module_graph(traced);
    cr_expect(sh_graph_module_add_submodule(traced, "extra.deep.act", act) == SH_OK);
    sh_node *out = sh_graph_output_node(g), *relu = sh_graph_find(g, "relu"), *call = NULL;
    SH_INSERTING_BEFORE(out)
    call = sh_graph_create_node(g, SH_CALL_MODULE, "extra.deep.act", SH_ARGS(relu), SH_NO_KWARGS, NULL);
    sh_node_set_arg(out, 0, sh_arg_node(call));
    sh_tensor *x = sh_randn(SH_SIZES(3, 2));
    cr_expect(sample_same(sh_forward(traced, x), sh_sigmoid(sh_forward(net, x))));
    size_t gone = 9;
    cr_expect(sh_graph_module_delete_all_unused_submodules(traced, &gone) == SH_OK && gone == 0);
    sh_node_set_arg(out, 0, sh_arg_node(relu));
    sh_graph_erase_node(call);
    cr_expect(sh_graph_module_delete_all_unused_submodules(traced, &gone) == SH_OK && gone == 1);
    cr_expect(sh_module_child(traced, "extra") == NULL && sh_module_child(traced, "body.linear") != NULL);
    cr_expect(sh_module_delete(traced, "body.linear") == SH_OK);
    cr_expect(sh_forward(traced, x) == NULL);
    cr_expect(failed_with(SH_ERROR_VALUE, "has no submodule body.linear; while executing %body_linear"));
    sh_module_release(act);
    sh_module_release(net);
    sh_module_release(traced);
}

Test(graph_module, a_target_that_the_root_has_not_is_an_error) {
    sh_module *net = new_net();
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_graph_output(
        g, sh_arg_node(sh_graph_create_node(g, SH_CALL_MODULE, "no", SH_ARGS(x), SH_NO_KWARGS, NULL)));
    cr_expect(sh_graph_module_new(net, g) == NULL);
    cr_expect(failed_with(SH_ERROR_VALUE, "node %no calls no, which Net has not"));
    cr_expect(sh_graph_module_graph(net) == NULL && !sh_error());
    sh_module_release(net);
}

Test(graph_module, another_graph_takes_the_place_of_the_first) {
    sh_module *net = new_net(), *traced = trace(net);
    sh_graph *g = sh_graph_new();
    sh_graph_output(g, sh_arg_node(sh_graph_call_function(g, "neg", sh_graph_placeholder(g, "x"))));
    cr_expect(sh_graph_module_set_graph(traced, g) == SH_OK);
    cr_expect(eq(dbl, first(sh_forward(traced, number(2))), -2));
    cr_expect(sh_graph_module_set_graph(net, sh_graph_new()) < 0);
    cr_expect(failed_with(SH_ERROR_NULL, "no graph module"));
    sh_module_release(net);
    sh_module_release(traced);
}

Test(graph_module, a_copy_of_the_graph_keeps_the_modules_that_it_shares) {
    sh_module *net = new_net(), *traced = trace(net);
    sh_tensor *x = sh_randn(SH_SIZES(3, 2)), *y = sh_forward(net, x);
    sh_graph *copy = sh_graph_clone(sh_graph_module_graph(traced));
    cr_assert(copy != NULL);
    sh_module_release(traced);
    sh_module_release(net);
    cr_expect(sh_graph_lint(copy) == SH_OK);
    sh_list *results = sh_graph_run(copy, SH_LIST(x));
    cr_expect(results && sample_same(sh_list_at(results, 0), y));
    sh_graph_free(copy);
}

/* Each is called, and nobody uses what it gives. */
static sh_tensor *idle_forward(sh_module *self, sh_tensor *x) {
    for (size_t i = 0; i < sh_module_children(self); i++) sh_forward(sh_module_child_at(self, i), x);
    return sh_neg(x);
}
static const sh_module_type idle_type = {.name = "Idle", .forward = idle_forward};

Test(graph_module, modules_that_write_or_draw_are_impure_as_long_as_they_do) {
    sh_module *net = sh_module_new(&idle_type);
    sh_module_give(net, "relu", sh_nn_relu());
    sh_module_give(net, "inplace", sh_nn_relu(.inplace = true));
    sh_module_give(net, "drop", sh_nn_dropout());
    sh_module_give(net, "bn", sh_nn_batch_norm2d(2));
    sh_module *traced = sh_symbolic_trace(net, SH_INPUTS(sh_zeros(SH_SIZES(1, 2, 2, 2))), NULL);
    sh_graph *g = sh_graph_module_graph(traced);
    cr_assert(g != NULL, "%s", sh_error() ? sh_error()->message : "");
    cr_expect(not(sh_node_is_impure(sh_graph_find(g, "relu"))));
    cr_expect(sh_node_is_impure(sh_graph_find(g, "inplace")));
    cr_expect(sh_node_is_impure(sh_graph_find(g, "drop")));
    cr_expect(sh_node_is_impure(sh_graph_find(g, "bn")));
    cr_expect(eq(i64, sh_item_int(sh_module_buffer(net, "bn.num_batches_tracked")), 0),
              "a trace counts no batch");
    sh_module_eval(traced);
    cr_expect(not(sh_node_is_impure(sh_graph_find(g, "drop"))));
    cr_expect(not(sh_node_is_impure(sh_graph_find(g, "bn"))));
    sh_module_release(traced);
    sh_module_release(net);
}

static bool build_and_edit(void) {
    sh_module *net = new_net();
    sh_module *traced = sh_error() ? NULL : trace(net), *act = sh_nn_sigmoid();
    const bool done = traced && sh_graph_module_add_submodule(traced, "a.b", act) == SH_OK &&
                      sh_graph_module_delete_all_unused_submodules(traced, NULL) == SH_OK;
    sh_module_release(act);
    sh_module_release(traced);
    sh_module_release(net);
    return done;
}

Test(graph_module, every_allocation_may_fail) { fail_each("graph modules", build_and_edit); }
