/* User functions: registered, called, run by nodes, recorded by captures. */
#include "tests/graphs.h"

static sh_status plus_one(void *user, sh_arguments args, sh_value *result) {
    if (user) ++*(int *)user;
    sh_tensor *x = sh_arguments_tensor(args, 0);
    *result = sh_value_tensor(sh_add(sh_mul(x, 1.0), 1.0));
    return SH_OK;
}

/* (x, x * by): `by` by name. */
static sh_status with_product(void *user, sh_arguments args, sh_value *result) {
    (void)user;
    sh_tensor *x = sh_arguments_tensor(args, 0);
    const double by = sh_value_as_double(sh_arguments_named(args, "by"));
    *result = sh_list_value(SH_LIST(x, sh_mul(x, by)));
    return SH_OK;
}

static sh_status fails(void *user, sh_arguments args, sh_value *result) {
    (void)user, (void)args, (void)result;
    return sh_fail(SH_ERROR_VALUE, "the lamp is out");
}

static sh_graph *graph_with(const char *target) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, target, x)));
    return g;
}

Test(function, a_node_and_a_call_in_code_run_the_same_body) {
    int runs = 0;
    sh_tensor *x = SH_FLOATS(1, 2);
    cr_assert(sh_function_register("t::plus_one", plus_one, &(sh_function_options){.user = &runs}) == SH_OK);
    sh_graph *g = graph_with("t::plus_one");
    cr_expect(sh_graph_find(g, "plus_one") != NULL);
    cr_expect(eq(dbl, run_sum(g, SH_LIST(x)), 5));
    cr_expect(eq(dbl, sh_item(sh_sum(sh_function_call("t::plus_one", x))), 5));
    cr_expect(eq(int, runs, 2));
    sh_graph_free(g);
}

Test(function, keywords_lists_and_several_results_go_through) {
    sh_function_register("with_product", with_product, NULL);
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_node *both = sh_graph_create_node(g, SH_CALL_FUNCTION, "with_product", SH_ARGS(x),
                                         SH_KWARGS(SH_KWARG("by", 3)), NULL);
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, SH_GETITEM, both, -1)));
    cr_expect(eq(dbl, run_sum(g, SH_LIST(SH_FLOATS(1, 2))), 9));
    sh_value result;
    cr_assert(sh_function_call_values("with_product", SH_ARGUMENTS(SH_FLOATS(2), SH_NAMED("by", 2)),
                                      &result) == SH_OK);
    cr_expect(result.tag == SH_TAG_TENSORS && result.count == 2);
    cr_expect(eq(dbl, sh_item(result.as.tensors[1]), 4));
    cr_expect(sh_function_call("with_product", SH_FLOATS(2)) == NULL);
    cr_expect(error_says(SH_ERROR_RESULT, "sh_function_call_values"));
    sh_graph_free(g);
}

Test(function, a_capture_records_it_as_one_node) {
    sh_function_register("plus_one", plus_one, NULL);
    sh_function_register("with_product", with_product, NULL);
    sh_capture *c = sh_capture_new(NULL);
    sh_tensor *x = SH_FLOATS(1, 2), *y;
    sh_capture_input(c, x, "x");
    SH_WITH_MODE(sh_capture_mode(c)) {
        sh_value both;
        sh_function_call_values("with_product",
                                SH_ARGUMENTS(sh_function_call("plus_one", x), SH_NAMED("by", 0.5)), &both);
        y = sh_relu(both.as.tensors[1]);
    }
    sh_graph *g = sh_capture_graph(c, SH_LIST(y));
    cr_expect(text_is(
        sh_graph_text(g),
        "graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %plus_one : [num_users=1] = call_function[target=plus_one](args = (%x,), kwargs = {})\n"
        "    %with_product : [num_users=1] = call_function[target=with_product](args = (%plus_one,), kwargs = {by: 0.5})\n"
        "    %getitem : [num_users=1] = call_function[target=operator.getitem](args = (%with_product, 1), kwargs = {})\n"
        "    %relu : [num_users=1] = call_function[target=relu](args = (%getitem,), kwargs = {})\n"
        "    return relu"));
    cr_expect(eq(dbl, run_sum(g, SH_LIST(x)), 2.5));
    sh_graph_free(g);
    sh_capture_free(c);
}

static sh_status writes_to_it(void *user, sh_arguments args, sh_value *result) {
    (void)user;
    *result = sh_value_tensor(sh_add_(sh_arguments_tensor(args, 0), 1.0));
    return SH_OK;
}

Test(function, what_it_writes_to_is_kept_by_a_capture_as_it_was) {
    sh_function_register("writes_to_it", writes_to_it, NULL);
    sh_capture *c = sh_capture_new(NULL);
    sh_tensor *constant = SH_FLOATS(1, 2), *y;
    SH_WITH_MODE(sh_capture_mode(c)) y = sh_mul(sh_function_call("writes_to_it", constant), 1.0);
    sh_graph *g = sh_capture_graph(c, SH_LIST(y));
    cr_expect(eq(dbl, run_sum(g, (sh_tensors){NULL, 0}), 5));
    sh_graph_free(g);
    sh_capture_free(c);
}

static sh_status count(sh_mode *mode, sh_call *call) {
    (void)call;
    ++*(int *)sh_mode_user(mode);
    return SH_PASS;
}

Test(function, modes_see_the_ops_of_its_body) {
    int calls = 0;
    sh_function_register("plus_one", plus_one, NULL);
    sh_mode *mode = sh_mode_new(count, &(sh_mode_options){.user = &calls});
    SH_WITH_MODE(mode) sh_function_call("plus_one", SH_FLOATS(1));
    cr_expect(eq(int, calls, 2));
    sh_mode_release(mode);
}

static sh_status infer_pair(void *user, sh_arguments args, sh_spec *spec) {
    (void)user, (void)args;
    *spec = (sh_spec){.dtype = SH_I64, .ndim = 1, .sizes = {2}};
    return SH_OK;
}

Test(function, its_infer_function_answers_where_there_is_no_data) {
    sh_function_register("pair", fails, &(sh_function_options){.infer = infer_pair});
    sh_tensor *meta = sh_tensor_new_on(SH_META, SH_F32, SH_SIZES(3)), *y = sh_function_call("pair", meta);
    cr_assert(y != NULL);
    cr_expect(sh_tensor_device(y) == SH_META && sh_tensor_dtype(y) == SH_I64 && sh_tensor_numel(y) == 2);
    cr_expect(sh_function_call("pair", SH_FLOATS(1)) == NULL && error_says(SH_ERROR_VALUE, "lamp"));
}

Test(function, the_newest_registration_wins_until_it_is_removed) {
    sh_graph *g = graph_with("f");
    sh_function_register("f", plus_one, NULL);
    cr_expect(eq(dbl, run_sum(g, SH_LIST(SH_FLOATS(1))), 2));
    sh_function_register("f", fails, &(sh_function_options){.flags = SH_FUNCTION_PURE});
    cr_expect(eq(u32, sh_function_flags("f"), SH_FUNCTION_PURE));
    cr_expect(sh_graph_run(g, SH_LIST(SH_FLOATS(1))) == NULL && error_says(SH_ERROR_VALUE, "lamp"));
    cr_expect(sh_function_remove("f") == SH_OK);
    cr_expect(eq(dbl, run_sum(g, SH_LIST(SH_FLOATS(1))), 2));
    cr_expect(sh_function_remove("f") == SH_OK && !sh_function_is_registered("f"));
    cr_expect(sh_function_remove("f") < 0 && error_says(SH_ERROR_VALUE, "no function f"));
    cr_expect(sh_graph_run(g, SH_LIST(SH_FLOATS(1))) == NULL && error_says(SH_ERROR_OP, "no op"));
    sh_graph_free(g);
}

static void note_end(void *user) { *(bool *)user = true; }

static sh_status removes_itself(void *user, sh_arguments args, sh_value *result) {
    SH_TRY(sh_function_remove("removes_itself"));
    if (*(bool *)user) return sh_fail(SH_ERROR_VALUE, "ended while it runs");
    *result = args.at[0].value;
    return SH_OK;
}

Test(function, a_function_removed_while_it_runs_ends_after_the_run) {
    bool ended = false;
    sh_tensor *x = SH_FLOATS(1);
    sh_function_register("removes_itself", removes_itself,
                         &(sh_function_options){.user = &ended, .destroy = note_end});
    cr_expect(sh_function_call("removes_itself", x) == x);
    cr_expect(ended);
}

Test(function, what_cannot_be_a_function_is_refused) {
    cr_expect(sh_function_register("add", plus_one, NULL) < 0 &&
              error_says(SH_ERROR_OP, "op of the name add"));
    cr_expect(sh_function_register("add_", plus_one, NULL) < 0 && error_says(SH_ERROR_OP, "add_"));
    cr_expect(sh_function_register("", plus_one, NULL) < 0 &&
              error_says(SH_ERROR_VALUE, "name of a function"));
    cr_expect(sh_function_register(SH_GETITEM, plus_one, NULL) < 0 && error_says(SH_ERROR_VALUE, "getitem"));
    cr_expect(sh_function_register("f", NULL, NULL) < 0 && error_says(SH_ERROR_NULL, "body"));
    cr_expect(sh_function_call("nowhere", 1) == NULL && error_says(SH_ERROR_VALUE, "no function nowhere"));
}

static sh_status gives_text(void *user, sh_arguments args, sh_value *result) {
    (void)user, (void)args;
    *result = sh_value_string("text");
    return SH_OK;
}

Test(function, a_result_that_nobody_could_own_is_an_error) {
    sh_function_register("gives_text", gives_text, NULL);
    cr_expect(sh_function_call("gives_text", 1) == NULL && error_says(SH_ERROR_RESULT, "gives_text"));
}

static bool register_capture_and_run(void) {
    if (sh_function_register("plus_one", plus_one, NULL) < 0) return false;
    sh_function_register("with_product", with_product, NULL);
    sh_capture *c = sh_capture_new(NULL);
    sh_tensor *x = SH_FLOATS(1, 2), *w = SH_FLOATS(2, 2), *y = NULL;
    sh_value both = sh_none();
    if (c && sh_capture_input(c, x, "x") >= 0)
        SH_WITH_MODE(sh_capture_mode(c)) {
            y = sh_function_call("plus_one", sh_add(x, w));
            sh_function_call_values("with_product", SH_ARGUMENTS(y, SH_NAMED("by", 2)), &both);
        }
    sh_graph *g = both.tag == SH_TAG_TENSORS ? sh_capture_graph(c, SH_LIST(y, both.as.tensors[1])) : NULL;
    const bool done = g && sh_graph_run(g, SH_LIST(x));
    sh_graph_free(g);
    sh_capture_free(c);
    while (sh_function_is_registered("plus_one")) sh_function_remove("plus_one");
    while (sh_function_is_registered("with_product")) sh_function_remove("with_product");
    return done;
}

Test(function, each_failed_allocation_is_an_error_and_leaves_nothing) {
    cr_expect(each_allocation_may_fail(register_capture_and_run));
}

static sh_status watches_with_ops(sh_mode *mode, sh_call *call) {
    (void)mode;
    sh_neg(sh_call_tensor(call, 0));
    return SH_PASS;
}

Test(function, is_recorded_after_a_watching_mode_has_called_ops) {
    sh_function_register("plus_one", plus_one, NULL);
    sh_mode *watch = sh_mode_new(watches_with_ops, &(sh_mode_options){.kind = SH_MODE_WATCHING});
    sh_capture *c = sh_capture_new(NULL);
    sh_tensor *x = SH_FLOATS(1), *y = NULL;
    sh_capture_input(c, x, "x");
    SH_WITH_MODE(sh_capture_mode(c))
        SH_WITH_MODE(watch) { y = sh_function_call("plus_one", sh_relu(x)); }
    sh_graph *graph = sh_capture_graph(c, SH_LIST(y));
    char *text = sh_graph_text(graph);
    cr_assert(ne(ptr, strstr(text, "target=plus_one"), NULL), "%s", text);
    free(text);
    sh_graph_free(graph);
    sh_capture_free(c);
    sh_mode_release(watch);
    sh_function_remove("plus_one");
}
