/* The generator and the shrinker that other suites rest on. */
#include "tests/graphs.h"
#include "tests/random_graph.h"

TestSuite(random_graph, .timeout = 60);

static sh_list *run(const random_graph *r) {
    sh_tensor *room[RANDOM_INPUTS_MOST];
    sh_manual_seed(3);
    return sh_graph_run(r->graph, random_copies((sh_tensors){r->inputs, r->ninputs}, room));
}

Test(random_graph, a_seed_gives_the_same_graph_again_and_it_runs) {
    size_t size = 0;
    for (uint64_t seed = 0; seed < 300; seed++) SH_SCOPE {
            const random_graph_how how = {.draws = seed % 2, .smooth = seed % 3 == 0, .guards = true};
            random_graph a = random_graph_new(seed, &how), b = random_graph_new(seed, &how);
            char *text = random_graph_text(&a), *again = random_graph_text(&b);
            cr_assert(text && again, "%s", message());
            cr_expect(strcmp(text, again) == 0, "seed %llu", (unsigned long long)seed);
            const sh_list *x = run(&a), *y = run(&b);
            cr_assert(x && y, "seed %llu: %s\n%s", (unsigned long long)seed, message(), text);
            for (size_t i = 0; i < sh_list_size(x); i++)
                cr_expect(random_same(sh_list_at(x, i), sh_list_at(y, i)), "seed %llu",
                          (unsigned long long)seed);
            size += sh_graph_size(a.graph);
            free(text);
            free(again);
            random_graph_free(&a);
            random_graph_free(&b);
        }
    cr_expect(gt(sz, size, 300 * 15));
}

/* Every kind of op is met. */
Test(random_graph, ops_of_all_kinds_are_met) {
    static const char *const ops[] = {
        "add",        "mul_",        "copy_",      "add_",         "masked_fill_", "where",     "clamp",
        "sum",        "softmax",     "max.dim",    "argmax",       "cumsum",       "transpose", "permute",
        "view",       "reshape",     "expand",     "select",       "slice",        "split",     SH_GETITEM,
        "cat",        "stack",       "matmul",     "linear",       "conv1d",       "conv2d",    "max_pool2d",
        "avg_pool2d", "batch_norm",  "layer_norm", "index_select", "embedding",    "pad",       "to",
        "copy",       "zeros_like",  "arange",     "rand_like",    "dropout",      "outer",     "addmm",
        "bmm",        "bitwise_and", "lt",         "tril"};
    enum { OPS = sizeof ops / sizeof *ops };
    size_t met[OPS] = {0}, outs = 0;
    for (uint64_t seed = 0; seed < 1500; seed++) {
        random_graph r = random_graph_new(seed, &(random_graph_how){.draws = true});
        SH_EACH_NODE(node, r.graph) {
            for (int i = 0; i < OPS; i++) met[i] += strcmp(sh_node_target(node), ops[i]) == 0;
            outs += sh_node_kwarg(node, "out").tag == SH_ARG_NODE;
        }
        random_graph_free(&r);
    }
    for (int i = 0; i < OPS; i++) cr_expect(gt(sz, met[i], 4), "%s", ops[i]);
    cr_expect(gt(sz, outs, 50));
}

/* ---- the shrinker ---- */

/* The planted fault: a sum of what an abs or a square gives. */
static bool has_fault(sh_graph *graph, sh_tensors inputs, void *user) {
    (void)inputs, (void)user;
    SH_EACH_NODE(node, graph) {
        if (strcmp(sh_node_target(node), "add") != 0) continue;
        sh_node *in[4];
        const size_t n = sh_node_inputs(node, in, 4);
        for (size_t i = 0; i < n; i++)
            if (strcmp(sh_node_target(in[i]), "abs") == 0 || strcmp(sh_node_target(in[i]), "square") == 0)
                return true;
    }
    return false;
}

Test(random_graph, a_failing_graph_shrinks_to_what_fails) {
    size_t shrunk = 0;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        random_graph r = random_graph_new(seed, &(random_graph_how){.nodes = 30});
        if (has_fault(r.graph, (sh_tensors){NULL, 0}, NULL)) {
            random_graph_shrink(&r, has_fault, NULL);
            char *text = random_graph_text(&r);
            cr_expect(has_fault(r.graph, (sh_tensors){NULL, 0}, NULL));
            cr_expect(le(sz, sh_graph_size(r.graph), 6), "seed %llu:\n%s", (unsigned long long)seed, text);
            for (size_t i = 0; i < r.ninputs; i++)
                cr_expect(le(i64, sh_tensor_numel(r.inputs[i]), 1), "%s", text);
            free(text);
            shrunk++;
        }
        random_graph_free(&r);
    }
    cr_expect(gt(sz, shrunk, 4));
}

/* A fault of the numbers: a pass that takes every sub for an add. */
static bool differs(sh_graph *graph, sh_tensors inputs, void *user) {
    sh_tensor *room[RANDOM_INPUTS_MOST];
    size_t *asked = user;
    ++*asked;
    const sh_list *before = sh_graph_run(graph, random_copies(inputs, room));
    SH_EACH_NODE(node, graph) if (strcmp(sh_node_target(node), "sub") == 0) sh_node_set_target(node, "add");
    const sh_list *after = sh_graph_run(graph, random_copies(inputs, room));
    for (size_t i = 0; before && after && i < sh_list_size(before); i++)
        if (!random_same(sh_list_at(before, i), sh_list_at(after, i))) return true;
    return false;
}

Test(random_graph, numbers_that_differ_shrink_to_the_one_node) {
    size_t asked = 0, shrunk = 0;
    for (uint64_t seed = 0; seed < 200; seed++) SH_SCOPE {
            random_graph r = random_graph_new(seed, &(random_graph_how){.guards = true});
            sh_graph *copy = sh_graph_clone(r.graph);
            if (differs(copy, (sh_tensors){r.inputs, r.ninputs}, &asked)) {
                random_graph_shrink(&r, differs, &asked);
                char *text = random_graph_text(&r);
                cr_expect(strstr(text, "target=sub") && sh_graph_size(r.graph) <= 5, "%s", text);
                free(text);
                shrunk++;
            }
            sh_graph_free(copy);
            random_graph_free(&r);
        }
    cr_expect(gt(sz, shrunk, 5));
    cr_expect(gt(sz, asked, 200));
}
