/* torch.cpp - a traced net of ours as a program of ATen's ops: torch eager, without Python. A value is let go after its last
 * use, as a temporary of C++ would be. */
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <malloc.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "shunt.h"

namespace {

/* glibc raises these itself, as large blocks are freed; up to here, which each program comes to in its own time. */
const int kept = mallopt(M_MMAP_THRESHOLD, 32 << 20) + mallopt(M_TRIM_THRESHOLD, 64 << 20);

using Values = std::vector<at::Tensor>;
using Step = std::function<void(Values &)>;

struct Program {
    Values values;
    std::vector<Step> steps;
    std::vector<std::vector<size_t>> dead; /* behind each step */
    std::vector<size_t> outputs;
    std::unordered_map<const sh_node *, size_t> places;
    sh_module *module;
};

at::Tensor tensor_of(const sh_tensor *t) {
    return at::from_blob(sh_tensor_data(const_cast<sh_tensor *>(t)),
                         at::IntArrayRef(sh_tensor_sizes(t), (size_t)sh_tensor_ndim(t)), at::kFloat)
        .clone();
}

/* ---- arguments, all by name ---- */

struct Arguments {
    const Program &program;
    const sh_node *node;

    sh_arg operator[](const char *name) const { return sh_node_kwarg(node, name); }
    bool has(const char *name) const { return (*this)[name].tag != SH_ARG_NONE; }
    size_t value(const char *name) const { return program.places.at((*this)[name].as.node); }
    bool is_node(const char *name) const { return (*this)[name].tag == SH_ARG_NODE; }
    int64_t integer(const char *name, int64_t otherwise) const {
        const sh_arg a = (*this)[name];
        return a.tag == SH_ARG_INT || a.tag == SH_ARG_FLAG ? a.as.i : otherwise;
    }
    double number(const char *name) const {
        const sh_arg a = (*this)[name];
        return a.tag == SH_ARG_FLOAT ? a.as.f : (double)a.as.i;
    }
    std::vector<int64_t> integers(const char *name, std::vector<int64_t> otherwise) const {
        const sh_arg a = (*this)[name];
        if (!sh_arg_is_list(a)) return otherwise;
        std::vector<int64_t> list;
        for (uint32_t i = 0; i < a.count; i++) list.push_back(a.as.list[i].as.i);
        return list;
    }
};

/* ---- ops ---- each gives what one run does; the arguments are read once */

using Function = at::Tensor (*)(const at::Tensor &);
Step unary(const Arguments &a, size_t to, Function function) {
    const size_t x = a.value("self");
    return [=](Values &v) { v[to] = function(v[x]); };
}

template <class T, class S> Step binary(const Arguments &a, size_t to, T tensors, S scalar) {
    const size_t x = a.value("self");
    if (!a.is_node("other")) {
        const at::Scalar y = a.number("other");
        return [=](Values &v) { v[to] = scalar(v[x], y); };
    }
    const size_t y = a.value("other");
    return [=](Values &v) { v[to] = tensors(v[x], v[y]); };
}

Step conv2d(const Arguments &a, size_t to) {
    const size_t x = a.value("input"), w = a.value("weight"),
                 b = a.is_node("bias") ? a.value("bias") : SIZE_MAX;
    const auto stride = a.integers("stride", {1, 1}), padding = a.integers("padding", {0, 0}),
               dilation = a.integers("dilation", {1, 1});
    const int64_t groups = a.integer("groups", 1);
    return [=](Values &v) {
        const c10::optional<at::Tensor> bias = b == SIZE_MAX ? c10::nullopt : c10::make_optional(v[b]);
        v[to] = at::conv2d(v[x], v[w], bias, stride, padding, dilation, groups);
    };
}

Step batch_norm(const Arguments &a, size_t to) {
    const size_t x = a.value("input"), w = a.value("weight"), b = a.value("bias"),
                 m = a.value("running_mean"), s = a.value("running_var");
    return [=](Values &v) { v[to] = at::batch_norm(v[x], v[w], v[b], v[m], v[s], false, 0.1, 1e-5, false); };
}

Step max_pool2d(const Arguments &a, size_t to) {
    const size_t x = a.value("self");
    const auto kernel = a.integers("kernel_size", {}), stride = a.integers("stride", kernel),
               padding = a.integers("padding", {0, 0});
    return
        [=](Values &v) { v[to] = at::max_pool2d(v[x], kernel, stride.empty() ? kernel : stride, padding); };
}

Step linear(const Arguments &a, size_t to) {
    const size_t x = a.value("input"), w = a.value("weight"), b = a.value("bias");
    return [=](Values &v) { v[to] = at::linear(v[x], v[w], v[b]); };
}

Step cat(const Arguments &a, size_t to) {
    std::vector<size_t> parts;
    const sh_arg list = a["tensors"];
    for (uint32_t i = 0; i < list.count; i++) parts.push_back(a.program.places.at(list.as.list[i].as.node));
    const int64_t dim = a.integer("dim", 0);
    return [=](Values &v) {
        std::vector<at::Tensor> tensors;
        for (size_t part : parts) tensors.push_back(v[part]);
        v[to] = at::cat(tensors, dim);
    };
}

Step listed(const Arguments &a, size_t to, const char *name,
            std::function<at::Tensor(const at::Tensor &, at::IntArrayRef)> function) {
    const size_t x = a.value("self");
    const auto list = a.integers(name, {1, 1});
    return [=](Values &v) { v[to] = function(v[x], list); };
}

Step full(const Arguments &a, size_t to) {
    const auto size = a.integers("size", {});
    const double value = a.number("fill_value");
    return [=](Values &v) { v[to] = at::full(size, value); };
}

Step power(const Arguments &a, size_t to) {
    const size_t x = a.value("self");
    const at::Scalar exponent = a.number("exponent");
    return [=](Values &v) { v[to] = at::pow(v[x], exponent); };
}

/* An empty step: the op is none of those that the nets have. */
Step step_of(const std::string &op, const Arguments &a, size_t to) {
    using T = const at::Tensor &;
    using S = const at::Scalar &;
    using L = at::IntArrayRef;
    if (op == "add")
        return binary(
            a, to, [](T x, T y) { return at::add(x, y); }, [](T x, S y) { return at::add(x, y); });
    if (op == "mul")
        return binary(
            a, to, [](T x, T y) { return at::mul(x, y); }, [](T x, S y) { return at::mul(x, y); });
    if (op == "pow") return power(a, to);
    if (op == "tanh") return unary(a, to, [](T x) { return at::tanh(x); });
    if (op == "relu") return unary(a, to, [](T x) { return at::relu(x); });
    if (op == "relu_") return unary(a, to, [](T x) { return at::relu_(const_cast<at::Tensor &>(x)); });
    if (op == "flatten") return unary(a, to, [](T x) { return at::flatten(x, 1); });
    if (op == "conv2d") return conv2d(a, to);
    if (op == "batch_norm") return batch_norm(a, to);
    if (op == "max_pool2d") return max_pool2d(a, to);
    if (op == "linear") return linear(a, to);
    if (op == "cat") return cat(a, to);
    if (op == "full") return full(a, to);
    if (op == "adaptive_avg_pool2d")
        return listed(a, to, "output_size", [](T x, L n) { return at::adaptive_avg_pool2d(x, n); });
    if (op == "permute") return listed(a, to, "dims", [](T x, L n) { return x.permute(n); });
    if (op == "reshape") return listed(a, to, "shape", [](T x, L n) { return at::reshape(x, n); });
    if (op == "pad") return listed(a, to, "pad", [](T x, L n) { return at::constant_pad_nd(x, n); });
    return Step();
}

/* ---- the program ---- */

void add_outputs(Program &p, sh_arg value) {
    if (value.tag == SH_ARG_NODE) p.outputs.push_back(p.places.at(value.as.node));
    for (uint32_t i = 0; sh_arg_is_list(value) && i < value.count; i++) add_outputs(p, value.as.list[i]);
}

/* What of the node's inputs nobody needs behind it. */
std::vector<size_t> ended_by(const Program &p, sh_node *node) {
    std::vector<size_t> ended;
    sh_node *inputs[16];
    const size_t n = sh_node_inputs(node, inputs, 16);
    for (size_t i = 0; i < n; i++) {
        bool later = sh_node_opcode(inputs[i]) != SH_CALL_FUNCTION;
        for (sh_node *other = sh_node_next(node); other && !later; other = sh_node_next(other)) {
            sh_node *used[16];
            const size_t m = sh_node_inputs(other, used, 16);
            for (size_t k = 0; k < m; k++) later |= used[k] == inputs[i];
        }
        if (!later) ended.push_back(p.places.at(inputs[i]));
    }
    return ended;
}

bool add_node(Program &p, sh_node *node, const sh_tensor *input) {
    const size_t to = p.values.size();
    p.values.emplace_back();
    p.places[node] = to;
    switch (sh_node_opcode(node)) {
    case SH_PLACEHOLDER: p.values[to] = tensor_of(input); return true;
    case SH_GET_ATTR:
        p.values[to] = tensor_of(sh_graph_module_tensor(p.module, sh_node_target(node)));
        return true;
    case SH_OUTPUT: add_outputs(p, sh_node_arg(node, 0)); return true;
    default: break;
    }
    if (sh_node_normalize_arguments(node, SH_KEYWORD_FORM) < 0) return false;
    Step step = step_of(sh_node_target(node), Arguments{p, node}, to);
    if (!step) std::fprintf(stderr, "torch: no %s here\n", sh_node_target(node));
    if (!step) return false;
    p.steps.push_back(step);
    p.dead.push_back(ended_by(p, node));
    return true;
}

void run(Program &p) {
    c10::InferenceMode guard;
    for (size_t i = 0; i < p.steps.size(); i++) {
        p.steps[i](p.values);
        for (size_t dead : p.dead[i]) p.values[dead].reset();
    }
}

} // namespace

struct numbers {
    double *at;
    size_t n;
};

extern "C" {
__attribute__((visibility("default"))) void *peer_open(sh_module *traced, sh_tensor *input, int threads) {
    c10::InferenceMode guard;
    at::set_num_threads(threads);
    Program *p = new Program;
    p->module = traced;
    for (sh_node *node = sh_graph_first(sh_graph_module_graph(traced)); node; node = sh_node_next(node))
        if (!add_node(*p, node, input)) {
            delete p;
            return nullptr;
        }
    return p;
}
__attribute__((visibility("default"))) void peer_run(void *state) { run(*static_cast<Program *>(state)); }

__attribute__((visibility("default"))) numbers peer_results(void *state) {
    Program &p = *static_cast<Program *>(state);
    numbers all = {nullptr, 0};
    run(p);
    for (size_t output : p.outputs) {
        const at::Tensor t = p.values[output].contiguous();
        all.at = static_cast<double *>(std::realloc(all.at, (all.n + (size_t)t.numel()) * sizeof(double)));
        for (int64_t i = 0; i < t.numel(); i++) all.at[all.n++] = (double)t.data_ptr<float>()[i];
    }
    return all;
}
__attribute__((visibility("default"))) void peer_close(void *state) { delete static_cast<Program *>(state); }
}
