/* Random graphs, compiled and run one node at a time: the same bits, the same memory shared, the same calls seen by modes.
 *
 * Each graph is run thrice by one compiled object: the second run takes the plan that the first made for other numbers, the
 * third has inputs in another layout, and another plan. */
#include "dispatch/tensor_impl.h"
#include "tests/graphs.h"
#include "tests/random_graph.h"

TestSuite(compile_random, .timeout = 120);

enum { RUNS = 3, CALLS = 200 };

/* ---- modes ---- */

static sh_status add_to_mul(sh_mode *mode, sh_call *call) {
    (void)mode;
    if (sh_call_family(call) == SH_OP_add) SH_TRY(sh_call_swap(call, SH_OP_mul));
    return SH_PASS;
}

/* What takes f32 takes f64, as a cast in front of it. */
static sh_status widen(sh_mode *mode, sh_call *call) {
    (void)mode;
    if (sh_call_variant(call) != SH_FUNCTIONAL) return SH_PASS;
    for (uint32_t i = 0; i < sh_call_nargs(call); i++) {
        sh_tensor *t = sh_value_as_tensor(sh_call_arg(call, i));
        if (!t || sh_tensor_dtype(t) != SH_F32) continue;
        sh_tensor *wide = sh_to(t, SH_F64);
        if (!wide) return sh_error()->code;
        SH_TRY(sh_call_set_arg(call, i, sh_value_tensor(wide)));
    }
    return SH_PASS;
}

typedef struct calls_seen {
    uint32_t n, families[CALLS];
} calls_seen;

static sh_status note(sh_mode *mode, sh_call *call) {
    calls_seen *seen = sh_mode_user(mode);
    if (seen->n < CALLS) seen->families[seen->n] = sh_call_family(call);
    seen->n++;
    return SH_PASS;
}

static sh_mode *new_swap(calls_seen *seen) {
    (void)seen;
    return sh_mode_new(add_to_mul, &(sh_mode_options){.name = "swap", .kind = SH_MODE_REWRITING});
}
static sh_mode *new_cast(calls_seen *seen) {
    static const char *const ops[] = {"mul", "matmul", "exp", "linear", NULL};
    (void)seen;
    return sh_mode_new(widen, &(sh_mode_options){.name = "cast", .kind = SH_MODE_REWRITING, .ops = ops});
}
static sh_mode *new_log(calls_seen *seen) {
    return sh_mode_new(note, &(sh_mode_options){.name = "log", .user = seen});
}
static sh_mode *new_log_below(calls_seen *seen) {
    return sh_mode_new(note, &(sh_mode_options){.name = "log", .user = seen, .level = SH_LEVEL_DISPATCH});
}
static sh_mode *new_log_of_few(calls_seen *seen) {
    static const char *const ops[] = {"add", "sum", "transpose", "exp", "matmul", "copy", NULL};
    return sh_mode_new(note, &(sh_mode_options){.name = "log of few", .user = seen, .ops = ops});
}

/* ---- what a run gives ---- */

typedef struct outcome {
    sh_status status;
    sh_tensor *inputs[RANDOM_INPUTS_MOST], *outputs[RANDOM_INPUTS_MOST];
    size_t ninputs, noutputs;
    calls_seen seen;
} outcome;

static void take_outputs(outcome *o, sh_value v) {
    o->status = sh_error() ? sh_error()->code : SH_OK;
    sh_clear_error();
    if (v.tag == SH_TAG_TENSOR) o->outputs[o->noutputs++] = v.as.tensor;
    for (uint32_t i = 0; v.tag == SH_TAG_TENSORS && i < v.count && o->noutputs < RANDOM_INPUTS_MOST; i++)
        o->outputs[o->noutputs++] = v.as.tensors[i];
}

static bool share(const sh_tensor *a, const sh_tensor *b) { return a->storage && a->storage == b->storage; }

static const sh_tensor *tensor_at(const outcome *o, size_t i) {
    return i < o->ninputs ? o->inputs[i] : o->outputs[i - o->ninputs];
}

/* The strides of axes with one entry mean nothing. */
static bool same_layout(const sh_tensor *a, const sh_tensor *b) {
    for (int i = 0; i < a->ndim && a->numel; i++)
        if (a->sizes[i] > 1 && a->strides[i] != b->strides[i]) return false;
    return true;
}

static bool near(const sh_tensor *a, const sh_tensor *b, double tolerance) {
    if (random_same(a, b)) return true;
    return tolerance > 0 && sh_allclose((sh_tensor *)(uintptr_t)a, (sh_tensor *)(uintptr_t)b,
                                        .rtol = tolerance, .atol = tolerance, .equal_nan = true);
}

static const char *difference(const outcome *a, const outcome *b, double tolerance) {
    if ((a->status < 0) != (b->status < 0)) return "one is an error";
    if (a->status < 0) return NULL;
    if (a->noutputs != b->noutputs) return "so many outputs";
    const size_t n = a->ninputs + a->noutputs;
    for (size_t i = 0; i < n; i++)
        if (!near(tensor_at(a, i), tensor_at(b, i), tolerance))
            return i < a->ninputs ? "what was written to an input" : "the numbers";
        else if (!same_layout(tensor_at(a, i), tensor_at(b, i)))
            return "how an output lies";
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (share(tensor_at(a, i), tensor_at(a, k)) != share(tensor_at(b, i), tensor_at(b, k)))
                return "which tensors share memory";
    if (a->seen.n != b->seen.n) return "how many calls a mode sees";
    return memcmp(&a->seen, &b->seen, sizeof a->seen) != 0 ? "which calls a mode sees" : NULL;
}

/* ---- one graph ---- */

typedef sh_mode *(*mode_maker)(calls_seen *seen);

typedef struct trial {
    mode_maker lower, upper; /* pushed in this order; NULL: none */
    bool module;             /* as a graph module, else as a function */
    bool shared;             /* inputs that may be are one tensor */
    sh_module *net;          /* whose modules it calls */
    double tolerance;        /* 0: the same bits */
    sh_compile_options options;
    const char *what; /* differs, of the graph at hand */
} trial;

static sh_value run_graph(sh_values inputs, void *user) {
    sh_tensor *at[RANDOM_INPUTS_MOST];
    for (size_t i = 0; i < inputs.n; i++) at[i] = sh_value_as_tensor(inputs.at[i]);
    sh_list *out = sh_graph_run(user, (sh_tensors){at, inputs.n});
    return out ? sh_list_value(sh_list_view(out)) : sh_none();
}

/* Inputs of the run: as they are, with other numbers, row-major. */
static void take_inputs(outcome *o, sh_tensors inputs, int number) {
    random_copies(inputs, o->inputs);
    o->ninputs = inputs.n;
    for (size_t i = 0; i < inputs.n; i++) {
        sh_tensor *t = o->inputs[i];
        if (number == 1 && sh_dtype_kind_of(sh_tensor_dtype(t)) == SH_KIND_FLOAT) sh_mul_(t, -0.7);
        if (number == 2) o->inputs[i] = sh_clone(t);
    }
}

static bool may_be_one(const sh_tensor *a, const sh_tensor *b) {
    return a->dtype == b->dtype && a->ndim == b->ndim &&
           memcmp(a->sizes, b->sizes, a->ndim * sizeof *a->sizes) == 0;
}

static void run(outcome *o, const trial *t, sh_compiled *compiled, sh_graph *graph, sh_mode *const *modes) {
    sh_value values[RANDOM_INPUTS_MOST], out;
    for (size_t i = 0; i < o->ninputs; i++) {
        if (t->shared && i && may_be_one(o->inputs[0], o->inputs[i])) o->inputs[i] = o->inputs[0];
        values[i] = sh_value_tensor(o->inputs[i]);
    }
    sh_manual_seed(9);
    for (int i = 0; i < 2; i++)
        if (modes[i]) sh_push_mode(modes[i]);
    const sh_values in = {values, o->ninputs};
    out = compiled ? sh_compiled_call(compiled, in) : run_graph(in, graph);
    take_outputs(o, out);
    for (int i = 1; i >= 0; i--)
        if (modes[i]) sh_pop_mode(modes[i]);
}

static const char *compare(const trial *t, sh_compiled *compiled, sh_graph *graph, sh_tensors inputs) {
    calls_seen seen = {0};
    sh_mode *const modes[] = {t->lower ? t->lower(&seen) : NULL, t->upper ? t->upper(&seen) : NULL};
    const char *found = NULL;
    for (int i = 0; i < RUNS && !found; i++) {
        outcome eager = {0}, fast = {0};
        take_inputs(&eager, inputs, i);
        take_inputs(&fast, inputs, i);
        run(&eager, t, NULL, graph, modes);
        eager.seen = seen;
        memset(&seen, 0, sizeof seen);
        run(&fast, t, compiled, NULL, modes);
        fast.seen = seen;
        memset(&seen, 0, sizeof seen);
        found = difference(&eager, &fast, t->tolerance);
    }
    sh_mode_release(modes[0]);
    sh_mode_release(modes[1]);
    return found;
}

static bool differs(sh_graph *graph, sh_tensors inputs, void *user) {
    trial *t = user;
    sh_graph *copy = sh_graph_clone(graph);
    sh_module *module = t->module ? sh_graph_module_new(t->net, sh_graph_clone(graph)) : NULL;
    sh_compiled *compiled =
        t->module ? sh_compile(module, &t->options) : sh_compile_function(run_graph, graph, &t->options);
    const char *found = compiled && copy ? compare(t, compiled, copy, inputs) : "it can't be compiled";
    sh_compiled_free(compiled);
    sh_module_release(module);
    sh_graph_free(copy);
    if (found) t->what = found;
    return found != NULL;
}

enum { WRITES_INPUTS = 1, MODULE = 2, SHARED = 4, FUSED = 8, KINDS = 16 };

static trial new_trial(mode_maker lower, mode_maker upper, unsigned kind) {
    sh_module *net = sh_nn_module_list();
    sh_module_give(net, "linear", sh_nn_linear(4, 4));
    sh_module_give(net, "drop", sh_nn_dropout());
    sh_module_give(net, "act", sh_nn_tanh());
    if (net) sh_module_eval(net);
    trial t = {.lower = lower,
               .upper = upper,
               .net = net,
               .module = kind & MODULE,
               .shared = kind & SHARED,
               .tolerance = kind & FUSED ? 1e-3 : 0,
               .options = SH_COMPILE_OPTIONS_INIT};
    t.options.exact = !(kind & FUSED);
    t.options.unfused = kind == (WRITES_INPUTS | MODULE);
    return t;
}

/* Where numbers may differ by rounding, graphs keep that small. At dispatch level what has data can't be written from what
 * has none, as in a trace. */
static random_graph_how how_of(const trial *t, unsigned kind) {
    const bool writes = kind & WRITES_INPUTS;
    return (random_graph_how){.guards = !writes,
                              .constants = writes && t->lower != new_log_below,
                              .draws = true,
                              .smooth = kind & FUSED,
                              .nodes = writes ? 24 : 16,
                              .net = t->module ? t->net : NULL};
}

static void check(mode_maker lower, mode_maker upper, uint64_t first) {
    for (unsigned kind = 0; kind < KINDS; kind++) {
        trial t = new_trial(lower, upper, kind);
        const random_graph_how how = how_of(&t, kind);
        const size_t failing = random_graphs_failing(first + 100000 * kind, 40, &how, differs, &t);
        cr_expect(eq(sz, failing, 0), "kind %u: %s", kind, t.what);
        sh_module_release(t.net);
    }
}

Test(compile_random, without_modes) { check(NULL, NULL, 0); }
Test(compile_random, under_a_swap) { check(new_swap, NULL, 1000); }
Test(compile_random, under_a_cast) { check(new_cast, NULL, 2000); }
Test(compile_random, under_a_cast_and_a_swap) { check(new_cast, new_swap, 3000); }
Test(compile_random, under_a_mode_that_sees_all) { check(new_log, NULL, 4000); }
Test(compile_random, under_a_mode_that_sees_few) { check(new_log_of_few, NULL, 5000); }
Test(compile_random, under_a_mode_that_sees_what_composites_are_made_of) { check(new_log_below, NULL, 6000); }
Test(compile_random, under_a_log_above_a_swap) { check(new_swap, new_log, 7000); }
Test(compile_random, under_a_log_below_a_cast) { check(new_log_of_few, new_cast, 8000); }
