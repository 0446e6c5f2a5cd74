/* Modules and composite ops taken apart: the same bits from smaller pieces. */
#include "tests/graphs.h"
#include "tests/sample.h"

TestSuite(inline_modules);
TestSuite(decompose);

static size_t calls(const sh_graph *g, sh_opcode opcode, const char *target) {
    return sh_graph_find_nodes(g, opcode, target, NULL, 0);
}

/* How much the pass changed; the graph gives the same bits. */
static size_t changed(sh_graph *g, sh_pass pass, sh_tensor *x) {
    size_t n = 0, again = 0;
    sh_list *before = sh_graph_run(g, SH_LIST(x));
    cr_assert(before != NULL, "%s", message());
    cr_expect(pass(g, &n) == SH_OK && sh_graph_lint(g) == SH_OK, "%s", message());
    sh_list *after = sh_graph_run(g, SH_LIST(x));
    cr_assert(after != NULL, "%s", message());
    for (size_t i = 0; i < sh_list_size(before); i++)
        cr_expect(sample_same(sh_list_at(after, i), sh_list_at(before, i)), "output %zu", i);
    cr_expect(pass(g, &again) == SH_OK && again == 0, "nothing is left");
    return n;
}

static sh_module *conv_net(void) {
    sh_module *net = sh_nn_sequential(sh_nn_conv2d(1, 2, 3), sh_nn_batch_norm2d(2),
                                      sh_nn_relu(.inplace = true), sh_nn_identity(), sh_nn_dropout());
    sh_module_append(net, sh_nn_flatten());
    sh_module_append(net, sh_nn_linear(8, 3));
    sh_module_append(net, sh_nn_softmax(1));
    if (net) sh_module_eval(net);
    return net;
}

Test(inline_modules, built_in_modules_become_ops_on_their_parameters) {
    sh_module *net = conv_net();
    sh_tensor *x = sh_randn(SH_SIZES(2, 1, 4, 4));
    sh_module *traced = sh_symbolic_trace(net, SH_INPUTS(x), NULL);
    sh_graph *g = sh_graph_module_graph(traced);
    cr_expect(eq(sz, changed(g, sh_pass_inline_modules, x), 8));
    cr_expect(eq(sz, calls(g, SH_CALL_MODULE, NULL), 0));
    cr_expect(sh_graph_find(g, "_0") && strcmp(sh_node_target(sh_graph_find(g, "_0")), "conv2d") == 0,
              "the call keeps its name");
    cr_expect(sh_node_spec(sh_graph_find(g, "_0")) != NULL);
    cr_expect(eq(sz, calls(g, SH_GET_ATTR, "0.weight"), 1));
    cr_expect(eq(sz, calls(g, SH_CALL_FUNCTION, "relu_"), 1));
    sh_module_release(traced);
    sh_module_release(net);
}

Test(inline_modules, a_norm_in_training_stays_and_moves_its_statistics) {
    sh_module *net = sh_nn_sequential(sh_nn_batch_norm2d(2));
    sh_tensor *x = sh_randn(SH_SIZES(2, 2, 3, 3));
    sh_module *traced = sh_symbolic_trace(net, SH_INPUTS(x), NULL);
    sh_graph *g = sh_graph_module_graph(traced);
    size_t n = 0;
    cr_expect(sh_pass_inline_modules(g, &n) == SH_OK && n == 0, "%s", message());
    for (int i = 0; i < 2; i++) sh_graph_run(g, SH_LIST(x));
    cr_expect(eq(dbl, sh_item(sh_module_buffer(net, "0.num_batches_tracked")), 2));
    sh_module_release(traced);
    sh_module_release(net);
}

static sh_value two(sh_module *self, sh_values in) {
    sh_tensor *x = in.at[0].as.tensor;
    return sh_list_value(SH_LIST(sh_forward(sh_module_child(self, "linear"), x), sh_neg(x)));
}
static sh_value outer(sh_module *self, sh_values in) {
    const sh_value pair = sh_module_call(sh_module_child(self, "inner"), in);
    if (pair.tag != SH_TAG_TENSORS) return sh_none();
    return sh_value_tensor(sh_add(pair.as.tensors[0], pair.as.tensors[1]));
}
static bool inner_is_leaf(const char *path, const sh_module *module, void *user) {
    (void)module, (void)user;
    return strcmp(path, "inner") == 0;
}

static sh_module *nested(bool as_graph) {
    static const sh_module_type two_type = {.name = "Two", .forward_values = two};
    static const sh_module_type outer_type = {.name = "Outer", .forward_values = outer};
    sh_module *net = sh_module_new(&outer_type), *inner = sh_module_new(&two_type);
    sh_module_give(inner, "linear", sh_nn_linear(3, 3));
    sh_module *held = as_graph ? sh_symbolic_trace(inner, SH_INPUTS(sh_zeros(SH_SIZES(2, 3))), NULL)
                               : sh_module_keep(inner);
    sh_module_give(net, "inner", held);
    sh_module_release(inner);
    return net;
}

Test(inline_modules, nested_graph_modules_and_modules_with_several_results) {
    for (int as_graph = 0; as_graph < 2; as_graph++) SH_SCOPE {
            sh_module *net = nested(as_graph);
            sh_tensor *x = sh_randn(SH_SIZES(2, 3));
            sh_graph *g = sh_trace(net, SH_INPUTS(x), &(sh_trace_options){.is_leaf = inner_is_leaf});
            cr_assert(g != NULL, "%s", message());
            cr_expect(eq(sz, calls(g, SH_CALL_FUNCTION, SH_GETITEM), 2));
            cr_expect(eq(sz, changed(g, sh_pass_inline_modules, x), as_graph ? 2u : 1u));
            cr_expect(eq(sz, calls(g, SH_CALL_FUNCTION, SH_GETITEM), 0));
            cr_expect(eq(sz, calls(g, SH_GET_ATTR, "inner.linear.weight"), 1));
            sh_graph_free(g);
            sh_module_release(net);
        }
}

static sh_status hook(sh_module *module, sh_values inputs, sh_value *output, void *user) {
    (void)module, (void)inputs, (void)output, (void)user;
    return SH_OK;
}

static bool only_convs(const sh_node *node, void *user) {
    (void)user;
    return sh_module_is(sh_node_module(node), "Conv2d");
}

Test(inline_modules, hooks_unknown_shapes_and_what_is_not_chosen_stay) {
    sh_module *net = conv_net();
    sh_tensor *x = sh_randn(SH_SIZES(2, 1, 4, 4));
    sh_graph *g = sh_trace(net, SH_INPUTS(x), NULL);
    size_t n = 0;
    cr_expect(sh_inline_modules(g, only_convs, NULL, &n) == SH_OK && n == 1);
    SH_EACH_NODE(node, g) sh_node_set_spec(node, NULL);
    cr_expect(sh_pass_inline_modules(g, &n) == SH_OK && n == 1 && sh_error() == NULL);
    sh_graph_free(g);
    sh_module_hook_after(sh_module_child(net, "6"), hook, NULL);
    g = sh_trace(net, SH_INPUTS(x), NULL);
    changed(g, sh_pass_inline_modules, x);
    cr_expect(eq(sz, calls(g, SH_CALL_MODULE, NULL), 1));
    sh_graph_free(g);
    sh_module_release(net);
}

static bool inline_all(void) {
    sh_module *net = conv_net();
    sh_graph *g = net && !sh_error() ? sh_trace(net, SH_INPUTS(sh_zeros(SH_SIZES(1, 1, 4, 4))), NULL) : NULL;
    size_t n = 0;
    const bool done = g && sh_pass_inline_modules(g, &n) == SH_OK && n == 8;
    sh_graph_free(g);
    sh_module_release(net);
    return done;
}

Test(inline_modules, each_allocation_may_fail_and_bad_input_is_an_error) {
    size_t n = 0;
    cr_expect(each_allocation_may_fail(inline_all));
    cr_expect(sh_pass_inline_modules(NULL, &n) < 0 && error_says(SH_ERROR_NULL, "graph is NULL"));
}

/* ---- composite ops ---- */

Test(decompose, linear_becomes_what_its_composite_kernel_does) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *v = sh_graph_placeholder(g, "v");
    sh_node *linear = sh_graph_create_node(g, SH_CALL_FUNCTION, "linear", SH_ARGS(x, x),
                                           SH_KWARGS(SH_KWARG("bias", v)), NULL);
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "relu", linear)));
    sh_tensor *a = sh_randn(SH_SIZES(3, 3)), *b = sh_randn(SH_SIZES(3));
    cr_assert(sh_graph_propagate_shapes(g, SH_ARGUMENTS(a, b)) == SH_OK);
    size_t n = 0;
    sh_list *before = sh_graph_run(g, SH_LIST(a, b));
    cr_expect(sh_pass_decompose(g, &n) == SH_OK && n == 1 && sh_graph_lint(g) == SH_OK, "%s", message());
    cr_expect(text_is(
        sh_graph_text(g),
        "graph():\n    %x : [num_users=2] = placeholder[target=x]\n"
        "    %v : [num_users=1] = placeholder[target=v]\n"
        "    %transpose : [num_users=1] = call_function[target=transpose](args = (%x, 0, 1), kwargs = {})\n"
        "    %matmul : [num_users=1] = call_function[target=matmul](args = (%x, %transpose), kwargs = {})\n"
        "    %linear : [num_users=1] = call_function[target=add](args = (%matmul, %v), kwargs = {})\n"
        "    %relu : [num_users=1] = call_function[target=relu](args = (%linear,), kwargs = {})\n"
        "    return relu"));
    cr_expect(sh_allclose(sh_list_at(sh_graph_run(g, SH_LIST(a, b)), 0), sh_list_at(before, 0)));
    cr_expect(sh_pass_decompose(g, &n) == SH_OK && n == 1, "nothing is left");
    sh_graph_free(g);
}

Test(decompose, dropout_at_rest_is_its_input_and_in_training_draws_the_same) {
    for (int training = 0; training < 2; training++) SH_SCOPE {
            sh_graph *g = sh_graph_new();
            sh_node *x = sh_graph_placeholder(g, "x");
            const sh_kwargs how = SH_KWARGS(SH_KWARG("training", (bool)training));
            sh_node *drop = sh_graph_create_node(g, SH_CALL_FUNCTION, "dropout", SH_ARGS(x), how, NULL);
            sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "neg", drop)));
            sh_tensor *a = sh_randn(SH_SIZES(50));
            sh_graph_propagate_shapes(g, SH_ARGUMENTS(a));
            size_t n = 0;
            sh_manual_seed(3);
            sh_list *before = sh_graph_run(g, SH_LIST(a));
            cr_expect(sh_pass_decompose(g, &n) == SH_OK && n == 1);
            sh_manual_seed(3);
            cr_expect(sample_same(sh_list_at(sh_graph_run(g, SH_LIST(a)), 0), sh_list_at(before, 0)));
            cr_expect(eq(sz, calls(g, SH_CALL_FUNCTION, "rand_like"), (size_t)training));
            sh_graph_free(g);
        }
}

Test(decompose, views_in_place_forms_and_unknown_shapes_stay) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *y = sh_graph_call_function(g, "to", x, sh_arg_dtype(SH_F64));
    sh_graph_create_node(g, SH_CALL_FUNCTION, "addmm_", SH_ARGS(y, y, y), SH_NO_KWARGS, NULL);
    sh_graph_output(g, SH_ARG(y));
    size_t n = 0;
    sh_graph_propagate_shapes(g, SH_ARGUMENTS(sh_zeros(SH_SIZES(2, 2))));
    cr_expect(sh_pass_decompose(g, &n) == SH_OK && n == 0);
    sh_node *outer = NULL;
    SH_INSERTING_AFTER(y) outer = sh_graph_call_function(g, "outer", y, y);
    sh_node_set_spec(y, NULL);
    cr_expect(outer && sh_pass_decompose(g, &n) == SH_OK && n == 0);
    cr_expect(sh_pass_decompose(NULL, &n) < 0 && error_says(SH_ERROR_NULL, "graph is NULL"));
    sh_graph_free(g);
}

static bool decompose_one(void) {
    sh_graph *g = sh_graph_new();
    sh_node *x = g ? sh_graph_placeholder(g, "x") : NULL;
    const sh_spec spec = {.dtype = SH_F32, .ndim = 2, .sizes = {2, 2}};
    if (x) sh_node_set_spec(x, &spec);
    if (x) sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "linear", x, x)));
    size_t n = 0;
    const bool done = !sh_error() && sh_pass_decompose(g, &n) == SH_OK && n == 1;
    sh_graph_free(g);
    return done;
}

Test(decompose, each_allocation_may_fail) { cr_expect(each_allocation_may_fail(decompose_one)); }
