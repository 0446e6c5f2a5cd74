/* Random graphs through each pass and through passes in random order: they stay whole and give what they gave. */
#include <math.h>

#include "tests/graphs.h"
#include "tests/sample.h"

TestSuite(passes_random, .timeout = 120);

enum { SIZE = 4, NODES = 30 };

/* ---- graphs ---- */

typedef struct maker {
    sh_graph *graph;
    sh_module *net;
    sh_node *nodes[NODES];
    int n;
} maker;

static sh_node *any(const maker *m) { return m->nodes[sample_int(0, m->n - 1)]; }

static sh_node *module_call(maker *m) {
    static const char *const names[] = {"linear", "drop", "same", "act"};
    return sh_graph_create_node(m->graph, SH_CALL_MODULE, names[sample_int(0, 3)], SH_ARGS(any(m)),
                                SH_NO_KWARGS, NULL);
}

static sh_node *norm_call(maker *m) {
    sh_graph *g = m->graph;
    sh_node *w = sh_graph_get_attr(g, "w"), *v = sh_graph_get_attr(g, "v"),
            *one = sh_graph_get_attr(g, "one");
    sh_node *product = sh_graph_call_function(g, "linear", any(m), w);
    return sh_graph_create_node(g, SH_CALL_FUNCTION, "batch_norm", SH_ARGS(product, v, one),
                                SH_KWARGS(SH_KWARG("weight", v)), NULL);
}

static sh_node *list_call(maker *m) {
    sh_node *parts = sh_graph_call_function(m->graph, "split", any(m), SIZE / 2);
    sh_node *one = sh_graph_call_function(m->graph, SH_GETITEM, parts, 0);
    sh_node *two = sh_graph_call_function(m->graph, SH_GETITEM, parts, 1);
    return sh_graph_call_function(m->graph, "cat", sh_arg_list(SH_ARGS(two, one)));
}

/* Values stay moderate: what grows goes through tanh. */
static sh_node *next_node(maker *m) {
    static const char *const unary[] = {"relu", "neg", "sigmoid", "abs", "contiguous", "clone"};
    sh_graph *g = m->graph;
    switch (sample_int(0, 12)) {
    case 0: return sh_graph_call_function(g, "transpose", any(m), 0, 1);
    case 1: return sh_graph_call_function(g, "mul_", sh_graph_call_function(g, "tanh", any(m)), 0.5);
    case 2: return sh_graph_call_function(g, "add", any(m), any(m));
    case 3: return sh_graph_call_function(g, "tanh", sh_graph_call_function(g, "matmul", any(m), any(m)));
    case 4: return module_call(m);
    case 5: return norm_call(m);
    case 6: return list_call(m);
    case 7: return sh_graph_call_function(g, "rand_like", any(m));
    case 8: return sh_graph_call_function(g, "add", any(m), 0);
    case 9: return sh_graph_get_attr(g, "w");
    case 10: return sh_graph_call_function(g, "eye", SIZE);
    case 11: return sh_graph_call_function(g, "softmax", any(m), 1);
    default: return sh_graph_call_function(g, unary[sample_int(0, 5)], any(m));
    }
}

static sh_graph *random_graph(sh_module *net, sh_tensor *x) {
    maker m = {.graph = sh_graph_new(), .net = net};
    sh_graph_set_attr(m.graph, "w", sh_mul(sh_randn(SH_SIZES(SIZE, SIZE)), 0.3));
    sh_graph_set_attr(m.graph, "v", sh_randn(SH_SIZES(SIZE)));
    sh_graph_set_attr(m.graph, "one", sh_ones(SH_SIZES(SIZE)));
    sh_graph_set_module(m.graph, net);
    m.nodes[m.n++] = sh_graph_placeholder(m.graph, "x");
    while (m.n < NODES) {
        m.nodes[m.n] = next_node(&m);
        m.n++;
    }
    sh_graph_output(m.graph,
                    sh_arg_tuple(SH_ARGS(m.nodes[NODES - 1], any(&m), sh_arg_list(SH_ARGS(any(&m))))));
    cr_assert(sh_graph_propagate_shapes(m.graph, SH_ARGUMENTS(x)) == SH_OK, "%s", message());
    return m.graph;
}

static sh_module *new_net(void) {
    sh_module *net = sh_nn_module_list();
    sh_module_give(net, "linear", sh_nn_linear(SIZE, SIZE));
    sh_module_give(net, "drop", sh_nn_dropout());
    sh_module_give(net, "same", sh_nn_identity());
    sh_module_give(net, "act", sh_nn_tanh());
    if (net) sh_module_eval(net);
    return net;
}

/* ---- passes ---- */

static const struct {
    const char *name;
    sh_pass pass;
    bool exact;
} passes[] = {{"cse", sh_pass_cse, true},
              {"identities", sh_pass_remove_identities, false}, /* sums go by layout */
              {"dead code", sh_pass_dead_code, true},
              {"normalise", sh_pass_normalize_arguments, true},
              {"fold", sh_pass_fold_constants, true},
              {"inline", sh_pass_inline_modules, true},
              {"reinplace", sh_pass_reinplace, true},
              {"fuse", sh_pass_fuse_conv_bn, false},
              {"decompose", sh_pass_decompose, false}};
enum { PASSES = sizeof passes / sizeof *passes };

static sh_list *run(const sh_graph *g, sh_tensor *x) {
    sh_manual_seed(9);
    sh_list *out = sh_graph_run(g, SH_LIST(x));
    cr_assert(out != NULL, "%s", message());
    return out;
}

static bool near(const sh_tensor *a, const sh_tensor *b, bool exact) {
    if (exact)
        return sample_same(a, b) ||
               sh_allclose((sh_tensor *)(uintptr_t)a, (sh_tensor *)(uintptr_t)b, .rtol = 0, .atol = 0);
    return sh_allclose((sh_tensor *)(uintptr_t)a, (sh_tensor *)(uintptr_t)b, .rtol = 1e-3, .atol = 1e-4);
}

static void check(const sh_graph *g, sh_tensor *x, const sh_list *expected, bool exact, const char *what,
                  uint64_t seed) {
    sh_tensor *copy = sh_clone(x);
    cr_assert(sh_graph_lint(g) == SH_OK, "%s, seed %llu: %s", what, (unsigned long long)seed, message());
    for (int again = 0; again < 2; again++) {
        const sh_list *got = run(g, x);
        for (size_t i = 0; i < sh_list_size(expected); i++)
            cr_expect(near(sh_list_at(got, i), sh_list_at(expected, i), exact),
                      "%s, seed %llu, run %d, output %zu", what, (unsigned long long)seed, again, i);
        cr_expect(sample_same(x, copy), "%s, seed %llu writes to its input", what, (unsigned long long)seed);
    }
}

Test(passes_random, each_pass_alone) {
    size_t changes[PASSES] = {0};
    sh_module *net = new_net();
    for (uint64_t seed = 0; seed < 60 * PASSES; seed++) SH_SCOPE {
            const size_t p = seed % PASSES;
            sample_state = seed / PASSES;
            sh_tensor *x = sh_randn(SH_SIZES(SIZE, SIZE));
            sh_graph *g = random_graph(net, x);
            const sh_list *expected = run(g, x);
            cr_expect(passes[p].pass(g, &changes[p]) == SH_OK, "%s: %s", passes[p].name, message());
            check(g, x, expected, passes[p].exact, passes[p].name, seed / PASSES);
            sh_graph_free(g);
        }
    for (size_t p = 0; p < PASSES; p++)
        if (p != 3) cr_expect(gt(sz, changes[p], 0), "%s", passes[p].name); /* the graphs are made normal */
    sh_module_release(net);
}

Test(passes_random, any_passes_in_any_order) {
    sh_module *net = new_net();
    for (uint64_t seed = 0; seed < 200; seed++) SH_SCOPE {
            char order[400] = "";
            size_t n = 0;
            sample_state = seed;
            sh_tensor *x = sh_randn(SH_SIZES(SIZE, SIZE));
            sh_graph *g = random_graph(net, x);
            const sh_list *expected = run(g, x);
            bool exact = true;
            for (int64_t i = sample_int(2, 8); i > 0; i--) {
                const int64_t p = sample_int(0, PASSES - 1);
                snprintf(order + strlen(order), sizeof order - strlen(order), "%s ", passes[p].name);
                exact &= passes[p].exact;
                cr_expect(passes[p].pass(g, &n) == SH_OK, "%s: %s", order, message());
                check(g, x, expected, exact, order, seed);
            }
            sh_graph_free(g);
        }
    sh_module_release(net);
}

Test(passes_random, until_nothing_changes_any_more) {
    const sh_pass all[] = {sh_pass_inline_modules, sh_pass_fuse_conv_bn, sh_pass_decompose,
                           sh_pass_fold_constants, sh_pass_cse,          sh_pass_remove_identities,
                           sh_pass_dead_code,      sh_pass_reinplace,    NULL};
    sh_module *net = new_net();
    for (uint64_t seed = 0; seed < 60; seed++) SH_SCOPE {
            size_t n = 0;
            sample_state = seed;
            sh_tensor *x = sh_randn(SH_SIZES(SIZE, SIZE));
            sh_graph *g = random_graph(net, x);
            const sh_list *expected = run(g, x);
            cr_expect(sh_run_passes(g, all, &(sh_pass_options){.until_stable = true, .lint = true}, &n) ==
                          SH_OK,
                      "%s", message());
            check(g, x, expected, false, "all", seed);
            sh_graph_free(g);
        }
    sh_module_release(net);
}

/* A narrow copy is near, and runs. */
Test(passes_random, in_bf16) {
    sh_module *net = new_net();
    for (uint64_t seed = 0; seed < 60; seed++) SH_SCOPE {
            size_t n = 0;
            sample_state = seed;
            sh_tensor *x = sh_randn(SH_SIZES(SIZE, SIZE));
            sh_graph *g = random_graph(net, x);
            const sh_list *expected = run(g, x);
            cr_expect(sh_pass_to_bf16(g, &n) == SH_OK && sh_graph_lint(g) == SH_OK, "%s", message());
            const sh_list *got = run(g, x);
            for (size_t i = 0; i < sh_list_size(expected); i++)
                cr_expect(sh_allclose(sh_list_at(got, i), sh_list_at(expected, i), .rtol = 0.1, .atol = 0.3),
                          "seed %llu", (unsigned long long)seed);
            sh_graph_free(g);
        }
    sh_module_release(net);
}
