/* Patterns: what matches, what does not, and what a graph is after a replacement. */
#include "tests/graphs.h"

static sh_value sin_sin(sh_values in, void *user) {
    (void)user;
    return sh_value_tensor(sh_sin(sh_sin(in.at[0].as.tensor)));
}
static sh_value cosine(sh_values in, void *user) {
    (void)user;
    return sh_value_tensor(sh_cos(in.at[0].as.tensor));
}

/* One placeholder x, then `n` calls of `op` one behind the other. */
static sh_graph *chain_of(const char *op, int n) {
    sh_graph *g = sh_graph_new();
    sh_node *node = sh_graph_placeholder(g, "x");
    for (int i = 0; i < n; i++) node = sh_graph_call_function(g, op, node);
    sh_graph_output(g, SH_ARG(node));
    return g;
}

/* A graph of one call: op(a, b). */
static sh_graph *binary(const char *op) {
    sh_graph *g = sh_graph_new();
    sh_node *a = sh_graph_placeholder(g, "a"), *b = sh_graph_placeholder(g, "b");
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, op, a, b)));
    return g;
}

/* How many matches are replaced; the graph is whole afterwards. The pattern and replacement are freed. */
static size_t replaced(sh_graph *g, sh_graph *pattern, sh_graph *replacement,
                       const sh_pattern_options *options) {
    size_t n = 99;
    cr_expect(sh_replace_pattern(g, pattern, replacement, options, &n) == SH_OK, "%s", message());
    cr_expect(sh_graph_lint(g) == SH_OK, "%s", message());
    sh_graph_free(pattern);
    sh_graph_free(replacement);
    return n;
}

static size_t calls(const sh_graph *g, const char *target) {
    return sh_graph_find_nodes(g, SH_CALL_FUNCTION, target, NULL, 0);
}

Test(rewrite, four_in_a_row_are_two_pairs) {
    sh_graph *g = chain_of("sigmoid", 4);
    cr_expect(eq(sz, replaced(g, chain_of("sigmoid", 2), chain_of("relu", 1), NULL), 2));
    cr_expect(eq(sz, calls(g, "sigmoid"), 0));
    cr_expect(eq(sz, calls(g, "relu"), 2));
    sh_graph_free(g);
}

Test(rewrite, traced_functions_are_patterns_and_the_result_computes_what_the_replacement_does) {
    sh_graph *g = chain_of("sin", 2);
    size_t n = 0;
    SH_SCOPE {
        sh_tensor *x = sh_full(SH_SIZES(2), 0.5);
        const sh_value input = sh_value_tensor(x);
        cr_expect(sh_replace_traced(g, sin_sin, cosine, (sh_values){&input, 1}, NULL, &n) == SH_OK, "%s",
                  message());
        cr_expect(eq(sz, n, 1));
        cr_expect(epsilon_eq(dbl, run_sum(g, (sh_tensors){&x, 1}), 2 * cos(0.5), 1e-6));
    }
    sh_graph_free(g);
}

Test(rewrite, an_inner_node_that_is_used_elsewhere_is_no_match) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *inner = sh_graph_call_function(g, "sigmoid", x);
    sh_node *outer = sh_graph_call_function(g, "sigmoid", inner);
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "add", outer, inner)));
    cr_expect(eq(sz, replaced(g, chain_of("sigmoid", 2), chain_of("relu", 1), NULL), 0));
    cr_expect(eq(sz, calls(g, "sigmoid"), 2));
    sh_graph_free(g);
}

static sh_graph *cat_of_two(const char *op) {
    sh_graph *g = sh_graph_new();
    sh_node *a = sh_graph_placeholder(g, "a"), *b = sh_graph_placeholder(g, "b");
    const sh_arg both = sh_arg_list(SH_ARGS(a, b));
    sh_node *cat = op ? sh_graph_call_function(g, op, a, b) : sh_graph_call_function(g, "cat", both);
    sh_graph_output(g, SH_ARG(cat));
    return g;
}

Test(rewrite, matches_inside_each_other_and_back_to_back_leave_a_graph_that_runs) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *y = sh_graph_placeholder(g, "y");
    sh_node *inner = sh_graph_call_function(g, "cat", sh_arg_list(SH_ARGS(x, y)));
    sh_node *again = sh_graph_call_function(g, "cat", sh_arg_list(SH_ARGS(y, x)));
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "cat", sh_arg_list(SH_ARGS(inner, again)))));
    cr_expect(eq(sz, replaced(g, cat_of_two(NULL), cat_of_two("add"), NULL), 3));
    SH_SCOPE {
        sh_tensor *in[] = {sh_full(SH_SIZES(3), 1.0), sh_full(SH_SIZES(3), 2.0)};
        cr_expect(eq(dbl, run_sum(g, (sh_tensors){in, 2}), 18));
    }
    sh_graph_free(g);
}

Test(rewrite, a_default_left_out_or_spelled_and_keywords_match_alike) {
    for (int form = 0; form < 4; form++) {
        sh_graph *g = sh_graph_new(), *pattern = sh_graph_new();
        sh_node *x = sh_graph_placeholder(g, "x"), *p = sh_graph_placeholder(pattern, "x");
        const sh_kwargs spelled = SH_KWARGS(SH_KWARG("alpha", 1));
        const sh_kwargs other = SH_KWARGS(SH_KWARG("other", x)), other_p = SH_KWARGS(SH_KWARG("other", p));
        sh_node *add = form == 2 ? sh_graph_create_node(g, SH_CALL_FUNCTION, "add", SH_ARGS(x), other, NULL)
                                 : sh_graph_create_node(g, SH_CALL_FUNCTION, "add", SH_ARGS(x, x),
                                                        form == 0 ? spelled : SH_NO_KWARGS, NULL);
        sh_graph_output(g, SH_ARG(add));
        sh_node *found =
            form == 3 ? sh_graph_create_node(pattern, SH_CALL_FUNCTION, "add", SH_ARGS(p), other_p, NULL)
                      : sh_graph_create_node(pattern, SH_CALL_FUNCTION, "add", SH_ARGS(p, p),
                                             form == 1 ? spelled : SH_NO_KWARGS, NULL);
        sh_graph_output(pattern, SH_ARG(found));
        cr_expect(eq(sz, replaced(g, pattern, chain_of("neg", 1), NULL), 1), "form %d", form);
        sh_graph_free(g);
    }
}

/* x * factor */
static sh_graph *scaled(double factor) {
    sh_graph *g = sh_graph_new();
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "mul", sh_graph_placeholder(g, "x"), factor)));
    return g;
}

Test(rewrite, literals_must_be_equal_unless_they_are_ignored) {
    sh_graph *g = scaled(2.0);
    cr_expect(eq(sz, replaced(g, scaled(3.0), chain_of("neg", 1), NULL), 0));
    cr_expect(eq(
        sz, replaced(g, scaled(3.0), chain_of("neg", 1), &(sh_pattern_options){.ignore_literals = true}), 1));
    sh_graph_free(g);
}

Test(rewrite, a_placeholder_stands_for_a_number_too) {
    sh_graph *g = scaled(2.5);
    cr_expect(eq(sz, replaced(g, binary("mul"), binary("add"), NULL), 1));
    SH_SCOPE {
        sh_tensor *x = sh_full(SH_SIZES(2), 1.0);
        cr_expect(eq(dbl, run_sum(g, (sh_tensors){&x, 1}), 7));
    }
    sh_graph_free(g);
}

/* add(relu(x), y), or add(y, relu(x)) */
static sh_graph *relu_plus(bool first) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *y = sh_graph_placeholder(g, "y");
    sh_node *relu = sh_graph_call_function(g, "relu", x);
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "add", first ? relu : y, first ? y : relu)));
    return g;
}

Test(rewrite, operands_match_in_either_order_on_request) {
    sh_graph *g = relu_plus(false);
    cr_expect(eq(sz, replaced(g, relu_plus(true), binary("sub"), NULL), 0));
    cr_expect(
        eq(sz, replaced(g, relu_plus(true), binary("sub"), &(sh_pattern_options){.commutative = true}), 1));
    SH_SCOPE {
        sh_tensor *in[] = {sh_full(SH_SIZES(1), 5.0), sh_full(SH_SIZES(1), 2.0)};
        cr_expect(eq(dbl, run_sum(g, (sh_tensors){in, 2}), 3), "x - y");
    }
    sh_graph_free(g);
}

static bool is_early(const sh_match *match, void *user) {
    const sh_node *node = sh_match_node(match, "sigmoid_1");
    return node && strcmp(sh_node_name(node), user) == 0;
}

Test(rewrite, filters_are_asked_and_see_what_was_matched) {
    sh_graph *g = chain_of("sigmoid", 4);
    const sh_match_filter filters[] = {is_early, NULL};
    const sh_pattern_options options = {.filters = filters, .user = (char[]){"sigmoid_2"}};
    cr_expect(eq(sz, replaced(g, chain_of("sigmoid", 2), chain_of("relu", 1), &options), 1));
    cr_expect(sh_graph_find(g, "sigmoid") && sh_graph_find(g, "sigmoid_3") && !sh_graph_find(g, "sigmoid_1"));
    sh_graph_free(g);
}

static sh_graph *by_name(const sh_match *match, void *user) {
    (void)user;
    return strcmp(sh_node_name(sh_match_node(match, "sigmoid")), "sigmoid") == 0 ? chain_of("exp", 1) : NULL;
}

Test(rewrite, a_callback_makes_each_replacement_or_none) {
    sh_graph *g = chain_of("sigmoid", 2);
    cr_expect(
        eq(sz, replaced(g, chain_of("sigmoid", 1), NULL, &(sh_pattern_options){.replacement = by_name}), 1));
    cr_expect(eq(sz, calls(g, "exp"), 1));
    cr_expect(eq(sz, calls(g, "sigmoid"), 1));
    sh_graph_free(g);
}

/* The pair (sin(x), cos(x)). */
static sh_graph *pair(const char *first, const char *second) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_node *a = sh_graph_call_function(g, first, x), *b = sh_graph_call_function(g, second, x);
    sh_graph_output(g, sh_arg_tuple(SH_ARGS(a, b)));
    return g;
}

Test(rewrite, a_pattern_with_two_outputs_replaces_both) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *y = sh_graph_placeholder(g, "y");
    sh_graph_call_function(g, "cos", y);
    sh_node *s = sh_graph_call_function(g, "sin", x), *c = sh_graph_call_function(g, "cos", x);
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "add", s, c)));
    cr_expect(eq(sz, replaced(g, pair("sin", "cos"), pair("relu", "neg"), NULL), 1));
    cr_expect(eq(sz, calls(g, "cos"), 1), "that of y stays");
    SH_SCOPE {
        sh_tensor *in[] = {sh_full(SH_SIZES(1), 3.0), sh_full(SH_SIZES(1), 2.0)};
        cr_expect(eq(dbl, run_sum(g, (sh_tensors){in, 2}), 0));
    }
    sh_graph_free(g);
}

Test(rewrite, outputs_with_a_user_between_them_and_an_input_behind_it_stay) {
    sh_graph *g = sh_graph_new(), *pattern = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *s = sh_graph_call_function(g, "sin", x);
    sh_node *between = sh_graph_call_function(g, "exp", s), *c = sh_graph_call_function(g, "cos", between);
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "add", s, c)));
    sh_node *a = sh_graph_placeholder(pattern, "a"), *b = sh_graph_placeholder(pattern, "b");
    sh_node *ps = sh_graph_call_function(pattern, "sin", a), *pc = sh_graph_call_function(pattern, "cos", b);
    sh_graph_output(pattern, sh_arg_tuple(SH_ARGS(ps, pc)));
    cr_expect(eq(sz, replaced(g, pattern, binary("add"), NULL), 0), "cos needs what is made of sin");
    sh_graph_free(g);
}

Test(rewrite, a_write_between_the_nodes_of_a_match_keeps_them) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *first = sh_graph_call_function(g, "sigmoid", x);
    sh_graph_call_function(g, "add_", x, 1.0);
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "sigmoid", first)));
    cr_expect(eq(sz, replaced(g, chain_of("sigmoid", 2), chain_of("relu", 1), NULL), 0));
    sh_graph_free(g);
}

Test(rewrite, what_does_not_fit_is_named_and_the_graph_stays_as_it_was) {
    sh_graph *g = chain_of("sigmoid", 2), *pattern = chain_of("sigmoid", 1), *two = pair("sin", "cos"),
             *more = binary("add"), *none = sh_graph_new();
    char *before = sh_graph_text(g);
    size_t n;
    cr_expect(sh_replace_pattern(g, pattern, two, NULL, &n) < 0 && n == 0);
    cr_expect(error_says(SH_ERROR_VALUE, "the pattern returns 1 nodes, its replacement 2"));
    cr_expect(sh_replace_pattern(g, pattern, more, NULL, NULL) < 0 &&
              error_says(SH_ERROR_VALUE, "placeholders"));
    cr_expect(sh_replace_pattern(g, none, two, NULL, NULL) < 0 && error_says(SH_ERROR_VALUE, "no output"));
    cr_expect(sh_replace_pattern(g, pattern, NULL, NULL, NULL) < 0 &&
              error_says(SH_ERROR_NULL, "replacement"));
    cr_expect(sh_replace_pattern(NULL, pattern, two, NULL, NULL) < 0 && error_says(SH_ERROR_NULL, "graph"));
    cr_expect(text_is(sh_graph_text(g), before));
    free(before);
    sh_graph *all[] = {g, pattern, two, more, none};
    for (int i = 0; i < 5; i++) sh_graph_free(all[i]);
}

static bool replace_two(void) {
    sh_graph *g = chain_of("sigmoid", 4), *pattern = chain_of("sigmoid", 2), *by = chain_of("relu", 1);
    size_t n = 0;
    if (g && pattern && by && !sh_error()) sh_replace_pattern(g, pattern, by, NULL, &n);
    sh_graph_free(g);
    sh_graph_free(pattern);
    sh_graph_free(by);
    return n == 2;
}

Test(rewrite, each_allocation_may_fail) { cr_expect(each_allocation_may_fail(replace_two)); }
