/* Passes: what is merged, what goes, what must stay. */
#include "tests/graphs.h"

static size_t calls(const sh_graph *g, const char *target) {
    return sh_graph_find_nodes(g, SH_CALL_FUNCTION, target, NULL, 0);
}

/* How much the pass changed; the graph is whole afterwards. */
static size_t changed(sh_graph *g, sh_pass pass) {
    size_t n = 0;
    cr_expect(pass(g, &n) == SH_OK, "%s", message());
    cr_expect(sh_graph_lint(g) == SH_OK, "%s", message());
    return n;
}

static sh_node *call(sh_graph *g, const char *op, sh_node *x) { return sh_graph_call_function(g, op, x); }

static sh_node *add(sh_graph *g, sh_node *a, sh_node *b) { return sh_graph_call_function(g, "add", a, b); }

static sh_node *output(sh_graph *g, sh_node *node) { return sh_graph_output(g, SH_ARG(node)); }

static void set_spec(sh_node *node, sh_dtype dtype, int64_t size) {
    const sh_spec spec = {.dtype = dtype, .ndim = 1, .sizes = {size}};
    sh_node_set_spec(node, &spec);
}

/* ---- common subexpressions ---- */

Test(cse, equal_chains_become_one) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_node *a = call(g, "exp", call(g, "sin", x)), *b = call(g, "exp", call(g, "sin", x));
    output(g, add(g, a, b));
    cr_expect(eq(sz, changed(g, sh_pass_cse), 2));
    cr_expect(eq(sz, sh_graph_size(g), 5));
    cr_expect(eq(sz, changed(g, sh_pass_cse), 0));
    sh_graph_free(g);
}

Test(cse, a_default_spelled_and_left_out_are_equal_and_other_arguments_are_not) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *n[3];
    const char *const alphas[] = {"1", NULL, "2"};
    for (int i = 0; i < 3; i++)
        n[i] = sh_graph_create_node(g, SH_CALL_FUNCTION, "add", SH_ARGS(x, x),
                                    alphas[i] ? SH_KWARGS(SH_KWARG("alpha", atoi(alphas[i]))) : SH_NO_KWARGS,
                                    NULL);
    output(g, add(g, add(g, n[0], n[1]), n[2]));
    cr_expect(eq(sz, changed(g, sh_pass_cse), 1));
    sh_graph_free(g);
}

Test(cse, random_ops_stay_apart) {
    sh_graph *g = sh_graph_new();
    const sh_arg shape = sh_arg_list(SH_ARGS(2, 2));
    sh_node *a = sh_graph_call_function(g, "rand", shape), *b = sh_graph_call_function(g, "rand", shape);
    output(g, add(g, a, b));
    cr_expect(eq(sz, changed(g, sh_pass_cse), 0));
    cr_expect(eq(sz, calls(g, "rand"), 2));
    sh_graph_free(g);
}

Test(cse, zeros_and_negative_zeros_stay_apart) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_node *a = sh_graph_call_function(g, "div", x, 0.0), *b = sh_graph_call_function(g, "div", x, -0.0);
    output(g, add(g, a, b));
    cr_expect(eq(sz, changed(g, sh_pass_cse), 0));
    sh_graph_free(g);
}

Test(cse, a_write_in_between_keeps_what_reads_apart) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *before = call(g, "sin", x);
    sh_graph_call_function(g, "add_", x, 1.0);
    output(g, add(g, before, call(g, "sin", x)));
    cr_expect(eq(sz, changed(g, sh_pass_cse), 0));
    sh_graph_free(g);
}

Test(cse, a_write_through_a_view_counts_too) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *before = call(g, "sin", x);
    sh_node *view = sh_graph_call_function(g, "view", x, sh_arg_list(SH_ARGS(-1)));
    sh_graph_call_function(g, "add_", view, 1.0);
    output(g, add(g, before, call(g, "sin", x)));
    cr_expect(eq(sz, changed(g, sh_pass_cse), 0));
    sh_graph_free(g);
}

/* The caller may write to one of them. */
Test(cse, two_values_that_are_returned_keep_their_own_memory) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *a = call(g, "exp", x), *b = call(g, "exp", x),
            *c = call(g, "exp", x);
    sh_node *d = call(g, "neg", c);
    sh_graph_output(g, sh_arg_tuple(SH_ARGS(b, d, a)));
    cr_expect(eq(sz, changed(g, sh_pass_cse), 1), "c becomes a");
    cr_expect(eq(sz, changed(g, sh_pass_cse), 0));
    sh_graph_free(g);
    g = sh_graph_new();
    x = sh_graph_placeholder(g, "x"), a = call(g, "exp", x), b = call(g, "exp", x), c = call(g, "exp", x);
    sh_graph_output(g, sh_arg_tuple(SH_ARGS(call(g, "neg", a), b, c)));
    cr_expect(eq(sz, changed(g, sh_pass_cse), 1), "b becomes a, which is returned then");
    sh_graph_free(g);
}

Test(cse, values_that_are_written_to_keep_their_own_memory) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *a = call(g, "sin", x), *b = call(g, "sin", x);
    sh_graph_call_function(g, "add_", a, 1.0);
    output(g, add(g, a, b));
    cr_expect(eq(sz, changed(g, sh_pass_cse), 0));
    sh_graph_free(g);
}

/* ---- identities ---- */

/* x op number, both f32[4]. */
static sh_graph *arithmetic(const char *op, double number, bool swapped) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_node *n =
        swapped ? sh_graph_call_function(g, op, number, x) : sh_graph_call_function(g, op, x, number);
    set_spec(x, SH_F32, 4);
    set_spec(n, SH_F32, 4);
    output(g, call(g, "sin", n));
    return g;
}

Test(identities, neutral_operands_go_and_others_stay) {
    const struct {
        const char *op;
        double number;
        bool swapped;
        size_t goes;
    } cases[] = {{"add", 0, false, 1}, {"add", 0, true, 1},  {"add", 1, false, 0}, {"sub", 0, false, 1},
                 {"sub", 0, true, 0},  {"mul", 1, false, 1}, {"mul", 1, true, 1},  {"mul", 0, false, 0},
                 {"div", 1, false, 1}, {"div", 1, true, 0},  {"pow", 1, false, 1}, {"pow", 1, true, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_graph *g = arithmetic(cases[i].op, cases[i].number, cases[i].swapped);
        cr_expect(eq(sz, changed(g, sh_pass_remove_identities), cases[i].goes), "case %zu", i);
        sh_graph_free(g);
    }
}

Test(identities, an_op_that_changes_dtype_or_shape_stays_and_so_does_one_of_unknown_result) {
    sh_graph *g = arithmetic("add", 0, false);
    set_spec(sh_graph_find(g, "x"), SH_I32, 4);
    cr_expect(eq(sz, changed(g, sh_pass_remove_identities), 0));
    set_spec(sh_graph_find(g, "x"), SH_F32, 1);
    cr_expect(eq(sz, changed(g, sh_pass_remove_identities), 0));
    sh_node_set_spec(sh_graph_find(g, "x"), NULL);
    cr_expect(eq(sz, changed(g, sh_pass_remove_identities), 0));
    sh_graph_free(g);
}

Test(identities, x_plus_0_stays_when_x_is_mutated_later) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *copy = sh_graph_call_function(g, "add", x, 0);
    set_spec(x, SH_F32, 4);
    set_spec(copy, SH_F32, 4);
    sh_graph_call_function(g, "mul_", x, 2.0);
    output(g, add(g, copy, x));
    cr_expect(eq(sz, changed(g, sh_pass_remove_identities), 0));
    sh_graph_free(g);
}

Test(identities, what_the_graph_returns_stays_a_value_of_its_own) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *copy = sh_graph_call_function(g, "mul", x, 1);
    set_spec(x, SH_F32, 4);
    set_spec(copy, SH_F32, 4);
    output(g, copy);
    cr_expect(eq(sz, changed(g, sh_pass_remove_identities), 0));
    sh_graph_free(g);
}

Test(identities, a_view_of_what_is_returned_counts_and_so_does_one_that_needs_the_layout) {
    for (int returned = 0; returned < 2; returned++) {
        sh_graph *g = sh_graph_new();
        sh_node *x = sh_graph_placeholder(g, "x"), *t = sh_graph_call_function(g, "transpose", x, 0, 1);
        sh_node *copy = sh_graph_call_function(g, "add", returned ? x : t, 0);
        sh_node *flat = sh_graph_call_function(g, "view", copy, sh_arg_list(SH_ARGS(-1)));
        output(g, returned ? flat : call(g, "sin", flat));
        SH_SCOPE {
            sh_tensor *a = sh_rand(SH_SIZES(2, 3));
            cr_expect(sh_graph_propagate_shapes(g, SH_ARGUMENTS(a)) == SH_OK);
            cr_expect(eq(sz, changed(g, sh_pass_remove_identities), 0));
            cr_expect(sh_graph_run(g, SH_LIST(a)) != NULL, "%s", message());
        }
        sh_graph_free(g);
    }
}

/* The dropout goes, and what it stood for must not. */
Test(identities, a_view_of_what_hands_it_on_needs_the_layout_too) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *t = sh_graph_call_function(g, "transpose", x, 0, 1);
    sh_node *copy = sh_graph_call_function(g, "add", t, 0);
    const sh_kwargs off = SH_KWARGS(SH_KWARG("training", (bool)false));
    sh_node *drop = sh_graph_create_node(g, SH_CALL_FUNCTION, "dropout", SH_ARGS(copy), off, NULL);
    output(g, call(g, "sin", sh_graph_call_function(g, "view", drop, sh_arg_list(SH_ARGS(-1)))));
    SH_SCOPE {
        sh_tensor *a = sh_rand(SH_SIZES(2, 3));
        cr_expect(sh_graph_propagate_shapes(g, SH_ARGUMENTS(a)) == SH_OK);
        cr_expect(eq(sz, changed(g, sh_pass_remove_identities), 1));
        cr_expect(sh_graph_run(g, SH_LIST(a)) != NULL, "%s", message());
    }
    sh_graph_free(g);
}

Test(identities, dropout_goes_only_when_it_is_not_in_training) {
    for (int training = 0; training < 2; training++) {
        sh_graph *g = sh_graph_new();
        sh_node *x = sh_graph_placeholder(g, "x");
        const sh_kwargs how = SH_KWARGS(SH_KWARG("training", (bool)training));
        sh_node *drop = sh_graph_create_node(g, SH_CALL_FUNCTION, "dropout", SH_ARGS(x), how, NULL);
        output(g, call(g, "sin", drop));
        cr_expect(eq(sz, changed(g, sh_pass_remove_identities), training ? 0u : 1u));
        sh_graph_free(g);
    }
}

Test(identities, modules_that_pass_their_input_on_go) {
    SH_SCOPE {
        sh_module *net = sh_nn_sequential();
        sh_module_append(net, sh_nn_relu());
        sh_module_append(net, sh_nn_dropout());
        sh_module_append(net, sh_nn_identity());
        sh_module_append(net, sh_nn_tanh());
        const sh_value input = sh_value_tensor(sh_zeros(SH_SIZES(2)));
        for (int training = 1; training >= 0; training--) {
            sh_module_train(net, training);
            sh_graph *g = sh_trace(net, (sh_values){&input, 1}, NULL);
            const size_t goes =
                training ? 0 : 2; /* a module that draws may do anything to what it is given */
            cr_expect(eq(sz, changed(g, sh_pass_remove_identities), goes));
            sh_graph_free(g);
        }
        sh_module_release(net);
    }
}

/* ---- in a row ---- */

static sh_status grows(sh_graph *graph, size_t *changes) {
    (void)graph;
    ++*changes;
    return SH_OK;
}

Test(passes, run_in_order_until_nothing_changes) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *a = sh_graph_call_function(g, "mul", x, 1);
    set_spec(x, SH_F32, 4);
    set_spec(a, SH_F32, 4);
    output(g, add(g, call(g, "sin", a), call(g, "sin", x)));
    const sh_pass passes[] = {sh_pass_dead_code, sh_pass_cse, sh_pass_remove_identities, NULL};
    size_t n = 0;
    cr_expect(sh_run_passes(g, passes, &(sh_pass_options){.until_stable = true, .lint = true}, &n) == SH_OK);
    cr_expect(eq(sz, n, 2), "the identity, then the sine that it hid");
    cr_expect(eq(sz, calls(g, "sin"), 1));
    const sh_pass endless[] = {grows, NULL};
    cr_expect(sh_run_passes(g, endless, &(sh_pass_options){.until_stable = true, .rounds = 5}, NULL) < 0);
    cr_expect(error_says(SH_ERROR_VALUE, "round 5"));
    cr_expect(sh_run_passes(NULL, passes, NULL, NULL) < 0 && error_says(SH_ERROR_NULL, "graph"));
    sh_graph_free(g);
}

Test(passes, arguments_in_one_form_are_left_alone) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    const sh_kwargs spelled = SH_KWARGS(SH_KWARG("other", x), SH_KWARG("alpha", 1));
    output(g, sh_graph_create_node(g, SH_CALL_FUNCTION, "add", SH_ARGS(x), spelled, NULL));
    cr_expect(eq(sz, changed(g, sh_pass_normalize_arguments), 1));
    cr_expect(text_is(sh_node_text(sh_graph_find(g, "add")),
                      "%add : [num_users=1] = call_function[target=add](args = (%x, %x), kwargs = {})"));
    cr_expect(eq(sz, changed(g, sh_pass_normalize_arguments), 0));
    sh_graph_free(g);
}

static bool pass_all(void) {
    sh_graph *g = sh_graph_new();
    sh_node *x = g ? sh_graph_placeholder(g, "x") : NULL;
    size_t n = 0;
    if (x) output(g, add(g, call(g, "sin", x), call(g, "sin", x)));
    const sh_pass passes[] = {sh_pass_normalize_arguments, sh_pass_cse, sh_pass_remove_identities,
                              sh_pass_dead_code, NULL};
    if (g && !sh_error()) sh_run_passes(g, passes, NULL, &n);
    sh_graph_free(g);
    return n == 1;
}

Test(passes, each_allocation_may_fail) { cr_expect(each_allocation_may_fail(pass_all)); }
