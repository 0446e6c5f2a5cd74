/* Writing into what nobody needs any more: where it may, where it must not, and the same bits each time. */
#include "tests/graphs.h"
#include "tests/sample.h"

TestSuite(reinplace);

/* How many ops write in place now; the graph gives the same bits in two runs and leaves its input alone. Frees it. */
static size_t reinplaced(sh_graph *g, sh_tensor *x) {
    size_t n = 0, again = 0;
    sh_tensor *copy = sh_clone(x);
    cr_assert(sh_graph_propagate_shapes(g, SH_ARGUMENTS(x)) == SH_OK, "%s", message());
    sh_list *before = sh_graph_run(g, SH_LIST(x));
    cr_expect(sh_pass_reinplace(g, &n) == SH_OK && sh_graph_lint(g) == SH_OK, "%s", message());
    for (int run = 0; run < 2; run++) {
        sh_list *after = sh_graph_run(g, SH_LIST(x));
        cr_assert(after != NULL, "%s", message());
        for (size_t i = 0; i < sh_list_size(before); i++)
            cr_expect(sample_same(sh_list_at(after, i), sh_list_at(before, i)), "run %d", run);
        cr_expect(sample_same(x, copy), "run %d writes to its input", run);
    }
    cr_expect(sh_pass_reinplace(g, &again) == SH_OK && again == 0);
    sh_graph_free(g);
    return n;
}

static sh_graph *begin(sh_node **x) {
    sh_graph *g = sh_graph_new();
    *x = sh_graph_placeholder(g, "x");
    return g;
}
static sh_node *call(sh_graph *g, const char *op, sh_node *x) { return sh_graph_call_function(g, op, x); }
static sh_node *add(sh_graph *g, sh_node *a, sh_node *b) { return sh_graph_call_function(g, "add", a, b); }
static sh_tensor *input(void) { return sh_randn(SH_SIZES(3, 3)); }

Test(reinplace, a_chain_goes_on_in_the_memory_that_its_first_op_made) {
    sh_node *x;
    sh_graph *g = begin(&x);
    sh_node *first = call(g, "exp", x);
    sh_graph_output(g, SH_ARG(call(g, "sigmoid", add(g, call(g, "relu", first), x))));
    cr_expect(eq(sz, reinplaced(g, input()), 3));
}

Test(reinplace, inputs_constants_and_views_of_them_stay) {
    sh_node *x;
    sh_graph *g = begin(&x);
    sh_graph_set_attr(g, "w", sh_randn(SH_SIZES(3, 3)));
    sh_node *w = sh_graph_get_attr(g, "w"), *a = call(g, "relu", x), *b = call(g, "relu", w);
    sh_node *c = call(g, "relu", sh_graph_call_function(g, "transpose", x, 0, 1));
    sh_node *d = call(g, "relu", call(g, "contiguous", x));
    sh_node *e = call(g, "relu",
                      sh_graph_create_node(g, SH_CALL_FUNCTION, "dropout", SH_ARGS(x),
                                           SH_KWARGS(SH_KWARG("training", (bool)false)), NULL));
    sh_graph_output(g, sh_arg_tuple(SH_ARGS(a, b, c, d, e)));
    cr_expect(eq(sz, reinplaced(g, input()), 0));
}

Test(reinplace, what_is_used_later_returned_or_seen_through_a_view_stays) {
    for (int kind = 0; kind < 4; kind++) SH_SCOPE {
            sh_node *x;
            sh_graph *g = begin(&x);
            sh_node *a = call(g, "exp", x), *view = sh_graph_call_function(g, "transpose", a, 0, 1);
            sh_node *b = call(g, "neg", a);
            sh_node *later = kind == 0   ? call(g, "exp", a)
                             : kind == 1 ? call(g, "exp", view)
                             : kind == 2 ? a
                                         : view;
            sh_graph_output(g, sh_arg_tuple(SH_ARGS(b, later)));
            cr_expect(eq(sz, reinplaced(g, input()), kind ? 0u : 1u), "kind %d: only its last user may",
                      kind);
        }
}

Test(reinplace, an_operand_in_the_same_memory_must_be_the_same_value) {
    sh_node *x;
    sh_graph *g = begin(&x);
    sh_node *a = call(g, "exp", x);
    sh_graph_output(g, SH_ARG(add(g, a, sh_graph_call_function(g, "transpose", a, 0, 1))));
    cr_expect(eq(sz, reinplaced(g, input()), 0));
    g = begin(&x);
    a = call(g, "exp", x);
    sh_graph_output(g, SH_ARG(add(g, a, a)));
    cr_expect(eq(sz, reinplaced(g, input()), 1));
}

Test(reinplace, results_of_other_shapes_and_dtypes_stay) {
    sh_node *x;
    sh_graph *g = begin(&x);
    sh_node *row = sh_graph_create_node(g, SH_CALL_FUNCTION, "sum", SH_ARGS(x),
                                        SH_KWARGS(SH_KWARG("dim", sh_arg_list(SH_ARGS(0)))), NULL);
    sh_node *wider = add(g, row, x), *mask = sh_graph_call_function(g, "gt", wider, 0.0);
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "div", mask, 2)));
    cr_expect(eq(sz, reinplaced(g, input()), 0));
}

Test(reinplace, views_keep_their_layout) {
    sh_node *x;
    sh_graph *g = begin(&x);
    sh_node *t = sh_graph_call_function(g, "transpose", call(g, "exp", x), 0, 1), *r = call(g, "relu", t);
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "view", r, sh_arg_list(SH_ARGS(9)))));
    cr_expect(eq(sz, reinplaced(g, input()), 0), "a result in place would have strides that view can't take");
}

Test(reinplace, unknown_shapes_unused_results_and_user_functions_stay) {
    size_t n = 0;
    sh_node *x;
    sh_graph *g = begin(&x);
    sh_node *a = call(g, "exp", x);
    call(g, "neg", a);
    sh_graph_output(g, SH_ARG(call(g, "exp", x)));
    cr_expect(sh_pass_reinplace(g, &n) == SH_OK && n == 0);
    sh_graph_propagate_shapes(g, SH_ARGUMENTS(input()));
    cr_expect(sh_pass_reinplace(g, &n) == SH_OK && n == 0, "dead code stays removable");
    cr_expect(sh_pass_reinplace(NULL, &n) < 0 && error_says(SH_ERROR_NULL, "graph is NULL"));
    sh_graph_free(g);
}

static sh_tensor *forward(sh_module *self, sh_tensor *x) {
    sh_tensor *y = sh_forward(sh_module_child(self, "flat"), sh_forward(sh_module_child(self, "linear"), x));
    return sh_relu(sh_add(sh_relu(sh_forward(sh_module_child(self, "linear"), x)), sh_relu(y)));
}

Test(reinplace, modules_give_memory_of_their_own_unless_they_pass_it_on) {
    static const sh_module_type type = {.name = "Net", .forward = forward};
    sh_module *net = sh_module_new(&type);
    sh_module_give(net, "linear", sh_nn_linear(3, 3));
    sh_module_give(net, "flat", sh_nn_flatten());
    sh_graph *g = sh_trace(net, SH_INPUTS(input()), NULL);
    cr_expect(eq(sz, reinplaced(g, input()), 3), "relu of the linear, the sum, its relu");
    sh_module_release(net);
}

static bool write_in_place(void) {
    sh_node *x = NULL;
    size_t n = 0;
    const sh_spec spec = {.dtype = SH_F32, .ndim = 1, .sizes = {2}};
    sh_graph *g = sh_graph_new();
    if (g) x = sh_graph_placeholder(g, "x");
    sh_node *a = x ? call(g, "exp", x) : NULL, *b = a ? call(g, "neg", a) : NULL;
    if (b) sh_node_set_spec(a, &spec), sh_node_set_spec(b, &spec), sh_graph_output(g, SH_ARG(b));
    const bool done = !sh_error() && sh_pass_reinplace(g, &n) == SH_OK && n == 1;
    sh_graph_free(g);
    return done;
}

Test(reinplace, each_allocation_may_fail) { cr_expect(each_allocation_may_fail(write_in_place)); }
