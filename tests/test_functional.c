/* Writes that become values: where they may, where they must not, and the same bits each time. */
#include "tests/graphs.h"
#include "tests/sample.h"

TestSuite(functionalize);

static size_t writes(const sh_graph *g) {
    size_t n = 0;
    SH_EACH_NODE(node, g)
    n += strchr(sh_node_target(node), '_') == strrchr(sh_node_target(node), '\0') - 1 ||
         sh_node_kwarg(node, "out").tag == SH_ARG_NODE;
    return n;
}

/* How many writes are gone; the graph gives the same bits in two runs, and writes to its inputs what it wrote. Frees it. */
static size_t gone(sh_graph *g, sh_tensors inputs) {
    size_t n = 0, again = 0;
    sh_tensor *x = inputs.at[0], *start = sh_clone(x);
    cr_assert(sh_graph_propagate_shapes(g, SH_ARGUMENTS(x)) == SH_OK, "%s", message());
    sh_copy_(x, start);
    const size_t had = writes(g);
    sh_list *before = sh_graph_run(g, inputs);
    sh_tensor *end = sh_clone(x);
    cr_expect(sh_pass_functionalize(g, &n) == SH_OK && sh_graph_lint(g) == SH_OK, "%s", message());
    for (int run = 0; run < 2; run++) {
        sh_copy_(x, start);
        sh_list *after = sh_graph_run(g, inputs);
        cr_assert(before != NULL && after != NULL, "%s", message());
        for (size_t i = 0; i < sh_list_size(before); i++)
            cr_expect(sample_same(sh_list_at(after, i), sh_list_at(before, i)), "run %d, output %zu", run, i);
        cr_expect(sample_same(x, end), "run %d", run);
    }
    cr_expect(eq(sz, had - writes(g), n));
    cr_expect(sh_pass_functionalize(g, &again) == SH_OK && again == 0);
    sh_graph_free(g);
    return n;
}

static sh_graph *begin(sh_node **x) {
    sh_graph *g = sh_graph_new();
    *x = sh_graph_placeholder(g, "x");
    return g;
}
static sh_node *call(sh_graph *g, const char *op, sh_node *x) { return sh_graph_call_function(g, op, x); }
static sh_node *in_place(sh_graph *g, const char *op, sh_node *x, sh_node *y) {
    return sh_graph_call_function(g, op, x, y);
}
static sh_node *with(sh_graph *g, const char *op, sh_node *x, const char *name, sh_arg value) {
    return sh_graph_create_node(g, SH_CALL_FUNCTION, op, SH_ARGS(x), SH_KWARGS(SH_KWARG(name, value)), NULL);
}
static sh_tensor *square(void) { return sh_randn(SH_SIZES(3, 3)); }

Test(functionalize, what_follows_a_write_uses_the_new_value_and_what_went_before_the_old_one) {
    sh_node *x;
    sh_graph *g = begin(&x);
    sh_node *a = call(g, "exp", x), *b = call(g, "neg", a);
    in_place(g, "add_", a, x);
    sh_node *c = in_place(g, "mul_", a, b);
    sh_graph_output(g, sh_arg_tuple(SH_ARGS(a, b, call(g, "relu", a), c)));
    size_t n = 0;
    sh_graph *copy = sh_graph_clone(g);
    cr_expect(eq(sz, gone(g, SH_LIST(square())), 2));
    sh_graph_propagate_shapes(copy, SH_ARGUMENTS(square()));
    cr_expect(sh_pass_functionalize(copy, &n) == SH_OK);
    cr_expect(
        text_is(sh_graph_text(copy),
                "graph():\n    %x : [num_users=2] = placeholder[target=x]\n"
                "    %exp : [num_users=2] = call_function[target=exp](args = (%x,), kwargs = {})\n"
                "    %neg : [num_users=2] = call_function[target=neg](args = (%exp,), kwargs = {})\n"
                "    %add_ : [num_users=1] = call_function[target=add](args = (%exp, %x), kwargs = {})\n"
                "    %mul_ : [num_users=2] = call_function[target=mul](args = (%add_, %neg), kwargs = {})\n"
                "    %relu : [num_users=1] = call_function[target=relu](args = (%mul_,), kwargs = {})\n"
                "    return (mul_, neg, relu, mul_)"));
    sh_graph_free(copy);
}

Test(functionalize, inputs_constants_and_views_of_them_are_written_to) {
    for (int kind = 0; kind < 5; kind++) SH_SCOPE {
            sh_node *x;
            sh_graph *g = begin(&x);
            sh_graph_set_attr(g, "w", sh_zeros(SH_SIZES(3, 3)));
            sh_node *w = sh_graph_get_attr(g, "w");
            sh_node *target = kind == 0   ? x
                              : kind == 1 ? sh_graph_call_function(g, "transpose", x, 0, 1)
                              : kind == 2 ? call(g, "contiguous", x)
                              : kind == 3 ? with(g, "dropout", x, "training", sh_arg_flag(false))
                                          : sh_graph_call_function(g, "select", w, 0, 0);
            sh_graph_output(g, SH_ARG(call(g, "exp", sh_graph_call_function(g, "mul_", target, 0.0))));
            cr_expect(eq(sz, gone(g, SH_LIST(square())), 0), "kind %d", kind);
        }
}

Test(functionalize, a_view_that_is_looked_at_later_keeps_the_write) {
    for (int kind = 0; kind < 7; kind++) SH_SCOPE {
            sh_node *x;
            sh_graph *g = begin(&x);
            sh_node *a = call(g, "exp", x), *view = sh_graph_call_function(g, "transpose", a, 0, 1);
            sh_node *early = call(g, "neg", view);
            if (kind == 4) view = call(g, "contiguous", view);
            if (kind == 5) view = sh_graph_call_function(g, "select", view, 0, 1);
            sh_node *b = sh_graph_call_function(g, "add_", a, 1.0);
            if (kind == 3) sh_graph_call_function(g, "mul_", view, 2.0);
            if (kind == 6) view = sh_graph_call_function(g, "transpose", b, 0, 1);
            const bool later = kind == 1 || kind == 4 || kind == 5 || kind == 6;
            sh_node *last = later ? call(g, "exp", view) : early;
            sh_graph_output(g, sh_arg_tuple(SH_ARGS(last, kind == 2 ? view : early, b)));
            const size_t expected = kind == 0 || kind == 6;
            cr_expect(eq(sz, gone(g, SH_LIST(square())), expected), "kind %d", kind);
        }
}

Test(functionalize, a_write_through_a_view_stays_and_what_is_whole_goes_on) {
    sh_node *x;
    sh_graph *g = begin(&x);
    sh_node *a = call(g, "exp", x), *row = sh_graph_call_function(g, "select", a, 0, 0);
    sh_graph_call_function(g, "add_", row, 1.0);
    sh_graph_call_function(g, "mul_", a, 2.0);
    sh_graph_output(g, SH_ARG(a));
    cr_expect(eq(sz, gone(g, SH_LIST(square())), 1), "the view is not looked at any more");
}

Test(functionalize, an_operand_in_the_same_memory_must_be_the_same_value) {
    sh_node *x;
    sh_graph *g = begin(&x);
    sh_node *a = call(g, "exp", x);
    sh_graph_output(g, SH_ARG(in_place(g, "add_", a, a)));
    cr_expect(eq(sz, gone(g, SH_LIST(square())), 1));
    g = begin(&x);
    a = call(g, "exp", x);
    sh_node *same = sh_graph_call_function(g, "view", a, sh_arg_list(SH_ARGS(3, 3)));
    sh_graph_output(g, SH_ARG(in_place(g, "add_", a, same)));
    cr_expect(eq(sz, gone(g, SH_LIST(square())), 0));
}

Test(functionalize, the_dtype_of_what_is_written_to_stays) {
    const struct {
        const char *op;
        sh_dtype self, other;
        size_t casts;
    } cases[] = {{"add_", SH_F32, SH_F64, 1},  {"add_", SH_F64, SH_F32, 0}, {"mul_", SH_F16, SH_F32, 1},
                 {"mul_", SH_BF16, SH_F16, 1}, {"lt_", SH_F32, SH_F32, 1},  {"add_", SH_I32, SH_I64, 1},
                 {"sub_", SH_I64, SH_I32, 0},  {"eq_", SH_I64, SH_F32, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) SH_SCOPE {
            sh_node *x;
            sh_graph *g = begin(&x);
            sh_node *scaled = sh_graph_call_function(g, "mul", x, 3.7);
            sh_node *a = sh_graph_call_function(g, "to", scaled, sh_arg_dtype(cases[i].self));
            sh_node *b =
                sh_graph_call_function(g, "to", call(g, "sin", scaled), sh_arg_dtype(cases[i].other));
            a = sh_graph_call_function(g, "abs", a);
            in_place(g, cases[i].op, a, b);
            sh_graph_output(g, SH_ARG(a));
            sh_graph *copy = sh_graph_clone(g);
            size_t n = 0;
            sh_tensor *in = sh_randn(SH_SIZES(40));
            cr_expect(eq(sz, gone(g, SH_LIST(in)), 1), "case %zu", i);
            sh_graph_propagate_shapes(copy, SH_ARGUMENTS(in));
            cr_expect(sh_pass_functionalize(copy, &n) == SH_OK);
            cr_expect(eq(sz, sh_graph_find_nodes(copy, SH_CALL_FUNCTION, "to", NULL, 0), 2 + cases[i].casts));
            sh_graph_free(copy);
        }
}

Test(functionalize, operands_are_broadcast_and_the_target_never) {
    sh_node *x;
    sh_graph *g = begin(&x);
    sh_node *a = call(g, "exp", x);
    in_place(g, "add_", a, with(g, "sum", x, "dim", sh_arg_list(SH_ARGS(0))));
    sh_graph_output(g, SH_ARG(in_place(g, "mul_", a, call(g, "sum", x))));
    cr_expect(eq(sz, gone(g, SH_LIST(square())), 2));
    g = begin(&x);
    a = with(g, "sum", x, "dim", sh_arg_list(SH_ARGS(0)));
    const sh_spec row = {.dtype = SH_F32, .ndim = 1, .sizes = {3}},
                  whole = {.dtype = SH_F32, .ndim = 2, .sizes = {3, 3}};
    sh_graph_output(g, SH_ARG(in_place(g, "add_", a, x)));
    sh_node_set_spec(x, &whole), sh_node_set_spec(a, &row);
    size_t n = 0;
    cr_expect(sh_pass_functionalize(g, &n) == SH_OK && n == 0, "it fails when it runs");
    cr_expect(sh_graph_run(g, SH_LIST(square())) == NULL && error_says(SH_ERROR_SHAPE, "does not fit self"));
    sh_graph_free(g);
}

Test(functionalize, results_that_would_not_fit_the_target_stay_errors) {
    sh_node *x;
    sh_graph *g = begin(&x);
    sh_node *a = sh_graph_call_function(g, "full", sh_arg_list(SH_ARGS(3)), 2);
    sh_graph_output(g, SH_ARG(in_place(g, "add_", a, x)));
    const sh_spec real = {.dtype = SH_F32, .ndim = 1, .sizes = {3}},
                  integer = {.dtype = SH_I64, .ndim = 1, .sizes = {3}};
    sh_node_set_spec(x, &real), sh_node_set_spec(a, &integer);
    size_t n = 0;
    cr_expect(sh_pass_functionalize(g, &n) == SH_OK && n == 0);
    cr_expect(sh_graph_run(g, SH_LIST(sh_ones(SH_SIZES(3)))) == NULL);
    cr_expect(error_says(SH_ERROR_DTYPE, "can't be cast"));
    sh_graph_free(g);
}

static sh_node *into(sh_graph *g, const char *op, sh_args args, sh_node *out) {
    return sh_graph_create_node(g, SH_CALL_FUNCTION, op, args, SH_KWARGS(SH_KWARG("out", out)), NULL);
}

Test(functionalize, an_out_goes_where_the_graph_made_it) {
    for (int kind = 0; kind < 6; kind++) SH_SCOPE {
            static const size_t expected[] = {1, 1, 1, 0, 0, 0};
            const sh_arg dtype = sh_arg_dtype(kind == 1 || kind == 5 ? SH_F64 : SH_F32);
            sh_node *x;
            sh_graph *g = begin(&x);
            sh_node *made = with(g, "empty_like", x, "dtype", dtype), *out = kind == 3 ? x : made;
            sh_node *view = sh_graph_call_function(g, "select", made, 0, 0), *r;
            if (kind == 2)
                r = into(g, "matmul", SH_ARGS(x, x), out);
            else if (kind == 5)
                r = into(g, "cumsum", SH_ARGS(x, 0), out); /* would add up in f32 */
            else
                r = into(g, "mul", SH_ARGS(x, 0.3), out);
            sh_graph_output(g, sh_arg_tuple(SH_ARGS(call(g, "neg", out), r, kind == 4 ? view : r)));
            cr_expect(eq(sz, gone(g, SH_LIST(square())), expected[kind]), "kind %d", kind);
        }
}

Test(functionalize, a_copy_into_a_whole_value_is_a_value) {
    sh_node *x;
    sh_graph *g = begin(&x);
    sh_node *wide = with(g, "empty_like", x, "dtype", sh_arg_dtype(SH_F64));
    in_place(g, "copy_", wide, with(g, "sum", x, "dim", sh_arg_list(SH_ARGS(1))));
    sh_graph_call_function(g, "add_", wide, 1.5);
    sh_graph_output(g, SH_ARG(wide));
    cr_expect(eq(sz, gone(g, SH_LIST(square())), 2));
}

Test(functionalize, one_of_several_results_stays) {
    sh_node *x;
    sh_graph *g = begin(&x);
    sh_node *both = sh_graph_call_function(g, "max.dim", x, 0);
    sh_node *values = sh_graph_call_function(g, SH_GETITEM, both, 0);
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "add_", values, 1.0)));
    cr_expect(eq(sz, gone(g, SH_LIST(square())), 0));
}

static sh_status hand_on(void *user, sh_arguments args, sh_value *result) {
    (void)user;
    *result = args.at[0].value;
    return SH_OK;
}

Test(functionalize, what_a_function_was_given_stays) {
    sh_function_register("hand_on", hand_on, &(sh_function_options){.flags = SH_FUNCTION_PURE});
    for (int later = 0; later < 2; later++) SH_SCOPE {
            sh_node *x;
            sh_graph *g = begin(&x);
            sh_node *a = call(g, "exp", x), *same = later ? NULL : call(g, "hand_on", a);
            sh_graph_call_function(g, "add_", a, 1.0);
            if (later) same = call(g, "hand_on", a);
            sh_graph_output(g, SH_ARG(same));
            cr_expect(eq(sz, gone(g, SH_LIST(square())), later ? 1u : 0u));
        }
}

Test(functionalize, dropout_and_what_draws_stays) {
    sh_node *x;
    sh_graph *g = begin(&x);
    sh_node *a = call(g, "exp", x);
    sh_graph_output(g, SH_ARG(call(g, "dropout_", a)));
    size_t n = 0;
    sh_graph_propagate_shapes(g, SH_ARGUMENTS(square()));
    cr_expect(sh_pass_functionalize(g, &n) == SH_OK && n == 0);
    sh_graph_free(g);
}

Test(functionalize, unknown_shapes_stay) {
    size_t n = 0;
    sh_node *x;
    sh_graph *g = begin(&x);
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "add_", call(g, "exp", x), 1.0)));
    cr_expect(sh_pass_functionalize(g, &n) == SH_OK && n == 0);
    cr_expect(sh_pass_functionalize(NULL, &n) < 0 && error_says(SH_ERROR_NULL, "graph is NULL"));
    sh_graph_free(g);
}

/* What is written in place again afterwards is as it was. */
Test(functionalize, reinplace_undoes_it) {
    sh_node *x;
    size_t n = 0, back = 0;
    sh_graph *g = begin(&x);
    sh_node *a = call(g, "exp", x);
    sh_graph_call_function(g, "add_", a, 1.0);
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "mul_", a, 2.0)));
    sh_graph_propagate_shapes(g, SH_ARGUMENTS(square()));
    cr_expect(sh_pass_functionalize(g, &n) == SH_OK && n == 2);
    cr_expect(sh_pass_reinplace(g, &back) == SH_OK && back == 2);
    sh_graph_free(g);
}

/* One allocation of the pass fails: false if it met none. Whatever was done, the numbers are right. */
static bool fails_at(size_t allocation) {
    sh_node *x;
    size_t n = 0;
    sh_tensor *in = sh_to(square(), SH_F64);
    sh_graph *g = begin(&x);
    sh_node *a = call(g, "sin", sh_graph_call_function(g, "to", x, sh_arg_dtype(SH_F32)));
    sh_node *b = in_place(g, "add_", a, x);
    sh_graph_output(g, sh_arg_tuple(SH_ARGS(a, call(g, "neg", a), b)));
    sh_graph_propagate_shapes(g, SH_ARGUMENTS(in));
    sh_list *before = sh_graph_run(g, SH_LIST(in));
    sh_memory_fail_after(allocation);
    const sh_status status = sh_pass_functionalize(g, &n);
    const bool hit = sh_memory_fail_after(0) >= allocation;
    cr_expect(hit ? error_says(SH_ERROR_MEMORY, "") : status == SH_OK && n == 1, "%zu", allocation);
    cr_expect(sh_graph_lint(g) == SH_OK, "%zu: %s", allocation, message());
    sh_list *after = sh_graph_run(g, SH_LIST(in));
    for (size_t i = 0; i < 3; i++)
        cr_expect(sample_same(sh_list_at(after, i), sh_list_at(before, i)), "%zu", allocation);
    sh_graph_free(g);
    return hit;
}

Test(functionalize, each_allocation_may_fail) {
    size_t n = 1;
    for (bool hit = true; hit && n < 1000; n++) SH_SCOPE hit = fails_at(n);
    cr_expect(n > 10 && n < 1000);
}
