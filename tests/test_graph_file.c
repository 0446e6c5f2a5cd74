/* Saved graphs: what is loaded gives the same bits and saves to the same bytes, and damage is refused by name. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fail_each.h"
#include "tests/folder.h"
#include "tests/ir.h"

TestSuite(graph_file, .init = make_folder, .fini = drop_folder);

/* A file's bytes, for free(). */
static char *bytes_of(const char *path, size_t *n) {
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(1 << 20);
    *n = file ? fread(bytes, 1, 1 << 20, file) : 0;
    if (file) fclose(file);
    return bytes;
}

static void write_bytes(const char *path, const void *bytes, size_t n) {
    FILE *file = fopen(path, "wb");
    cr_assert(file && fwrite(bytes, 1, n, file) == n && fclose(file) == 0);
}

static bool same_bytes(const char *a, const char *b) {
    size_t n, m;
    char *x = bytes_of(a, &n), *y = bytes_of(b, &m);
    const bool same = n && n == m && memcmp(x, y, n) == 0;
    free(x);
    free(y);
    return same;
}

/* ---- what comes back ---- */

/* The net's result for drawn inputs; the same ones each time. */
static sh_value run(const fx_net *net, sh_module *module) {
    sh_value inputs[3];
    sh_manual_seed(7);
    fx_net_inputs(net, inputs);
    for (int i = 0; i < net->ninputs; i++)
        if (sh_dtype_kind_of(net->inputs[i].dtype) == SH_KIND_FLOAT)
            inputs[i] = sh_value_tensor(sh_randn_like(inputs[i].as.tensor));
    return sh_module_call(module, (sh_values){inputs, (size_t)net->ninputs});
}

static void check_net(const fx_net *net) {
    sh_value room[3];
    sh_module *module = net->make(), *traced = sh_symbolic_trace(module, fx_net_inputs(net, room), NULL);
    cr_assert(traced != NULL, "%s: %s", net->name, message());
    cr_assert(sh_graph_module_save(traced, in_folder("a")) == SH_OK, "%s: %s", net->name, message());
    cr_assert(sh_graph_module_to_folder(traced, in_folder("b")) == SH_OK, "%s: %s", net->name, message());
    sh_module *file = sh_graph_module_load(in_folder("a")), *parts = sh_graph_module_load(in_folder("b"));
    cr_assert(file && parts, "%s: %s", net->name, message());
    sh_graph_module_save(parts, in_folder("c"));
    sh_graph_module_to_folder(file, in_folder("d"));
    cr_expect(same_bytes(in_folder("a"), in_folder("c")), "%s", net->name);
    cr_expect(same_bytes(in_folder("b/graph.txt"), in_folder("d/graph.txt")), "%s", net->name);
    cr_expect(same_bytes(in_folder("b/weights.safetensors"), in_folder("d/weights.safetensors")), "%s",
              net->name);
    const sh_value y = run(net, traced);
    cr_assert(sh_error() == NULL, "%s: %s", net->name, message());
    cr_expect(same_values(y, run(net, file)), "%s from a file", net->name);
    cr_expect(same_values(y, run(net, parts)), "%s from a folder", net->name);
    sh_module_release(file);
    sh_module_release(parts);
    sh_module_release(traced);
    sh_module_release(module);
}

Test(graph_file, each_net_gives_the_same_bits_and_the_same_bytes) {
    for (int i = 0; i < fx_nets_count; i++) SH_SCOPE check_net(&fx_nets[i]);
}

Test(graph_file, tensors_of_every_dtype_and_layout_come_back) {
    sh_graph *g = sh_graph_new();
    for (int d = SH_F32; d < SH_REAL_DTYPE_END; d++) {
        sh_tensor *t = sh_to(sh_randint(5, SH_SIZES(2, 3, 4)), (sh_dtype)d);
        const char *name = sh_dtype_name((sh_dtype)d);
        char names[4][40];
        sh_tensor *const forms[] = {t, sh_permute(t, SH_SIZES(2, 0, 1)),
                                    sh_select(sh_select(sh_select(t, 0, 1), 0, 2), 0, 3), sh_select(t, 2, 1)};
        for (int i = 0; i < 4; i++) {
            snprintf(names[i], sizeof names[i], "%s of form %d", name, i);
            sh_graph_set_attr(g, names[i], forms[i]);
        }
    }
    sh_graph_set_attr(g, "empty", sh_zeros(SH_SIZES(0, 3)));
    sh_graph_set_attr(g, "spread", sh_expand(sh_zeros(SH_SIZES(1, 3)), SH_SIZES(2, 3)));
    sh_graph_set_attr(g, "twice", sh_graph_attr(g, "empty"));
    cr_assert(sh_error() == NULL, "%s", message());
    cr_assert(sh_graph_save(g, in_folder("a")) == SH_OK, "%s", message());
    sh_graph *back = sh_graph_load(in_folder("a"));
    cr_assert(back != NULL, "%s", message());
    for (size_t i = 0; i < sh_graph_attr_count(g); i++) {
        const char *name = sh_graph_attr_name(g, i);
        cr_expect(same_tensor(sh_graph_attr(g, name), sh_graph_attr(back, name)), "%s", name);
    }
    const sh_tensor *t = sh_graph_attr(back, "f32 of form 1");
    cr_expect(eq(i64, sh_tensor_strides(t)[0], 1), "a permuted tensor keeps its layout");
    cr_expect(sh_graph_attr(back, "twice") == sh_graph_attr(back, "empty"));
    sh_graph_save(back, in_folder("b"));
    cr_expect(same_bytes(in_folder("a"), in_folder("b")));
    sh_graph_free(back);
    sh_graph_free(g);
}

static sh_status twice(void *user, sh_arguments args, sh_value *result) {
    (void)user;
    *result = sh_value_tensor(sh_mul(sh_arguments_tensor(args, 0), 2));
    return SH_OK;
}

static sh_graph *captured(void) {
    sh_capture *capture = sh_capture_new(NULL);
    sh_tensor *x = sh_full(SH_SIZES(2, 3), 0.5), *w = sh_randn(SH_SIZES(3, 2)), *y = NULL;
    sh_capture_input(capture, x, "x");
    SH_WITH_MODE(sh_capture_mode(capture)) y = sh_function_call("mylib::twice", sh_gelu(sh_matmul(x, w)));
    sh_graph *graph = sh_capture_graph(capture, SH_LIST(y));
    sh_capture_free(capture);
    return graph;
}

Test(graph_file, a_capture_with_a_function_of_the_user_comes_back) {
    sh_function_register("mylib::twice", twice, NULL);
    sh_graph *g = captured();
    cr_assert(g != NULL, "%s", message());
    cr_assert(sh_graph_to_folder(g, in_folder("a")) == SH_OK, "%s", message());
    sh_graph *back = sh_graph_load(in_folder("a"));
    cr_assert(back != NULL, "%s", message());
    sh_tensor *x = sh_randn(SH_SIZES(2, 3));
    sh_list *a = sh_graph_run(g, SH_LIST(x)), *b = sh_graph_run(back, SH_LIST(x));
    cr_expect(a && b && same_tensor(sh_list_at(a, 0), sh_list_at(b, 0)));
    sh_function_remove("mylib::twice");
    cr_expect(sh_graph_load(in_folder("a")) == NULL);
    cr_expect(error_says(SH_ERROR_OP, "there is no op or function mylib::twice"));
    cr_expect(sh_graph_save(g, in_folder("b")) < 0 && error_says(SH_ERROR_OP, "mylib::twice"));
    sh_graph_free(back);
    sh_graph_free(g);
}

Test(graph_file, a_loaded_node_knows_where_it_was_recorded) {
    sh_module *net = fx_nets[0].make();
    sh_module *traced = sh_symbolic_trace(net, SH_INPUTS(sh_zeros(SH_SIZES(3, 8))), NULL);
    sh_graph_module_save(traced, in_folder("a"));
    sh_module *back = sh_graph_module_load(in_folder("a"));
    cr_assert(back != NULL, "%s", message());
    char *before = sh_graph_readable(sh_graph_module_graph(traced));
    cr_expect(text_is(sh_graph_readable(sh_graph_module_graph(back)), before));
    free(before);
    cr_expect(sh_forward(back, sh_zeros(SH_SIZES(3, 7))) == NULL &&
              strstr(message(), ", recorded at fx_nets.c:"));
    sh_clear_error();
    sh_module_release(back);
    sh_module_release(traced);
    sh_module_release(net);
}

static sh_module *small(void) {
    sh_module *net = sh_nn_sequential(sh_nn_linear(2, 3), sh_nn_relu());
    sh_module *traced = sh_symbolic_trace(net, SH_INPUTS(sh_zeros(SH_SIZES(1, 2))), NULL);
    sh_module_release(net);
    return traced;
}

Test(graph_file, the_graph_of_a_saved_module_keeps_what_it_calls) {
    sh_module *traced = small();
    cr_assert(sh_graph_module_save(traced, in_folder("a")) == SH_OK);
    sh_graph *g = sh_graph_load(in_folder("a"));
    cr_assert(g != NULL, "%s", message());
    sh_tensor *x = sh_randn(SH_SIZES(4, 2));
    sh_list *y = sh_graph_run(g, SH_LIST(x));
    cr_expect(y && same_tensor(sh_list_at(y, 0), sh_forward(traced, x)));
    cr_expect(sh_graph_save(g, in_folder("b")) < 0);
    cr_expect(error_says(SH_ERROR_VALUE, "node %_0 needs 0, which the graph doesn't own"));
    sh_graph_free(g);
    sh_module_release(traced);
}

Test(graph_file, loading_draws_no_random_numbers_and_no_mode_sees_it) {
    sh_module *traced = small();
    sh_graph_module_save(traced, in_folder("a"));
    sh_manual_seed(3);
    sh_tensor *expected = sh_rand(SH_SIZES(4));
    sh_manual_seed(3);
    sh_module *back = NULL;
    sh_capture *capture = sh_capture_new(NULL);
    SH_WITH_MODE(sh_capture_mode(capture)) {
        back = sh_graph_module_load(in_folder("a"));
        sh_graph_module_save(back, in_folder("b"));
    }
    cr_expect(same_tensor(sh_rand(SH_SIZES(4)), expected));
    sh_graph *seen = sh_capture_graph(capture, (sh_tensors){NULL, 0});
    cr_expect(seen && sh_graph_size(seen) <= 1);
    sh_graph_free(seen);
    sh_capture_free(capture);
    sh_module_release(back);
    sh_module_release(traced);
}

Test(graph_file, the_weights_are_a_state_dict) {
    sh_module *traced = small(), *other = small();
    sh_graph_module_to_folder(traced, in_folder("a"));
    cr_expect(sh_module_load(other, in_folder("a/weights.safetensors")) == SH_OK, "%s", message());
    cr_expect(same_tensor(sh_module_parameter(other, "0.weight"), sh_module_parameter(traced, "0.weight")));
    sh_module_release(traced);
    sh_module_release(other);
}

/* ---- what is refused ---- */

static bool load_says(const char *path, sh_status code, const char *words) {
    sh_module *module = sh_graph_module_load(path);
    const bool refused = !module && error_says(code, words);
    sh_module_release(module);
    return refused;
}

Test(graph_file, what_is_missing_or_of_another_kind_is_said) {
    sh_module *traced = small();
    cr_expect(load_says(in_folder("none"), SH_ERROR_FILE, "none: No such file"));
    cr_expect(load_says(folder, SH_ERROR_FILE, "graph.txt: No such file"));
    cr_expect(load_says(NULL, SH_ERROR_NULL, "the path is NULL"));
    cr_expect(sh_graph_module_save(NULL, in_folder("x")) < 0 && error_says(SH_ERROR_NULL, "module is NULL"));
    cr_expect(sh_graph_save(NULL, in_folder("x")) < 0 && error_says(SH_ERROR_NULL, "graph is NULL"));
    cr_expect(sh_graph_module_save(traced, NULL) < 0 && error_says(SH_ERROR_NULL, "the path is NULL"));
    cr_expect(sh_graph_module_to_folder(traced, in_folder("no/way")) < 0);
    cr_expect(error_says(SH_ERROR_FILE, "can't make the folder"));
    sh_module *plain = sh_nn_relu();
    cr_expect(sh_graph_module_save(plain, in_folder("x")) < 0);
    cr_expect(error_says(SH_ERROR_TYPE, "ReLU is no graph module: trace it first"));
    sh_module_release(plain);
    sh_graph *g = sh_graph_new();
    sh_graph_save(g, in_folder("g"));
    cr_expect(load_says(in_folder("g"), SH_ERROR_FORMAT,
                        "holds a graph without modules: load it by sh_graph_load"));
    sh_graph_set_attr(g, "x", sh_tensor_new_on(SH_META, SH_F32, SH_SIZES(2)));
    cr_expect(sh_graph_save(g, in_folder("g")) < 0 && sh_error() != NULL, "a tensor without data");
    sh_clear_error();
    sh_graph_free(g);
    sh_graph_module_to_folder(traced, in_folder("f"));
    cr_expect(sh_graph_file_is(in_folder("g")) && sh_graph_file_is(in_folder("f")));
    cr_expect(eq(int, sh_graph_file_is(folder), 0), "a folder without a graph");
    cr_expect(eq(int, sh_graph_file_is(in_folder("none")), 0));
    cr_expect(eq(int, sh_graph_file_is(NULL), 0));
    sh_dict *dict = sh_dict_new();
    sh_dict_set(dict, "x", sh_zeros(SH_SIZES(1)));
    sh_save_npz(in_folder("npz"), dict);
    sh_dict_free(dict);
    cr_expect(
        load_says(in_folder("npz"), SH_ERROR_FORMAT, "npz holds no saved graph: it has no entry graph.txt"));
    sh_module_release(traced);
}

Test(graph_file, a_graph_that_lint_refuses_is_not_saved) {
    sh_module *traced = small();
    sh_graph *g = sh_graph_module_graph(traced);
    sh_node_prepend(sh_graph_first(g), sh_graph_find(g, "_1"));
    cr_expect(sh_graph_module_save(traced, in_folder("a")) < 0);
    cr_expect(error_says(SH_ERROR_VALUE, "%_1 uses %_0 before it is defined"));
    cr_expect(access(in_folder("a"), F_OK) != 0);
    sh_module_release(traced);
}

Test(graph_file, weights_that_do_not_fit_the_text_are_named) {
    sh_module *traced = small();
    sh_graph_module_to_folder(traced, in_folder("a"));
    char weights[256];
    snprintf(weights, sizeof weights, "%s", in_folder("a/weights.safetensors"));
    sh_tensor *w = sh_zeros(SH_SIZES(3, 2)), *b = sh_zeros(SH_SIZES(3));
    const struct {
        sh_tensor *weight, *bias, *other;
        const char *words;
    } cases[] = {
        {NULL, b, NULL, "graph.txt:5:22: weights.safetensors of "},
        {NULL, b, NULL, "got nothing for 0.weight, expected f32[3, 2]"},
        {sh_zeros(SH_SIZES(2, 3)), b, NULL, "got f32[2, 3] for 0.weight, expected f32[3, 2]"},
        {sh_zeros(SH_SIZES(3, 2), .dtype = SH_F16), b, NULL,
         "got f16[3, 2] for 0.weight, expected f32[3, 2]"},
        {w, sh_zeros(SH_SCALAR_SHAPE), NULL, "got f32[] for 0.bias, expected f32[3]"},
        {w, b, w, "1 of 3 tensors are not in graph.txt"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_dict *dict = sh_dict_new();
        if (cases[i].weight) sh_dict_set(dict, "0.weight", cases[i].weight);
        if (cases[i].bias) sh_dict_set(dict, "0.bias", cases[i].bias);
        if (cases[i].other) sh_dict_set(dict, "other", cases[i].other);
        cr_assert(sh_save_safetensors(weights, dict) == SH_OK);
        cr_expect(load_says(in_folder("a"), SH_ERROR_FORMAT, cases[i].words));
        sh_dict_free(dict);
    }
    unlink(weights);
    cr_expect(load_says(in_folder("a"), SH_ERROR_FILE, "weights.safetensors: No such file"));
    write_bytes(in_folder("a/graph.txt"), "shunt-ir 2\n", 11);
    sh_dict *none = sh_dict_new();
    sh_save_safetensors(weights, none);
    sh_dict_free(none);
    cr_expect(load_says(in_folder("a"), SH_ERROR_FORMAT, "graph.txt:1:10: version 2 is newer than"));
    sh_module_release(traced);
}

Test(graph_file, a_file_cut_anywhere_is_refused) {
    sh_module *traced = small();
    sh_graph_module_save(traced, in_folder("a"));
    size_t size;
    char *bytes = bytes_of(in_folder("a"), &size);
    for (size_t n = 0; n < size; n += n < 64 ? 1 : 37) {
        write_bytes(in_folder("cut"), bytes, n);
        sh_module *module = sh_graph_module_load(in_folder("cut"));
        cr_expect(module == NULL && sh_error() && sh_error()->code == SH_ERROR_FORMAT, "%zu bytes: %s", n,
                  message());
        sh_clear_error();
    }
    bytes[size / 3] ^= 1;
    write_bytes(in_folder("flipped"), bytes, size);
    sh_module *module = sh_graph_module_load(in_folder("flipped"));
    cr_expect(module == NULL && sh_error() != NULL, "a checksum finds it");
    sh_clear_error();
    free(bytes);
    sh_module_release(traced);
}

Test(graph_file, a_text_cut_anywhere_is_a_shorter_text_or_refused) {
    sh_module *traced = small();
    char *text = sh_graph_module_ir(traced);
    for (size_t n = 0; n < strlen(text); n++) {
        sh_module *module = sh_graph_module_parse(text, n, "it");
        cr_expect(ne(int, module != NULL, sh_error() != NULL), "%zu bytes", n);
        sh_clear_error();
        sh_module_release(module);
    }
    free(text);
    sh_module_release(traced);
}

/* ---- a disk that is full ---- */

static void limit_files(rlim_t bytes) {
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
}

Test(graph_file, a_save_that_fails_leaves_what_was_there) {
    sh_module *traced = small();
    sh_module *root = sh_nn_relu(), *large = sh_graph_module_new(root, sh_graph_new());
    cr_assert(sh_graph_module_save(traced, in_folder("a")) == SH_OK);
    cr_assert(sh_graph_module_to_folder(traced, in_folder("b")) == SH_OK);
    sh_module_set_buffer(large, "much", sh_zeros(SH_SIZES(100000)));
    signal(SIGXFSZ, SIG_IGN);
    limit_files(4096);
    cr_expect(sh_graph_module_save(large, in_folder("a")) < 0 && error_says(SH_ERROR_FILE, "can't write"));
    cr_expect(sh_graph_module_to_folder(large, in_folder("b")) < 0 &&
              error_says(SH_ERROR_FILE, "can't write"));
    limit_files(RLIM_INFINITY);
    for (int i = 0; i < 2; i++) {
        sh_module *back = sh_graph_module_load(in_folder(i ? "a" : "b"));
        cr_expect(back && same_tensor(sh_module_parameter(back, "0.weight"),
                                      sh_module_parameter(traced, "0.weight")));
        sh_module_release(back);
    }
    char command[200];
    snprintf(command, sizeof command, "test $(find %s -type f | wc -l) = 3", folder);
    cr_expect(eq(int, system(command), 0), "nothing else is left");
    sh_module_release(large);
    sh_module_release(root);
    sh_module_release(traced);
}

/* ---- memory ---- */

static sh_module *subject;

static bool file_and_back(void) {
    sh_module *back =
        sh_graph_module_save(subject, in_folder("a")) < 0 ? NULL : sh_graph_module_load(in_folder("a"));
    sh_module_release(back);
    return back != NULL;
}
static bool folder_and_back(void) {
    sh_module *back =
        sh_graph_module_to_folder(subject, in_folder("b")) < 0 ? NULL : sh_graph_module_load(in_folder("b"));
    sh_module_release(back);
    return back != NULL;
}

Test(graph_file, every_allocation_may_fail) {
    subject = small();
    fail_each("file", file_and_back);
    fail_each("folder", folder_and_back);
    sh_module_release(subject);
}
