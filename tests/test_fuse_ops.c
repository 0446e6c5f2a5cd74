/* Folding batch norms where products and norms are calls of ops: what goes, what stays, and the numbers right. */
#include "tests/graphs.h"

TestSuite(fuse_ops);

static sh_tensor *image(void) { return sh_randn(SH_SIZES(2, 4, 5, 5)); }

static sh_node *constant(sh_graph *g, const char *name, sh_tensor *t) {
    if (!t || sh_graph_set_attr(g, name, t) < 0) return NULL;
    return sh_graph_get_attr(g, name);
}

typedef struct functional {
    const char *op;
    sh_node *x, *product, *norm, *weight;
} functional;

/* op and batch_norm on x, their parameters constants; the shapes are known. */
static sh_graph *functional_graph(functional *f, sh_tensor *x, sh_tensor *weight, sh_kwargs how) {
    sh_graph *g = sh_graph_new();
    const sh_ints channels = SH_SIZES(sh_tensor_size(weight, 0));
    f->x = sh_graph_placeholder(g, "x");
    f->weight = constant(g, "w", weight);
    f->product = sh_graph_create_node(g, SH_CALL_FUNCTION, f->op, SH_ARGS(f->x, f->weight), how, NULL);
    sh_node *mean = constant(g, "mean", sh_randn(channels)), *beta = constant(g, "beta", sh_randn(channels));
    sh_node *var = constant(g, "var", sh_add(sh_rand(channels), 0.5));
    f->norm = sh_graph_create_node(g, SH_CALL_FUNCTION, "batch_norm", SH_ARGS(f->product, mean, var),
                                   SH_KWARGS(SH_KWARG("bias", beta)), NULL);
    sh_graph_output(g, SH_ARG(f->norm));
    cr_assert(sh_graph_propagate_shapes(g, SH_ARGUMENTS(x)) == SH_OK, "%s", message());
    return g;
}

/* Frees the graph. */
static size_t folds_ops(sh_graph *g, sh_tensor *x) {
    size_t n = 0;
    sh_list *expected = sh_graph_run(g, SH_LIST(x));
    cr_assert(expected != NULL, "%s", message());
    cr_expect(sh_pass_fuse_conv_bn(g, &n) == SH_OK && sh_graph_lint(g) == SH_OK, "%s", message());
    sh_list *got = sh_graph_run(g, SH_LIST(x));
    cr_assert(got != NULL, "%s", message());
    for (size_t i = 0; i < sh_list_size(expected); i++)
        cr_expect(le(dbl, apart(sh_list_at(got, i), sh_list_at(expected, i)), 1e-5));
    sh_graph_free(g);
    return n;
}

Test(fuse_ops, ops_on_constants) {
    functional f = {.op = "conv1d"};
    sh_tensor *line = sh_randn(SH_SIZES(2, 4, 9)), *rows = sh_randn(SH_SIZES(5, 3));
    const sh_kwargs strided = SH_KWARGS(SH_KWARG("stride", sh_arg_list(SH_ARGS(2))), SH_KWARG("groups", 2));
    cr_expect(eq(sz, folds_ops(functional_graph(&f, line, sh_randn(SH_SIZES(6, 2, 3)), strided), line), 1));
    f.op = "conv2d";
    sh_tensor *x = image(), *w = sh_randn(SH_SIZES(3, 4, 2, 2));
    cr_expect(eq(sz, folds_ops(functional_graph(&f, x, w, SH_NO_KWARGS), x), 1));
    f.op = "linear";
    cr_expect(eq(sz, folds_ops(functional_graph(&f, rows, sh_randn(SH_SIZES(4, 3)), SH_NO_KWARGS), rows), 1));
}

Test(fuse_ops, channels_that_are_no_rows_of_the_weight_stay) {
    functional f = {.op = "linear"};
    sh_tensor *x = sh_randn(SH_SIZES(2, 4, 3)); /* the norm's channels are the 4 in the middle */
    cr_expect(eq(sz, folds_ops(functional_graph(&f, x, sh_randn(SH_SIZES(4, 3)), SH_NO_KWARGS), x), 0));
    sh_tensor *rows = sh_randn(SH_SIZES(2, 3));
    sh_graph *g = functional_graph(&f, rows, sh_randn(SH_SIZES(4, 3)), SH_NO_KWARGS);
    SH_EACH_NODE(node, g) sh_node_set_spec(node, NULL);
    cr_expect(eq(sz, folds_ops(g, rows), 0), "of unknown rank");
}

Test(fuse_ops, a_weight_that_is_written_to_or_used_elsewhere_stays) {
    for (int written = 0; written < 2; written++) SH_SCOPE {
            functional f = {.op = "linear"};
            sh_tensor *x = sh_randn(SH_SIZES(2, 3));
            sh_graph *g = functional_graph(&f, x, sh_randn(SH_SIZES(4, 3)), SH_NO_KWARGS);
            SH_INSERTING_BEFORE(f.product) {
                sh_node *same = sh_graph_get_attr(g, "w");
                sh_graph_call_function(g, written ? "mul_" : "add", same, 1.0);
                if (!written) sh_graph_call_function(g, "linear", f.x, same);
            }
            cr_expect(eq(sz, folds_ops(g, x), 0));
        }
}

Test(fuse_ops, a_norm_in_training_or_on_computed_statistics_stays) {
    functional f = {.op = "linear"};
    sh_tensor *x = sh_randn(SH_SIZES(2, 3));
    sh_graph *g = functional_graph(&f, x, sh_randn(SH_SIZES(4, 3)), SH_NO_KWARGS);
    size_t n = 0;
    sh_node_set_kwarg(f.norm, "training", sh_arg_flag(true));
    cr_expect(sh_pass_fuse_conv_bn(g, &n) == SH_OK && n == 0);
    sh_node_set_kwarg(f.norm, "training", sh_arg_flag(false));
    SH_INSERTING_BEFORE(f.norm)
    sh_node_set_arg(f.norm, 2, sh_arg_node(sh_graph_call_function(g, "exp", sh_node_arg(f.norm, 2).as.node)));
    cr_expect(eq(sz, folds_ops(g, x), 0));
}

Test(fuse_ops, a_bias_that_is_computed_stays) {
    functional f = {.op = "linear"};
    sh_tensor *x = sh_randn(SH_SIZES(2, 3));
    sh_graph *g = functional_graph(&f, x, sh_randn(SH_SIZES(4, 3)), SH_NO_KWARGS);
    SH_INSERTING_BEFORE(f.product) {
        sh_node *bias = sh_graph_call_function(g, "sum", f.x);
        sh_node_set_kwarg(f.product, "bias",
                          sh_arg_node(sh_graph_call_function(g, "expand", bias, sh_arg_list(SH_ARGS(4)))));
    }
    cr_expect(eq(sz, folds_ops(g, x), 0));
}

/* A second norm on what the first gives, with every argument that there is. */
static sh_node *norm_again(sh_graph *g, sh_node *input) {
    sh_node *mean = constant(g, "mean2", sh_randn(SH_SIZES(3))),
            *gamma = constant(g, "gamma", sh_randn(SH_SIZES(3)));
    sh_node *var = constant(g, "var2", sh_add(sh_rand(SH_SIZES(3)), 0.5)),
            *beta = sh_graph_get_attr(g, "beta");
    return sh_graph_create_node(g, SH_CALL_FUNCTION, "batch_norm",
                                SH_ARGS(input, mean, var, gamma, beta, (bool)false, 0.1, 0.01), SH_NO_KWARGS,
                                NULL);
}

Test(fuse_ops, two_norms_in_a_row_of_ops_go_both_and_a_result_used_elsewhere_stays) {
    for (int elsewhere = 0; elsewhere < 3; elsewhere++) SH_SCOPE {
            functional f = {.op = "conv2d"};
            sh_tensor *x = image();
            sh_graph *g = functional_graph(&f, x, sh_randn(SH_SIZES(3, 4, 2, 2)), SH_NO_KWARGS);
            sh_node *output = sh_graph_output_node(g), *other = elsewhere == 1 ? f.product : f.norm;
            SH_INSERTING_BEFORE(output) {
                sh_node *last = norm_again(g, f.norm);
                if (elsewhere) last = sh_graph_call_function(g, "add", last, other);
                sh_node_set_arg(output, 0, sh_arg_node(last));
            }
            sh_graph_propagate_shapes(g, SH_ARGUMENTS(x));
            static const size_t expected[] = {2, 0, 1};
            cr_expect(eq(sz, folds_ops(g, x), expected[elsewhere]), "elsewhere %d", elsewhere);
        }
}

Test(fuse_ops, a_weight_of_two_calls_stays_and_statistics_of_two_norms_serve_both) {
    for (int same = 0; same < 2; same++) SH_SCOPE {
            functional f = {.op = "conv2d"};
            sh_tensor *x = image();
            sh_graph *g = functional_graph(&f, x, sh_randn(SH_SIZES(3, 4, 1, 1)), SH_NO_KWARGS);
            sh_node *output = sh_graph_output_node(g);
            SH_INSERTING_BEFORE(output) {
                sh_node *w = same ? f.weight : constant(g, "w2", sh_randn(SH_SIZES(3, 4, 1, 1)));
                sh_node *bias = constant(g, "b2", sh_randn(SH_SIZES(3)));
                sh_node *product = sh_graph_call_function(g, "conv2d", f.x, w, bias);
                sh_node *norm = sh_graph_call_function(
                    g, "batch_norm", product, sh_node_arg(f.norm, 1).as.node, sh_node_arg(f.norm, 2).as.node);
                sh_node_set_arg(output, 0, sh_arg_node(sh_graph_call_function(g, "sub", f.norm, norm)));
            }
            sh_graph_propagate_shapes(g, SH_ARGUMENTS(x));
            cr_expect(eq(sz, folds_ops(g, x), same ? 0u : 2u));
        }
}

Test(fuse_ops, the_call_keeps_its_name_and_what_is_known_of_it) {
    functional f = {.op = "conv2d"};
    sh_tensor *x = image();
    sh_graph *g = functional_graph(&f, x, sh_randn(SH_SIZES(3, 4, 1, 1)), SH_NO_KWARGS);
    size_t n = 0;
    sh_node_set_meta_int(f.product, "layer", 7);
    cr_expect(sh_pass_fuse_conv_bn(g, &n) == SH_OK && n == 1);
    sh_node *conv = sh_graph_find(g, "conv2d");
    cr_assert(conv != NULL);
    cr_expect(sh_node_spec(conv) && sh_node_meta(conv, "layer").as.i == 7);
    cr_expect(eq(str, (char *)(uintptr_t)sh_graph_output_name(g, 0), (char *)"conv2d"));
    cr_expect(eq(sz, sh_graph_size(g), 5), "x, weight, bias, conv2d, output");
    sh_graph_free(g);
}

Test(fuse_ops, what_folding_leaves_behind_can_be_given_up) {
    functional f = {.op = "linear"};
    sh_tensor *x = sh_randn(SH_SIZES(2, 3));
    sh_graph *g = functional_graph(&f, x, sh_randn(SH_SIZES(4, 3)), SH_NO_KWARGS);
    size_t n = 0, gone = 9;
    cr_expect(sh_graph_delete_all_unused_attrs(g, &gone) == SH_OK && gone == 0);
    cr_expect(sh_pass_fuse_conv_bn(g, &n) == SH_OK && n == 1);
    sh_list *before = sh_graph_run(g, SH_LIST(x));
    sh_memory_fail_after(1);
    cr_expect(sh_graph_delete_all_unused_attrs(g, &gone) < 0);
    sh_memory_fail_after(0);
    cr_expect(error_says(SH_ERROR_MEMORY, "") && sh_graph_attr_count(g) == 6);
    cr_expect(sh_graph_delete_all_unused_attrs(g, &gone) == SH_OK && gone == 4, "w, mean, var, beta");
    cr_expect(sh_graph_attr_count(g) == 2 && sh_graph_attr(g, "w") == NULL && sh_graph_lint(g) == SH_OK);
    cr_expect(sh_equal(sh_list_at(sh_graph_run(g, SH_LIST(x)), 0), sh_list_at(before, 0)));
    cr_expect(sh_graph_delete_all_unused_attrs(NULL, NULL) < 0 && error_says(SH_ERROR_NULL, "graph is NULL"));
    sh_graph_free(g);
}
