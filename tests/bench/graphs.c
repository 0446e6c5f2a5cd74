/* graphs.c - what graphs cost: an interpreted node over a direct call, and whole graphs of 1,000 and 100,000 nodes, in ns a
 * node. Where the larger takes more than twice as long a node, something is not linear. */
#include <stdio.h>

#include "shunt.h"
#include "tests/bench/timing.h"

/* ---- a node over a call ---- */

enum { CHAIN = 100 };
static sh_graph *chain_graph;
static sh_interpreter *interpreter;
static sh_tensor *x;

static void make_chain(void) {
    x = sh_keep(sh_rand(SH_SIZES(2, 2)));
    chain_graph = sh_graph_new();
    sh_node *in = sh_graph_placeholder(chain_graph, "x"), *node = in;
    for (int i = 0; i < CHAIN; i++) node = sh_graph_call_function(chain_graph, "add", node, in);
    sh_graph_output(chain_graph, SH_ARG(node));
    interpreter = sh_interpreter_new(chain_graph, NULL);
}

static void direct(int64_t times) {
    for (int64_t t = 0; t < times; t += CHAIN) SH_SCOPE {
            sh_tensor *y = x;
            for (int i = 0; i < CHAIN; i++) y = sh_add(y, x);
        }
}
static void interpreted(int64_t times) {
    sh_value y;
    for (int64_t t = 0; t < times; t += CHAIN) SH_SCOPE sh_interpreter_run(interpreter, SH_ARGUMENTS(x), &y);
}
static void run_once(int64_t times) {
    for (int64_t t = 0; t < times; t += CHAIN) SH_SCOPE sh_graph_run(chain_graph, SH_LIST(x));
}

/* ---- whole graphs ---- */

/* A chain with a dead node beside each third one. */
static sh_graph *build(int64_t nodes) {
    sh_graph *g = sh_graph_new();
    sh_node *in = sh_graph_placeholder(g, "x"), *node = in;
    for (int64_t i = 0; i < nodes; i++) {
        if (i % 3 == 2)
            sh_graph_call_function(g, "relu", node);
        else
            node = sh_graph_call_function(g, "add", node, in);
    }
    sh_graph_output(g, SH_ARG(node));
    return g;
}

enum { BUILD, LINT, PRINT, COPY, PREPARE, REPLACE, DEAD_CODE, END, STEPS };
static const char *const steps[STEPS] = {
    "build",     "lint", "print", "deep copy", "make ready to run", "replace all uses of one",
    "dead code", "end"};

static void take_step(int step, sh_graph **g, int64_t nodes) {
    switch (step) {
    case BUILD: *g = build(nodes); break;
    case LINT: sh_graph_lint(*g); break;
    case PRINT: free(sh_graph_text(*g)); break;
    case COPY: sh_graph_free(sh_graph_clone(*g)); break;
    case PREPARE: sh_graph_run(*g, (sh_tensors){NULL, 0}), sh_clear_error(); break; /* stops at the input */
    case REPLACE: {
        sh_node *in = sh_graph_first(*g), *other = NULL;
        SH_INSERTING_AFTER(in) other = sh_graph_placeholder(*g, "y");
        sh_node_replace_all_uses_with(in, other);
        break;
    }
    case DEAD_CODE: sh_graph_eliminate_dead_code(*g, NULL, NULL); break;
    default: sh_graph_free(*g);
    }
}

/* The median over `rounds` graphs of what each step takes a node. */
static void measure(int64_t nodes, int rounds, double *ns) {
    double *samples = malloc((size_t)(STEPS * rounds) * sizeof *samples);
    for (int r = 0; r < rounds; r++) {
        sh_graph *g = NULL;
        for (int s = 0; s < STEPS; s++) {
            const double start = processor_us();
            take_step(s, &g, nodes);
            samples[s * rounds + r] = (processor_us() - start) * 1e3 / (double)nodes;
        }
    }
    for (int s = 0; s < STEPS; s++) {
        qsort(samples + s * rounds, (size_t)rounds, sizeof *samples, compare_doubles);
        ns[s] = samples[s * rounds + rounds / 2];
    }
    free(samples);
}

/* ---- passes ---- */

static const struct {
    const char *name;
    sh_pass pass;
} passes[] = {{"cse", sh_pass_cse},
              {"remove identities", sh_pass_remove_identities},
              {"fold constants", sh_pass_fold_constants},
              {"fuse conv bn", sh_pass_fuse_conv_bn},
              {"decompose", sh_pass_decompose},
              {"reinplace", sh_pass_reinplace},
              {"to bf16", sh_pass_to_bf16}};
enum { PASSES = sizeof passes / sizeof *passes };

/* A chain with something for each pass: products of a weight, work on constants, sums with 0. All are f32[4, 4]. */
static sh_graph *build_work(int64_t nodes) {
    const sh_spec spec = {.dtype = SH_F32, .ndim = 2, .sizes = {4, 4}};
    sh_graph *g = sh_graph_new();
    sh_node *node = sh_graph_placeholder(g, "x");
    SH_SCOPE sh_graph_set_attr(g, "w", sh_rand(SH_SIZES(4, 4)));
    sh_node *w = sh_graph_get_attr(g, "w");
    for (int64_t i = 0; i < nodes; i++) switch (i % 5) {
        case 0: node = sh_graph_call_function(g, "linear", node, w); break;
        case 1: sh_graph_call_function(g, "exp", w); break;
        case 2: node = sh_graph_call_function(g, "add", node, sh_graph_last(g)); break;
        case 3: node = sh_graph_call_function(g, "add", node, 0); break;
        default: node = sh_graph_call_function(g, "relu", node);
        }
    sh_graph_output(g, SH_ARG(node));
    SH_EACH_NODE(n, g) if (sh_node_opcode(n) != SH_OUTPUT) sh_node_set_spec(n, &spec);
    return g;
}

static void measure_passes(int64_t nodes, int rounds, double *ns) {
    double samples[101];
    for (int p = 0; p < PASSES; p++) {
        for (int r = 0; r < rounds; r++) {
            size_t changes = 0;
            sh_graph *g = build_work(nodes);
            const double start = processor_us();
            passes[p].pass(g, &changes);
            samples[r] = (processor_us() - start) * 1e3 / (double)nodes;
            sh_graph_free(g);
        }
        qsort(samples, (size_t)rounds, sizeof *samples, compare_doubles);
        ns[p] = samples[rounds / 2];
    }
}

static void print_row(const char *name, double small, double large) {
    printf("%-26s %12.1f %12.1f %8.2f\n", name, small, large, large / small);
}

int main(void) {
    timed runs[] = {{"sh_add", direct, 0},
                    {"an interpreter's node", interpreted, 0},
                    {"sh_graph_run's node", run_once, 0}};
    double small[STEPS], large[STEPS], small_passes[PASSES], large_passes[PASSES];
    make_chain();
    time_all(runs, 3, 31, 10000);
    printf("%-26s %8.1f ns\n", runs[0].name, runs[0].ns);
    for (int i = 1; i < 3; i++)
        printf("%-26s %8.1f ns, %.1f over the call\n", runs[i].name, runs[i].ns, runs[i].ns - runs[0].ns);
    measure(1000, 101, small);
    measure(100000, 5, large);
    printf("\n%-26s %12s %12s %8s\n", "ns a node", "1,000 nodes", "100,000", "ratio");
    for (int s = 0; s < STEPS; s++) print_row(steps[s], small[s], large[s]);
    measure_passes(1000, 31, small_passes);
    measure_passes(100000, 3, large_passes);
    for (int p = 0; p < PASSES; p++) print_row(passes[p].name, small_passes[p], large_passes[p]);
    sh_interpreter_free(interpreter);
    sh_graph_free(chain_graph);
    return 0;
}
