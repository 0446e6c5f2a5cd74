/* Graphs and graph modules as text: all of them comes back, and what is no such text is refused where it goes wrong. */
#include <locale.h>
#include <math.h>

#include "tests/fail_each.h"
#include "tests/ir.h"

TestSuite(ir);

/* ---- what comes back ---- */

Test(ir, each_net_that_is_traced_comes_back) {
    for (int i = 0; i < fx_nets_count; i++) SH_SCOPE {
            sh_value room[3];
            sh_module *net = fx_nets[i].make();
            sh_module *traced = sh_symbolic_trace(net, fx_net_inputs(&fx_nets[i], room), NULL);
            cr_assert(traced != NULL, "%s", message());
            cr_expect(module_comes_back(sh_graph_module_ir(traced)), "%s", fx_nets[i].name);
            cr_expect(graph_comes_back(sh_graph_ir(sh_graph_module_graph(traced))), "%s", fx_nets[i].name);
            sh_module_release(traced);
            sh_module_release(net);
        }
}

Test(ir, stands_as_torch_prints_nodes_with_what_is_known_behind) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *y = sh_graph_call_function(g, "add", x, 2.0);
    sh_node_set_spec(x, &(sh_spec){.dtype = SH_F32, .ndim = 2, .sizes = {-1, 3}});
    sh_node_set_scope(y, "layer1.0");
    sh_node_set_type(y, "torch.Tensor");
    sh_node_set_meta_int(y, "cost", -3);
    sh_node_set_meta_string(y, "a note", "it's");
    sh_node_set_meta_pointer(y, "lost", g, NULL);
    sh_graph_output(g, SH_ARG(y));
    cr_expect(text_is(
        sh_graph_ir(g),
        "shunt-ir 1\n\ngraph():\n"
        "    %x : [num_users=1] = placeholder[target=x], tensor = f32[?, 3]\n"
        "    %add : torch.Tensor [num_users=1] = call_function[target=add](args = (%x, 2.0), kwargs = {}), "
        "scope = 'layer1.0', meta = {cost: -3, 'a note': \"it's\"}\n"
        "    return add\n"));
    cr_expect(graph_comes_back(sh_graph_ir(g)));
    sh_graph_free(g);
}

static const double floats[] = {0.0,  -0.0,     1.0,      0.1, 1e-05, 5e-324, 1.7976931348623157e308,
                                1e16, INFINITY, -INFINITY};

Test(ir, every_kind_of_argument_comes_back_to_the_bit) {
    sh_function_register("mylib::any", (sh_function_body)(void *)abort, NULL);
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    const char *const strings[] = {"",     "it's", "\"",          "'\"", "\\", "\n\t\r\x01\x7f",
                                   "None", "%x",   "\xc3\xa9\xff"};
    const uint64_t nans[] = {0x7ff8000000000000, 0xfff8000000000000, 0x7ff8000000005348, 0x7ff0000000000001};
    sh_arg list[64];
    size_t n = 0;
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) list[n++] = SH_ARG(floats[i]);
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) list[n++] = SH_ARG(strings[i]);
    for (size_t i = 0; i < sizeof nans / sizeof *nans; i++) {
        double nan;
        memcpy(&nan, &nans[i], sizeof nan);
        list[n++] = SH_ARG(nan);
    }
    const int64_t ints[] = {0, -1, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < 4; i++) list[n++] = SH_ARG(ints[i]);
    for (int d = SH_F32; d < SH_DTYPE_COUNT; d++) list[n++] = sh_arg_dtype((sh_dtype)d);
    list[n++] = sh_arg_none();
    list[n++] = SH_ARG((bool)true);
    list[n++] = SH_ARG((bool)false);
    list[n++] = SH_ARG(x);
    list[n++] = sh_arg_list(SH_NO_ARGS);
    list[n++] = sh_arg_tuple(SH_NO_ARGS);
    list[n++] = sh_arg_tuple(SH_ARGS(x));
    list[n++] = sh_arg_list(SH_ARGS(sh_arg_tuple(SH_ARGS(1, sh_arg_list(SH_ARGS(x, "s"))))));
    const sh_args args = {list, n};
    sh_node *call =
        sh_graph_create_node(g, SH_CALL_FUNCTION, "mylib::any", args,
                             SH_KWARGS(SH_KWARG("a b", sh_arg_list(args)), SH_KWARG("'", x)), NULL);
    sh_graph_output(g, sh_arg_tuple(SH_ARGS(call, sh_arg_list(args))));
    cr_assert(sh_error() == NULL, "%s", message());
    char *text = sh_graph_ir(g);
    sh_graph *back = sh_graph_parse(text, strlen(text), NULL);
    cr_assert(back != NULL, "%s", message());
    const sh_node *again = sh_graph_find(back, sh_node_name(call));
    for (size_t i = 0; i < n; i++) {
        const sh_arg a = list[i], b = sh_node_arg(again, i);
        if (a.tag == SH_ARG_NODE || sh_arg_is_list(a)) continue;
        cr_expect(sh_arg_equal(a, b), "argument %zu", i);
        if (a.tag == SH_ARG_FLOAT) cr_expect(memcmp(&a.as.f, &b.as.f, sizeof a.as.f) == 0, "argument %zu", i);
    }
    cr_expect(graph_comes_back(text));
    sh_graph_free(back);
    sh_graph_free(g);
    sh_function_remove("mylib::any");
}

Test(ir, placeholders_outputs_and_names_of_any_kind_come_back) {
    sh_graph *g = sh_graph_new();
    sh_graph_create_node(g, SH_PLACEHOLDER, "x", SH_ARGS("a default"), SH_NO_KWARGS, NULL);
    sh_node *y =
        sh_graph_create_node(g, SH_PLACEHOLDER, "input.1 [0]", SH_ARGS(sh_arg_none()), SH_NO_KWARGS, NULL);
    sh_graph_create_node(g, SH_CALL_FUNCTION, "add_", SH_ARGS(y, 1), SH_NO_KWARGS, "output");
    sh_node *max = sh_graph_create_node(g, SH_CALL_FUNCTION, "max.dim", SH_ARGS(y, 0), SH_NO_KWARGS, "class");
    sh_node *item = sh_graph_call_function(g, SH_GETITEM, max, 1);
    sh_node_set_type(item, "a type: [it]");
    sh_graph_create_node(g, SH_OUTPUT, "output", SH_ARGS(sh_arg_list(SH_ARGS(item, y))),
                         SH_KWARGS(SH_KWARG("names", sh_arg_list(SH_ARGS("y/1", "z")))), NULL);
    cr_assert(sh_error() == NULL, "%s", message());
    cr_expect(graph_comes_back(sh_graph_ir(g)));
    sh_graph_free(g);
    g = sh_graph_new();
    cr_expect(text_is(sh_graph_ir(g), "shunt-ir 1\n\ngraph():\n"));
    cr_expect(graph_comes_back(sh_graph_ir(g)), "a graph without nodes");
    sh_graph_free(g);
}

Test(ir, names_that_an_erased_node_had_do_not_matter) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    for (int i = 0; i < 4; i++) sh_graph_call_function(g, "relu", x);
    sh_graph_erase_node(sh_graph_find(g, "relu"));
    sh_graph_erase_node(sh_graph_find(g, "relu_2"));
    cr_expect(graph_comes_back(sh_graph_ir(g)));
    sh_graph_free(g);
}

/* ---- modules ---- */

static sh_tensor *tied_forward(sh_module *self, sh_tensor *x) {
    x = sh_forward(sh_module_child(self, "a"), sh_forward(sh_module_child(self, "b"), x));
    x = sh_forward(sh_module_child(self, "deep.b"), x);
    return sh_add(sh_mul(x, sh_module_buffer(self, "scale")), sh_tensor_from_number(sh_value_int(1)));
}
static const sh_module_type tied_type = {.name = "Tied", .forward = tied_forward};

static sh_module *new_tied(void) {
    sh_module *net = sh_module_new(&tied_type);
    sh_module_give(net, "a", sh_nn_linear(2, 2));
    sh_module_give(net, "b", sh_nn_linear(2, 2, .bias = false));
    sh_module_give(net, "deep", sh_nn_module_list(sh_nn_identity()));
    sh_module_set(net, "deep.b", sh_module_child(net, "b"));
    sh_module_set_parameter(sh_module_child(net, "b"), "weight", sh_module_parameter(net, "a.weight"));
    sh_module_set_buffer(net, "scale", sh_full(SH_SCALAR_SHAPE, 2));
    sh_module_eval(net);
    return net;
}

Test(ir, what_hangs_twice_is_one_again) {
    sh_module *net = new_tied(), *traced = sh_symbolic_trace(net, SH_INPUTS(sh_zeros(SH_SIZES(1, 2))), NULL);
    sh_graph_module_add_submodule(traced, "deep.again", sh_module_child(traced, "b"));
    char *text = sh_graph_module_ir(traced);
    cr_assert(text != NULL, "%s", message());
    cr_expect(strstr(text, "parameter a.weight = b.weight\n") != NULL, "%s", text);
    cr_expect(strstr(text, "module deep.again = b\n") != NULL, "%s", text);
    cr_expect(strstr(text, "bias=False), training = False\n") != NULL, "%s", text);
    sh_module *back = sh_graph_module_parse(text, strlen(text), NULL);
    cr_assert(back != NULL, "%s", message());
    cr_expect(sh_module_child(back, "deep.again") == sh_module_child(back, "b"));
    cr_expect(sh_module_parameter(back, "b.weight") == sh_module_parameter(back, "a.weight"));
    cr_expect(eq(int, sh_module_is_training(back), 0));
    cr_expect(module_comes_back(text));
    sh_module_release(back);
    sh_module_release(traced);
    sh_module_release(net);
}

static bool same_field(const sh_module_field *f, const void *a, const void *b) {
    const size_t size = f->kind == SH_FIELD_FLAG ? sizeof(bool) : 8 * (f->count > 1 ? f->count : 1);
    const void *x = (const char *)a + f->offset, *y = (const char *)b + f->offset;
    if (f->kind == SH_FIELD_CHOICE) return strcmp(*(char *const *)x, *(char *const *)y) == 0;
    return memcmp(x, y, size) == 0;
}

Test(ir, every_built_in_module_comes_back_with_its_options) {
    sh_module *net = sh_nn_sequential(
        sh_nn_linear(3, 4, .bias = false), sh_nn_conv1d(2, 4, 3, .groups = 2, .padding = 1),
        sh_nn_conv2d(3, 4, {3, 5}, .stride = {2, 1}, .dilation = 2),
        sh_nn_batch_norm2d(3, .momentum = SH_NO_NUMBER),
        sh_nn_batch_norm2d(3, .affine = false, .track_running_stats = false, .eps = 0.1),
        sh_nn_layer_norm({5, 6}), sh_nn_layer_norm({7}, .elementwise_affine = false),
        sh_nn_embedding(5, 2, .padding_idx = -1), sh_nn_embedding(5, 2), sh_nn_relu(.inplace = true),
        sh_nn_silu(), sh_nn_gelu(.approximate = "tanh"), sh_nn_sigmoid(), sh_nn_tanh(), sh_nn_identity(),
        sh_nn_softmax(.dim = -1), sh_nn_max_pool2d({3, 2}, .ceil_mode = true),
        sh_nn_avg_pool2d(2, .divisor_override = 3), sh_nn_adaptive_avg_pool2d({1, 2}),
        sh_nn_flatten(.end_dim = 2), sh_nn_dropout(.p = 0.25), sh_nn_module_list(sh_nn_sigmoid()));
    cr_assert(net != NULL, "%s", message());
    sh_graph *g = sh_graph_new();
    for (size_t i = 0; i < sh_module_children(net); i++)
        sh_graph_create_node(g, SH_CALL_MODULE, sh_module_child_name(net, i), SH_NO_ARGS, SH_NO_KWARGS, NULL);
    sh_module *whole = sh_graph_module_new(net, g);
    char *text = sh_graph_module_ir(whole);
    sh_module *back = text ? sh_graph_module_parse(text, strlen(text), NULL) : NULL;
    cr_assert(back != NULL, "%s", message());
    char *shown = sh_module_text(whole);
    cr_expect(text_is(sh_module_text(back), shown));
    cr_expect(module_comes_back(text));
    for (size_t i = 0; i < sh_module_children(whole); i++) {
        const sh_module *a = sh_module_child_at(whole, i), *b = sh_module_child_at(back, i);
        const sh_module_type *type = sh_module_type_of(a);
        cr_expect(type == sh_module_type_of(b));
        for (const sh_module_field *f = type->fields; f && f->name; f++)
            cr_expect(same_field(f, sh_module_state(a), sh_module_state(b)), "%s of %s", f->name, type->name);
    }
    free(shown);
    sh_module_release(back);
    sh_module_release(whole);
    sh_module_release(net);
}

Test(ir, graph_modules_in_graph_modules_come_back) {
    sh_module *net = new_tied(), *x = NULL;
    sh_module *inner = sh_symbolic_trace(net, SH_INPUTS(sh_zeros(SH_SIZES(1, 2))), NULL);
    sh_graph_set_attr(sh_graph_module_graph(inner), "scale", sh_zeros(SH_SIZES(0, 3), .dtype = SH_BF16));
    x = sh_nn_sequential(inner, sh_nn_relu());
    sh_graph *g = sh_graph_new();
    sh_graph_set_attr(g, "own", sh_zeros(SH_SIZES(2)));
    sh_graph_set_attr(g, "other", sh_graph_attr(g, "own"));
    sh_node *in = sh_graph_placeholder(g, "in");
    sh_graph_output(g, SH_ARG(sh_graph_create_node(g, SH_CALL_MODULE, "0", SH_ARGS(in), SH_NO_KWARGS, NULL)));
    sh_module *outer = sh_graph_module_new(x, g);
    char *text = sh_graph_module_ir(outer);
    cr_assert(text != NULL, "%s", message());
    cr_expect(strstr(text, "\ngraph 0():\n    attr scale : bf16[0, 3]\n") != NULL, "%s", text);
    cr_expect(strstr(text, "    attr other = .own\n") != NULL, "%s", text);
    cr_expect(module_comes_back(text));
    sh_module_release(outer);
    sh_module_release(x);
    sh_module_release(net);
}

/* ---- types of the user ---- */

typedef struct gate_state {
    double level;
    int64_t sizes[3], many[4], n;
    const char *kind;
    bool open;
} gate_state;

static sh_tensor *gate_forward(sh_module *self, sh_tensor *x) {
    const gate_state *s = sh_module_state(self);
    return s->open ? sh_mul(x, s->level) : x;
}
static const char *const kinds[] = {"soft", "hard", NULL};
static const sh_module_field gate_fields[] = {
    {"level", SH_FIELD_FLOAT, SH_FIELD_ANY, offsetof(gate_state, level), 0, NULL},
    {"sizes", SH_FIELD_INTS, SH_FIELD_ANY, offsetof(gate_state, sizes), 3, NULL},
    {"many", SH_FIELD_INTS, SH_FIELD_ANY, offsetof(gate_state, many), 4, NULL},
    {"n", SH_FIELD_INT, SH_FIELD_POSITIVE, offsetof(gate_state, n), 0, NULL},
    {"kind", SH_FIELD_CHOICE, SH_FIELD_ANY, offsetof(gate_state, kind), 0, kinds},
    {"open", SH_FIELD_FLAG, SH_FIELD_ANY, offsetof(gate_state, open), 0, NULL},
    {.name = NULL}};
static const sh_module_type gate_type = {.name = "my::Gate",
                                         .forward = gate_forward,
                                         .leaf = true,
                                         .state_size = sizeof(gate_state),
                                         .fields = gate_fields};
static const sh_module_type silent_type = {
    .name = "my::Silent", .forward = gate_forward, .leaf = true, .state_size = sizeof(gate_state)};

static sh_module *traced_with(const sh_module_type *type) {
    sh_module *leaf = sh_module_new(type), *net = sh_nn_sequential(leaf, sh_nn_relu());
    gate_state *s = sh_module_state(leaf);
    *s = (gate_state){
        .level = 0.5, .sizes = {3, 0, 0}, .many = {1, 0, 2, 0}, .n = 7, .kind = kinds[1], .open = true};
    sh_module *traced = sh_symbolic_trace(net, SH_INPUTS(sh_zeros(SH_SIZES(1))), NULL);
    sh_module_release(net);
    return traced;
}

Test(ir, a_module_of_the_user_comes_back_when_its_type_is_registered) {
    sh_module *traced = traced_with(&gate_type);
    cr_expect(sh_graph_module_ir(traced) == NULL);
    cr_expect(
        error_says(SH_ERROR_UNSUPPORTED,
                   "module 0 is a my::Gate, a type that isn't known by name: call sh_module_type_register"));
    cr_assert(sh_module_type_register(&gate_type) == SH_OK);
    char *text = sh_graph_module_ir(traced);
    cr_assert(text != NULL, "%s", message());
    cr_expect(
        strstr(text,
               "module 0 : my::Gate(level=0.5, sizes=(3,), many=(1, 0, 2), n=7, kind='hard', open=True)\n") !=
            NULL,
        "%s", text);
    sh_module *back = sh_graph_module_parse(text, strlen(text), NULL);
    cr_assert(back != NULL, "%s", message());
    cr_expect(memcmp(sh_module_state(sh_module_child(back, "0")),
                     sh_module_state(sh_module_child(traced, "0")), sizeof(gate_state)) == 0);
    cr_expect(eq(dbl, sh_item(sh_forward(back, sh_full(SH_SIZES(1), 3))), 1.5));
    cr_assert(sh_module_type_remove(&gate_type) == SH_OK);
    cr_expect(sh_graph_module_parse(text, strlen(text), "it") == NULL);
    cr_expect(error_says(SH_ERROR_FORMAT, "it:4:12: there is no type of modules my::Gate"));
    free(text);
    sh_module_release(back);
    sh_module_release(traced);
}

Test(ir, a_module_that_cant_be_made_anew_is_named) {
    sh_module *traced = traced_with(&silent_type);
    sh_module_type_register(&silent_type);
    cr_expect(sh_graph_module_ir(traced) == NULL);
    cr_expect(error_says(SH_ERROR_UNSUPPORTED, "module 0 is a my::Silent, which has state"));
    static const sh_module_type other = {.name = "my::Silent"};
    sh_module_type_register(&other);
    cr_expect(sh_graph_module_ir(traced) == NULL);
    cr_expect(error_says(SH_ERROR_UNSUPPORTED, "another type is known by that name"));
    sh_module_type_remove(&other);
    cr_expect(sh_module_type_find("my::Silent") == &silent_type, "the older one is back");
    sh_module_type_remove(&silent_type);
    cr_expect(sh_module_type_remove(&silent_type) < 0);
    cr_expect(error_says(SH_ERROR_VALUE, "my::Silent is not registered"));
    static const sh_module_type linear = {.name = "Linear"}, nameless = {.name = NULL};
    cr_expect(sh_module_type_register(&linear) < 0);
    cr_expect(error_says(SH_ERROR_VALUE, "Linear is the name of a built-in type"));
    cr_expect(sh_module_type_register(&nameless) < 0 && error_says(SH_ERROR_NULL, "name"));
    cr_expect(sh_module_type_register(NULL) < 0 && error_says(SH_ERROR_NULL, "type is NULL"));
    cr_expect(sh_module_type_remove(NULL) < 0 && error_says(SH_ERROR_NULL, "type is NULL"));
    sh_module_release(traced);
}

/* ---- bad texts ---- */

static bool refused(const char *lines, const char *words) {
    char text[4000];
    snprintf(text, sizeof text, "shunt-ir 1\n%s", lines);
    sh_graph *graph;
    sh_module *module = sh_graph_module_parse(text, strlen(text), "it");
    const bool is_graph = !module && strstr(message(), "read it by sh_graph_parse");
    if (is_graph) sh_clear_error();
    graph = is_graph ? sh_graph_parse(text, strlen(text), "it") : NULL;
    const sh_status code = sh_error() ? sh_error()->code : SH_OK;
    const bool right = !module && !graph && code < 0 && error_says(code, words);
    if (!right) fprintf(stderr, "of\n%s\n", text);
    sh_graph_free(graph);
    sh_module_release(module);
    return right;
}

Test(ir, what_is_wrong_in_a_line_is_said_with_its_place) {
    static const char *const bad[][2] = {
        {"", "it:2:1: there is neither a module nor a graph"},
        {"hello", "it:2:1: expected a line of a module, tensor, graph or node, got hello"},
        {"%x = placeholder[target=x]", "it:2:1: nodes stand behind a line graph():"},
        {"graph:", "it:2:6: expected the path of a graph module, got :"},
        {"graph()", "it:2:8: expected a :, got the end of the text"},
        {"graph a():", "it:2:7: a text without modules has one graph"},
        {"graph():\ngraph():", "it:3:6: a text without modules has one graph"},
        {"graph():\n  x = 1", "it:3:3: expected a line of a module, tensor, graph or node, got x"},
        {"graph():\n  %x y", "it:3:6: expected a = before the opcode, got y"},
        {"graph():\n  %x = place[target=x]", "it:3:8: expected an opcode (placeholder"},
        {"graph():\n  %x = placeholder(target=x)", "it:3:19: expected [target=, got ("},
        {"graph():\n  %x = placeholder[target=x",
         "it:3:28: expected a ] behind the target, got the end of the text"},
        {"graph():\n  %x : [num_users=x] = placeholder[target=x]",
         "it:3:19: expected a number of users, got x"},
        {"graph():\n  %x = placeholder[target='x]", "it:3:27: the string has no end on its line"},
        {"graph():\n  %x = placeholder[target='\\q']", "it:3:27: the string has an unknown escape"},
        {"graph():\n  %x = placeholder[target='\\x00']", "it:3:27: the string has an unknown escape"},
        {"graph():\n  %x = placeholder[target=x];", "it:3:29: the byte 0x3b can't stand here"},
        {"graph():\n  %x = placeholder[target=x] 3", "it:3:30: expected the end of the line, got 3"},
        {"graph():\n  %x = placeholder[target=x](default=y)",
         "it:3:38: expected an argument (%node, a number"},
        {"graph():\n  %x = placeholder[target=x](default=99999999999999999999)",
         "it:3:38: expected an argument"},
        {"graph():\n  %x = placeholder[target=x](default=1e999)", "it:3:38: expected an argument"},
        {"graph():\n  %x = placeholder[target=x](default=0x10)", "it:3:38: expected an argument"},
        {"graph():\n  %x = placeholder[target=x](default=torch.f33)", "it:3:38: expected an argument"},
        {"graph():\n  %x = placeholder[target=x](default=nan(3))", "it:3:42: expected the bits of a NaN"},
        {"graph():\n  %x = placeholder[target=x](default=nan(0x1))", "it:3:42: expected the bits of a NaN"},
        {"graph():\n  %x = call_function[target=relu](args = (%y,), kwargs = {})",
         "it:3:44: %y is not defined above"},
        {"graph():\n  %x = call_function[target=relu](args = (%x,), kwargs = {})",
         "it:3:44: %x is not defined above"},
        {"graph():\n  %x = placeholder[target=x]\n  %x = placeholder[target=y]",
         "it:4:3: two nodes have the name %x"},
        {"graph():\n  %sum = placeholder[target=x]", "it:3:3: no node can have the name sum; %sum_1 could"},
        {"graph():\n  %x = call_function[target=rely](args = (1,), kwargs = {})",
         "it:3:3: %x: there is no op or function rely; did you mean relu"},
        {"graph():\n  %x = call_function[target=relu](args = ('a',), kwargs = {})",
         "it:3:3: %x: relu: argument self: got str, expected Tensor"},
        {"graph():\n  %x = call_function[target=relu](args = (1, 2), kwargs = {})",
         "argument number 2 is too many"},
        {"graph():\n  %x = call_function[target=relu](args = (1,), kwargs = {b: 1})",
         "relu has no argument b"},
        {"graph():\n  %x = call_function[target=relu](args = (1,), kwargs = {b: 1, b: 2})",
         "it:3:64: the keyword argument b is given twice"},
        {"graph():\n  %x = call_function[target=relu](args = (1 2), kwargs = {})",
         "it:3:45: expected , or ) in the list, got 2"},
        {"graph():\n  %x = call_function[target=relu](args = [1], kwargs = {})",
         "it:3:42: expected a ( before the arguments"},
        {"graph():\n  %x = call_function[target=mylib::gone](args = (1,), kwargs = {})",
         "it:3:3: %x: there is no op or function mylib::gone"},
        {"graph():\n  %x = placeholder[target=x], tensor = f33[2]", "it:3:40: there is no dtype f33"},
        {"graph():\n  %x = placeholder[target=x], tensor = f32[-2]", "it:3:44: expected a size or ?"},
        {"graph():\n  %x = placeholder[target=x], tensor = f32[1,1,1,1,1,1,1,1,1]",
         "it:3:60: more than 8 dimensions"},
        {"graph():\n  %x = placeholder[target=x], shape = 3",
         "it:3:31: expected tensor, scope or meta, got shape"},
        {"graph():\n  %x = placeholder[target=x], meta = {a: None}",
         "it:3:38: the key a of meta: expected a number or a string"},
        {"graph():\n  return x", "it:3:10: %x is not defined above"},
        {"graph():\n  return None\n  return None", "it:4:3: two nodes have the name %output"},
        {"graph():\n  return None\n  %x = placeholder[target=x]", "it:4:3: %x stands behind the output"},
        {"graph():\n  attr x : f32[-1]", "it:3:16: expected a size"},
        {"graph():\n  attr x : f32[9223372036854775807, 9]", "it:3:12: "},
        {"graph():\n  attr x : f32[1]\n  attr x : f32[1]", "it:4:8: there is an attribute x already"},
        {"graph():\n  attr x = y", "it:3:12: there is no tensor y above"},
        {"graph():\n  attr x : f32[2, 3], strides = (1, 1)",
         "it:3:33: these are no strides of a tensor without gaps"},
        {"graph():\n  parameter x : f32[1]", "it:3:13: parameters and buffers stand before graphs"},
        {"attr x : f32[1]", "it:2:1: nodes stand behind a line graph():"},
        {"module : GraphModule()\nattr x : f32[1]", "it:3:1: nodes stand behind a line graph():"},
        {"module : GraphModule()\ngraph():\n  %x = call_module[target=''](args = (), kwargs = {})",
         "it:4:3: %x calls the module that its graph is"},
        {"module : Graph()", "it:2:10: there is no type of modules Graph"},
        {"module : GraphModule(a=1)", "it:2:22: GraphModule has no option a"},
        {"module : GraphModule()", "it:2:23: the graph of module \"\" is missing"},
        {"module : Sequential()\nmodule a : GraphModule()", "the graph of module \"a\" is missing"},
        {"module : Sequential()\ngraph():", "it:3:6: there is no graph module  above"},
        {"module : GraphModule()\ngraph():\ngraph():", "it:4:6: the graph of  stands here twice"},
        {"module : GraphModule()\nmodule : GraphModule()", "it:3:8: there is a root module already"},
        {"module a : Tanh()", "it:2:8: there is no module  above that could hold a"},
        {"module : Sequential()\nmodule a.b : Tanh()",
         "it:3:8: there is no module a above that could hold b"},
        {"module : Sequential()\nmodule a : Tanh()\nmodule a : Tanh()",
         "it:4:8: there is a module a already"},
        {"module : Sequential()\nmodule a = b", "it:3:12: there is no module b above"},
        {"module : Sequential()\nmodule a = ''", "it:3:8: a Sequential can't be added inside itself"},
        {"module : ReLU(3)", "it:2:15: ReLU has no option 3"},
        {"module : ReLU()", "it:2:14: ReLU: the option inplace is missing"},
        {"module : ReLU(inplace=False, inplace=True)", "it:2:30: the option inplace is given twice"},
        {"module : ReLU(inplace=1)", "it:2:23: ReLU: inplace: expected True or False"},
        {"module : GELU(approximate='no')", "it:2:27: GELU: approximate: expected one of 'none', 'tanh'"},
        {"module : Softmax(dim=0.5)", "it:2:22: Softmax: dim: expected an int or None"},
        {"module : AdaptiveAvgPool2d(output_size=(1, 2, 3))",
         "it:2:40: AdaptiveAvgPool2d: output_size: expected a list of up to 2 ints"},
        {"module : AdaptiveAvgPool2d(output_size=0)",
         "AdaptiveAvgPool2d: output_size is 0, expected at least 1"},
        {"module : Linear(in_features=-1, out_features=1, bias=True)",
         "it:2:16: Linear: in_features is -1, expected at least 0"},
        {"module : Tanh(), training = 3", "it:2:29: expected True or False"},
        {"module : Tanh(), name = 'a', name = 'b'", "it:2:37: expected one 'name'"},
        {"module : Tanh(), eval = 3", "it:2:18: expected training or name, got eval"},
        {"parameter x : f32[1]", "it:2:11: there is no module  above that could hold x"},
        {"module : Tanh()\nparameter x : f32[1]\nbuffer x : f32[1]", "it:4:8: there is a tensor x already"},
        {"module : Tanh()\nparameter a..b : f32[1]",
         "it:3:11: there is no module a. above that could hold b"},
        {"module : Tanh()\nbuffer '' : f32[1]", "it:3:8: Tanh: \"\" is no name"},
        {"module : Sequential()\nmodule a : Tanh()\nbuffer a : f32[1]",
         "it:4:8: Sequential has a child a already"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) cr_expect(refused(bad[i][0], bad[i][1]));
}

Test(ir, the_first_line_says_the_version) {
    static const char *const bad[][2] = {
        {"", "the text:1:1: expected shunt-ir and a version, got the end of the text"},
        {"graph():", "the text:1:1: expected shunt-ir and a version, got graph"},
        {"shunt-ir", "the text:1:9: expected an argument"},
        {"shunt-ir 0\n", "the text:1:10: expected the number of a version"},
        {"shunt-ir 1.0\n", "the text:1:10: expected the number of a version"},
        {"shunt-ir 2\n", "the text:1:10: version 2 is newer than what this library reads, which is 1"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_expect(sh_graph_parse(bad[i][0], strlen(bad[i][0]), NULL) == NULL);
        cr_expect(error_says(SH_ERROR_FORMAT, bad[i][1]));
    }
}

Test(ir, what_people_write_by_hand_is_read) {
    static const char text[] =
        "# a graph\r\n\n\tshunt-ir 1 # its version\n\n graph ( ) :\n%x=placeholder[target=\"x\"]\n"
        "%y: [num_users=77] = call_function[target=add](args=(%x,%x,),kwargs={alpha:2,})# twice\n"
        "\n\nreturn[y, (x)]\n\n";
    sh_graph *g = sh_graph_parse(text, strlen(text), NULL);
    cr_assert(g != NULL, "%s", message());
    cr_expect(text_is(sh_graph_text(g),
                      "graph():\n    %x : [num_users=2] = placeholder[target=x]\n"
                      "    %y : [num_users=1] = call_function[target=add](args = (%x, %x), kwargs = "
                      "{alpha: 2})\n    return [y, (x,)]"));
    sh_graph_free(g);
}

Test(ir, the_locale_of_the_program_does_not_matter) {
    sh_graph *g = sh_graph_new();
    sh_graph_output(g, SH_ARG(0.5));
    if (!setlocale(LC_ALL, "de_DE.UTF-8")) setlocale(LC_ALL, "");
    cr_expect(text_is(sh_graph_ir(g), "shunt-ir 1\n\ngraph():\n    return 0.5\n"));
    cr_expect(graph_comes_back(sh_graph_ir(g)));
    sh_graph_free(g);
}

Test(ir, nothing_given_is_an_error) {
    cr_expect(sh_graph_ir(NULL) == NULL && error_says(SH_ERROR_NULL, "sh_graph_ir: graph is NULL"));
    cr_expect(sh_graph_module_ir(NULL) == NULL && error_says(SH_ERROR_NULL, "module is NULL"));
    cr_expect(sh_graph_parse(NULL, 0, NULL) == NULL && error_says(SH_ERROR_NULL, "text is NULL"));
    cr_expect(sh_graph_module_parse(NULL, 0, NULL) == NULL && error_says(SH_ERROR_NULL, "text is NULL"));
    sh_module *plain = sh_nn_tanh();
    cr_expect(sh_graph_module_ir(plain) == NULL &&
              error_says(SH_ERROR_TYPE, "no graph module: trace it first"));
    sh_module_release(plain);
    static const char graph[] = "shunt-ir 1\ngraph():",
                      module[] = "shunt-ir 1\nmodule : GraphModule()\ngraph():",
                      root[] = "shunt-ir 1\nmodule : Tanh()";
    cr_expect(sh_graph_module_parse(graph, strlen(graph), NULL) == NULL);
    cr_expect(
        error_says(SH_ERROR_FORMAT, "the text holds a graph without modules: read it by sh_graph_parse"));
    cr_expect(sh_graph_parse(module, strlen(module), NULL) == NULL);
    cr_expect(error_says(SH_ERROR_FORMAT, "the text holds a graph module: read it by sh_graph_module_parse"));
    cr_expect(sh_graph_module_parse(root, strlen(root), NULL) == NULL);
    cr_expect(error_says(SH_ERROR_FORMAT, "the text holds no graph module at its root"));
}

/* ---- size ---- */

Test(ir, lists_nest_as_deep_as_in_a_graph_and_no_deeper) {
    for (int depth = 63; depth <= 66; depth++) {
        char text[400] = "shunt-ir 1\ngraph():\nreturn ";
        size_t n = strlen(text);
        memset(text + n, '[', (size_t)depth);
        memset(text + n + depth, ']', (size_t)depth);
        sh_graph *g = sh_graph_parse(text, strlen(text), NULL);
        cr_expect(eq(int, g != NULL, depth <= 64), "depth %d", depth);
        if (!g) cr_expect(error_says(SH_ERROR_FORMAT, "lists nest deeper than 64"));
        if (g) cr_expect(graph_comes_back(sh_graph_ir(g)));
        sh_graph_free(g);
    }
}

Test(ir, a_chain_of_twenty_thousand_nodes_comes_back) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    for (int i = 0; i < 20000; i++) x = sh_graph_call_function(g, "add", x, 1.5);
    sh_graph_output(g, SH_ARG(x));
    cr_expect(graph_comes_back(sh_graph_ir(g)));
    sh_graph_free(g);
}

/* ---- memory ---- */

static sh_module *subject;

static bool write_and_read(void) {
    char *text = sh_graph_module_ir(subject);
    sh_module *back = text ? sh_graph_module_parse(text, strlen(text), NULL) : NULL;
    const bool done = back != NULL;
    sh_module_release(back);
    free(text);
    return done;
}

Test(ir, every_allocation_may_fail) {
    sh_module *net = new_tied();
    subject = sh_symbolic_trace(net, SH_INPUTS(sh_zeros(SH_SIZES(1, 2))), NULL);
    sh_graph *g = sh_graph_module_graph(subject);
    sh_graph_set_attr(g, "t", sh_transpose(sh_zeros(SH_SIZES(2, 3)), 0, 1));
    sh_node_set_meta_string(sh_graph_first(g), "k", "v");
    fail_each("text", write_and_read);
    sh_module_release(subject);
    sh_module_release(net);
}
