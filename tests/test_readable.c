/* test_readable.c - graphs as code to read. */
#include "tests/fail_each.h"
#include "tests/fx_nets.h"
#include "tests/graphs.h"

Test(readable, what_is_not_known_is_not_said) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_graph_create_node(g, SH_PLACEHOLDER, "k", SH_ARGS(3), SH_NO_KWARGS, NULL);
    sh_node *y = sh_graph_create_node(g, SH_CALL_FUNCTION, "add", SH_ARGS(x, 2.5),
                                      SH_KWARGS(SH_KWARG("alpha", 3)), NULL);
    sh_graph_output(g, sh_arg_list(SH_ARGS(y, x)));
    cr_expect(text_is(sh_graph_readable(g), "forward(x, k = 3) {\n"
                                            "    add = add(x, 2.5, alpha=3);\n"
                                            "    return [add, x];\n"
                                            "}\n"));
    sh_graph_free(g);
}

Test(readable, dtypes_shapes_scopes_and_places_are_said_where_they_change) {
    sh_graph *g = sh_graph_new();
    const sh_spec spec = {.dtype = SH_F32, .ndim = 2, .sizes = {4, -1}};
    sh_node *x = sh_graph_placeholder(g, "x"), *at = x;
    sh_node_set_spec(x, &spec);
    for (int i = 0; i < 4; i++) {
        at = sh_graph_call_function(g, "relu", at);
        if (i < 3) sh_node_set_scope(at, i ? "layer1.0" : "layer0\n}");
        sh_node_set_site(at, (const void *)(uintptr_t)sh_graph_new);
    }
    sh_graph_output(g, SH_ARG(at));
    char *text = sh_graph_readable(g);
    cr_assert(text != NULL);
    cr_expect(strncmp(text, "forward(f32[4, ?] x) {\n    // layer0\\n}\n    // graph.c:", 54) == 0, "%s",
              text);
    const char *place = strstr(text, "graph.c:");
    cr_expect(place && !strstr(place + 1, "graph.c:"), "one place is said once: %s", text);
    const char *const later =
        "    // layer1.0\n    relu_1 = relu(relu);\n    relu_2 = relu(relu_1);\n    // (outside)\n";
    cr_expect(strstr(text, later) != NULL, "%s", text);
    free(text);
    sh_graph_free(g);
}

Test(readable, modules_and_their_tensors_are_called_by_their_paths) {
    SH_SCOPE {
        sh_value room[3];
        sh_module *net = fx_nets[9].make(),
                  *traced = sh_symbolic_trace(net, fx_net_inputs(&fx_nets[9], room), NULL);
        char *text = sh_graph_readable(sh_graph_module_graph(traced));
        cr_assert(text != NULL, "%s", message());
        cr_expect(strstr(text, "forward(i64[2, 5] tokens) {\n") == text, "%s", text);
        cr_expect(strstr(text, "    f32[2, 5, 6] words = self.words(tokens);\n") != NULL, "%s", text);
        cr_expect(strstr(text, "    f32[5, 6] positions = self.positions;\n") != NULL, "%s", text);
        cr_expect(strstr(text, "fx_nets.c:") != NULL, "%s", text);
        free(text);
        sh_module_release(traced);
        sh_module_release(net);
    }
}

static bool read_a_graph(void) {
    sh_graph *g = sh_graph_new();
    sh_node *x = g ? sh_graph_placeholder(g, "x") : NULL,
            *y = x ? sh_graph_call_function(g, "relu", x) : NULL;
    char *text = y && sh_graph_output(g, SH_ARG(y)) ? sh_graph_readable(g) : NULL;
    const bool done = text != NULL;
    free(text);
    sh_graph_free(g);
    return done;
}

Test(readable, survives_each_failing_allocation) { fail_each("readable", read_a_graph); }
