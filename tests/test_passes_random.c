/* Random graphs through each pass and through passes in random order: they stay whole and give what they gave. */
#include "tests/graphs.h"
#include "tests/random_graph.h"
#include "tests/sample.h"

TestSuite(passes_random, .timeout = 120);

static sh_module *new_net(void) {
    sh_module *net = sh_nn_module_list();
    sh_module_give(net, "linear", sh_nn_linear(4, 4));
    sh_module_give(net, "drop", sh_nn_dropout());
    sh_module_give(net, "same", sh_nn_identity());
    sh_module_give(net, "act", sh_nn_tanh());
    if (net) sh_module_eval(net);
    return net;
}

/* ---- passes ---- */

typedef struct pass_case {
    const char *name;
    sh_pass pass;
    double tolerance; /* 0: the same bits */
} pass_case;

static const pass_case passes[] = {{"cse", sh_pass_cse, 0},
                                   {"identities", sh_pass_remove_identities, 1e-3}, /* sums go by layout */
                                   {"dead code", sh_pass_dead_code, 0},
                                   {"normalise", sh_pass_normalize_arguments, 0},
                                   {"fold", sh_pass_fold_constants, 0},
                                   {"inline", sh_pass_inline_modules, 0},
                                   {"reinplace", sh_pass_reinplace, 0},
                                   {"functionalize", sh_pass_functionalize, 0},
                                   {"fuse", sh_pass_fuse_conv_bn, 1e-3},
                                   {"decompose", sh_pass_decompose, 1e-3}};
enum { PASSES = sizeof passes / sizeof *passes };

typedef struct trial {
    const sh_pass *passes; /* NULL ends the list */
    double tolerance;
    size_t changes;
    bool until_stable;
} trial;

/* ---- the same numbers ---- */

static bool near(const sh_tensor *a, const sh_tensor *b, double tolerance) {
    if (random_same(a, b)) return true;
    return tolerance > 0 && a && b &&
           sh_allclose((sh_tensor *)(uintptr_t)a, (sh_tensor *)(uintptr_t)b, .rtol = tolerance,
                       .atol = tolerance, .equal_nan = true);
}

static bool all_near(const sh_list *a, const sh_list *b, double tolerance) {
    bool same = a && b && sh_list_size(a) == sh_list_size(b);
    for (size_t i = 0; same && i < sh_list_size(a); i++)
        same = near(sh_list_at(a, i), sh_list_at(b, i), tolerance);
    return same;
}

/* On a copy of the graph: constants may be written to. */
static sh_list *run_copy(const sh_graph *graph, sh_tensors inputs) {
    sh_graph *copy = sh_graph_clone(graph);
    sh_manual_seed(9);
    sh_list *out = copy ? sh_graph_run(copy, inputs) : NULL;
    sh_graph_free(copy);
    return out;
}

/* What a run gives and what it leaves in its inputs are as they were. */
static bool breaks(sh_graph *graph, sh_tensors inputs, void *user) {
    trial *t = user;
    sh_tensor *before[RANDOM_INPUTS_MOST], *after[RANDOM_INPUTS_MOST];
    const sh_tensors old = random_copies(inputs, before), new = random_copies(inputs, after);
    const sh_list *expected = run_copy(graph, old);
    const sh_pass_options how = {.until_stable = t->until_stable, .lint = true};
    size_t changes = 0;
    const sh_status status = sh_run_passes(graph, t->passes, &how, &changes);
    t->changes += changes;
    if (status < 0) {
        fprintf(stderr, "%s\n", message());
        return true;
    }
    sh_manual_seed(9);
    bool same = all_near(sh_graph_run(graph, new), expected, t->tolerance);
    for (size_t i = 0; i < inputs.n; i++) same &= near(after[i], before[i], t->tolerance);
    return !same;
}

Test(passes_random, each_pass_alone) {
    sh_module *net = new_net();
    for (size_t p = 0; p < PASSES; p++) {
        const sh_pass list[] = {passes[p].pass, NULL};
        const bool exact = passes[p].tolerance == 0;
        const random_graph_how guarded = {.net = net, .draws = true, .guards = true, .smooth = !exact},
                               open = {.net = net, .constants = true, .smooth = !exact, .nodes = 24};
        trial t = {.passes = list, .tolerance = passes[p].tolerance};
        cr_expect(eq(sz, random_graphs_failing(0, 250, &guarded, breaks, &t), 0), "%s", passes[p].name);
        cr_expect(eq(sz, random_graphs_failing(1000, 250, &open, breaks, &t), 0), "%s", passes[p].name);
        cr_expect(gt(sz, t.changes, 5), "%s", passes[p].name);
    }
    sh_module_release(net);
}

/* The passes of a trial, chosen by chance; the bits are the same where they are for each. */
static void choose(trial *t, sh_pass *list, bool exact) {
    size_t n = 0;
    t->tolerance = 0;
    for (int64_t i = sample_int(2, 8); i > 0;) {
        const pass_case *p = &passes[sample_int(0, PASSES - 1)];
        if (exact && p->tolerance > 0) continue;
        if (p->tolerance > t->tolerance) t->tolerance = p->tolerance;
        list[n++] = p->pass;
        i--;
    }
    list[n] = NULL;
}

Test(passes_random, any_passes_in_any_order) {
    sh_module *net = new_net();
    for (uint64_t seed = 0; seed < 1000; seed++) {
        sh_pass list[10];
        trial t = {.passes = list};
        const bool exact = seed % 2;
        const random_graph_how how = {.net = net,
                                      .draws = true,
                                      .guards = seed % 3 != 0,
                                      .constants = seed % 3 == 0,
                                      .smooth = !exact,
                                      .nodes = 24};
        sample_state = seed;
        choose(&t, list, exact);
        cr_expect(eq(sz, random_graphs_failing(seed, 1, &how, breaks, &t), 0), "seed %llu",
                  (unsigned long long)seed);
    }
    sh_module_release(net);
}

Test(passes_random, until_nothing_changes_any_more) {
    const sh_pass all[] = {sh_pass_inline_modules,    sh_pass_functionalize,  sh_pass_fuse_conv_bn,
                           sh_pass_decompose,         sh_pass_fold_constants, sh_pass_cse,
                           sh_pass_remove_identities, sh_pass_dead_code,      NULL};
    sh_module *net = new_net();
    trial t = {.passes = all, .tolerance = 1e-3, .until_stable = true};
    const random_graph_how how = {.net = net, .draws = true, .constants = true, .smooth = true, .nodes = 30};
    cr_expect(eq(sz, random_graphs_failing(0, 200, &how, breaks, &t), 0));
    sh_module_release(net);
}

/* A narrow copy is near, and runs. */
Test(passes_random, in_bf16) {
    const sh_pass list[] = {sh_pass_to_bf16, NULL};
    sh_module *net = new_net();
    trial t = {.passes = list, .tolerance = 0.3};
    const random_graph_how how = {.net = net, .smooth = true, .guards = true, .nodes = 12};
    cr_expect(eq(sz, random_graphs_failing(0, 60, &how, breaks, &t), 0));
    sh_module_release(net);
}
