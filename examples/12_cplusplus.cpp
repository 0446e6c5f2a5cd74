// The same library in C++17: keywords are written sh::name = value, blocks are guards, numbers stand for tensors.
#include <shunt.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

static sh_status add_to_mul(sh_mode *, sh_call *call) {
    if (sh_call_family(call) == SH_OP_add) SH_TRY(sh_call_swap(call, SH_OP_mul));
    return SH_PASS;
}

// A block that is left by an exception leaves its mode and its scope too.
static void throws() {
    SH_SCOPE {
        SH_MODE_HERE(add_to_mul);
        if (sh_item(sh_add(sh_ones({}), 2.0)) == 2) throw std::runtime_error("thrown under a mode");
    }
}

static sh_tensor *net_forward(sh_module *self, sh_tensor *x) {
    return sh_relu(sh_forward(sh_module_child(self, "linear"), x));
}

int main() {
    SH_SCOPE {
        sh_tensor *x = sh_full({2, 2}, 3.0), *y = nullptr;
        SH_WITH_MODE(add_to_mul) { y = sh_add(x, x); }
        std::printf("3 + 3 under the mode: %g, without: %g\n", sh_item(sh_max(y)),
                    sh_item(sh_max(sh_add(x, x))));

        sh_tensor *image = sh_randn({1, 3, 8, 8}), *kernel = sh_randn({4, 3, 3, 3});
        y = sh_conv2d(image, kernel, sh::bias = sh_ones({4}), sh::stride = {2, 2}, sh::padding = 1);
        std::printf("conv2d gives %lld x %lld\n", (long long)sh_tensor_size(y, 2),
                    (long long)sh_tensor_size(y, 3));
        y = sh_sum(y, sh::dim = {2, 3}, sh::keepdim = true);
        std::printf("summed over both: %lld x %lld\n", (long long)sh_tensor_size(y, 2),
                    (long long)sh_tensor_size(y, 3));

        try {
            throws();
        } catch (const std::exception &e) { std::printf("%s; modes left: %zu\n", e.what(), sh_mode_depth()); }

        static const sh_module_type net_type = [] {
            sh_module_type type = {};
            type.name = "Net";
            type.forward = net_forward;
            return type;
        }();
        sh_module *net = sh_module_new(&net_type);
        sh_module_give(net, "linear", sh_nn_linear(2, 4, sh::bias = false));
        sh_graph *graph = sh_trace(net, SH_INPUTS(x), nullptr);
        SH_EACH_NODE(node, graph) {
            if (sh_node_opcode(node) != SH_CALL_MODULE) continue;
            sh_node *scaled = nullptr;
            SH_INSERTING_AFTER(node) { scaled = sh_graph_call_function(graph, "mul", node, 2.0); }
            sh_node_replace_all_uses_with(node, scaled);
        }
        char *text = sh_graph_text(graph);
        std::puts(text ? text : sh_error()->message);
        std::free(text);
        sh_graph_free(graph);
        sh_module_release(net);
    }
    if (sh_error()) std::fprintf(stderr, "%s\n", sh_error()->message);
    return sh_error() != nullptr;
}
