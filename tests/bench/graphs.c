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

int main(void) {
    timed runs[] = {{"sh_add", direct, 0},
                    {"an interpreter's node", interpreted, 0},
                    {"sh_graph_run's node", run_once, 0}};
    double small[STEPS], large[STEPS];
    make_chain();
    time_all(runs, 3, 31, 10000);
    printf("%-26s %8.1f ns\n", runs[0].name, runs[0].ns);
    for (int i = 1; i < 3; i++)
        printf("%-26s %8.1f ns, %.1f over the call\n", runs[i].name, runs[i].ns, runs[i].ns - runs[0].ns);
    measure(1000, 101, small);
    measure(100000, 5, large);
    printf("\n%-26s %12s %12s %8s\n", "ns a node", "1,000 nodes", "100,000", "ratio");
    for (int s = 0; s < STEPS; s++)
        printf("%-26s %12.1f %12.1f %8.2f\n", steps[s], small[s], large[s], large[s] / small[s]);
    sh_interpreter_free(interpreter);
    sh_graph_free(chain_graph);
    return 0;
}
