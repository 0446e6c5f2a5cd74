/* test_compile_nets.c - whole nets as plans: bit for bit where the kernels are the eager ones, near elsewhere; with no mode,
 * under a swap, a cast and a log. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "graph/onnx/onnx.h"
#include "tests/compile.h"
#include "tests/fx_nets.h"
#include "tests/modes.h"
#include "tests/onnx_models.h"
#include "tests/quantize_net.h"

TestSuite(compile_nets);

/* ---- modes ---- */

static const char *const specs[] = {NULL, "swap:from=add,to=mul", "swap:from=relu,cast=f64",
                                    "log:ops=mul|cat,out=/dev/null"};
enum { SPECS = sizeof specs / sizeof *specs };

static sh_mode *made(int i) {
    sh_mode *mode = NULL;
    if (specs[i]) cr_assert(eq(int, sh_mode_from_spec(specs[i], &mode), SH_OK), "%s", specs[i]);
    return mode;
}

/* ---- comparing ---- */

/* max|a - b| / max|b| over what is finite; the rest, and integers, must be equal. */
static double apart(sh_tensor *a, sh_tensor *b) {
    if (same_bits(a, b)) return 0;
    if (!a || !b || sh_tensor_numel(a) != sh_tensor_numel(b) ||
        sh_dtype_kind_of(sh_tensor_dtype(b)) != SH_KIND_FLOAT)
        return INFINITY;
    const double *x = sh_tensor_data(sh_contiguous(sh_to(a, SH_F64)));
    const double *y = sh_tensor_data(sh_contiguous(sh_to(b, SH_F64)));
    double most = 0, largest = 1e-30;
    for (int64_t i = 0; i < sh_tensor_numel(b); i++) {
        if (x[i] == y[i] || (isnan(x[i]) && isnan(y[i]))) continue;
        if (!isfinite(x[i]) || !isfinite(y[i])) return INFINITY;
        most = fmax(most, fabs(x[i] - y[i]));
    }
    for (int64_t i = 0; i < sh_tensor_numel(b); i++)
        if (isfinite(y[i])) largest = fmax(largest, fabs(y[i]));
    return most / largest;
}

static double apart_value(sh_value a, sh_value b) {
    double most = 0;
    if (a.tag != b.tag || a.count != b.count) return INFINITY;
    if (a.tag == SH_TAG_TENSOR) return apart(a.as.tensor, b.as.tensor);
    for (uint32_t i = 0; i < a.count; i++) most = fmax(most, apart(a.as.tensors[i], b.as.tensors[i]));
    return most;
}

/* Eager and as a plan, twice, under each mode. `near`: what may differ without `exact`. */
static void check(const char *name, sh_module *net, sh_values inputs, double near) {
    cr_assert(net != NULL, "%s: %s", name, sh_error() ? sh_error()->message : "");
    for (int exact = 0; exact < 2; exact++) {
        sh_compile_options options = SH_COMPILE_OPTIONS_INIT;
        options.exact = exact;
        sh_compiled *c = sh_compile(net, &options);
        for (int m = 0; m < SPECS; m++) SH_SCOPE {
                sh_mode *mode = made(m);
                if (mode) sh_push_mode(mode);
                const sh_value expected = sh_module_call(net, inputs);
                const sh_value first = sh_compiled_call(c, inputs), got = sh_compiled_call(c, inputs);
                if (mode) sh_pop_mode(mode);
                no_error();
                const double by = fmax(apart_value(first, expected), apart_value(got, expected));
                cr_expect(le(dbl, by, exact ? 0 : near), "%s under %s", name,
                          specs[m] ? specs[m] : "no mode");
                sh_mode_release(mode);
            }
        cr_expect(eq(u64, sh_compiled_stats(c).compilations, SPECS), "%s", name);
        sh_compiled_free(c);
    }
}

/* ---- nets ---- */

static void fill(sh_tensor *t, int k) {
    const bool ints = sh_dtype_kind_of(sh_tensor_dtype(t)) != SH_KIND_FLOAT;
    for (int64_t i = 0; i < sh_tensor_numel(t); i++) {
        if (ints)
            ((int64_t *)sh_tensor_data(t))[i] = (i + k) % 4;
        else
            ((float *)sh_tensor_data(t))[i] = (float)((i * 37 + k) % 101) / 50 - 1;
    }
}

Test(compile_nets, the_small_nets) {
    for (int i = 0; i < fx_nets_count; i++) SH_SCOPE {
            sh_value room[3];
            const sh_values inputs = fx_net_inputs(&fx_nets[i], room);
            for (size_t k = 0; k < inputs.n; k++)
                if (inputs.at[k].tag == SH_TAG_TENSOR) fill(inputs.at[k].as.tensor, (int)k);
            sh_module *net = fx_nets[i].make();
            sh_module_eval(net);
            check(fx_nets[i].name, net, inputs, 1e-5);
            sh_module_release(net);
        }
}

Test(compile_nets, a_quantised_net_is_the_same_to_the_bit) {
    SH_SCOPE {
        sh_tensor *x = sh_tensor_new(SH_F32, SH_SIZES(2, 3, 8, 8));
        fill(x, 3);
        const sh_value input = sh_value_tensor(x);
        sh_module *net = quantize_net();
        sh_module *traced = sh_symbolic_trace(net, SH_INPUTS(x), NULL);
        sh_module *prepared = sh_quantize_prepare(traced, NULL, NULL);
        cr_assert(prepared != NULL, "%s", sh_error() ? sh_error()->message : "");
        sh_forward(prepared, x);
        sh_module *quantised = sh_quantize_convert(prepared);
        check("quantised", quantised, (sh_values){&input, 1}, 1e-5);
        sh_module_release(quantised);
        sh_module_release(prepared);
        sh_module_release(traced);
        sh_module_release(net);
    }
}

static sh_value resnet_without_winograd(sh_module *net, sh_tensor *x, sh_compile_stats *stats) {
    sh_compile_options options = SH_COMPILE_OPTIONS_INIT;
    options.winograd = SH_WINOGRAD_OFF;
    sh_compiled *c = sh_compile(net, &options);
    sh_value y = sh_value_tensor(sh_compiled_run(c, x));
    *stats = sh_compiled_stats(c);
    sh_compiled_free(c);
    return y;
}

Test(compile_nets, resnet18) {
    SH_SCOPE {
        sh_compile_stats stats;
        sh_module *net = resnet18();
        resnet_fill_all(net);
        sh_module_eval(net);
        sh_tensor *x = resnet_image(0);
        const sh_value input = sh_value_tensor(x), expected = sh_value_tensor(sh_forward(net, x));
        sh_compiled *exact =
            sh_compile(net, &(sh_compile_options){.size = sizeof(sh_compile_options), .exact = true});
        cr_expect(eq(dbl, apart_value(sh_compiled_call(exact, (sh_values){&input, 1}), expected), 0));
        sh_compiled_free(exact);
        cr_expect(le(dbl, apart_value(resnet_without_winograd(net, x, &stats), expected), 2e-6));
        cr_expect(le(sz, stats.steps, 30), "what follows a convolution is fused");
        sh_compiled *free_way = sh_compile(net, NULL);
        cr_expect(le(dbl, apart_value(sh_compiled_call(free_way, (sh_values){&input, 1}), expected), 1e-5));
        sh_compiled_free(free_way);
        no_error();
        sh_module_release(net);
    }
}

/* ---- ONNX ---- */

static sh_module *module_of(sh_graph *graph) {
    sh_module *root = sh_nn_sequential(sh_nn_relu()), *m = graph ? sh_graph_module_new(root, graph) : NULL;
    sh_module_release(root);
    if (m) sh_module_eval(m);
    return m;
}

static sh_values inputs_of(const sh_graph *graph, sh_value *room) {
    size_t n = 0;
    for (const sh_node *node = sh_graph_first(graph); node; node = sh_node_next(node)) {
        if (sh_node_opcode(node) != SH_PLACEHOLDER) continue;
        const sh_spec *spec = sh_node_spec(node);
        int64_t sizes[SH_MAX_DIMS];
        for (int i = 0; i < spec->ndim; i++) sizes[i] = spec->sizes[i] < 0 ? 2 : spec->sizes[i];
        sh_tensor *x = sh_tensor_new(spec->dtype, sh_ints_of(sizes, (size_t)spec->ndim));
        fill(x, (int)n);
        room[n++] = sh_value_tensor(x);
    }
    return (sh_values){room, n};
}

Test(compile_nets, onnx_models) {
    for (size_t i = 0; i < onnx_model_count; i++) SH_SCOPE {
            size_t size;
            sh_value room[8];
            uint8_t *bytes = onnx_model_bytes(onnx_models[i].name, &size);
            sh_graph *graph = sh_parse_onnx(bytes, size, onnx_models[i].name);
            free(bytes);
            if (!graph) { /* models that are to be refused */
                sh_clear_error();
                continue;
            }
            const sh_values inputs = inputs_of(graph, room);
            sh_module *net = module_of(graph);
            /* One overflows on purpose, and whether Inf or NaN comes of that is a matter of order. */
            check(onnx_models[i].name, net, inputs,
                  strcmp(onnx_models[i].name, "planted") == 0 ? INFINITY : 1e-5);
            sh_module_release(net);
        }
}

Test(compile_nets, blazeface) {
    const char *path = "build/models/blazeface.onnx";
    if (access(path, R_OK) != 0) cr_skip_test("not fetched (make model)");
    SH_SCOPE {
        sh_value room[1];
        sh_graph *graph = sh_load_onnx(path);
        cr_assert(graph != NULL);
        const sh_values inputs = inputs_of(graph, room);
        sh_module *net = module_of(graph);
        check("BlazeFace", net, inputs, 1e-5);
        sh_module_release(net);
    }
}
