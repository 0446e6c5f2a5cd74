/* Folding batch norms: what goes, what stays, and the numbers right every time. */
#include "tests/graphs.h"

TestSuite(fuse_conv_bn);

/* ---- nets ---- */

/* Statistics and scales that a folding must get right. */
static sh_status stir(const char *path, sh_tensor *t, void *user) {
    const bool var = strstr(path, "running_var") != NULL;
    (void)user;
    if (sh_tensor_dtype(t) == SH_I64) return SH_OK;
    if (sh_tensor_ndim(t) == 1) sh_copy_(t, var ? sh_add(sh_rand_like(t), 0.5) : sh_randn_like(t));
    return sh_error() ? sh_error()->code : SH_OK;
}

static sh_module *evaluated(sh_module *net) {
    SH_SCOPE sh_module_walk_tensors(net, SH_PARAMETERS | SH_BUFFERS, stir, NULL);
    if (net) sh_module_eval(net);
    return net;
}

static size_t norms(const sh_module *traced) {
    size_t n = 0;
    SH_EACH_NODE(node, sh_graph_module_graph(traced)) n += strstr(sh_node_target(node), "bn") != NULL;
    return n;
}

/* Traces the net, folds, and says how many went; the numbers are right, the net itself is as it was. Releases the net. */
static size_t folds(sh_module *net, sh_tensor *x, double tolerance) {
    size_t n = 0, again = 0;
    sh_tensor *expected = sh_forward(net, x);
    sh_module *traced = sh_symbolic_trace(net, SH_INPUTS(x), NULL);
    cr_assert(traced && expected, "%s", message());
    sh_graph *g = sh_graph_module_graph(traced);
    const size_t before = norms(traced);
    cr_expect(sh_pass_fuse_conv_bn(g, &n) == SH_OK, "%s", message());
    cr_expect(sh_graph_lint(g) == SH_OK, "%s", message());
    cr_expect(eq(sz, before - norms(traced), n));
    cr_expect(le(dbl, apart(sh_forward(traced, x), expected), tolerance));
    cr_expect(sh_equal(sh_forward(net, x), expected), "the net is as it was");
    cr_expect(sh_pass_fuse_conv_bn(g, &again) == SH_OK && again == 0, "nothing is left to fold");
    sh_module_release(traced);
    sh_module_release(net);
    cr_expect(sh_error() == NULL, "%s", message());
    return n;
}

/* A net of these children, called by their names one after the other: "conv bn relu". */
typedef struct chain {
    const char *order;
} chain;
static sh_tensor *run_chain(sh_module *self, sh_tensor *x) {
    char order[100], *rest = order;
    snprintf(order, sizeof order, "%s", ((chain *)sh_module_state(self))->order);
    for (char *name; (name = strsep(&rest, " ")) != NULL;) x = sh_forward(sh_module_child(self, name), x);
    return x;
}
static sh_module *new_chain(const char *order) {
    static const sh_module_type type = {.name = "Chain", .forward = run_chain, .state_size = sizeof(chain)};
    sh_module *net = sh_module_new(&type);
    if (net) ((chain *)sh_module_state(net))->order = order;
    return net;
}
static sh_module *conv_bn(const char *order) {
    sh_module *net = new_chain(order);
    sh_module_give(net, "conv", sh_nn_conv2d(4, 4, 3, .padding = 1));
    sh_module_give(net, "bn", sh_nn_batch_norm2d(4));
    return net;
}
static sh_tensor *image(void) { return sh_randn(SH_SIZES(2, 4, 5, 5)); }

/* ---- modules ---- */

static sh_module *conv_of_kind(int kind) {
    switch (kind) {
    case 0: return sh_nn_conv2d(4, 6, 3);
    case 1: return sh_nn_conv2d(4, 6, {1, 3}, .bias = false);
    case 2: return sh_nn_conv2d(4, 6, 3, .groups = 2, .stride = 2, .padding = 1);
    case 3: return sh_nn_conv2d(4, 6, 2, .dilation = {2, 1});
    default: return sh_nn_conv2d(4, 4, 3, .groups = 4, .bias = false);
    }
}

Test(fuse_conv_bn, convolutions_of_all_kinds) {
    for (int kind = 0; kind < 5; kind++) SH_SCOPE {
            sh_module *net = new_chain("conv bn");
            sh_module_give(net, "conv", conv_of_kind(kind));
            sh_module_give(net, "bn", sh_nn_batch_norm2d(kind == 4 ? 4 : 6, .eps = 0.01));
            cr_expect(eq(sz, folds(evaluated(net), image(), 1e-5), 1), "kind %d", kind);
        }
}

Test(fuse_conv_bn, a_norm_without_scales_and_one_without_statistics) {
    for (int statistics = 0; statistics < 2; statistics++) SH_SCOPE {
            sh_module *net = conv_bn("conv bn");
            const bool track = statistics != 0;
            sh_module_give(net, "bn", sh_nn_batch_norm2d(4, .affine = false, .track_running_stats = track));
            cr_expect(eq(sz, folds(evaluated(net), image(), 1e-5), statistics ? 1u : 0u));
        }
}

Test(fuse_conv_bn, a_norm_in_training_stays) {
    sh_module *net = evaluated(conv_bn("conv bn"));
    sh_module_train(sh_module_child(net, "bn"), true);
    sh_module *traced = sh_symbolic_trace(net, SH_INPUTS(image()), NULL);
    size_t n = 0;
    cr_expect(sh_pass_fuse_conv_bn(sh_graph_module_graph(traced), &n) == SH_OK && n == 0);
    sh_module_release(traced);
    sh_module_release(net);
}

Test(fuse_conv_bn, a_convolution_called_twice_stays) {
    cr_expect(eq(sz, folds(evaluated(conv_bn("conv bn conv")), image(), 0), 0));
    cr_expect(eq(sz, folds(evaluated(conv_bn("conv bn conv bn")), image(), 0), 0));
}

Test(fuse_conv_bn, one_convolution_at_two_paths_and_two_with_one_weight_stay) {
    for (int same = 0; same < 2; same++) SH_SCOPE {
            sh_module *net = conv_bn("conv bn other bn"), *conv = sh_module_child(net, "conv");
            if (same)
                sh_module_set(net, "other", conv);
            else
                sh_module_give(net, "other", sh_nn_conv2d(4, 4, 3, .padding = 1));
            sh_module_set_parameter(sh_module_child(net, "other"), "weight",
                                    sh_module_parameter(conv, "weight"));
            cr_expect(eq(sz, folds(evaluated(net), image(), 0), 0));
        }
}

Test(fuse_conv_bn, a_norm_behind_two_convolutions_goes_into_both) {
    sh_module *net = conv_bn("conv bn other bn");
    sh_module_give(net, "other", sh_nn_conv2d(4, 4, 1));
    cr_expect(eq(sz, folds(evaluated(net), image(), 1e-5), 2));
}

static sh_tensor *use_twice(sh_module *self, sh_tensor *x) {
    sh_tensor *y = sh_forward(sh_module_child(self, "conv"), x);
    return sh_add(sh_forward(sh_module_child(self, "bn"), y), y);
}

Test(fuse_conv_bn, a_convolution_whose_result_is_used_elsewhere_stays) {
    static const sh_module_type type = {.name = "Net", .forward = use_twice};
    sh_module *net = sh_module_new(&type);
    sh_module_give(net, "conv", sh_nn_conv2d(4, 4, 1));
    sh_module_give(net, "bn", sh_nn_batch_norm2d(4));
    cr_expect(eq(sz, folds(evaluated(net), image(), 0), 0));
}

Test(fuse_conv_bn, two_norms_in_a_row_go_both) {
    sh_module *net = conv_bn("conv bn bn2");
    sh_module_give(net, "bn2", sh_nn_batch_norm2d(4));
    cr_expect(eq(sz, folds(evaluated(net), image(), 1e-5), 2));
}

Test(fuse_conv_bn, a_norm_in_front_of_a_convolution_stays) {
    cr_expect(eq(sz, folds(evaluated(conv_bn("bn conv")), image(), 0), 0));
}

static sh_status look(sh_module *module, sh_values inputs, sh_value *output, void *user) {
    (void)module, (void)inputs, (void)output;
    ++*(int *)user;
    return SH_OK;
}

Test(fuse_conv_bn, modules_with_hooks_stay) {
    const char *const hooked[] = {"conv", "bn"};
    for (int i = 0; i < 2; i++) SH_SCOPE {
            int calls = 0;
            sh_module *net = evaluated(conv_bn("conv bn"));
            sh_module_hook_after(sh_module_child(net, hooked[i]), look, &calls);
            cr_expect(eq(sz, folds(net, image(), 0), 0));
            cr_expect(eq(int, calls, 3));
        }
}

Test(fuse_conv_bn, narrow_and_wide_floats) {
    const struct {
        sh_dtype dtype;
        double tolerance;
    } cases[] = {{SH_F64, 1e-13}, {SH_F16, 1e-2}, {SH_BF16, 5e-2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) SH_SCOPE {
            sh_module *net = evaluated(conv_bn("conv bn"));
            sh_module_to(net, cases[i].dtype);
            cr_expect(eq(sz, folds(net, sh_to(image(), cases[i].dtype), cases[i].tolerance), 1));
        }
}

Test(fuse_conv_bn, the_new_module_takes_the_old_ones_place_and_name) {
    sh_module *net = evaluated(conv_bn("conv bn")), *conv = sh_module_child(net, "conv");
    sh_module *traced = sh_symbolic_trace(net, SH_INPUTS(image()), NULL);
    sh_graph *g = sh_graph_module_graph(traced);
    size_t n = 0;
    cr_expect(sh_pass_fuse_conv_bn(g, &n) == SH_OK);
    cr_expect(text_is(sh_graph_text(g),
                      "graph():\n    %x : [num_users=1] = placeholder[target=x]\n"
                      "    %conv : [num_users=1] = call_module[target=conv](args = (%x,), kwargs = {})\n"
                      "    return conv"));
    cr_expect(sh_node_spec(sh_graph_find(g, "conv")) != NULL);
    cr_expect(sh_module_child(traced, "conv") != conv && sh_module_child(net, "conv") == conv);
    cr_expect(eq(sz, sh_module_children(traced), 2), "nothing hangs beside");
    sh_module_release(traced);
    sh_module_release(net);
}

Test(fuse_conv_bn, whoever_else_looks_at_the_modules_keeps_them) {
    sh_module *net = evaluated(conv_bn("conv bn"));
    sh_tensor *x = image(), *expected = sh_forward(net, x);
    sh_graph *g = sh_trace(net, SH_INPUTS(x), NULL);
    sh_module *traced = sh_symbolic_trace(net, SH_INPUTS(x), NULL);
    sh_graph *copy = sh_graph_clone(sh_graph_module_graph(traced));
    size_t n = 0;
    cr_expect(sh_pass_fuse_conv_bn(g, &n) == SH_OK && n == 1, "of a net that is no graph module");
    cr_expect(sh_pass_fuse_conv_bn(sh_graph_module_graph(traced), &n) == SH_OK && n == 2,
              "with a copy about");
    const sh_graph *const graphs[] = {g, copy};
    for (int i = 0; i < 2; i++) {
        sh_list *out = sh_graph_run(graphs[i], SH_LIST(x));
        cr_assert(out != NULL, "%s", message());
        cr_expect(le(dbl, apart(sh_list_at(out, 0), expected), i ? 0 : 1e-5));
    }
    cr_expect(sh_equal(sh_forward(net, x), expected) && sh_module_children(net) == 2);
    cr_expect(le(dbl, apart(sh_forward(traced, x), expected), 1e-5));
    sh_graph_free(copy);
    sh_graph_free(g);
    sh_module_release(traced);
    sh_module_release(net);
}

Test(fuse_conv_bn, modules_that_were_inlined_fold_as_ops) {
    for (int bias = 0; bias < 2; bias++) SH_SCOPE {
            sh_module *net = conv_bn("conv bn");
            sh_module_give(net, "conv", sh_nn_conv2d(4, 4, 3, .bias = bias != 0));
            sh_module *traced = sh_symbolic_trace(evaluated(net), SH_INPUTS(image()), NULL);
            sh_graph *g = sh_graph_module_graph(traced);
            size_t n = 0;
            sh_tensor *x = image(), *expected = sh_forward(net, x);
            cr_expect(sh_pass_inline_modules(g, &n) == SH_OK && n == 2, "%s", message());
            n = 0;
            cr_expect(sh_pass_fuse_conv_bn(g, &n) == SH_OK && n == 1 && sh_graph_lint(g) == SH_OK);
            cr_expect(eq(sz, sh_graph_find_nodes(g, SH_CALL_FUNCTION, NULL, NULL, 0), 1));
            cr_expect(le(dbl, apart(sh_forward(traced, x), expected), 1e-5));
            cr_expect(sh_equal(sh_forward(net, x), expected), "the net is as it was");
            sh_module_release(traced);
            sh_module_release(net);
        }
}

/* ---- faults ---- */

/* One allocation of the pass fails: false if it met none. Whatever was done, the numbers are right. */
static bool fold_with_failure(sh_module *net, sh_tensor *x, size_t allocation) {
    size_t n = 0;
    sh_tensor *expected = sh_forward(net, x);
    sh_module *traced = sh_symbolic_trace(net, SH_INPUTS(x), NULL);
    sh_graph *g = sh_graph_module_graph(traced);
    sh_memory_fail_after(allocation);
    const sh_status status = sh_pass_fuse_conv_bn(g, &n);
    const bool hit = sh_memory_fail_after(0) >= allocation;
    cr_expect(hit ? error_says(SH_ERROR_MEMORY, "") : status == SH_OK && n == 1, "%zu", allocation);
    cr_expect(sh_graph_lint(g) == SH_OK, "%zu: %s", allocation, message());
    cr_expect(le(dbl, apart(sh_forward(traced, x), expected), 1e-5), "%zu", allocation);
    sh_module_release(traced);
    return hit;
}

Test(fuse_conv_bn, each_allocation_may_fail) {
    sh_module *net = evaluated(conv_bn("conv bn"));
    sh_tensor *x = image();
    size_t n = 1;
    for (bool hit = true; hit && n < 1000; n++) SH_SCOPE hit = fold_with_failure(net, x, n);
    cr_expect(n > 10 && n < 1000);
    sh_module_release(net);
}

Test(fuse_conv_bn, bad_input_is_an_error) {
    size_t n = 0;
    cr_expect(sh_pass_fuse_conv_bn(NULL, &n) < 0 && error_says(SH_ERROR_NULL, "graph is NULL"));
}
