/* Interpreters: hooks, given values, lifetimes, errors, edits between runs. */
#include "tests/graphs.h"

/* relu(x * 2 + w) */
static sh_graph *small_net(void) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_graph_set_attr(g, "w", SH_FLOATS(-10, 10));
    sh_node *mul = sh_graph_call_function(g, "mul", x, 2.0);
    sh_node *add = sh_graph_call_function(g, "add", mul, sh_graph_get_attr(g, "w"));
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "relu", add)));
    return g;
}

static double run_interpreter(sh_interpreter *in, sh_arguments inputs) {
    sh_value y;
    if (sh_interpreter_run(in, inputs, &y) < 0) return __builtin_nan("");
    return y.tag == SH_TAG_TENSOR ? sh_item(sh_sum(y.as.tensor)) : sh_value_as_double(y);
}

/* ---- hooks ---- */

static sh_status note_node(sh_interpreter *in, sh_node *node, sh_value *result) {
    strcat(strcat(sh_interpreter_user(in), sh_node_name(node)), " ");
    return sh_interpreter_run_node(in, node, result);
}

Test(interpreter, run_node_sees_each_node_in_order) {
    char seen[200] = "";
    sh_graph *g = small_net();
    sh_interpreter *in =
        sh_interpreter_new(g, &(sh_interpreter_options){.user = seen, .run_node = note_node});
    cr_expect(eq(dbl, run_interpreter(in, SH_ARGUMENTS(SH_FLOATS(1, 2))), 14));
    cr_expect(eq(str, seen, "x mul w add relu output "));
    sh_interpreter_free(in);
    sh_graph_free(g);
}

static sh_status ten_for_input(sh_interpreter *in, sh_node *node, sh_arguments args, sh_value *result) {
    SH_TRY(sh_interpreter_placeholder(in, node, args, result));
    *result = sh_value_tensor(sh_mul(result->as.tensor, 10.0));
    return SH_OK;
}
static sh_status no_weight(sh_interpreter *in, sh_node *node, sh_arguments args, sh_value *result) {
    SH_TRY(sh_interpreter_get_attr(in, node, args, result));
    *result = sh_value_tensor(sh_zeros_like(result->as.tensor));
    return SH_OK;
}
static sh_status add_is_sub(sh_interpreter *in, sh_node *node, sh_arguments args, sh_value *result) {
    if (strcmp(sh_node_target(node), "add") != 0) return sh_interpreter_call_function(in, node, args, result);
    *result = sh_value_tensor(sh_sub(args.at[0].value.as.tensor, args.at[1].value.as.tensor));
    return SH_OK;
}
static sh_status as_number(sh_interpreter *in, sh_node *node, sh_arguments args, sh_value *result) {
    SH_TRY(sh_interpreter_output(in, node, args, result));
    *result = sh_value_float(sh_item(sh_max(result->as.tensor)));
    return SH_OK;
}

Test(interpreter, each_opcode_may_be_overridden_and_fall_back) {
    sh_graph *g = small_net();
    sh_interpreter *in = sh_interpreter_new(g, &(sh_interpreter_options){.placeholder = ten_for_input});
    cr_expect(eq(dbl, run_interpreter(in, SH_ARGUMENTS(SH_FLOATS(1, 2))), 60));
    sh_interpreter_free(in);
    in = sh_interpreter_new(g, &(sh_interpreter_options){.get_attr = no_weight});
    cr_expect(eq(dbl, run_interpreter(in, SH_ARGUMENTS(SH_FLOATS(1, 2))), 6));
    sh_interpreter_free(in);
    in = sh_interpreter_new(g, &(sh_interpreter_options){.call_function = add_is_sub});
    cr_expect(eq(dbl, run_interpreter(in, SH_ARGUMENTS(SH_FLOATS(1, 2))), 12));
    sh_interpreter_free(in);
    in = sh_interpreter_new(g, &(sh_interpreter_options){.output = as_number});
    cr_expect(eq(dbl, run_interpreter(in, SH_ARGUMENTS(SH_FLOATS(1, 2))), 14));
    sh_interpreter_free(in);
    sh_graph_free(g);
}

/* The mean of two runs. */
static sh_status run_twice(sh_interpreter *in, sh_arguments inputs, sh_value *result) {
    sh_value again;
    ++*(int *)sh_interpreter_user(in);
    SH_TRY(sh_interpreter_run_graph(in, inputs, result));
    SH_TRY(sh_interpreter_run_graph(in, inputs, &again));
    *result = sh_value_tensor(sh_mul(sh_add(result->as.tensor, again.as.tensor), 0.5));
    return SH_OK;
}
static sh_status refuse(sh_interpreter *in, sh_arguments inputs, sh_value *result) {
    (void)in, (void)inputs, (void)result;
    return SH_ERROR_VALUE;
}

Test(interpreter, a_whole_run_may_be_overridden_and_fall_back) {
    int runs = 0;
    sh_graph *g = small_net();
    sh_interpreter *in = sh_interpreter_new(g, &(sh_interpreter_options){.user = &runs, .run = run_twice});
    cr_expect(eq(dbl, run_interpreter(in, SH_ARGUMENTS(SH_FLOATS(1, 2))), 14));
    cr_expect(eq(int, runs, 1));
    sh_interpreter_free(in);
    in = sh_interpreter_new(g, &(sh_interpreter_options){.run = refuse});
    sh_value result;
    cr_expect(eq(int, sh_interpreter_run(in, SH_ARGUMENTS(SH_FLOATS(1, 2)), &result), SH_ERROR_VALUE));
    cr_expect(sh_error() != NULL && result.tag == SH_TAG_NONE,
              "an error that says nothing is one all the same");
    sh_clear_error();
    sh_interpreter_free(in);
    sh_graph_free(g);
}

static sh_status shifted(sh_interpreter *in, sh_node *node, sh_arguments args, sh_value *result) {
    sh_tensor *x = sh_add(args.at[0].value.as.tensor, 1.0);
    sh_argument more[4];
    memcpy(more, args.at, args.n * sizeof *more);
    more[0].value = sh_value_tensor(x);
    return sh_interpreter_call_function(in, node, (sh_arguments){more, args.n}, result);
}

Test(interpreter, a_hook_may_pass_other_arguments_to_the_default) {
    sh_graph *g = small_net();
    sh_interpreter *in = sh_interpreter_new(g, &(sh_interpreter_options){.call_function = shifted});
    /* relu(((x + 1) * 2 + 1) + w + 1) */
    cr_expect(eq(dbl, run_interpreter(in, SH_ARGUMENTS(SH_FLOATS(0, 0))), 14));
    sh_interpreter_free(in);
    sh_graph_free(g);
}

static sh_status runs_again(sh_interpreter *in, sh_node *node, sh_value *result) {
    (void)node;
    return sh_interpreter_run(in, (sh_arguments){NULL, 0}, result);
}

Test(interpreter, an_interpreter_does_not_run_inside_its_own_run) {
    sh_graph *g = small_net();
    sh_interpreter *in = sh_interpreter_new(g, &(sh_interpreter_options){.run_node = runs_again});
    run_interpreter(in, SH_ARGUMENTS(SH_FLOATS(1, 2)));
    cr_expect(error_says(SH_ERROR_VALUE, "running already"));
    sh_interpreter_free(in);
    sh_graph_free(g);
}

/* ---- inputs ---- */

Test(interpreter, inputs_go_by_place_or_by_name_and_defaults_fill_the_rest) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_node *k = sh_graph_create_node(g, SH_PLACEHOLDER, "k", SH_ARGS(3), SH_NO_KWARGS, NULL);
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "mul", x, k)));
    sh_interpreter *in = sh_interpreter_new(g, NULL);
    cr_expect(eq(dbl, run_interpreter(in, SH_ARGUMENTS(SH_FLOATS(2))), 6));
    cr_expect(eq(dbl, run_interpreter(in, SH_ARGUMENTS(SH_FLOATS(2), 5)), 10));
    cr_expect(eq(dbl, run_interpreter(in, SH_ARGUMENTS(SH_NAMED("k", 4), SH_NAMED("x", SH_FLOATS(2)))), 8));
    run_interpreter(in, SH_ARGUMENTS(SH_FLOATS(2), SH_NAMED("q", 1)));
    cr_expect(error_says(SH_ERROR_ARGUMENT, "takes no input q"));
    run_interpreter(in, SH_ARGUMENTS(SH_NAMED("k", 1)));
    cr_expect(error_says(SH_ERROR_ARGUMENT, "input x is missing"));
    run_interpreter(in, SH_ARGUMENTS(SH_FLOATS(2), 1, 2));
    cr_expect(error_says(SH_ERROR_ARGUMENT, "3 inputs given, the graph takes 2"));
    run_interpreter(in, SH_ARGUMENTS(SH_FLOATS(2), SH_NAMED("x", 1)));
    cr_expect(error_says(SH_ERROR_ARGUMENT, "input x is given twice"));
    sh_interpreter_free(in);
    sh_graph_free(g);
}

static sh_status half_size(void *user, sh_arguments args, sh_value *result) {
    (void)user;
    *result = sh_value_int(sh_tensor_numel(sh_arguments_tensor(args, 0)) / 2);
    return SH_OK;
}

Test(interpreter, numbers_and_lists_are_values_too) {
    sh_function_register("half_size", half_size, NULL);
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *shape = sh_graph_placeholder(g, "shape");
    sh_node *n = sh_graph_call_function(g, "half_size", x);
    sh_node *rows = sh_graph_call_function(g, "reshape", x, sh_arg_list(SH_ARGS(2, n)));
    sh_node *back = sh_graph_call_function(g, "reshape", rows, shape);
    sh_node *cat = sh_graph_call_function(g, "cat", sh_arg_list(SH_ARGS(back, back, x)));
    sh_graph_output(g, sh_arg_tuple(SH_ARGS(rows, sh_arg_none(), sh_arg_list(SH_ARGS(cat)))));
    sh_interpreter *in = sh_interpreter_new(g, NULL);
    sh_value y;
    cr_assert(sh_interpreter_run(in, SH_ARGUMENTS(SH_FLOATS(1, 2, 3, 4), SH_SIZES(4)), &y) == SH_OK);
    cr_assert(y.tag == SH_TAG_TENSORS && y.count == 2);
    cr_expect(eq(i64, sh_tensor_size(y.as.tensors[0], 1), 2));
    cr_expect(eq(dbl, sh_item(sh_sum(y.as.tensors[1])), 30));
    sh_interpreter_run(in, SH_ARGUMENTS(SH_FLOATS(1, 2, 3, 4), 2.5), &y);
    cr_expect(error_says(SH_ERROR_TYPE, "argument shape: got float, expected int[]"));
    sh_interpreter_free(in);
    sh_graph_free(g);
}

/* ---- given values ---- */

static sh_status count_call(sh_mode *mode, sh_call *call) {
    (void)call;
    ++*(int *)sh_mode_user(mode);
    return SH_PASS;
}

static int calls_of_run(sh_interpreter *in, sh_arguments inputs, double *sum) {
    int calls = 0;
    sh_value y = sh_none();
    sh_mode *mode = sh_mode_new(count_call, &(sh_mode_options){.user = &calls});
    SH_WITH_MODE(mode) sh_interpreter_run(in, inputs, &y);
    sh_mode_release(mode);
    *sum = y.tag == SH_TAG_TENSOR ? sh_item(sh_sum(y.as.tensor)) : -1;
    return calls;
}

Test(interpreter, a_given_value_spares_its_producers) {
    double sum;
    sh_graph *g = small_net();
    sh_interpreter *in = sh_interpreter_new(g, NULL);
    cr_expect(sh_interpreter_set_value(in, sh_graph_find(g, "add"), SH_VALUE(SH_FLOATS(-1, 5))) == SH_OK);
    cr_expect(eq(int, calls_of_run(in, (sh_arguments){NULL, 0}, &sum), 1));
    cr_expect(eq(dbl, sum, 5));
    cr_expect(eq(int, calls_of_run(in, SH_ARGUMENTS(SH_FLOATS(1, 2)), &sum), 3)); /* for one run only */
    cr_expect(eq(dbl, sum, 14));
    sh_interpreter_free(in);
    sh_graph_free(g);
}

Test(interpreter, writes_that_nobody_sees_are_spared_and_others_are_not) {
    sh_graph *g = sh_graph_new();
    double sum;
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_node *own = sh_graph_call_function(g, "mul", x, 2.0),
            *view = sh_graph_call_function(g, "view", own, sh_arg_list(SH_ARGS(-1)));
    sh_node *hidden = sh_graph_call_function(g, "relu_", sh_graph_call_function(g, "exp", x));
    sh_graph_call_function(g, "add_", view, 1.0); /* seen through own, though nobody uses it */
    sh_graph_call_function(g, "add_", x, 100.0);  /* the caller's */
    sh_node *given = sh_graph_call_function(g, "neg", hidden);
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "add", given, own)));
    sh_interpreter *in = sh_interpreter_new(g, NULL);
    sh_tensor *input = SH_FLOATS(1, 2);
    sh_interpreter_set_value(in, given, SH_VALUE(SH_FLOATS(10, 20)));
    cr_expect(eq(int, calls_of_run(in, SH_ARGUMENTS(input), &sum), 5)); /* mul view add_ add_ add */
    cr_expect(eq(dbl, sum, 38));
    cr_expect(eq(dbl, sh_item(sh_sum(input)), 203));
    sh_interpreter_free(in);
    sh_graph_free(g);
}

Test(interpreter, values_stay_to_be_read_where_that_is_asked) {
    sh_graph *g = small_net(), *other = small_net();
    sh_interpreter *in = sh_interpreter_new(g, &(sh_interpreter_options){.keep_values = true});
    cr_expect(eq(dbl, run_interpreter(in, SH_ARGUMENTS(SH_FLOATS(1, 2))), 14));
    cr_expect(eq(dbl, sh_item(sh_sum(sh_interpreter_value(in, sh_graph_find(g, "mul")).as.tensor)), 6));
    cr_expect(sh_interpreter_value(in, sh_graph_find(other, "mul")).tag == SH_TAG_NONE);
    cr_expect(error_says(SH_ERROR_VALUE, "mul has no value"));
    cr_expect(sh_interpreter_set_value(in, sh_graph_find(other, "mul"), sh_none()) < 0);
    cr_expect(error_says(SH_ERROR_VALUE, "another graph"));
    sh_interpreter_free(in);
    sh_graph_free(g);
    sh_graph_free(other);
}

/* ---- lifetimes ---- */

static sh_status watch_live(sh_interpreter *in, sh_node *node, sh_value *result) {
    int64_t *most = sh_interpreter_user(in);
    const sh_status status = sh_interpreter_run_node(in, node, result);
    const int64_t live = sh_memory_stats_get().live_tensors;
    if (live > *most) *most = live;
    return status;
}

/* The most values that must be alive at once: while a node runs, what later nodes need and what it gives. */
static int64_t analytic_minimum(const sh_graph *g) {
    int64_t most = 0;
    for (sh_node *at = sh_graph_first(g); at; at = sh_node_next(at)) {
        int64_t alive = sh_node_opcode(at) == SH_CALL_FUNCTION;
        for (sh_node *n = sh_graph_first(g); n != at; n = sh_node_next(n)) {
            sh_node *users[64];
            const size_t nusers = sh_node_users(n, users, 64);
            bool needed = false;
            for (size_t i = 0; i < nusers; i++)
                for (sh_node *later = at; later; later = sh_node_next(later)) needed |= later == users[i];
            alive += needed && sh_node_opcode(n) == SH_CALL_FUNCTION;
        }
        if (alive > most) most = alive;
    }
    return most;
}

Test(interpreter, no_more_values_are_alive_than_must_be) {
    for (uint32_t seed = 1; seed <= 20; seed++) {
        sh_graph *g = sh_graph_new();
        sh_node *nodes[40] = {sh_graph_placeholder(g, "x")};
        uint32_t random = seed;
        for (uint32_t i = 1; i < 40; i++) {
            random = random * 1664525u + 1013904223u;
            const uint32_t back = 1 + (random >> 8) % (i < 6 ? i : 6), far = 1 + (random >> 16) % i;
            nodes[i] = sh_graph_call_function(g, "add", nodes[i - back], nodes[i - far]);
        }
        sh_graph_output(g, sh_arg_tuple(SH_ARGS(nodes[39], nodes[20])));
        int64_t most = 0;
        sh_interpreter *in =
            sh_interpreter_new(g, &(sh_interpreter_options){.user = &most, .run_node = watch_live});
        SH_SCOPE {
            sh_tensor *x = SH_FLOATS(1, 2);
            sh_value y;
            const int64_t before = sh_memory_stats_get().live_tensors;
            cr_assert(sh_interpreter_run(in, SH_ARGUMENTS(x), &y) == SH_OK);
            cr_expect(le(i64, most - before, analytic_minimum(g)), "seed %u", seed);
        }
        sh_interpreter_free(in);
        sh_graph_free(g);
    }
}

/* ---- edits ---- */

Test(interpreter, a_graph_edited_between_runs_runs_as_it_now_is) {
    sh_graph *g = small_net();
    sh_interpreter *in = sh_interpreter_new(g, NULL);
    sh_tensor *x = SH_FLOATS(1, 2);
    cr_expect(eq(dbl, run_interpreter(in, SH_ARGUMENTS(x)), 14));
    sh_node *mul = sh_graph_find(g, "mul"), *add = sh_graph_find(g, "add"), *relu = sh_graph_find(g, "relu");
    sh_node_set_target(relu, "neg");
    cr_expect(eq(dbl, run_interpreter(in, SH_ARGUMENTS(x)), -6));
    sh_node_set_arg(mul, 1, SH_ARG(3.0));
    cr_expect(eq(dbl, run_interpreter(in, SH_ARGUMENTS(x)), -9));
    sh_node_set_kwarg(add, "alpha", SH_ARG(0));
    cr_expect(eq(dbl, run_interpreter(in, SH_ARGUMENTS(x)), -9));
    sh_graph_set_attr(g, "w", SH_FLOATS(1, 1));
    sh_node_set_kwarg(add, "alpha", SH_ARG(1));
    cr_expect(eq(dbl, run_interpreter(in, SH_ARGUMENTS(x)), -11));
    SH_INSERTING_AFTER(relu) {
        sh_node *abs = sh_graph_call_function(g, "abs", relu);
        sh_node_set_args(sh_graph_output_node(g), SH_ARGS(abs), SH_NO_KWARGS);
    }
    cr_expect(eq(dbl, run_interpreter(in, SH_ARGUMENTS(x)), 11));
    sh_node_replace_all_uses_with(add, mul);
    sh_graph_erase_node(add);
    cr_expect(eq(dbl, run_interpreter(in, SH_ARGUMENTS(x)), 9));
    sh_interpreter_free(in);
    sh_graph_free(g);
}

static sh_status twice(sh_call *call, void *user) {
    (void)user;
    return sh_call_set_tensor(call, sh_mul(sh_call_tensor(call, 0), 2.0));
}
static sh_status thrice(sh_call *call, void *user) {
    (void)user;
    return sh_call_set_tensor(call, sh_mul(sh_call_tensor(call, 0), sh_call_arg(call, 1).as.f));
}

Test(interpreter, an_op_defined_anew_runs_as_it_now_is) {
    sh_graph *g = sh_graph_new();
    sh_kernel k;
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "t::times", sh_graph_placeholder(g, "x"))));
    cr_expect(sh_graph_run(g, SH_LIST(SH_FLOATS(1))) == NULL && error_says(SH_ERROR_OP, "no op t::times"));
    sh_op_define("t::times(Tensor x) -> Tensor", NULL, NULL);
    sh_kernel_register("t::times", SH_COMPOSITE, twice, NULL, "test", &k);
    cr_expect(eq(dbl, run_sum(g, SH_LIST(SH_FLOATS(1))), 2));
    sh_op_undefine("t::times");
    cr_expect(sh_graph_run(g, SH_LIST(SH_FLOATS(1))) == NULL);
    sh_clear_error();
    sh_kernel_remove(k);
    sh_op_define("t::times(Tensor x, float by=3.0) -> Tensor", NULL, NULL);
    sh_kernel_register("t::times", SH_COMPOSITE, thrice, NULL, "test", &k);
    cr_expect(eq(dbl, run_sum(g, SH_LIST(SH_FLOATS(1))), 3));
    sh_kernel_remove(k);
    sh_op_undefine("t::times");
    sh_graph_free(g);
}

/* ---- errors ---- */

Test(interpreter, an_error_says_cause_node_and_where_it_was_recorded) {
    sh_graph *g = small_net();
    sh_node_set_site(sh_graph_find(g, "add"), (const char *)(uintptr_t)run_interpreter + 1);
    cr_expect(sh_graph_run(g, SH_LIST(SH_FLOATS(1, 2, 3))) == NULL);
    const char *const text = message();
    const char *cause = strstr(text, "broadcast"),
               *node = strstr(text, "while executing %add : [num_users=1] = call_function"),
               *where = strstr(text, "recorded at test_interpreter.c:");
    cr_expect(cause && node && where && cause < node && node < where, "%s", text);
    cr_expect(eq(str, (char *)sh_error()->op, "add"));
    sh_clear_error();
    cr_expect(eq(str, (char *)sh_scope_path(), ""));
    sh_graph_free(g);
}

/* ---- memory ---- */

static bool run_in_all_ways(void) {
    sh_graph *g = small_net();
    sh_interpreter *in =
        g ? sh_interpreter_new(g, &(sh_interpreter_options){.call_function = shifted}) : NULL;
    sh_tensor *x = SH_FLOATS(1, 2);
    sh_value y;
    bool done = in && x && sh_graph_size(g) == 6 && sh_interpreter_run(in, SH_ARGUMENTS(x), &y) >= 0;
    done = done && sh_interpreter_set_value(in, sh_graph_find(g, "add"), sh_value_tensors(SH_LIST(x))) >= 0 &&
           sh_interpreter_set_value(in, sh_graph_find(g, "add"), SH_VALUE(x)) >= 0 &&
           sh_interpreter_run(in, (sh_arguments){NULL, 0}, &y) >= 0;
    sh_interpreter_free(in);
    sh_node *split = done ? sh_graph_call_function(g, "split", sh_graph_find(g, "relu"), 1) : NULL;
    sh_node *cat =
        split ? sh_graph_call_function(g, "cat", sh_arg_list(SH_ARGS(sh_graph_find(g, "relu")))) : NULL;
    sh_node *max = cat ? sh_graph_call_function(g, "max.dim", cat, 0) : NULL;
    done = max &&
           sh_node_set_args(sh_graph_output_node(g), SH_ARGS(sh_graph_find(g, "relu")), SH_NO_KWARGS) >= 0 &&
           sh_graph_run(g, SH_LIST(x)) != NULL;
    sh_graph_free(g);
    return done;
}

Test(interpreter, each_failed_allocation_is_an_error_and_leaves_nothing) {
    cr_expect(each_allocation_may_fail(run_in_all_ways));
}
