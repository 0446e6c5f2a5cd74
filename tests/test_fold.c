/* Constant folding: what is computed beforehand, and what must wait for the run. */
#include "tests/graphs.h"
#include "tests/sample.h"

TestSuite(fold_constants);

static sh_node *constant(sh_graph *g, const char *name, sh_tensor *t) {
    if (!t || sh_graph_set_attr(g, name, t) < 0) return NULL;
    return sh_graph_get_attr(g, name);
}

static size_t calls(const sh_graph *g) { return sh_graph_find_nodes(g, SH_CALL_FUNCTION, NULL, NULL, 0); }

/* How many nodes the pass changed; what the graph gives is the same bits, twice. */
static size_t folded(sh_graph *g, sh_tensor *x) {
    size_t n = 0, again = 0;
    sh_list *before = sh_graph_run(g, SH_LIST(x));
    cr_assert(before != NULL, "%s", message());
    cr_expect(sh_pass_fold_constants(g, &n) == SH_OK && sh_graph_lint(g) == SH_OK, "%s", message());
    for (int run = 0; run < 2; run++) {
        sh_list *after = sh_graph_run(g, SH_LIST(x));
        cr_assert(after != NULL, "%s", message());
        for (size_t i = 0; i < sh_list_size(before); i++)
            cr_expect(sample_same(sh_list_at(after, i), sh_list_at(before, i)), "run %d", run);
    }
    cr_expect(sh_pass_fold_constants(g, &again) == SH_OK && again == 0, "nothing is left to fold");
    return n;
}

Test(fold_constants, a_chain_on_a_constant_becomes_one_tensor) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *w = constant(g, "w", sh_randn(SH_SIZES(3, 4)));
    sh_node *t = sh_graph_call_function(g, "transpose", sh_graph_call_function(g, "exp", w), 0, 1);
    sh_node *half = sh_graph_call_function(g, "mul", t, 0.5);
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "matmul", x, half)));
    cr_expect(eq(sz, folded(g, sh_randn(SH_SIZES(2, 4))), 4),
              "the three calls and the constant that nobody needs");
    cr_expect(
        text_is(sh_graph_text(g),
                "graph():\n    %x : [num_users=1] = placeholder[target=x]\n"
                "    %mul : [num_users=1] = get_attr[target=mul_1]\n"
                "    %matmul : [num_users=1] = call_function[target=matmul](args = (%x, %mul), kwargs = {})\n"
                "    return matmul"));
    const sh_spec *spec = sh_node_spec(sh_graph_find(g, "mul"));
    cr_expect(spec && spec->ndim == 2 && spec->sizes[0] == 4 && spec->sizes[1] == 3);
    sh_graph_free(g);
}

Test(fold_constants, literals_alone_are_enough_and_random_ops_are_not) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_node *ramp = sh_graph_call_function(g, "sin", sh_graph_call_function(g, "arange", 4.0));
    sh_node *noise =
        sh_graph_call_function(g, "mul", sh_graph_call_function(g, "rand", sh_arg_list(SH_ARGS(4))), 0.0);
    sh_node *sum = sh_graph_call_function(g, "add", sh_graph_call_function(g, "add", x, ramp), noise);
    sh_graph_output(g, SH_ARG(sum));
    cr_expect(eq(sz, folded(g, sh_randn(SH_SIZES(4))), 2));
    cr_expect(eq(sz, calls(g), 4));
    sh_graph_free(g);
}

Test(fold_constants, what_is_written_to_or_returned_stays) {
    for (int kind = 0; kind < 4; kind++) SH_SCOPE {
            sh_graph *g = sh_graph_new();
            sh_node *x = sh_graph_placeholder(g, "x"),
                    *zeros = sh_graph_call_function(g, "zeros", sh_arg_list(SH_ARGS(4)));
            sh_node *view = sh_graph_call_function(g, "view", zeros, sh_arg_list(SH_ARGS(2, 2)));
            if (kind == 0) sh_graph_call_function(g, "add_", zeros, x);
            if (kind == 1) sh_graph_call_function(g, "add_", view, 1.0);
            sh_node *sum = sh_graph_call_function(g, "add", zeros, x);
            const sh_arg both = sh_arg_tuple(SH_ARGS(sum, kind == 2 ? zeros : view));
            sh_graph_output(g, kind < 2 ? SH_ARG(sum) : both);
            cr_expect(eq(sz, folded(g, sh_randn(SH_SIZES(4))), 0), "kind %d", kind);
            sh_graph_free(g);
        }
}

Test(fold_constants, a_constant_that_is_written_to_anywhere_is_none) {
    sh_graph *g = sh_graph_new();
    sh_tensor *w = sh_zeros(SH_SIZES(2));
    sh_node *x = sh_graph_placeholder(g, "x"), *once = constant(g, "w", w),
            *again = sh_graph_get_attr(g, "w");
    sh_node *before = sh_graph_call_function(g, "exp", once);
    sh_graph_call_function(g, "add_", again, 1.0);
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "add", x, before)));
    size_t n = 0;
    cr_expect(sh_pass_fold_constants(g, &n) == SH_OK && n == 0);
    sh_graph_free(g);
}

Test(fold_constants, growth_is_limited_and_the_limit_can_be_set) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *w = constant(g, "w", sh_ones(SH_SIZES(1)));
    sh_node *wide = sh_graph_call_function(g, "expand", w, sh_arg_list(SH_ARGS(100, 1000)));
    sh_node *zeros = sh_graph_call_function(g, "zeros", sh_arg_list(SH_ARGS(100, 1000)));
    sh_node *sum = sh_graph_call_function(g, "add", wide, zeros);
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "mul", sum, x)));
    cr_expect(eq(sz, folded(g, sh_ones(SH_SIZES(1))), 0));
    size_t n = 0;
    const sh_fold_options large = {.most_bytes = 1 << 20};
    cr_expect(sh_fold_constants(g, &large, &n) == SH_OK && n >= 3 && calls(g) == 1);
    sh_graph_free(g);
}

static bool no_transpose(const sh_node *node, void *user) {
    ++*(int *)user;
    return strcmp(sh_node_target(node), "transpose") != 0;
}

Test(fold_constants, a_filter_keeps_nodes) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *w = constant(g, "w", sh_randn(SH_SIZES(3, 4)));
    sh_node *t = sh_graph_call_function(g, "transpose", sh_graph_call_function(g, "exp", w), 0, 1);
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "matmul", x, sh_graph_call_function(g, "neg", t))));
    int asked = 0;
    size_t n = 0;
    const sh_fold_options options = {.chosen = no_transpose, .user = &asked};
    cr_expect(sh_fold_constants(g, &options, &n) == SH_OK && n == 2 && asked == 2);
    cr_expect(eq(sz, calls(g), 3));
    sh_graph_free(g);
}

Test(fold_constants, a_list_on_the_way_goes_and_one_at_the_end_stays) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *w = constant(g, "w", sh_randn(SH_SIZES(4, 2)));
    sh_node *parts = sh_graph_call_function(g, "split", w, 2),
            *item = sh_graph_call_function(g, SH_GETITEM, parts, 1);
    sh_node *twice = sh_graph_call_function(g, "split", sh_graph_call_function(g, "exp", w), 2);
    sh_node *joined = sh_graph_create_node(g, SH_CALL_FUNCTION, "cat", SH_ARGS(twice), SH_NO_KWARGS, NULL);
    sh_graph_output(
        g, SH_ARG(sh_graph_call_function(g, "add", x, sh_graph_call_function(g, "matmul", joined, item))));
    folded(g, sh_randn(SH_SIZES(4, 2)));
    cr_expect(eq(sz, calls(g), 1));
    sh_graph_free(g);
}

Test(fold_constants, a_node_that_fails_stays_to_fail_when_it_runs) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *w = constant(g, "w", sh_randn(SH_SIZES(4, 2)));
    sh_node *bad = sh_graph_call_function(g, "matmul", w, w);
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "add", x, bad)));
    size_t n = 0;
    cr_expect(sh_pass_fold_constants(g, &n) == SH_OK && n == 0 && sh_error() == NULL);
    cr_expect(sh_graph_run(g, SH_LIST(sh_ones(SH_SIZES(1)))) == NULL);
    cr_expect(error_says(SH_ERROR_SHAPE, "%matmul"));
    sh_graph_free(g);
}

/* ---- modules ---- */

static sh_tensor *forward(sh_module *self, sh_tensor *x) {
    sh_tensor *rows = sh_forward(sh_module_child(self, "rows"), sh_module_buffer(self, "ids"));
    return sh_add(x, sh_exp(sh_add(rows, sh_module_parameter(self, "shift"))));
}

Test(fold_constants, parameters_are_constants_in_evaluation_only) {
    static const sh_module_type type = {.name = "Net", .forward = forward};
    sh_module *net = sh_module_new(&type);
    sh_tensor *x = sh_randn(SH_SIZES(3, 2));
    sh_module_give(net, "rows", sh_nn_embedding(5, 2));
    sh_module_set_buffer(net, "ids", sh_to(sh_arange(3.0), SH_I64));
    sh_module_set_parameter(net, "shift", sh_randn(SH_SIZES(2)));
    for (int training = 1; training >= 0; training--) {
        sh_module_train(net, training);
        sh_graph *g = sh_trace(net, SH_INPUTS(x), NULL);
        cr_expect(eq(sz, folded(g, x), training ? 0u : 5u));
        cr_expect(eq(sz, sh_graph_find_nodes(g, SH_CALL_MODULE, NULL, NULL, 0), training ? 1u : 0u));
        sh_graph_free(g);
    }
    sh_module_release(net);
}

/* ---- modes and faults ---- */

static sh_status count(sh_mode *mode, sh_call *call) {
    (void)call;
    ++*(int *)sh_mode_user(mode);
    return SH_PASS;
}

Test(fold_constants, no_mode_sees_the_computation) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *w = constant(g, "w", sh_randn(SH_SIZES(2)));
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "add", x, sh_graph_call_function(g, "exp", w))));
    int seen = 0;
    size_t n = 0;
    sh_mode *mode = sh_mode_new(count, &(sh_mode_options){.user = &seen});
    SH_WITH_MODE(mode) sh_pass_fold_constants(g, &n);
    cr_expect(n == 2 && seen == 0);
    sh_mode_release(mode);
    sh_graph_free(g);
}

static bool fold_some(void) {
    sh_graph *g = sh_graph_new();
    sh_node *x = g ? sh_graph_placeholder(g, "x") : NULL,
            *w = x ? constant(g, "w", sh_ones(SH_SIZES(2))) : NULL;
    if (w)
        sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "add", x, sh_graph_call_function(g, "exp", w))));
    size_t n = 0;
    const bool done = !sh_error() && sh_pass_fold_constants(g, &n) == SH_OK && n == 2;
    sh_graph_free(g);
    return done;
}

Test(fold_constants, each_allocation_may_fail_and_bad_input_is_an_error) {
    cr_expect(each_allocation_may_fail(fold_some));
    cr_expect(sh_fold_constants(NULL, NULL, NULL) < 0 && error_says(SH_ERROR_NULL, "graph is NULL"));
}
