/* Graphs in parts: the right nodes in each, an order that works, the same bits. */
#include "tests/graphs.h"
#include "tests/sample.h"

TestSuite(split_module);
TestSuite(partition_by_support);

/* A number that a node carries under the key "part"; 0 if none. */
static int by_meta(const sh_node *node, void *user) {
    (void)user;
    return (int)sh_node_meta(node, "part").as.i;
}
static sh_node *put(sh_node *node, int part) {
    if (node) sh_node_set_meta_int(node, "part", part);
    return node;
}
static sh_node *call(sh_graph *g, const char *op, sh_node *x) { return sh_graph_call_function(g, op, x); }
static sh_node *add(sh_graph *g, sh_node *a, sh_node *b) { return sh_graph_call_function(g, "add", a, b); }

static bool same_results(const sh_graph *g, sh_module *parts, sh_tensor *x) {
    sh_manual_seed(5);
    sh_list *expected = sh_graph_run(g, SH_LIST(x));
    sh_manual_seed(5);
    sh_list *got = expected ? sh_graph_run(sh_graph_module_graph(parts), SH_LIST(x)) : NULL;
    bool same = got && sh_list_size(got) == sh_list_size(expected);
    for (size_t i = 0; same && i < sh_list_size(got); i++)
        same = sample_same(sh_list_at(got, i), sh_list_at(expected, i));
    if (!same) fprintf(stderr, "not the same: %s\n", message());
    return same;
}

/* The parts are whole graphs and give what the graph gives. Releases them. */
static void check_parts(const sh_graph *g, sh_module *parts, sh_tensor *x) {
    cr_assert(parts != NULL, "%s", message());
    cr_expect(sh_graph_lint(sh_graph_module_graph(parts)) == SH_OK, "%s", message());
    for (size_t i = 0; i < sh_module_children(parts); i++) {
        const sh_graph *part = sh_graph_module_graph(sh_module_child_at(parts, i));
        if (part) cr_expect(sh_graph_lint(part) == SH_OK, "%s", message());
    }
    cr_expect(same_results(g, parts, x) && same_results(g, parts, x), "in two runs");
    sh_module_release(parts);
}

static sh_graph *diamond(void) {
    sh_graph *g = sh_graph_new();
    sh_graph_set_attr(g, "w", sh_randn(SH_SIZES(3)));
    sh_node *x = sh_graph_placeholder(g, "x"), *w = sh_graph_get_attr(g, "w");
    sh_node *a = put(add(g, x, w), 0), *b = put(call(g, "sin", a), 1), *c = put(call(g, "cos", a), 0);
    sh_graph_output(g, sh_arg_tuple(SH_ARGS(put(add(g, b, c), 1), sh_arg_list(SH_ARGS(a, x)))));
    return g;
}

Test(split_module, parts_get_what_they_need_and_give_what_others_do) {
    sh_graph *g = diamond();
    sh_module *parts = sh_split_module(g, by_meta, NULL);
    cr_assert(parts != NULL, "%s", message());
    cr_expect(text_is(
        sh_graph_text(sh_graph_module_graph(parts)),
        "graph():\n    %x : [num_users=2] = placeholder[target=x]\n"
        "    %submod_0 : [num_users=2] = call_module[target=submod_0](args = (%x,), kwargs = {})\n"
        "    %add : [num_users=2] = call_function[target=operator.getitem](args = (%submod_0, 0), kwargs = {})\n"
        "    %cos : [num_users=1] = call_function[target=operator.getitem](args = (%submod_0, 1), kwargs = {})\n"
        "    %submod_1 : [num_users=1] = call_module[target=submod_1](args = (%add, %cos), kwargs = {})\n"
        "    return (submod_1, [add, x])"));
    cr_expect(text_is(
        sh_graph_text(sh_graph_module_graph(sh_module_child(parts, "submod_0"))),
        "graph():\n    %x : [num_users=1] = placeholder[target=x]\n    %w : [num_users=1] = get_attr[target=w]\n"
        "    %add : [num_users=2] = call_function[target=add](args = (%x, %w), kwargs = {})\n"
        "    %cos : [num_users=1] = call_function[target=cos](args = (%add,), kwargs = {})\n"
        "    return (add, cos)"));
    check_parts(g, parts, sh_randn(SH_SIZES(3)));
    sh_graph_free(g);
}

Test(split_module, a_cycle_is_an_error_that_names_nodes) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *a = put(call(g, "sin", x), 0), *b = put(call(g, "cos", a), 1);
    sh_graph_output(g, SH_ARG(put(call(g, "exp", b), 0)));
    cr_expect(sh_split_module(g, by_meta, NULL) == NULL);
    cr_expect(error_says(SH_ERROR_VALUE,
                         "the partition of %cos needs %sin, whose partition needs %cos for %exp: a cycle"));
    sh_graph_free(g);
}

Test(split_module, writes_reads_and_draws_keep_their_order) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_node *a = put(call(g, "exp", x), 0), *noise = put(call(g, "rand_like", x), 1);
    sh_node *before = put(call(g, "neg", a), 2),
            *view = put(sh_graph_call_function(g, "view", a, sh_arg_list(SH_ARGS(-1))), 3);
    put(sh_graph_call_function(g, "mul_", view, 2.0), 3);
    sh_node *after = put(call(g, "neg", a), 4), *again = put(call(g, "rand_like", x), 5);
    sh_graph_output(g, sh_arg_tuple(SH_ARGS(before, after, noise, again, a)));
    check_parts(g, sh_split_module(g, by_meta, NULL), sh_randn(SH_SIZES(4)));
    put(after, 2); /* it reads before and behind the write */
    cr_expect(sh_split_module(g, by_meta, NULL) == NULL);
    cr_expect(error_says(SH_ERROR_VALUE, "a cycle"));
    sh_graph_free(g);
}

Test(split_module, lists_stay_with_those_that_take_from_them) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *halves = put(sh_graph_call_function(g, "split", x, 2), 0);
    sh_node *one = put(sh_graph_call_function(g, SH_GETITEM, halves, 0), 1),
            *two = put(sh_graph_call_function(g, SH_GETITEM, halves, 1), 1);
    sh_graph_output(g, SH_ARG(put(add(g, one, two), 1)));
    check_parts(g, sh_split_module(g, by_meta, NULL), sh_randn(SH_SIZES(4)));
    SH_INSERTING_BEFORE(sh_graph_output_node(g)) put(sh_graph_call_function(g, "cat", halves), 1);
    cr_expect(sh_split_module(g, by_meta, NULL) == NULL &&
              error_says(SH_ERROR_UNSUPPORTED, "%split gives a list"));
    sh_graph_free(g);
}

Test(split_module, a_part_that_only_writes_runs_too) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *a = put(call(g, "exp", x), 0);
    put(sh_graph_call_function(g, "mul_", a, 2.0), 1);
    sh_graph_output(g, SH_ARG(a));
    check_parts(g, sh_split_module(g, by_meta, NULL), sh_randn(SH_SIZES(4)));
    sh_graph_free(g);
}

static int by_type(const sh_node *node, void *user) {
    (void)user;
    const sh_module *module = sh_node_module(node);
    return module && sh_module_is(module, "ReLU") ? -1 : strstr(sh_node_target(node), "3") ? 7 : 2;
}

Test(split_module, modules_go_with_their_nodes_and_some_stay_outside) {
    sh_module *net = sh_nn_sequential(sh_nn_linear(4, 4), sh_nn_relu(), sh_nn_linear(4, 4),
                                      sh_nn_linear(4, 4), sh_nn_relu());
    sh_tensor *x = sh_randn(SH_SIZES(2, 4));
    sh_module_eval(net);
    sh_graph *g = sh_trace(net, SH_INPUTS(x), NULL);
    cr_expect(sh_split_module(g, by_type, NULL) == NULL && error_says(SH_ERROR_VALUE, "a cycle"),
              "2 runs before and behind the relu");
    sh_node_set_target(sh_graph_find(g, "_2"), "3");
    sh_module *parts = sh_split_module(g, by_type, NULL);
    cr_assert(parts != NULL, "%s", message());
    cr_expect(sh_module_parameter(parts, "submod_2.0.weight") == sh_module_parameter(net, "0.weight"));
    cr_expect(sh_module_child(parts, "1") == sh_module_child(net, "1") && !sh_module_is_training(parts));
    cr_expect(sh_module_child(parts, "submod_7.3") && !sh_module_child(parts, "3"));
    check_parts(g, parts, x);
    sh_graph_free(g);
    sh_module_release(net);
}

Test(split_module, ten_thousand_parts_in_a_chain) {
    sh_graph *g = sh_graph_new();
    sh_node *node = sh_graph_placeholder(g, "x");
    for (int i = 0; i < 10000; i++) node = put(call(g, "neg", node), i / 50);
    sh_graph_output(g, SH_ARG(node));
    sh_module *parts = sh_split_module(g, by_meta, NULL);
    cr_assert(parts != NULL, "%s", message());
    cr_expect(eq(sz, sh_module_children(parts), 200));
    check_parts(g, parts, sh_randn(SH_SIZES(2)));
    sh_graph_free(g);
}

/* ---- by what is supported ---- */

static bool no_exp(const sh_node *node, void *user) {
    (void)user;
    return strcmp(sh_node_target(node), "exp") != 0;
}

static size_t fused(const sh_graph *g, sh_tensor *x, size_t least) {
    sh_module *parts = sh_partition_by_support(g, no_exp, NULL, &(sh_partition_options){.least = least});
    cr_assert(parts != NULL, "%s", message());
    size_t n = 0;
    for (size_t i = 0; i < sh_module_children(parts); i++)
        n += strncmp(sh_module_child_name(parts, i), "fused_", 6) == 0;
    cr_expect(eq(sz, sh_graph_find_nodes(sh_graph_module_graph(parts), SH_CALL_FUNCTION, "exp", NULL, 0),
                 sh_graph_find_nodes(g, SH_CALL_FUNCTION, "exp", NULL, 0)),
              "what isn't supported stays outside");
    check_parts(g, parts, x);
    return n;
}

Test(partition_by_support, parts_are_as_few_as_go_without_a_cycle) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *a = call(g, "sin", x);
    sh_node *b = call(g, "exp", a), *c = call(g, "cos", a); /* c may go with a, or with d */
    sh_node *d = add(g, b, c);
    sh_graph_output(g, SH_ARG(call(g, "neg", d)));
    sh_tensor *t = sh_randn(SH_SIZES(3));
    cr_expect(eq(sz, fused(g, t, 1), 2));
    cr_expect(eq(sz, fused(g, t, 3), 0));
    sh_graph_free(g);
}

Test(partition_by_support, a_node_on_its_own_joins_the_part_that_needs_it) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *late = call(g, "sin", x),
            *e = call(g, "exp", call(g, "cos", x));
    sh_graph_output(g, SH_ARG(add(g, e, late)));
    cr_expect(eq(sz, fused(g, sh_randn(SH_SIZES(3)), 1), 2), "cos; sin and add");
    sh_graph_free(g);
}

Test(partition_by_support, all_and_none) {
    sh_graph *g = diamond();
    cr_expect(eq(sz, fused(g, sh_randn(SH_SIZES(3)), 1), 1));
    sh_graph_free(g);
    g = sh_graph_new();
    sh_graph_output(g, SH_ARG(call(g, "exp", sh_graph_placeholder(g, "x"))));
    cr_expect(eq(sz, fused(g, sh_randn(SH_SIZES(3)), 1), 0));
    sh_graph_free(g);
}

/* Ops of all kinds: views, writes, draws, lists, constants. */
static sh_graph *random_graph(void) {
    static const char *const unary[] = {"relu", "exp", "neg", "rand_like", "tanh", "contiguous"};
    sh_graph *g = sh_graph_new();
    sh_node *nodes[40];
    int n = 0;
    sh_graph_set_attr(g, "w", sh_randn(SH_SIZES(4, 4)));
    nodes[n++] = sh_graph_placeholder(g, "x");
    nodes[n++] = sh_graph_get_attr(g, "w");
    while (n < 40) {
        sh_node *a = nodes[sample_int(0, n - 1)], *b = nodes[sample_int(0, n - 1)];
        switch (sample_int(0, 5)) {
        case 0: nodes[n++] = sh_graph_call_function(g, "transpose", a, 0, 1); break;
        case 1: nodes[n++] = sh_graph_call_function(g, "mul_", call(g, "tanh", a), 0.5); break;
        case 2: nodes[n++] = add(g, a, b); break;
        case 3:
            a = sh_graph_call_function(g, SH_GETITEM, sh_graph_call_function(g, "split", a, 2), 1);
            nodes[n++] = sh_graph_call_function(g, "cat", sh_arg_list(SH_ARGS(a, a)));
            break;
        default: nodes[n++] = call(g, unary[sample_int(0, 5)], a);
        }
    }
    sh_graph_output(g, sh_arg_tuple(SH_ARGS(nodes[39], nodes[20], nodes[5])));
    return g;
}

static bool at_random(const sh_node *node, void *user) {
    (void)node, (void)user;
    return sample_int(0, 2) != 0;
}
static int in_order(const sh_node *node, void *user) {
    (void)node;
    return ++*(int *)user / 7;
}

Test(partition_by_support, random_graphs_run_as_before) {
    for (uint64_t seed = 0; seed < 200; seed++) SH_SCOPE {
            sample_state = seed;
            sh_graph *g = random_graph();
            sh_tensor *x = sh_randn(SH_SIZES(4, 4));
            int at = 0;
            check_parts(g, sh_partition_by_support(g, at_random, NULL, NULL), x);
            check_parts(g, sh_split_module(g, in_order, &at), x);
            sh_graph_free(g);
        }
}

static bool split_both(void) {
    sh_graph *g = diamond();
    sh_module *one = g && !sh_error() ? sh_split_module(g, by_meta, NULL) : NULL;
    sh_module *other = one ? sh_partition_by_support(g, no_exp, NULL, NULL) : NULL;
    const bool done = one && other;
    sh_module_release(one);
    sh_module_release(other);
    sh_graph_free(g);
    return done;
}

Test(split_module, each_allocation_may_fail_and_bad_input_is_an_error) {
    cr_expect(each_allocation_may_fail(split_both));
    cr_expect(sh_split_module(NULL, by_meta, NULL) == NULL && error_says(SH_ERROR_NULL, "graph is NULL"));
    sh_graph *g = diamond();
    cr_expect(sh_split_module(g, NULL, NULL) == NULL && error_says(SH_ERROR_NULL, "function is NULL"));
    cr_expect(sh_partition_by_support(NULL, no_exp, NULL, NULL) == NULL &&
              error_says(SH_ERROR_NULL, "graph is NULL"));
    sh_graph_free(g);
}
