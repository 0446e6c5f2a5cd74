/* test_code.c - C from graphs: the text, and what can't be said. That it compiles and computes the same is tests/cli_code.sh's. */
#include "graph/code/identifier.h"
#include "graph/code/literal.h"
#include "tests/fail_each.h"
#include "tests/fx_nets.h"
#include "tests/graphs.h"

static sh_graph *add_relu(void) {
    sh_graph *g = sh_graph_new();
    sh_node *x = g ? sh_graph_placeholder(g, "x") : NULL;
    sh_node *y = sh_graph_create_node(g, SH_CALL_FUNCTION, "add", SH_ARGS(x, 2.5),
                                      SH_KWARGS(SH_KWARG("alpha", 3)), "int");
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "relu", y)));
    return g;
}

Test(code, one_tensor_in_and_out_is_a_forward) {
    sh_graph *g = add_relu();
    cr_expect(text_is(sh_graph_code(g, "net"),
                      "/* net: a graph of 4 nodes, as the forward of a sh_module_type. */\n"
                      "#include <shunt.h>\n\n"
                      "sh_tensor *net(sh_module *self, sh_tensor *x);\n\n"
                      "sh_tensor *net(sh_module *self, sh_tensor *x) {\n"
                      "    (void)self;\n"
                      "    sh_tensor *result = NULL;\n"
                      "    SH_SCOPE {\n"
                      "        sh_tensor *int_1 = sh_add(x, 2.5, .alpha = 3);\n"
                      "        sh_tensor *relu = sh_relu(int_1);\n"
                      "        result = sh_escape(relu);\n"
                      "    }\n"
                      "    return result;\n"
                      "}\n"));
    sh_graph_free(g);
}

Test(code, what_the_typed_function_has_no_word_for_goes_by_name) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_node *y = sh_graph_create_node(g, SH_CALL_FUNCTION, "add", SH_ARGS(x, x),
                                      SH_KWARGS(SH_KWARG("alpha", 2.0)), NULL);
    sh_graph_output(g, SH_ARG(y));
    char *code = sh_graph_code(g, NULL);
    cr_expect(code && strstr(code, "sh_tensor *forward(sh_module *self"), "%s", code ? code : message());
    cr_expect(code && strstr(code, "sh_tensor *add = sh_call_op(\"add\", x, x, SH_NAMED(\"alpha\", 2.0));"),
              "%s", code);
    free(code);
    sh_graph_free(g);
}

Test(code, names_that_mean_something_are_not_free) {
    static const char *const taken[] = {"int",    "class",  "double", "errno",  "stdin", "main",   "NULL",
                                        "sh_add", "SH_F32", "I",      "unix",   "linux", "_Bool",  "__x",
                                        "size_t", "self",   "inputs", "result", "auto",  "xor_eq", "while",
                                        "0",      "",       "a b",    "\u00e9", "a-b",   "EOF"};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        cr_expect(not(sh__is_free_identifier(taken[i])), "%s", taken[i]);
    static const char *const free_ones[] = {"x",   "_0",  "_x",    "add_0",         "sum",
                                            "exp", "Net", "n_int", "layer1_0_conv1"};
    for (size_t i = 0; i < sizeof free_ones / sizeof *free_ones; i++)
        cr_expect(sh__is_free_identifier(free_ones[i]), "%s", free_ones[i]);
}

Test(code, every_wish_gets_a_name_of_its_own) {
    static const char *const wishes[] = {"int",    "n_int", "int", "NULL",   "n_NULL", "size_t",
                                         "size_t", "",      "",    "\u00e9", "x",      "x"};
    sh_symbols names = {0};
    const char *got[sizeof wishes / sizeof *wishes];
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        got[i] = sh__take_identifier(&names, wishes[i]);
        cr_assert(got[i] && sh__is_free_identifier(got[i]), "%s", wishes[i]);
        for (size_t k = 0; k < i; k++) cr_expect(strcmp(got[i], got[k]) != 0, "%s twice", got[i]);
    }
    char longest[301] = "";
    memset(longest, 'a', 300);
    const char *a = sh__take_identifier(&names, longest), *b = sh__take_identifier(&names, longest);
    cr_expect(a && b && strlen(a) <= 60 && strlen(b) <= 60 && strcmp(a, b) != 0);
    sh__symbols_free(&names);
}

static bool literal_is(void (*put)(sh_text *out, double f), double f, const char *expected) {
    sh_text out = {0};
    put(&out, f);
    return text_is(sh__text_take(&out), expected);
}

Test(code, numbers_and_strings_read_back_the_same) {
    cr_expect(literal_is(sh__code_float, 0.1, "0.1"));
    cr_expect(literal_is(sh__code_float, 1, "1.0"));
    cr_expect(literal_is(sh__code_float, -0.0, "-0.0"));
    cr_expect(literal_is(sh__code_float, -__builtin_inf(), "-__builtin_inf()"));
    cr_expect(literal_is(sh__code_float, __builtin_nan("0x12"), "__builtin_nan(\"0x12\")"));
    sh_text out = {0};
    sh__code_string(&out, "a\"b\\c\n?\?/\x01z");
    sh__code_int(&out, INT64_MIN);
    sh__code_int(&out, 1LL << 40);
    sh__code_dtype(&out, SH_B8);
    sh__code_comment(&out, "a*/b\n");
    cr_expect(text_is(sh__text_take(&out), "\"a\\\"b\\\\c\\012\\?\\?/\\001z\"(-9223372036854775807LL - 1)"
                                           "1099511627776LLSH_B8a_/b_"));
}

/* ---- what can't be said ---- */

Test(code, a_name_that_no_function_can_have_is_an_error) {
    sh_graph *g = add_relu();
    static const char *const names[] = {"int", "main", "a b", "", "sh_net", "0"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cr_expect(sh_graph_code(g, names[i]) == NULL, "%s", names[i]);
        cr_expect(error_says(SH_ERROR_VALUE, "can't be the name of a C function"), "%s", names[i]);
    }
    cr_expect(sh_graph_code(NULL, "net") == NULL);
    cr_expect(error_says(SH_ERROR_NULL, "graph is NULL"));
    sh_graph_free(g);
}

Test(code, a_graph_that_can_not_run_has_none) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "no_such_op", x)));
    cr_expect(sh_graph_code(g, NULL) == NULL);
    cr_expect(error_says(SH_ERROR_OP, "no_such_op"));
    sh_graph_free(g);
}

Test(code, outputs_that_are_no_tensors_in_a_list_are_an_error) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *parts = sh_graph_call_function(g, "chunk", x, 2);
    sh_graph_output(g, sh_arg_list(SH_ARGS(x, parts)));
    cr_expect(sh_graph_code(g, NULL) == NULL);
    cr_expect(error_says(SH_ERROR_TYPE, "no tensor"));
    sh_node_set_arg(sh_graph_output_node(g), 0, sh_arg_list(SH_ARGS(x, 2)));
    cr_expect(sh_graph_code(g, NULL) == NULL);
    cr_expect(error_says(SH_ERROR_TYPE, "no tensor"));
    sh_graph_free(g);
}

Test(code, an_entry_of_what_is_no_list_is_an_error) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *y = sh_graph_call_function(g, "relu", x);
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, SH_GETITEM, y, 0)));
    cr_expect(sh_graph_code(g, NULL) == NULL);
    cr_expect(error_says(SH_ERROR_TYPE, "%relu, which is no list"));
    sh_graph_free(g);
}

/* ---- at work ---- */

Test(code, hundred_thousand_nodes_are_no_trouble) {
    sh_graph *g = sh_graph_new();
    sh_node *at = sh_graph_placeholder(g, "x");
    for (int i = 0; i < 100000; i++)
        at = sh_graph_create_node(g, SH_CALL_FUNCTION, "relu", SH_ARGS(at), SH_NO_KWARGS, "int");
    sh_graph_output(g, SH_ARG(at));
    char *code = sh_graph_code(g, NULL);
    cr_expect(code != NULL, "%s", message());
    free(code);
    sh_graph_free(g);
}

static bool code_of_a_net(void) {
    sh_value room[3];
    sh_module *net = fx_nets[4].make();
    sh_module *traced = net ? sh_symbolic_trace(net, fx_net_inputs(&fx_nets[4], room), NULL) : NULL;
    char *code = traced ? sh_graph_code(sh_graph_module_graph(traced), "net") : NULL;
    const bool done = code != NULL;
    free(code);
    sh_module_release(traced);
    sh_module_release(net);
    return done;
}

Test(code, survives_each_failing_allocation) { fail_each("code", code_of_a_net); }

Test(code, a_tensor_of_a_graph_module_is_found_by_its_target) {
    static const sh_module_type empty = {.name = "Empty"};
    SH_SCOPE {
        sh_module *root = sh_module_new(&empty);
        sh_graph *g = sh_graph_new();
        sh_tensor *kept = sh_rand(SH_SIZES(2)), *parameter = sh_rand(SH_SIZES(2));
        sh_module_set_parameter(root, "w", parameter);
        sh_graph_set_attr(g, "kept", kept);
        sh_graph_output(g, SH_ARG(sh_graph_get_attr(g, "kept")));
        sh_module *m = sh_graph_module_new(root, g);
        cr_expect(sh_graph_module_tensor(m, "kept") == kept);
        cr_expect(sh_graph_module_tensor(root, "w") == parameter);
        cr_expect(sh_graph_module_tensor(m, "none") == NULL);
        cr_expect(error_says(SH_ERROR_VALUE, "GraphModule has no tensor none"));
        cr_expect(sh_graph_module_tensor(NULL, "w") == NULL);
        cr_expect(error_says(SH_ERROR_NULL, "module is NULL"));
        sh_module_release(m);
        sh_module_release(root);
    }
}
