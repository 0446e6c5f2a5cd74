/* cases.c - graphs whose code is compiled and run: written out without CASES, compared with CASES, the code's own table.
 *
 *     cases FOLDER      writes FOLDER/NAME.c for each graph, and FOLDER/cases.h
 *     cases             runs each graph and its code on the same inputs and compares every bit
 *
 * Built by tests/cli_code.sh as a user would: against the installed header and libraries. */
#include <shunt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fx_nets.h"
#include "tests/resnet.h"

typedef struct compiled {
    const char *name;
    sh_tensor *(*forward)(sh_module *self, sh_tensor *x);
    sh_value (*forward_values)(sh_module *self, sh_values inputs);
} compiled;
#ifdef CASES
#include "cases.h"
#endif

enum { MOST = 40 };
typedef struct case_of {
    char name[64];
    sh_module *module; /* a graph module */
    sh_value inputs[8];
    size_t n;
} case_of;
static case_of cases[MOST];
static size_t ncases;

/* ---- making cases ---- */

static const sh_module_type empty_type = {.name = "Empty"};

static case_of *add_case(const char *name, sh_module *module, sh_values inputs) {
    case_of *c = &cases[ncases++];
    if (!module) {
        fprintf(stderr, "%s: %s\n", name, sh_error()->message);
        exit(1);
    }
    snprintf(c->name, sizeof c->name, "code_%s", name);
    sh_module_eval(module);
    c->module = module;
    c->n = inputs.n;
    for (size_t i = 0; i < inputs.n; i++) c->inputs[i] = inputs.at[i];
    return c;
}

static void add_graph(const char *name, sh_graph *graph, sh_values inputs) {
    sh_module *root = sh_module_new(&empty_type);
    add_case(name, sh_graph_module_new(root, graph), inputs);
    sh_module_release(root);
}

static sh_value random_input(const fx_net *net, int i) {
    const sh_ints sizes = sh_ints_of(net->inputs[i].sizes, (size_t)net->inputs[i].ndim);
    if (net->inputs[i].dtype == SH_I64) return sh_value_tensor(sh_randint(20, sizes));
    return sh_value_tensor(sh_randn(sizes));
}

static void add_nets(void) {
    for (int i = 0; i < fx_nets_count; i++) {
        sh_module *net = fx_nets[i].make();
        sh_value room[3];
        for (int k = 0; k < fx_nets[i].ninputs; k++) room[k] = random_input(&fx_nets[i], k);
        const sh_values inputs = {room, (size_t)fx_nets[i].ninputs};
        resnet_fill_all(net);
        sh_module_eval(net);
        add_case(fx_nets[i].name, sh_symbolic_trace(net, inputs, NULL), inputs);
        sh_module_release(net);
    }
}

static bool no_leaf(const char *path, const sh_module *module, void *user) {
    (void)path, (void)module, (void)user;
    return false;
}

/* With modules as leaves, and traced down to the ops. */
static void add_resnet(void) {
    sh_module *net = resnet18();
    resnet_fill_all(net);
    sh_module_eval(net);
    const sh_value image = sh_value_tensor(resnet_image(1));
    add_case("resnet18", sh_symbolic_trace(net, (sh_values){&image, 1}, NULL), (sh_values){&image, 1});
    add_case("resnet18_ops",
             sh_symbolic_trace(net, (sh_values){&image, 1}, &(sh_trace_options){.is_leaf = no_leaf}),
             (sh_values){&image, 1});
    sh_module_release(net);
}

/* ---- names ---- */

static void add_odd_names(void) {
    char longest[301] = "";
    memset(longest, 'a', 300);
    const char *const names[] = {
        "add_0",
        "sum",
        "0",
        "class",
        "int",
        "double",
        "errno",
        "stdin",
        "stdout",
        "main",
        "NULL",
        "sh_add",
        "SH_F32",
        "I",
        "unix",
        "linux",
        "EOF",
        "\u00e9\u20ac",
        "\xf0\x9f\x98\x80",
        longest,
        longest,
        "self",
        "inputs",
        "input",
        "result",
        "bool",
        "true",
        "size_t",
        "_Bool",
        "__x",
        "_x",
        "n_int",
        "n_int_1",
        "n_class",
        "exp",
        "memcpy",
        "read",
        "list",
        "index",
        "asm",
        "typeof",
        "isnan",
        "new",
        "template",
        "restrict",
        "offsetof",
        "va_arg",
        "code_odd_names",
        "sh__a",
        "__COUNTER__",
        "__builtin_inf",
        "signal",
        "printf",
        "y0",
        "j1",
        "gamma",
        "abs",
        "div",
        "",
        " ",
        "a b",
        "a-b",
        "x;}",
        "*/",
        "\"",
        "\\",
        "?\?/",
        "%s",
        "INT64_MIN",
        "int64_t",
        "stderr",
        "export",
    };
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "int"), *y = sh_graph_placeholder(g, "NULL"), *at = x;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        at = sh_graph_create_node(g, SH_CALL_FUNCTION, i % 2 ? "add" : "mul", SH_ARGS(at, i % 3 ? y : x),
                                  SH_NO_KWARGS, names[i]);
    sh_graph_output(g, SH_ARG(at));
    add_graph("odd_names", g, SH_INPUTS(sh_rand(SH_SIZES(3)), sh_rand(SH_SIZES(3))));
}

/* ---- arguments ---- */

#define CALL(target, args, ...) \
    sh_graph_create_node(g, SH_CALL_FUNCTION, target, args, SH_KWARGS(__VA_ARGS__), NULL)
#define LISTED(...) sh_arg_list(SH_ARGS(__VA_ARGS__))

static sh_arg payload_nan(void) { return sh_arg_float(__builtin_nan("0x123")); }

static void add_numbers(void) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *i = sh_graph_placeholder(g, "i");
    sh_node *const all[] = {
        sh_graph_call_function(g, "add", x, 2),
        sh_graph_call_function(g, "add", x, 0.1),
        sh_graph_call_function(g, "mul", x, -0.0),
        sh_graph_call_function(g, "div", x, __builtin_inf()),
        sh_graph_call_function(g, "add", x, payload_nan()),
        sh_graph_call_function(g, "mul", i, sh_arg_flag(true)),
        sh_graph_call_function(g, "add", i, INT64_MIN),
        sh_graph_call_function(g, "add", i, INT64_MAX),
        sh_graph_call_function(g, "pow", x, 1e-300),
        CALL("add", SH_ARGS(x, 2.5), SH_KWARG("alpha", 3)),
        CALL("add", SH_ARGS(x, 2), SH_KWARG("alpha", 2.0)),
        CALL("add", SH_ARGS(x, 2), SH_KWARG("alpha", 0.25)),
        CALL("clamp", SH_ARGS(i), SH_KWARG("min", 1.0)),
        CALL("clamp", SH_ARGS(i), SH_KWARG("min", 1), SH_KWARG("max", sh_arg_none())),
        CALL("clamp", SH_ARGS(x), SH_KWARG("min", -__builtin_inf()), SH_KWARG("max", 0.5)),
        CALL("clamp", SH_ARGS(x), SH_KWARG("max", payload_nan())),
        CALL("leaky_relu", SH_ARGS(x), SH_KWARG("negative_slope", 0)),
        CALL("add", SH_NO_ARGS, SH_KWARG("self", x), SH_KWARG("other", i)),
    };
    sh_arg outputs[sizeof all / sizeof *all];
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) outputs[k] = sh_arg_node(all[k]);
    sh_graph_output(g, sh_arg_list((sh_args){outputs, sizeof all / sizeof *all}));
    add_graph("numbers", g, SH_INPUTS(sh_randn(SH_SIZES(2, 3)), sh_randint(9, SH_SIZES(2, 3))));
}

static void add_lists(void) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_node *split = CALL("split", SH_ARGS(x, 2), SH_KWARG("dim", 1));
    sh_node *last = sh_graph_call_function(g, SH_GETITEM, split, -1),
            *first = sh_graph_call_function(g, SH_GETITEM, split, 0);
    sh_arg many[40];
    for (int k = 0; k < 40; k++) many[k] = sh_arg_node(k % 2 ? first : last);
    sh_node *max = sh_graph_call_function(g, "max.dim", x, 1),
            *unused = sh_graph_call_function(g, "chunk", x, 2);
    sh_node *wide = CALL("cat", SH_ARGS(sh_arg_list((sh_args){many, 40})), SH_KWARG("dim", -1));
    sh_node *all = sh_graph_call_function(g, "cat", sh_arg_node(split));
    sh_node *sum =
        CALL("sum", SH_ARGS(x), SH_KWARG("dim", LISTED(0, -1)), SH_KWARG("dtype", sh_arg_dtype(SH_F64)));
    sh_node *one = CALL("sum", SH_ARGS(x), SH_KWARG("dim", 0), SH_KWARG("keepdim", sh_arg_flag(true)));
    sh_node *shape = sh_graph_call_function(g, "reshape", x, LISTED(4, -1));
    sh_node *none = CALL("sum", SH_ARGS(x), SH_KWARG("dim", sh_arg_none()));
    sh_node *zeros = CALL("zeros", SH_ARGS(LISTED(2, 3)), SH_KWARG("dtype", sh_arg_dtype(SH_BF16)));
    sh_node *to = sh_graph_call_function(g, "reshape", sum, sh_arg_list((sh_args){NULL, 0}));
    (void)unused;
    sh_graph_output(g,
                    LISTED(wide, LISTED(all, sh_arg_none(), LISTED(max, sum)), one, shape, none, zeros, to));
    add_graph("lists_of_all_kinds", g, SH_INPUTS(sh_randn(SH_SIZES(2, 4))));
}

static void add_windows(void) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *w;
    SH_SCOPE sh_graph_set_attr(g, "weight", sh_randn(SH_SIZES(4, 2, 3, 3)));
    w = sh_graph_get_attr(g, "weight");
    sh_graph_get_attr(g, "weight"); /* nobody uses it */
    sh_node *a =
        CALL("conv2d", SH_ARGS(x, w), SH_KWARG("stride", LISTED(2, 1)), SH_KWARG("padding", LISTED(0, 1)));
    sh_node *b = CALL("conv2d", SH_ARGS(x, w), SH_KWARG("bias", sh_arg_none()), SH_KWARG("stride", 2));
    sh_node *c = CALL("max_pool2d", SH_ARGS(a, LISTED(2, 2)), SH_KWARG("ceil_mode", sh_arg_flag(true)));
    sh_node *d = CALL("max_pool2d", SH_ARGS(b, 2), SH_KWARG("stride", LISTED(1, 1)), SH_KWARG("padding", 1));
    sh_node *e = CALL("gelu", SH_ARGS(c), SH_KWARG("approximate", "tanh"));
    sh_graph_output(g, LISTED(c, d, e));
    add_graph("windows", g, SH_INPUTS(sh_randn(SH_SIZES(1, 2, 8, 8))));
}

static void add_effects(void) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *unused = sh_graph_placeholder(g, "unused");
    sh_node *y = sh_graph_call_function(g, "clone", x), *row = sh_graph_call_function(g, "select", y, 0, 0);
    sh_graph_call_function(g, "add_", row, 1);
    sh_graph_call_function(g, "relu_", y);
    sh_node *z = sh_graph_call_function(g, "clone", x);
    CALL("mul", SH_ARGS(x, y), SH_KWARG("out", z));
    sh_node *noise = CALL("rand", SH_ARGS(LISTED(2, 3)), SH_KWARG("dtype", sh_arg_dtype(SH_F64)));
    sh_node *drop = CALL("dropout", SH_ARGS(x), SH_KWARG("p", 0.5), SH_KWARG("training", sh_arg_flag(true)));
    (void)unused;
    sh_graph_output(g, sh_arg_tuple(SH_ARGS(y, z, noise, drop)));
    add_graph("effects", g, SH_INPUTS(sh_randn(SH_SIZES(2, 3)), sh_rand(SH_SIZES(1))));
}

/* ---- functions and ops of the user's ---- */

/* x times the length of `text`, and one more by `more`. */
static sh_status times(void *user, sh_arguments args, sh_value *result) {
    (void)user;
    const sh_value text = sh_arguments_named(args, "text"), more = sh_arguments_named(args, "more");
    const double by = text.tag == SH_TAG_STRING ? (double)strlen(text.as.string) : 1;
    *result = sh_value_tensor(sh_add(sh_mul(sh_arguments_tensor(args, 0), by), sh_value_as_double(more)));
    return SH_OK;
}

static sh_status pair(void *user, sh_arguments args, sh_value *result) {
    (void)user;
    const sh_tensors list = sh_value_as_tensors(sh_arguments_at(args, 0));
    *result = sh_list_value(SH_LIST(sh_neg(list.at[0]), sh_neg(list.at[1])));
    return SH_OK;
}

static sh_status run_twice(sh_call *call, void *user) {
    (void)user;
    return sh_call_set_result(call, 0,
                              sh_value_tensor(sh_add(sh_call_tensor(call, 0), sh_call_tensor(call, 0))));
}

static void add_user_functions(void) {
    sh_kernel kernel;
    sh_function_register("mylib::times", times, NULL);
    sh_function_register("mylib::pair", pair, NULL);
    sh_op_define("mylib::twice(Tensor x) -> Tensor", NULL, NULL);
    sh_kernel_register("mylib::twice", "cpu", run_twice, NULL, "cases", &kernel);
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_node *y = CALL("mylib::times", SH_ARGS(x), SH_KWARG("text", "a\"b\\c\n\x01?\?/\u00e9%d"),
                      SH_KWARG("more", 0.5));
    sh_node *both = sh_graph_call_function(g, "mylib::pair", LISTED(x, y));
    sh_node *one = sh_graph_call_function(g, SH_GETITEM, both, 1);
    sh_graph_call_function(g, "mylib::times", x); /* nobody uses it */
    sh_graph_output(
        g, LISTED(sh_graph_call_function(g, "mylib::twice", one), y,
                  sh_graph_call_function(g, "add", sh_graph_call_function(g, SH_GETITEM, both, -2), 1)));
    add_graph("user_functions", g, SH_INPUTS(sh_randn(SH_SIZES(4))));
}

/* ---- inputs and outputs ---- */

static sh_node *with_default(sh_graph *g, const char *name, sh_arg value) {
    return sh_graph_create_node(g, SH_PLACEHOLDER, name, SH_ARGS(value), SH_NO_KWARGS, NULL);
}

static void add_defaults(void) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *bias = with_default(g, "bias", sh_arg_none());
    sh_node *scale = with_default(g, "scale", sh_arg_float(3)), *dim = with_default(g, "dim", sh_arg_int(1));
    sh_node *y = CALL("add", SH_ARGS(x, x), SH_KWARG("alpha", scale));
    sh_node *z = CALL("linear", SH_ARGS(y, x), SH_KWARG("bias", bias));
    sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "softmax", z, dim)));
    sh_graph *again = sh_graph_clone(g);
    sh_tensor *m = sh_randn(SH_SIZES(3, 3));
    add_graph("defaults_left_out", g, SH_INPUTS(m));
    add_graph("defaults_given", again, SH_INPUTS(m, sh_randn(SH_SIZES(3)), 2.5, 0));
}

/* x, and what the graph returns of it. */
static void add_output(const char *name, sh_node *(*node)(sh_graph *g, sh_node *x)) {
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x");
    sh_graph_output(g, SH_ARG(node(g, x)));
    add_graph(name, g, SH_INPUTS(sh_rand(SH_SIZES(6))));
}

static sh_node *itself(sh_graph *g, sh_node *x) { return (void)g, x; }
static sh_node *largest(sh_graph *g, sh_node *x) { return sh_graph_call_function(g, "max.dim", x, 0); }
static sh_node *parts(sh_graph *g, sh_node *x) { return sh_graph_call_function(g, "chunk", x, 2); }
static sh_node *from_function(sh_graph *g, sh_node *x) {
    return sh_graph_call_function(g, "mylib::pair", sh_arg_list(SH_ARGS(x, x)));
}
static sh_node *tensor_from_function(sh_graph *g, sh_node *x) {
    return sh_graph_call_function(g, "mylib::times", x);
}
static sh_node *attribute(sh_graph *g, sh_node *x) {
    (void)x;
    SH_SCOPE sh_graph_set_attr(g, "a.b", sh_rand(SH_SIZES(2)));
    return sh_graph_get_attr(g, "a.b");
}

static void add_outputs(void) {
    sh_graph *many = sh_graph_new(), *number = sh_graph_new(), *empty = sh_graph_new();
    sh_arg outputs[40];
    add_output("itself", itself);
    add_output("largest", largest);
    add_output("parts", parts);
    add_output("from_function", from_function);
    add_output("tensor_from_function", tensor_from_function);
    add_output("attribute", attribute);
    sh_node *x = sh_graph_placeholder(many, "x");
    for (int i = 0; i < 40; i++) outputs[i] = sh_arg_node(x);
    sh_graph_output(many, sh_arg_list((sh_args){outputs, 40}));
    add_graph("many_outputs", many, SH_INPUTS(sh_rand(SH_SIZES(2))));
    sh_graph_placeholder(number, "x");
    sh_graph_output(number, SH_ARG(2.5));
    add_graph("number", number, SH_INPUTS(sh_rand(SH_SIZES(2))));
    sh_graph_output(empty, sh_arg_list((sh_args){NULL, 0}));
    add_graph("no_inputs_empty_list", empty, (sh_values){NULL, 0});
}

/* ---- modules ---- */

static sh_value swap_forward(sh_module *self, sh_values in) {
    (void)self;
    return sh_list_value(SH_LIST(sh_neg(in.at[1].as.tensor), in.at[0].as.tensor));
}
static const char *const swap_inputs[] = {"a", "b", NULL};
static const sh_module_type swap_type = {
    .name = "Swap", .forward_values = swap_forward, .inputs = swap_inputs};

static void add_modules(void) {
    sh_module *root = sh_module_new(&empty_type);
    sh_module_give(root, "swap", sh_module_new(&swap_type));
    sh_module_set(root, "again", sh_module_child(root, "swap"));
    sh_module_give(root, "act", sh_nn_sigmoid());
    sh_graph *g = sh_graph_new();
    sh_node *x = sh_graph_placeholder(g, "x"), *y = sh_graph_placeholder(g, "y");
    sh_node *one = sh_graph_create_node(g, SH_CALL_MODULE, "swap", SH_ARGS(x, y), SH_NO_KWARGS, NULL);
    sh_node *two = sh_graph_create_node(g, SH_CALL_MODULE, "again", SH_NO_ARGS,
                                        SH_KWARGS(SH_KWARG("b", x), SH_KWARG("a", y)), NULL);
    sh_node *act = sh_graph_create_node(
        g, SH_CALL_MODULE, "act", SH_ARGS(sh_graph_call_function(g, SH_GETITEM, one, 0)), SH_NO_KWARGS, NULL);
    sh_graph_create_node(g, SH_CALL_MODULE, "act", SH_ARGS(x), SH_NO_KWARGS, NULL); /* nobody uses it */
    sh_graph_output(g, LISTED(act, sh_graph_call_function(g, SH_GETITEM, two, 0),
                              sh_graph_call_function(g, SH_GETITEM, two, 1)));
    add_case("modules", sh_graph_module_new(root, g),
             SH_INPUTS(sh_randn(SH_SIZES(3)), sh_randn(SH_SIZES(3))));
    sh_module_release(root);
}

/* ---- writing and comparing ---- */

static int write_all(const char *folder) {
    char path[512];
    snprintf(path, sizeof path, "%s/cases.h", folder);
    FILE *table = fopen(path, "w");
    if (!table) return 1;
    for (size_t i = 0; i < ncases; i++) {
        const case_of *c = &cases[i];
        char *code = sh_graph_code(sh_graph_module_graph(c->module), c->name);
        snprintf(path, sizeof path, "%s/%s.c", folder, c->name);
        FILE *out = code ? fopen(path, "w") : NULL;
        if (!out) {
            fprintf(stderr, "%s: %s\n", c->name, sh_error() ? sh_error()->message : path);
            return 1;
        }
        fputs(code, out);
        fclose(out);
        const bool values = strstr(code, "sh_values inputs") != NULL;
        fprintf(table,
                values ? "sh_value %s(sh_module *self, sh_values inputs);\n"
                       : "sh_tensor *%s(sh_module *self, sh_tensor *x);\n",
                c->name);
        free(code);
    }
    fputs("static const compiled code[] = {\n", table);
    for (size_t i = 0; i < ncases; i++) {
        snprintf(path, sizeof path, "%s/%s.c", folder, cases[i].name);
        char *code = sh_graph_code(sh_graph_module_graph(cases[i].module), cases[i].name);
        fprintf(table, "{\"%s\", .forward%s = %s},\n", cases[i].name,
                code && strstr(code, "sh_values inputs") ? "_values" : "", cases[i].name);
        free(code);
    }
    fputs("};\n", table);
    return fclose(table) != 0;
}

#ifdef CASES
static bool same_bits(sh_tensor *a, sh_tensor *b) {
    if (!a || !b || sh_tensor_dtype(a) != sh_tensor_dtype(b) || sh_tensor_ndim(a) != sh_tensor_ndim(b))
        return false;
    for (int i = 0; i < sh_tensor_ndim(a); i++)
        if (sh_tensor_size(a, i) != sh_tensor_size(b, i)) return false;
    a = sh_contiguous(a);
    b = sh_contiguous(b);
    return memcmp(sh_tensor_data(a), sh_tensor_data(b),
                  (size_t)sh_tensor_numel(a) * sh_dtype_size(sh_tensor_dtype(a))) == 0;
}

static bool same(sh_value a, sh_value b) {
    if (a.tag != b.tag || a.count != b.count) return false;
    if (a.tag == SH_TAG_TENSOR) return same_bits(a.as.tensor, b.as.tensor);
    for (uint32_t i = 0; a.tag == SH_TAG_TENSORS && i < a.count; i++)
        if (!same_bits(a.as.tensors[i], b.as.tensors[i])) return false;
    return a.tag != SH_TAG_NONE && (a.tag <= SH_TAG_TENSORS || sh_value_equal(a, b));
}

/* Fresh copies, as a graph may write to its inputs, and the same random numbers. */
static sh_value run(const case_of *c, const compiled *code) {
    sh_value inputs[8];
    sh_manual_seed(7);
    for (size_t i = 0; i < c->n; i++)
        inputs[i] = c->inputs[i].tag == SH_TAG_TENSOR ? sh_value_tensor(sh_clone(c->inputs[i].as.tensor))
                                                      : c->inputs[i];
    if (!code) return sh_module_call(c->module, (sh_values){inputs, c->n});
    if (code->forward) return sh_value_tensor(code->forward(c->module, inputs[0].as.tensor));
    return code->forward_values(c->module, (sh_values){inputs, c->n});
}

/* The code makes nothing that outlives it but its result. */
static bool check(const case_of *c, const compiled *code) {
    bool fine = false;
    SH_SCOPE {
        const sh_value expected = run(c, NULL), got = run(c, code);
        fine = !sh_error() && same(expected, got);
        const size_t held = sh_scope_held();
        run(c, code);
        fine = fine && sh_scope_held() <= held + c->n + 1;
    }
    if (!fine)
        printf("FAILED: %s: %s\n", c->name, sh_error() ? sh_error()->message : "other bits, or results left");
    sh_clear_error();
    return fine;
}

/* Too many inputs, a module that is missing: errors, as those of a run. */
static bool check_refusals(void) {
    const sh_value none = sh_none();
    bool fine = true;
    for (size_t i = 0; i < ncases; i++) {
        if (!code[i].forward_values) continue;
        SH_SCOPE code[i].forward_values(cases[i].module, (sh_values){&none, 9});
        if (!sh_error() || !strstr(sh_error()->message, "9 inputs given")) fine = false;
        sh_clear_error();
    }
    return fine;
}

static int compare_all(void) {
    int passed = 0, failed = 0;
    for (size_t i = 0; i < ncases; i++) check(&cases[i], &code[i]) ? passed++ : failed++;
    check_refusals() ? passed++ : failed++;
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
#else
static int compare_all(void) { return 2; }
#endif

int main(int argc, char **argv) {
    sh_manual_seed(1);
    int code = 1;
    SH_SCOPE {
        add_nets();
        add_resnet();
        add_odd_names();
        add_numbers();
        add_lists();
        add_windows();
        add_effects();
        add_user_functions();
        add_defaults();
        add_outputs();
        add_modules();
        code = argc > 1 ? write_all(argv[1]) : compare_all();
        for (size_t i = 0; i < ncases; i++) sh_module_release(cases[i].module);
    }
    return code;
}
