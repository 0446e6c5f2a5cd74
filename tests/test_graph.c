/* Graphs: names, users, insertion, erasing; texts; running. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/memory.h"
#include "graph/graph.h"
#include "graph/picture/dot.h"

static const char *message(void) { return sh_error() ? sh_error()->message : ""; }

static bool error_says(sh_status code, const char *part) {
    const bool says = sh_error() && sh_error()->code == code && strstr(message(), part);
    if (!says) fprintf(stderr, "expected %s with \"%s\", got: %s\n", sh_status_name(code), part, message());
    sh_clear_error();
    return says;
}

static bool text_is(char *text, const char *expected) {
    const bool same = text && strcmp(text, expected) == 0;
    if (!same) fprintf(stderr, "got:\n%s\nexpected:\n%s\n", text ? text : message(), expected);
    free(text);
    return same;
}

static sh_graph *linear_relu(void) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_graph_set_attr(g, "fc.weight", SH_FLOATS(1, 2, 3));
    sh_node *w = sh_graph_get_attr(g, "fc.weight");
    sh_node *mul = sh_graph_create_node(g, SH_CALL_FUNCTION, "add", SH_ARGS(x, w),
                                        SH_KWARGS(SH_KWARG("alpha", 2)), NULL);
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "relu", mul)));
    return g;
}

/* ---- names ---- */

static bool named(const char *wish, const char *const *expected) {
    sh_graph *g = sh_graph_new();
    bool right = true;
    for (; *expected; expected++) {
        const char *name =
            sh_node_name(sh_graph_create_node(g, SH_CALL_FUNCTION, "add", SH_NO_ARGS, SH_NO_KWARGS, wish));
        if (strcmp(name, *expected) != 0) fprintf(stderr, "%s: got %s, expected %s\n", wish, name, *expected);
        right &= strcmp(name, *expected) == 0;
    }
    sh_graph_free(g);
    return right;
}
#define NAMED(wish, ...) named(wish, (const char *const[]){__VA_ARGS__, NULL})

Test(graph, names_follow_the_rules_of_torch_fx) {
    cr_expect(NAMED("relu", "relu", "relu_1", "relu_2"));
    cr_expect(NAMED("add_0", "add_0", "add_1", "add_2"));
    cr_expect(NAMED("a_7", "a_7", "a_8"));
    cr_expect(NAMED("sum", "sum_1", "sum_2"));
    cr_expect(NAMED("class", "class_1"));
    cr_expect(NAMED("int", "int_1"));
    cr_expect(NAMED("torch", "torch_1"));
    cr_expect(NAMED("double", "double"));
    cr_expect(NAMED("0", "_0", "_1"));
    cr_expect(NAMED("3x", "_3x"));
    cr_expect(NAMED("layer1.0/conv::w", "layer1_0_conv_w"));
    cr_expect(NAMED("", "_unnamed"));
    cr_expect(NAMED("a_99999999999999999999", "a_99999999999999999999", "a_99999999999999999999_1"));
    cr_expect(NAMED("a_007", "a_7"));
    cr_expect(NAMED("h\xc3\xa9", "h_"));
}

Test(graph, names_of_ops_are_those_of_their_families) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "inputTensor");
    cr_expect(eq(str, (char *)sh_node_name(x), "input_tensor"));
    cr_expect(eq(str, (char *)sh_node_name(sh_graph_call_function(g, "max.dim", x, 1)), "max_1"));
    cr_expect(eq(str, (char *)sh_node_name(sh_graph_call_function(g, "mylib::gate.out", x)), "gate"));
    cr_expect(eq(str, (char *)sh_node_name(sh_graph_call_function(g, SH_GETITEM, x, 0)), "getitem"));
    cr_expect(eq(str, (char *)sh_node_name(sh_graph_call_function(g, "add_", x, x)), "add_"));
    cr_expect(eq(str, (char *)sh_node_name(sh_graph_call_function(g, "add", x, x)), "add"));
    sh_graph_free(g);
}

/* ---- users ---- */

Test(graph, a_node_used_twice_by_another_has_one_user) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *y = sh_graph_placeholder(g, "y"), *user;
    sh_node *add = sh_graph_call_function(g, "add", x, x);
    cr_expect(eq(sz, sh_node_users(x, &user, 1), 1));
    cr_expect(user == add);
    cr_assert(sh_node_replace_all_uses_with(x, y) == SH_OK);
    cr_expect(sh_node_arg(add, 0).as.node == y && sh_node_arg(add, 1).as.node == y);
    cr_expect(eq(sz, sh_node_users(x, &user, 1), 0));
    cr_expect(eq(sz, sh_node_users(y, &user, 1), 1));
    sh_graph_free(g);
}

Test(graph, users_reach_into_lists_and_keywords) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *y = sh_graph_placeholder(g, "y"), *inputs[4];
    const sh_arg list = sh_arg_list(SH_ARGS(x, sh_arg_tuple(SH_ARGS(y, 3))));
    sh_node *node =
        sh_graph_create_node(g, SH_CALL_FUNCTION, "cat", SH_ARGS(list), SH_KWARGS(SH_KWARG("out", x)), NULL);
    cr_expect(eq(sz, sh_node_inputs(node, inputs, 4), 2));
    cr_expect(inputs[0] == x && inputs[1] == y);
    cr_assert(sh_node_replace_input_with(node, y, x) == SH_OK);
    cr_expect(eq(sz, sh_node_inputs(node, inputs, 4), 1));
    cr_expect(text_is(
        sh_node_text(node),
        "%cat : [num_users=0] = call_function[target=cat](args = ([%x, (%x, 3)],), kwargs = {out: %x})"));
    cr_assert(sh_node_set_kwarg(node, "out", sh_arg_none()) == SH_OK);
    cr_assert(sh_node_set_kwarg(node, "dim", sh_arg_int(-1)) == SH_OK);
    cr_assert(sh_node_set_arg(node, 0, SH_ARG(y)) == SH_OK);
    cr_expect(eq(sz, sh_node_users(x, NULL, 0), 0));
    cr_expect(text_is(
        sh_node_text(node),
        "%cat : [num_users=0] = call_function[target=cat](args = (%y,), kwargs = {out: None, dim: -1})"));
    cr_expect(sh_node_set_arg(node, 1, SH_ARG(y)) == SH_ERROR_INDEX &&
              error_says(SH_ERROR_INDEX, "number 1"));
    sh_graph_free(g);
}

Test(graph, a_node_with_users_is_not_erased_and_they_are_listed) {
    sh_graph *g = linear_relu();
    sh_node *add = sh_graph_find(g, "add");
    cr_expect(sh_graph_erase_node(add) < 0);
    cr_expect(error_says(SH_ERROR_VALUE, "node %add can't be erased: it has 1 user: %relu"));
    cr_assert(sh_node_replace_all_uses_with(add, sh_graph_find(g, "x")) == SH_OK);
    cr_expect(sh_graph_erase_node(add) == SH_OK);
    cr_expect(sh_graph_find(g, "add") == NULL);
    cr_expect(text_is(sh_graph_text(g),
                      "graph():\n"
                      "    %x : [num_users=1] = placeholder[target=x]\n"
                      "    %fc_weight : [num_users=0] = get_attr[target=fc.weight]\n"
                      "    %relu : [num_users=1] = call_function[target=relu](args = (%x,), kwargs = {})\n"
                      "    return relu"));
    sh_graph_free(g);
}

Test(graph, foreign_missing_and_own_nodes_are_refused_as_arguments) {
    sh_graph *g = linear_relu(), *other = linear_relu();
    sh_node *add = sh_graph_find(g, "add");
    cr_expect(sh_graph_call_function(g, "relu", sh_graph_find(other, "x")) == NULL);
    cr_expect(error_says(SH_ERROR_VALUE, "%x of another graph"));
    cr_expect(sh_graph_call_function(g, "relu", (sh_node *)NULL) == NULL);
    cr_expect(error_says(SH_ERROR_NULL, "relu"));
    cr_expect(sh_node_set_arg(add, 0, SH_ARG(add)) < 0 && error_says(SH_ERROR_VALUE, "of itself"));
    cr_expect(sh_graph_get_attr(g, "fc.bias") == NULL && error_says(SH_ERROR_VALUE, "no attribute fc.bias"));
    cr_expect(sh_graph_output(g, sh_arg_none()) == NULL && error_says(SH_ERROR_VALUE, "output node already"));
    cr_expect(eq(sz, sh_graph_size(g), 5));
    cr_expect(sh_node_arg(add, 0).as.node == sh_graph_find(g, "x"));
    sh_graph_free(g);
    sh_graph_free(other);
}

Test(graph, nodes_go_where_the_insertion_point_says) {
    sh_graph *g = linear_relu();
    sh_node *add = sh_graph_find(g, "add"), *x = sh_graph_find(g, "x"), *sin = NULL, *cos = NULL;
    SH_INSERTING_BEFORE(add) {
        sin = sh_graph_call_function(g, "sin", x);
        SH_INSERTING_AFTER(sin) cos = sh_graph_call_function(g, "cos", x);
        cr_expect(sh_graph_erase_node(sh_graph_call_function(g, "tan", x)) == SH_OK);
    }
    cr_expect(sh_node_next(sin) == cos && sh_node_next(cos) == add);
    sh_node *relu = sh_graph_find(g, "relu");
    SH_INSERTING_BEFORE(cos) {
        sh_graph_erase_node(cos);
        cr_expect(sh_node_next(sh_graph_call_function(g, "exp", x)) == add);
    }
    cr_expect(sh_node_prev(sh_graph_call_function(g, "log", relu)) == sh_graph_output_node(g));
    sh_graph_free(g);
}

Test(graph, a_loop_over_the_nodes_may_erase_each) {
    sh_graph *g = sh_graph_new();
    for (int i = 0; i < 10; i++) sh_graph_placeholder(g, "x");
    SH_EACH_NODE(n, g) sh_graph_erase_node(n);
    cr_expect(eq(sz, sh_graph_size(g), 0));
    sh_graph_free(g);
}

/* ---- texts ---- */

Test(graph, text_is_that_of_torch) {
    sh_graph *g = linear_relu();
    cr_expect(text_is(
        sh_graph_text(g),
        "graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %fc_weight : [num_users=1] = get_attr[target=fc.weight]\n"
        "    %add : [num_users=1] = call_function[target=add](args = (%x, %fc_weight), kwargs = {alpha: 2})\n"
        "    %relu : [num_users=1] = call_function[target=relu](args = (%add,), kwargs = {})\n"
        "    return relu"));
    cr_expect(text_is(sh_graph_tabular(g),
                      "opcode         name       target     args            kwargs\n"
                      "-------------  ---------  ---------  --------------  ------------\n"
                      "placeholder    x          x          ()              {}\n"
                      "get_attr       fc_weight  fc.weight  ()              {}\n"
                      "call_function  add        add        (x, fc_weight)  {'alpha': 2}\n"
                      "call_function  relu       relu       (add,)          {}\n"
                      "output         output     output     (relu,)         {}\n"));
    sh_graph_free(g);
}

Test(graph, arguments_print_as_python_prints_them) {
    sh_graph *g = sh_graph_new();
    sh_node *k = sh_graph_create_node(g, SH_PLACEHOLDER, "k", SH_ARGS(3), SH_NO_KWARGS, NULL);
    cr_expect(text_is(sh_node_text(k), "%k : [num_users=0] = placeholder[target=k](default=3)"));
    sh_node *n = sh_graph_call_function(g, "f", 1.0, 1e-5, 0.1, 1e16, 123456789.0, -0.0, sh_arg_flag(true),
                                        sh_arg_none(), "mean", sh_arg_dtype(SH_F32), sh_arg_tuple(SH_NO_ARGS),
                                        sh_arg_float(-__builtin_inf()));
    cr_expect(
        text_is(sh_node_text(n),
                "%f : [num_users=0] = call_function[target=f](args = (1.0, 1e-05, 0.1, 1e+16, 123456789.0, "
                "-0.0, True, None, mean, torch.float32, (), -inf), kwargs = {})"));
    sh_node *o = sh_graph_output(g, sh_arg_tuple(SH_ARGS(k, sh_arg_list(SH_ARGS(n)), "it's")));
    cr_expect(text_is(sh_node_text(o), "return (k, [f], \"it's\")"));
    sh_graph_free(g);
}

Test(graph, names_from_anywhere_stay_on_their_line) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "a\n    %b : \x1b[2J");
    cr_expect(
        text_is(sh_node_text(x), "%a_b_2j : [num_users=0] = placeholder[target=a\\n    %b : \\x1b[2J]"));
    sh_graph_free(g);
}

/* Runs `command` on `text`; true if it exits with 0. */
static bool accepted_by(const char *command, const char *text) {
    FILE *pipe = popen(command, "w");
    if (!pipe) return false;
    fputs(text, pipe);
    return pclose(pipe) == 0;
}

Test(graph, names_with_metacharacters_give_a_dot_file_that_parses) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "ij,jk->ik{|}<a>\"b\\");
    sh_node *y = sh_graph_call_function(g, "weird{ } | < > \" \\ \n op", x);
    sh_node_set_spec(y, &(sh_spec){.dtype = SH_F32, .ndim = 2, .sizes = {4, 8}});
    char *dot = sh_graph_dot(g, NULL), *svg = sh_graph_svg(g, NULL);
    cr_assert(dot && svg);
    cr_expect(accepted_by("dot -Tsvg >/dev/null", dot));
    cr_expect(strstr(svg, "<svg") && strstr(svg, "</svg>"));
    cr_expect(strstr(svg, "f32[4, 8]") || strstr(svg, "f32[4,&#160;8]"));
    free(dot);
    free(svg);
    sh_graph_free(g);
}

Test(graph, a_missing_dot_program_names_its_package) {
    sh_graph *g = linear_relu();
    setenv("PATH", "/nowhere", 1);
    cr_expect(sh_graph_svg(g, NULL) == NULL);
    cr_expect(error_says(SH_ERROR_FILE, "graphviz"));
    sh_graph_free(g);
}

/* ---- running ---- */

Test(graph, run_gives_what_the_ops_give) {
    sh_graph *g = linear_relu();
    SH_SCOPE {
        sh_list *out = sh_graph_run(g, SH_LIST(SH_FLOATS(-3, -3, -3)));
        cr_assert(out && sh_list_size(out) == 1);
        for (int64_t i = 0; i < 3; i++)
            cr_expect(eq(dbl, sh_tensor_at(sh_list_at(out, 0), &i), i == 0 ? 0 : i == 1 ? 1 : 3));
    }
    sh_graph_free(g);
}

Test(graph, a_run_that_fails_names_the_node_and_leaves_nothing) {
    sh_graph *g = linear_relu();
    sh_tensor *x = sh_keep(SH_FLOATS(1, 2));
    sh_scope_clear();
    const int64_t live = sh_memory_stats_get().live_tensors;
    cr_expect(sh_graph_run(g, SH_LIST(x)) == NULL);
    cr_expect(error_says(
        SH_ERROR_SHAPE,
        "while executing %add : [num_users=1] = call_function[target=add](args = (%x, %fc_weight)"));
    cr_expect(sh_graph_run(g, (sh_tensors){NULL, 0}) == NULL);
    cr_expect(error_says(SH_ERROR_ARGUMENT, "input x is missing"));
    cr_expect(sh_graph_run(g, SH_LIST(x, x)) == NULL);
    sh_clear_error();
    cr_expect(eq(i64, sh_memory_stats_get().live_tensors, live));
    cr_expect(eq(str, (char *)sh_scope_path(), ""));
    sh_release(x);
    sh_graph_free(g);
}

Test(graph, a_placeholder_may_have_a_default) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_node *k = sh_graph_create_node(g, SH_PLACEHOLDER, "k", SH_ARGS(3), SH_NO_KWARGS, NULL);
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "mul", x, k)));
    cr_expect(eq(dbl, sh_item(sh_list_at(sh_graph_run(g, SH_LIST(SH_FLOATS(2))), 0)), 6));
    cr_expect(eq(dbl, sh_item(sh_list_at(sh_graph_run(g, SH_LIST(SH_FLOATS(2), SH_FLOATS(5))), 0)), 10));
    sh_graph_free(g);
}

static sh_status watch_live(sh_mode *mode, sh_call *call) {
    (void)call;
    int64_t *most = sh_mode_user(mode);
    const int64_t live = sh_memory_stats_get().live_tensors;
    if (live > *most) *most = live;
    return SH_PASS;
}

Test(graph, values_are_freed_after_their_last_use) {
    sh_graph *g = sh_graph_new();
    sh_node *y = sh_graph_placeholder(g, "x");
    for (int i = 0; i < 100; i++) y = sh_graph_call_function(g, "relu", y);
    sh_graph_output(g, SH_ARG(y));
    sh_tensor *x = SH_FLOATS(1, 2);
    int64_t most = 0;
    sh_mode *mode = sh_mode_new(watch_live, &(sh_mode_options){.user = &most});
    const int64_t live = sh_memory_stats_get().live_tensors;
    SH_WITH_MODE(mode) cr_expect(sh_graph_run(g, SH_LIST(x)) != NULL);
    cr_expect(le(i64, most, live + 1));
    sh_mode_release(mode);
    sh_graph_free(g);
}

static sh_status note_path(sh_mode *mode, sh_call *call) {
    (void)call;
    strcat(strcat(sh_mode_user(mode), sh_scope_path()), ";");
    return SH_PASS;
}

Test(graph, each_node_runs_in_a_scope_of_its_name) {
    sh_graph *g = linear_relu();
    sh_node_set_scope(sh_graph_find(g, "relu"), "Net.act");
    char paths[200] = "";
    sh_mode *mode = sh_mode_new(note_path, &(sh_mode_options){.user = paths});
    SH_WITH_MODE(mode) cr_expect(sh_graph_run(g, SH_LIST(SH_FLOATS(1, 2, 3))) != NULL);
    cr_expect(eq(str, paths, "add;Net.act.relu;"));
    sh_mode_release(mode);
    sh_graph_free(g);
}

static sh_status note_site(sh_mode *mode, sh_call *call) {
    *(const void **)sh_mode_user(mode) = sh_call_site(call);
    return SH_PASS;
}

Test(graph, a_call_of_a_run_stands_for_the_place_that_was_recorded) {
    sh_graph *g = linear_relu();
    const void *site = NULL;
    sh_node_set_site(sh_graph_find(g, "relu"), &site);
    sh_mode *mode = sh_mode_new(note_site, &(sh_mode_options){.user = (void *)&site});
    SH_WITH_MODE(mode) cr_expect(sh_graph_run(g, SH_LIST(SH_FLOATS(1, 2, 3))) != NULL);
    cr_expect(site == (const void *)&site);
    sh_mode_release(mode);
    sh_graph_free(g);
}

/* ---- memory ---- */

static bool build_and_run(void) {
    sh_graph *g = sh_graph_new();
    if (!g) return false;
    sh_tensor *x = sh_tensor_copy_of((const float[]){1, 2}, SH_F32, SH_SIZES(2));
    bool done = x && sh_graph_set_attr(g, "w", x) >= 0;
    sh_node *p = done ? sh_graph_placeholder(g, "x") : NULL, *w = p ? sh_graph_get_attr(g, "w") : NULL;
    sh_node *add = w ? sh_graph_call_function(g, "add", p, w) : NULL;
    sh_node *mul = add ? sh_graph_call_function(g, "mul", add, add) : NULL;
    done = mul && sh_node_replace_input_with(mul, add, p) >= 0 &&
           sh_node_set_kwarg(mul, "out", SH_ARG(p)) >= 0 &&
           sh_node_set_args(mul, SH_ARGS(add, p), SH_NO_KWARGS) >= 0 && sh_graph_output(g, SH_ARG(mul));
    char *text = done ? sh_graph_text(g) : NULL, *table = text ? sh_graph_tabular(g) : NULL,
         *dot = table ? sh_graph_dot(g, NULL) : NULL;
    done = dot && sh_graph_run(g, SH_LIST(x)) &&
           text_is(sh_node_text(mul), "%mul : [num_users=1] = call_function[target=mul]"
                                      "(args = (%add, %x), kwargs = {})");
    free(text);
    free(table);
    free(dot);
    sh_graph_free(g);
    return done;
}

Test(graph, each_failed_allocation_is_an_error_and_leaves_nothing) {
    SH_SCOPE cr_assert(build_and_run());
    fclose(stderr);
    const int64_t live = sh_memory_stats_get().live_tensors;
    bool done = false;
    for (size_t n = 1; !done && n < 10000; n++) {
        sh_memory_fail_after(n);
        SH_SCOPE done = build_and_run();
        sh_memory_fail_after(0);
        if (!done) cr_assert(sh_error() && sh_error()->code == SH_ERROR_MEMORY);
        sh_clear_error();
        cr_assert(eq(i64, sh_memory_stats_get().live_tensors, live));
    }
    cr_expect(done);
}

Test(graph, a_hundred_thousand_nodes_are_built_rewired_and_freed) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *y = sh_graph_placeholder(g, "y"), *node = x;
    for (int i = 0; i < 100000; i++) node = sh_graph_call_function(g, "add", node, x);
    cr_expect(sh_node_replace_all_uses_with(x, y) == SH_OK);
    cr_expect(eq(sz, sh_node_users(y, NULL, 0), 100000));
    cr_expect(eq(str, (char *)sh_node_name(node), "add_99999"));
    char *text = sh_graph_text(g);
    cr_expect(text && strlen(text) > 1000000);
    free(text);
    sh_graph_free(g);
}
