// The spellings of C++17: overloads, keywords, lists in braces, guards. Each does what the macro does in C.
#include <shunt.h>

#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

static int passed, failed;

static void check(bool right, const char *what) {
    (right ? passed : failed)++;
    if (!right) std::printf("FAILED %s: %s\n", what, sh_error() ? sh_error()->message : "no error");
    sh_clear_error();
}
#define CHECK(what) check((what), #what)

static double item(sh_tensor *t) { return sh_item(t); }

static sh_status add_to_mul(sh_mode *, sh_call *call) {
    if (sh_call_family(call) == SH_OP_add) SH_TRY(sh_call_swap(call, SH_OP_mul));
    return SH_PASS;
}

static void numbers_stand_for_tensors() {
    sh_tensor *x = sh_full({}, 3.0);
    CHECK(item(sh_add(x, 2)) == 5);
    CHECK(item(sh_add(2.5F, x)) == 5.5);
    CHECK(item(sh_mul(x, true)) == 3);
    CHECK(item(sh_add(x, 4U)) == 7);
    CHECK(sh_tensor_dtype(sh_add(sh_full({1}, 1, sh::dtype = SH_I64), 1.5)) == SH_F32);
    CHECK(item(sh_add_(sh_full({}, 1.0), 2)) == 3);
    CHECK(sh_add(nullptr, x) == nullptr && sh_error() && sh_error()->code == SH_ERROR_NULL);
}

static void keywords_are_those_of_c() {
    sh_tensor *x = sh_full({}, 3.0), *out = sh_zeros({});
    CHECK(item(sh_add(x, 2.0, sh::alpha = 0)) == 3);
    CHECK(item(sh_add(x, 2.0, sh::alpha = 4)) == 11);
    CHECK(sh_add(x, 2.0, sh::alpha = 1, sh::out = out) == out && item(out) == 5);
    CHECK(sh_tensor_ndim(sh_sum(sh_ones({2, 3}), sh::dim = 0)) == 1);
    CHECK(sh_tensor_ndim(sh_sum(sh_ones({2, 3, 4}), sh::dim = {0, -1})) == 1);
    CHECK(sh_tensor_ndim(sh_sum(sh_ones({2, 3, 4}), sh::dim = SH_DIMS(0, 2), sh::keepdim = true)) == 3);
    CHECK(item(sh_max(sh_gelu(sh_ones({2}), sh::approximate = "tanh"))) > 0.84);
    CHECK(sh_tensor_dtype(sh_zeros({2}, sh::dtype = SH_F64)) == SH_F64);
    CHECK(sh_allclose(sh_ones({2}), sh_full({2}, 1.01), sh::rtol = 0.1));
    CHECK(!sh_allclose(sh_ones({2}), sh_full({2}, 1.01)));
}

static void lists_go_in_braces_and_by_macro() {
    const int64_t n = 3;
    CHECK(sh_tensor_numel(sh_ones({2, n})) == 6);
    CHECK(sh_tensor_numel(sh_ones(SH_SIZES(2, n, 4))) == 24);
    CHECK(sh_tensor_ndim(sh_ones(SH_SCALAR_SHAPE)) == 0);
    CHECK(sh_tensor_size(sh_cat(SH_LIST(sh_ones({2}), sh_ones({3}))), 0) == 5);
    CHECK(item(sh_sum(SH_FLOATS(1, 2.5))) == 3.5);
    CHECK(sh_tensor_size(sh_reshape(sh_ones({6}), {2, -1}), 1) == 3);
    sh_tensor *image = sh_ones({1, 1, 4, 4}), *kernel = sh_ones({1, 1, 2, 2});
    CHECK(sh_tensor_size(sh_conv2d(image, kernel, sh::stride = 2), 3) == 2);
    CHECK(sh_tensor_size(sh_conv2d(image, kernel, sh::stride = {2, 1}), 3) == 3);
    CHECK(sh_tensor_size(sh_max_pool2d(image, {2, 2}), 2) == 2);
    CHECK(sh_conv2d(image, kernel, sh::stride = {1, 2, 3}) == nullptr && sh_error());
}

static void calls_by_name_take_anything() {
    sh_tensor *x = sh_full({}, 3.0);
    CHECK(item(sh_call_op("add", x, 2.0, SH_NAMED("alpha", 3))) == 9);
    CHECK(sh_tensor_ndim(sh_call_op("sum", sh_ones({2, 3}), SH_SIZES(1))) == 1);
    CHECK(item(sh_call_op("sum", sh_call_op("cat", SH_LIST(sh_ones({2}), sh_ones({3}))))) == 5);
    CHECK(sh_tensor_dtype(sh_call_op("to", x, SH_F64)) == SH_F64);
}

static void leave_by_exception() {
    SH_SCOPE {
        SH_WITH_MODE(add_to_mul) {
            SH_SCOPE_HERE;
            sh_ones({2});
            throw std::runtime_error("out");
        }
    }
}

static void guards_end_on_every_way_out() {
    sh_tensor *x = sh_full({}, 3.0);
    SH_WITH_MODE(add_to_mul) CHECK(item(sh_add(x, x)) == 9);
    sh_mode *mode = sh_mode_new(add_to_mul, nullptr);
    for (int i = 0; i < 3; i++) {
        SH_MODE_HERE(mode);
        if (i == 1) break;
    }
    CHECK(sh_mode_depth() == 0);
    sh_mode_release(mode);
    const std::size_t held = sh_scope_held();
    bool caught = false;
    try {
        leave_by_exception();
    } catch (const std::runtime_error &) { caught = true; }
    CHECK(caught && sh_mode_depth() == 0 && sh_scope_held() == held);
    CHECK(item(sh_add(x, x)) == 6);
    SH_WITH_BACKEND("ref") CHECK(item(sh_add(x, x)) == 6);
}

static sh_status doubled(void *, sh_arguments args, sh_value *result) {
    *result = sh_value_tensor(sh_mul(sh_arguments_tensor(args, 0), 2.0));
    return SH_OK;
}

static void graphs_and_modules() {
    sh_function_register("cxx::doubled", doubled, nullptr);
    CHECK(item(sh_function_call("cxx::doubled", sh_full({}, 2.0))) == 4);
    sh_module *net =
        sh_nn_sequential(sh_nn_conv2d(1, 2, {3, 1}, sh::padding = {1, 0}, sh::bias = false),
                         sh_nn_batch_norm2d(2, sh::eps = 1e-3), sh_nn_relu(sh::inplace = true),
                         sh_nn_max_pool2d(2), sh_nn_flatten(), sh_nn_layer_norm({8}), sh_nn_linear(8, 3),
                         sh_nn_gelu(sh::approximate = "tanh"), sh_nn_softmax(1), sh_nn_dropout(sh::p = 0.1));
    sh_module_eval(net);
    sh_tensor *x = sh_randn({1, 1, 4, 4});
    sh_module *traced = sh_symbolic_trace(net, SH_INPUTS(x), nullptr);
    sh_graph *graph = sh_graph_module_graph(traced);
    CHECK(traced && sh_equal(sh_forward(traced, x), sh_forward(net, x)));
    int nodes = 0;
    SH_EACH_NODE(node, graph) nodes++;
    CHECK(nodes == 12);
    sh_node *last = sh_graph_find(graph, "_9"), *scaled = nullptr;
    SH_INSERTING_AFTER(last) { scaled = sh_graph_call_function(graph, "cxx::doubled", last); }
    sh_node_replace_all_uses_with(last, scaled);
    CHECK(std::fabs(item(sh_sum(sh_forward(traced, x))) - 2) < 1e-5);
    sh_node *cat = nullptr;
    SH_INSERTING_AFTER(scaled) {
        cat =
            sh_graph_create_node(graph, SH_CALL_FUNCTION, "cat", SH_ARGS(sh_arg_list(SH_ARGS(last, scaled))),
                                 SH_KWARGS(SH_KWARG("dim", 1)), nullptr);
    }
    CHECK(cat && sh_node_kwarg(cat, "dim").as.i == 1 && sh_graph_lint(graph) == SH_OK);
    sh_module_release(traced);
    sh_module_release(net);
    sh_function_remove("cxx::doubled");
}

static float twice(float x) { return 2 * x; }
static sh_status note_check(sh_mode *mode, sh_call *call) {
    *static_cast<sh_dtype *>(sh_mode_user(mode)) = sh_tensor_dtype(sh_call_tensor(call, 0));
    return SH_PASS;
}

static void c_functions_and_arrays() {
    sh_kernel kernel;
    sh_set_warning_sink(sh_warnings_off, nullptr);
    CHECK(sh_kernel_register_elementwise("relu", "cpu", twice, &kernel) == SH_OK);
    CHECK(item(sh_relu(sh_full({1}, 4.0))) == 8);
    CHECK(sh_kernel_remove(kernel) == SH_OK);
    sh_closure *closure = sh_closure_new("add", "double(double, double)", nullptr);
    CHECK(reinterpret_cast<double (*)(double, double)>(sh_closure_code(closure))(1, 2) == 3);
    CHECK(sh_closure_free(closure) == SH_OK);

    sh_dtype seen = SH_NO_DTYPE;
    sh_mode_options options = {};
    options.user = &seen;
    sh_mode *mode = sh_mode_new(note_check, &options);
    const double array[2] = {1, 2};
    SH_WITH_MODE(mode) {
        CHECK(sh_check(array, 2, "array") == SH_OK && seen == SH_F64);
        CHECK(sh_check_shape(array, SH_SIZES(2, 1), "column") == SH_OK && seen == SH_F64);
        const std::complex<float> z[1] = {{1, 2}};
        CHECK(sh_check(z, 1, "z") == SH_OK && seen == SH_C64);
        CHECK(sh_check(7, "count") == SH_OK && seen == SH_I64);
    }
    sh_mode_release(mode);
}

int main() {
    SH_SCOPE {
        numbers_stand_for_tensors();
        keywords_are_those_of_c();
        lists_go_in_braces_and_by_macro();
        calls_by_name_take_anything();
        guards_end_on_every_way_out();
        graphs_and_modules();
        c_functions_and_arrays();
    }
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
