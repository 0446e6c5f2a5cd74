/* Narrow floats: what is computed in them, what stays in f32, and how far the numbers may be. */
#include "tests/graphs.h"
#include "tests/sample.h"

TestSuite(convert_dtype);

static size_t calls(const sh_graph *g, const char *target) {
    return sh_graph_find_nodes(g, SH_CALL_FUNCTION, target, NULL, 0);
}

static sh_node *constant(sh_graph *g, const char *name, sh_tensor *t) {
    if (!t || sh_graph_set_attr(g, name, t) < 0) return NULL;
    return sh_graph_get_attr(g, name);
}

static sh_dtype dtype_of(const sh_graph *g, const char *name) {
    const sh_node *node = sh_graph_find(g, name);
    const sh_spec *spec = node ? sh_node_spec(node) : NULL;
    return spec ? spec->dtype : SH_NO_DTYPE;
}

/* Each node's dtype is what its spec says when the graph runs. */
static sh_status check_spec(sh_interpreter *in, sh_node *node, sh_value *result) {
    SH_TRY(sh_interpreter_run_node(in, node, result));
    const sh_spec *spec = sh_node_spec(node);
    const sh_tensor *t = sh_value_as_tensor(*result);
    if (spec && t) cr_expect(sh_tensor_dtype(t) == spec->dtype, "%s", sh_node_name(node));
    return SH_OK;
}

/* How many nodes changed; the results are near, of their old dtypes, and the same in two runs. */
static size_t converted(sh_graph *g, sh_tensor *x, double tolerance) {
    size_t n = 0, again = 0;
    sh_value out;
    cr_assert(sh_graph_propagate_shapes(g, SH_ARGUMENTS(x)) == SH_OK, "%s", message());
    sh_list *before = sh_graph_run(g, SH_LIST(x));
    cr_assert(before != NULL, "%s", message());
    cr_expect(sh_pass_to_bf16(g, &n) == SH_OK && sh_graph_lint(g) == SH_OK, "%s", message());
    for (int run = 0; run < 2; run++) {
        sh_list *after = sh_graph_run(g, SH_LIST(x));
        cr_assert(after != NULL, "%s", message());
        for (size_t i = 0; i < sh_list_size(before); i++) {
            cr_expect(sh_tensor_dtype(sh_list_at(after, i)) == sh_tensor_dtype(sh_list_at(before, i)));
            cr_expect(le(dbl, apart(sh_list_at(after, i), sh_list_at(before, i)), tolerance), "output %zu",
                      i);
        }
    }
    sh_interpreter *in = sh_interpreter_new(g, &(sh_interpreter_options){.run_node = check_spec});
    cr_expect(sh_interpreter_run(in, SH_ARGUMENTS(x), &out) == SH_OK, "%s", message());
    sh_interpreter_free(in);
    cr_expect(sh_pass_to_bf16(g, &again) == SH_OK && again == 0, "nothing is left to convert");
    return n;
}

Test(convert_dtype, products_are_narrow_softmax_is_not_and_weights_are_converted_once) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *w = constant(g, "w", sh_randn(SH_SIZES(4, 4)));
    sh_node *again = sh_graph_get_attr(g, "w");
    sh_node *a = sh_graph_call_function(g, "linear", x, w);
    sh_node *b = sh_graph_call_function(g, "linear", sh_graph_call_function(g, "relu", a), again);
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "softmax", b, 1)));
    converted(g, sh_randn(SH_SIZES(3, 4)), 0.05);
    cr_expect(dtype_of(g, "linear") == SH_BF16 && dtype_of(g, "relu") == SH_BF16);
    cr_expect(dtype_of(g, "softmax") == SH_F32);
    cr_expect(eq(sz, calls(g, "to"), 2), "the input, and what softmax takes");
    cr_expect(eq(sz, sh_graph_find_nodes(g, SH_GET_ATTR, NULL, NULL, 0), 1));
    sh_graph_free(g);
}

Test(convert_dtype, integers_bools_and_doubles_are_left_alone) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *w = constant(g, "rows", sh_randn(SH_SIZES(5, 2)));
    sh_node *wide = constant(g, "wide", sh_to(sh_randn(SH_SIZES(2)), SH_F64));
    sh_node *rows = sh_graph_call_function(g, "embedding", w, x);
    sh_node *mask = sh_graph_call_function(g, "gt", rows, 0.0);
    sh_node *sum = sh_graph_call_function(g, "add", rows, wide);
    sh_graph_output(g, sh_arg_tuple(SH_ARGS(sh_graph_call_function(g, "add", x, 1), mask, sum)));
    converted(g, sh_to(sh_arange(3.0), SH_I64), 0.02);
    cr_expect(dtype_of(g, "embedding") == SH_BF16 && dtype_of(g, "gt") == SH_B8);
    cr_expect(dtype_of(g, "add") == SH_F64, "an f64 operand takes f32");
    sh_graph_free(g);
}

Test(convert_dtype, factories_and_explicit_dtypes_keep_theirs) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *ramp = sh_graph_call_function(g, "arange", 4.0);
    sh_node *y = sh_graph_call_function(g, "neg", sh_graph_call_function(g, "mul", x, ramp));
    sh_node *f32 = sh_graph_call_function(g, "to", y, sh_arg_dtype(SH_F32));
    sh_node *f64 = sh_graph_call_function(g, "to", y, sh_arg_dtype(SH_F64));
    sh_graph_output(g, sh_arg_tuple(SH_ARGS(f32, f64)));
    converted(g, sh_randn(SH_SIZES(4)), 0.02);
    cr_expect(dtype_of(g, "arange") == SH_F32 && dtype_of(g, "neg") == SH_BF16);
    sh_graph_free(g);
}

Test(convert_dtype, written_memory_stays_in_f32) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *a = sh_graph_call_function(g, "mul", x, 2.0);
    sh_node *before = sh_graph_call_function(g, "neg", a),
            *view = sh_graph_call_function(g, "view", a, sh_arg_list(SH_ARGS(-1)));
    sh_graph_call_function(g, "add_", view, 1.0);
    sh_graph_output(g, sh_arg_tuple(SH_ARGS(before, sh_graph_call_function(g, "neg", a), a)));
    converted(g, sh_randn(SH_SIZES(4)), 0.02);
    cr_expect(dtype_of(g, "mul") == SH_F32 && dtype_of(g, "view") == SH_F32);
    sh_graph_free(g);
}

Test(convert_dtype, views_follow_and_lists_too) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *w = constant(g, "w", sh_randn(SH_SIZES(4, 4)));
    sh_node *t = sh_graph_call_function(g, "transpose", w, 0, 1);
    sh_node *y = sh_graph_call_function(g, "matmul", x, t), *parts = sh_graph_call_function(g, "split", y, 2);
    sh_node *one = sh_graph_call_function(g, SH_GETITEM, parts, 0);
    sh_node *two = sh_graph_call_function(g, SH_GETITEM, parts, 1);
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "cat", sh_arg_list(SH_ARGS(one, two, x)))));
    converted(g, sh_randn(SH_SIZES(4, 4)), 0.05);
    cr_expect(dtype_of(g, "transpose") == SH_BF16);
    sh_graph_free(g);
}

Test(convert_dtype, outputs_keep_their_names_and_may_stay_narrow) {
    for (int keep = 0; keep < 2; keep++) SH_SCOPE {
            sh_graph *g = sh_graph_new();
            sh_tensor *t = sh_randn(SH_SIZES(2));
            sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "neg", sh_graph_placeholder(g, "x"))));
            sh_graph_propagate_shapes(g, SH_ARGUMENTS(t));
            const sh_dtype_options options = {.dtype = SH_F16, .keep_outputs = keep != 0};
            size_t n = 0;
            cr_expect(sh_convert_dtype(g, &options, &n) == SH_OK && n > 0);
            cr_expect(eq(str, (char *)(uintptr_t)sh_graph_output_name(g, 0), (char *)"neg"));
            sh_list *out = sh_graph_run(g, SH_LIST(t));
            cr_expect(out && sh_tensor_dtype(sh_list_at(out, 0)) == (keep ? SH_F16 : SH_F32));
            sh_graph_free(g);
        }
}

static bool keeps_linear(const sh_node *node, void *user) {
    return strcmp(sh_node_target(node), "linear") == 0 || sh_keeps_f32(node, user);
}

Test(convert_dtype, a_conv_net_of_modules_and_a_filter_of_ones_own) {
    sh_module *net = sh_nn_sequential(sh_nn_conv2d(1, 4, 3), sh_nn_batch_norm2d(4), sh_nn_relu(),
                                      sh_nn_flatten(), sh_nn_linear(64, 3));
    sh_tensor *x = sh_randn(SH_SIZES(2, 1, 6, 6));
    sh_module_eval(net);
    sh_graph *g = sh_trace(net, SH_INPUTS(x), NULL);
    converted(g, x, 0.05);
    cr_expect(dtype_of(g, "_0") == SH_BF16 && dtype_of(g, "_1") == SH_F32 && dtype_of(g, "_2") == SH_BF16);
    sh_graph_free(g);
    g = sh_trace(net, SH_INPUTS(x), NULL);
    size_t n = 0;
    cr_expect(sh_convert_dtype(g, &(sh_dtype_options){.dtype = SH_BF16, .keeps = keeps_linear}, &n) == SH_OK);
    cr_expect(dtype_of(g, "_4") == SH_F32 && dtype_of(g, "_0") == SH_BF16);
    sh_graph_free(g);
    sh_module_release(net);
}

Test(convert_dtype, parameters_of_a_net_in_training_are_cast_as_it_runs) {
    sh_module *net = sh_nn_sequential(sh_nn_linear(4, 4));
    sh_tensor *x = sh_randn(SH_SIZES(2, 4));
    sh_graph *g = sh_trace(net, SH_INPUTS(x), NULL);
    converted(g, x, 0.05);
    cr_expect(eq(sz, calls(g, "to"), 4), "input, weight, bias, output");
    sh_graph_free(g);
    sh_module_release(net);
}

static bool convert_some(void) {
    sh_graph *g = sh_graph_new();
    sh_node *x = g ? sh_graph_placeholder(g, "x") : NULL,
            *w = x ? constant(g, "w", sh_ones(SH_SIZES(2, 2))) : NULL;
    const sh_spec spec = {.dtype = SH_F32, .ndim = 2, .sizes = {2, 2}};
    sh_node *y = w ? sh_graph_call_function(g, "matmul", x, w) : NULL;
    if (y) sh_node_set_spec(x, &spec), sh_node_set_spec(y, &spec), sh_graph_output(g, SH_ARG(y));
    size_t n = 0;
    const bool done = !sh_error() && sh_pass_to_f16(g, &n) == SH_OK && n != 0;
    sh_graph_free(g);
    return done;
}

Test(convert_dtype, each_allocation_may_fail_and_bad_input_is_an_error) {
    cr_expect(each_allocation_may_fail(convert_some));
    sh_graph *g = sh_graph_new();
    cr_expect(sh_convert_dtype(NULL, NULL, NULL) < 0 && error_says(SH_ERROR_NULL, "graph is NULL"));
    cr_expect(sh_convert_dtype(g, NULL, NULL) < 0 && error_says(SH_ERROR_NULL, "options is NULL"));
    cr_expect(sh_convert_dtype(g, &(sh_dtype_options){.dtype = SH_I64}, NULL) < 0);
    cr_expect(error_says(SH_ERROR_DTYPE, "got i64, expected f16 or bf16"));
    sh_graph_free(g);
}
