/* ours.c - nets run by this library: eager, compiled, and in f64 as what is right. */
#include <math.h>
#include <stdlib.h>

#include "tests/peers/peers.h"

/* ---- numbers ---- */

static void append(numbers *all, sh_tensor *t) {
    SH_SCOPE_HERE;
    const size_t n = (size_t)sh_tensor_numel(t);
    sh_tensor *wide = sh_contiguous(sh_to(t, SH_F64));
    double *at = wide ? realloc(all->at, (all->n + n) * sizeof *at) : NULL;
    if (!at) return;
    for (size_t i = 0; i < n; i++) at[all->n + i] = ((const double *)sh_tensor_data(wide))[i];
    *all = (numbers){at, all->n + n};
}

numbers numbers_of(sh_value value) {
    numbers all = {NULL, 0};
    if (value.tag == SH_TAG_TENSOR) append(&all, value.as.tensor);
    for (uint32_t i = 0; value.tag == SH_TAG_TENSORS && i < value.count; i++)
        append(&all, value.as.tensors[i]);
    return all;
}

double numbers_error(numbers a, numbers b) {
    double worst = 0, largest = 0;
    if (a.n != b.n || !a.n) return INFINITY;
    for (size_t i = 0; i < a.n; i++) {
        worst = fmax(worst, fabs(a.at[i] - b.at[i]));
        largest = fmax(largest, fabs(b.at[i]));
    }
    return worst / largest;
}

/* ---- eager and compiled ---- */

typedef struct ours {
    sh_module *module;     /* NULL: it is compiled, and what the plan doesn't need is gone */
    sh_compiled *compiled; /* NULL: eager */
    sh_tensor *input;
} ours;

static sh_value call(const ours *o) {
    const sh_values inputs = SH_INPUTS(o->input);
    return o->compiled ? sh_compiled_call(o->compiled, inputs) : sh_module_call(o->module, inputs);
}

static void run(void *state) { SH_SCOPE call(state); }

static numbers results(void *state) {
    SH_SCOPE_HERE;
    return numbers_of(call(state));
}

static void close_ours(void *state) {
    ours *o = state;
    sh_compiled_free(o->compiled);
    sh_module_release(o->module);
    sh_release(o->input);
    free(o);
}

static ours *open_ours(const peer_net *net) {
    ours *o = calloc(1, sizeof *o);
    SH_SCOPE {
        o->input = sh_keep(net->input());
        o->module = net->make();
    }
    sh_memory_trim(); /* weights were drawn before they were filled, which no model from a file would do */
    if (!sh_error()) return o;
    fprintf(stderr, "%s: %s\n", net->name, sh_error()->message);
    sh_clear_error();
    close_ours(o);
    return NULL;
}

bool ours_eager(const peer_net *net, int threads, peer_runner *runner) {
    (void)threads;
    *runner = (peer_runner){open_ours(net), NAN, run, results, close_ours};
    return runner->state != NULL;
}

/* Frozen, as a program does that only infers: raw weights go where the plan has packed ones. */
static bool compile(const peer_net *net, int threads, sh_winograd winograd, peer_runner *runner) {
    sh_compile_options options = SH_COMPILE_OPTIONS_INIT;
    ours *o = open_ours(net);
    if (!o) return false;
    options.frozen = true;
    options.winograd = winograd;
    o->compiled = sh_compile(o->module, &options);
    sh_module_release(o->module);
    o->module = NULL;
    const double start = peers_clock_ms(threads);
    run(o);
    const double first = peers_clock_ms(threads);
    run(o);
    const double second = peers_clock_ms(threads);
    if (sh_error()) fprintf(stderr, "%s, compiled: %s\n", net->name, sh_error()->message);
    const bool good = !sh_error();
    sh_clear_error();
    *runner = (peer_runner){o, fmax(2 * first - start - second, 0), run, results, close_ours};
    if (!good) close_ours(o);
    return good;
}

bool ours_compiled(const peer_net *net, int threads, peer_runner *runner) {
    return compile(net, threads, SH_WINOGRAD_MEASURE, runner);
}

bool ours_no_winograd(const peer_net *net, int threads, peer_runner *runner) {
    return compile(net, threads, SH_WINOGRAD_OFF, runner);
}

/* ---- in f64 ---- */

static void widen_graph(sh_graph *graph) {
    for (size_t i = 0; graph && i < sh_graph_attr_count(graph); i++) {
        const char *name = sh_graph_attr_name(graph, i);
        sh_tensor *t = sh_graph_attr(graph, name);
        if (sh_dtype_kind_of(sh_tensor_dtype(t)) == SH_KIND_FLOAT)
            sh_graph_set_attr(graph, name, sh_to(t, SH_F64));
    }
    SH_EACH_NODE(node, graph)
    if (sh_node_kwarg(node, "dtype").tag == SH_ARG_DTYPE)
        sh_node_set_kwarg(node, "dtype", sh_arg_dtype(SH_F64));
}

numbers net_exact(const peer_net *net) {
    numbers exact = {NULL, 0};
    ours *o = open_ours(net);
    if (!o) return exact;
    SH_SCOPE {
        sh_module_to(o->module, SH_F64);
        sh_graph *graph = sh_graph_module_graph(o->module);
        if (graph) widen_graph(graph);
        exact = numbers_of(sh_module_call(o->module, SH_INPUTS(sh_to(o->input, SH_F64))));
    }
    if (sh_error()) fprintf(stderr, "%s in f64: %s\n", net->name, sh_error()->message);
    close_ours(o);
    return exact;
}
