/* Symbolic traces: what becomes a node, what is specialised, what modes do, what can't be read. */
#include <stdlib.h>

#include "tests/fail_each.h"
#include "tests/modes.h"
#include "tests/sample.h"

TestSuite(trace);

static bool reads(sh_graph *graph, const char *expected) {
    char *text = graph ? sh_graph_text(graph) : NULL;
    const bool same = text && strcmp(text + strlen("graph():\n"), expected) == 0;
    if (!same)
        fprintf(stderr, "got:\n%s\nexpected:\n%s\n",
                text         ? text
                : sh_error() ? sh_error()->message
                             : "nothing",
                expected);
    free(text);
    sh_graph_free(graph);
    return same;
}

static sh_tensor *net_forward(sh_module *self, sh_tensor *x) {
    sh_tensor *y =
        sh_relu(sh_forward(sh_module_child(self, "linear"), sh_add(x, sh_module_parameter(self, "shift"))));
    return sh_mul(y, sh_zeros(SH_SIZES(4)));
}
static const sh_module_type net_type = {.name = "Net", .forward = net_forward};

static sh_module *new_net(void) {
    sh_module *net = sh_module_new(&net_type);
    sh_module_give(net, "linear", sh_nn_linear(3, 4));
    if (net && !sh_error()) sh_module_set_parameter(net, "shift", sh_ones(SH_SIZES(3)));
    if (!sh_error()) return net;
    sh_module_release(net);
    return NULL;
}

Test(trace, ops_are_functions_built_ins_are_modules_parameters_are_attributes) {
    sh_module *net = new_net();
    sh_graph *g = sh_trace(net, SH_INPUTS(sh_rand(SH_SIZES(2, 3))), NULL);
    cr_assert(g != NULL);
    const sh_spec *spec = sh_node_spec(sh_graph_find(g, "linear"));
    cr_expect(spec && spec->ndim == 2 && spec->sizes[1] == 4 && spec->dtype == SH_F32);
    cr_expect(sh_node_site(sh_graph_find(g, "linear")) != NULL, "where forward calls it");
    cr_expect(
        reads(g, "    %x : [num_users=1] = placeholder[target=x]\n"
                 "    %shift : [num_users=1] = get_attr[target=shift]\n"
                 "    %add : [num_users=1] = call_function[target=add](args = (%x, %shift), kwargs = {})\n"
                 "    %linear : [num_users=1] = call_module[target=linear](args = (%add,), kwargs = {})\n"
                 "    %relu : [num_users=1] = call_function[target=relu](args = (%linear,), kwargs = {})\n"
                 "    %zeros : [num_users=1] = call_function[target=zeros](args = ([4],), kwargs = {})\n"
                 "    %mul : [num_users=1] = call_function[target=mul](args = (%relu, %zeros), kwargs = {})\n"
                 "    return mul"));
    sh_module_release(net);
}

/* A kernel that counts its runs. */
static int runs;
static sh_status counting(sh_call *call, void *user) {
    (void)user;
    (void)call;
    runs++;
    return SH_OK;
}

Test(trace, nothing_is_computed_not_even_what_is_made_of_parameters_and_factories) {
    sh_module *net = new_net();
    sh_kernel kernels[3];
    const char *const names[] = {"zeros", "add", "relu"};
    for (int i = 0; i < 3; i++) sh_kernel_register(names[i], "cpu", counting, NULL, "counting", &kernels[i]);
    sh_graph *g = sh_trace(net, SH_INPUTS(sh_tensor_new(SH_F32, SH_SIZES(2, 3))), NULL);
    cr_expect(g != NULL && runs == 0);
    for (int i = 0; i < 3; i++) sh_kernel_remove(kernels[i]);
    sh_graph_free(g);
    sh_module_release(net);
}

static sh_value on_parameters(sh_module *self, sh_values in) {
    sh_tensor *w = sh_module_parameter(self, "w");
    sh_add_(sh_module_buffer(self, "count"), 1);
    sh_tensor *both[] = {w, sh_mul(w, w)};
    return sh_value_tensor(sh_add(in.at[0].as.tensor, sh_cat(sh_tensors_of(both, 2))));
}
static const sh_module_type on_parameters_type = {.name = "OnParameters", .forward_values = on_parameters};

Test(trace, writes_to_buffers_are_recorded_and_not_done) {
    sh_module *m = sh_module_new(&on_parameters_type);
    sh_module_set_parameter(m, "w", sh_full(SH_SIZES(2), 3, .dtype = SH_F32));
    sh_module_set_buffer(m, "count", sh_zeros(SH_SIZES(1)));
    sh_module *traced = sh_symbolic_trace(m, SH_INPUTS(sh_rand(SH_SIZES(4))), NULL);
    cr_assert(traced != NULL, "%s", sh_error() ? sh_error()->message : "");
    cr_expect(eq(dbl, first(sh_module_buffer(m, "count")), 0));
    sh_tensor *x = sh_rand(SH_SIZES(4)), *y = sh_forward(traced, x);
    cr_expect(eq(dbl, first(sh_module_buffer(m, "count")), 1));
    cr_expect(sample_same(y, sh_forward(m, x)));
    sh_module_release(traced);
    sh_module_release(m);
}

/* ---- leaves ---- */

static sh_module *nested(void) {
    sh_module *net = sh_nn_sequential(sh_nn_sequential(sh_nn_linear(3, 3), sh_nn_relu()));
    sh_module_give(net, "layer1", sh_nn_sequential(sh_nn_tanh()));
    return net;
}

static bool none(const char *path, const sh_module *module, void *user) {
    (void)path;
    (void)module;
    (void)user;
    return false;
}
static bool layer1(const char *path, const sh_module *module, void *user) {
    (void)user;
    return strcmp(path, "layer1") == 0 || sh_module_type_of(module)->leaf;
}

Test(trace, containers_are_run_through_and_a_predicate_changes_what_is_a_leaf) {
    sh_module *net = nested();
    const sh_values in = SH_INPUTS(sh_rand(SH_SIZES(2, 3)));
    cr_expect(
        reads(sh_trace(net, in, NULL),
              "    %input_1 : [num_users=1] = placeholder[target=input]\n"
              "    %_0_0 : [num_users=1] = call_module[target=0.0](args = (%input_1,), kwargs = {})\n"
              "    %_0_1 : [num_users=1] = call_module[target=0.1](args = (%_0_0,), kwargs = {})\n"
              "    %layer1_0 : [num_users=1] = call_module[target=layer1.0](args = (%_0_1,), kwargs = {})\n"
              "    return layer1_0"));
    const char *const names[] = {"x", NULL};
    cr_expect(reads(sh_trace(net, in, &(sh_trace_options){.is_leaf = layer1, .names = names}),
                    "    %x : [num_users=1] = placeholder[target=x]\n"
                    "    %_0_0 : [num_users=1] = call_module[target=0.0](args = (%x,), kwargs = {})\n"
                    "    %_0_1 : [num_users=1] = call_module[target=0.1](args = (%_0_0,), kwargs = {})\n"
                    "    %layer1 : [num_users=1] = call_module[target=layer1](args = (%_0_1,), kwargs = {})\n"
                    "    return layer1"));
    sh_graph *g = sh_trace(net, in, &(sh_trace_options){.is_leaf = none});
    cr_expect(sh_graph_find(g, "linear") && sh_node_opcode(sh_graph_find(g, "linear")) == SH_CALL_FUNCTION);
    cr_expect(sh_node_opcode(sh_graph_find(g, "_0_0_weight")) == SH_GET_ATTR);
    cr_expect(eq(str, TEXT(sh_node_scope(sh_graph_find(g, "tanh"))), "layer1.0"));
    sh_graph_free(g);
    sh_module_release(net);
}

static sh_tensor *stray_forward(sh_module *self, sh_tensor *x) {
    (void)self;
    sh_module *relu = sh_nn_relu();
    sh_tensor *y = sh_forward(relu, x);
    sh_module_release(relu);
    return y;
}
static const sh_module_type stray_type = {.name = "Stray", .forward = stray_forward};

Test(trace, a_module_that_is_not_in_the_tree_is_an_error) {
    sh_module *m = sh_module_new(&stray_type);
    cr_expect(sh_trace(m, SH_INPUTS(number(1)), NULL) == NULL);
    cr_expect(failed_with(SH_ERROR_VALUE, "a ReLU is called that is not in the module that is traced"));
    sh_module_release(m);
}

/* An argument that a leaf or an op hands back stands for that node from then on, and for its own before. */
static sh_tensor *twice_forward(sh_module *self, sh_tensor *x) {
    sh_tensor *same = sh_forward(sh_module_child(self, "drop"), x), *sum = sh_add(x, same);
    return sh_add(sum, sh_to(x, SH_F32));
}
static const sh_module_type twice_type = {.name = "Twice", .forward = twice_forward};

Test(trace, what_is_handed_back_is_a_value_of_its_own) {
    sh_module *m = sh_module_new(&twice_type);
    sh_module_give(m, "drop", sh_nn_dropout());
    sh_module_eval(m);
    cr_expect(
        reads(sh_trace(m, SH_INPUTS(number(1)), NULL),
              "    %x : [num_users=3] = placeholder[target=x]\n"
              "    %drop : [num_users=1] = call_module[target=drop](args = (%x,), kwargs = {})\n"
              "    %add : [num_users=1] = call_function[target=add](args = (%x, %drop), kwargs = {})\n"
              "    %to : [num_users=1] = call_function[target=to](args = (%x, torch.float32), kwargs = {})\n"
              "    %add_1 : [num_users=1] = call_function[target=add](args = (%add, %to), kwargs = {})\n"
              "    return add_1"));
    sh_module_release(m);
}

/* ---- modes ---- */

static sh_status relu_to_gelu(sh_mode *mode, sh_call *call) {
    (void)mode;
    if (sh_call_family(call) == SH_OP_relu) SH_TRY(sh_call_swap(call, SH_OP_gelu));
    return SH_PASS;
}

Test(trace, the_rewriting_of_modes_is_in_the_graph_also_inside_leaves_that_they_want) {
    sh_module *net = nested();
    static const char *const ops[] = {"relu", NULL};
    sh_mode *mode = sh_mode_new(relu_to_gelu, &(sh_mode_options){.kind = SH_MODE_REWRITING, .ops = ops});
    sh_graph *g;
    SH_WITH_MODE(mode) g = sh_trace(net, SH_INPUTS(sh_rand(SH_SIZES(2, 3))), NULL);
    cr_expect(reads(
        g, "    %input_1 : [num_users=1] = placeholder[target=input]\n"
           "    %_0_0 : [num_users=1] = call_module[target=0.0](args = (%input_1,), kwargs = {})\n"
           "    %gelu : [num_users=1] = call_function[target=gelu](args = (%_0_0,), kwargs = {})\n"
           "    %layer1_0 : [num_users=1] = call_module[target=layer1.0](args = (%gelu,), kwargs = {})\n"
           "    return layer1_0"));
    sh_mode_release(mode);
    sh_module_release(net);
}

Test(trace, a_mode_that_does_not_say_what_it_is_is_taken_for_one_that_rewrites) {
    sh_module *net = nested();
    sh_tensor *x = sh_rand(SH_SIZES(2, 3));
    sh_graph *g;
    SH_WITH_MODE(relu_to_gelu) g = sh_trace(net, SH_INPUTS(x), NULL);
    cr_assert(g != NULL);
    cr_expect(sh_graph_find(g, "gelu") && sh_graph_find(g, "linear") && sh_graph_find(g, "tanh"));
    cr_expect(eq(int, sh_node_opcode(sh_graph_find(g, "linear")), SH_CALL_FUNCTION));
    sh_graph_free(g);
    sh_module_release(net);
}

Test(trace, at_dispatch_level_composites_are_traced_through_for_a_mode_that_wants_their_parts) {
    sh_module *net = nested();
    static const char *const ops[] = {"add", NULL};
    sh_mode *mode = sh_mode_new(
        add_to_mul, &(sh_mode_options){.kind = SH_MODE_REWRITING, .ops = ops, .level = SH_LEVEL_DISPATCH});
    sh_graph *g;
    sh_set_warning_sink(sh_warnings_off, NULL);
    SH_WITH_MODE(mode) g = sh_trace(net, SH_INPUTS(sh_rand(SH_SIZES(2, 3))), NULL);
    cr_assert(g != NULL);
    cr_expect(sh_graph_find(g, "mul") && !sh_graph_find(g, "add") && !sh_graph_find(g, "linear"));
    cr_expect(sh_graph_find(g, "_0_1") && sh_graph_find(g, "layer1_0"));
    sh_graph_free(g);
    sh_mode_release(mode);
    sh_module_release(net);
}

Test(trace, a_watching_mode_sees_the_ops_of_leaves_and_changes_nothing) {
    sh_module *net = nested();
    sh_mode *mode = noting_mode("W");
    sh_tensor *x = sh_rand(SH_SIZES(2, 3));
    sh_graph *g;
    SH_WITH_MODE(mode) g = sh_trace(net, SH_INPUTS(x), NULL);
    cr_expect(eq(str, seen, "W:linear W:relu W:tanh "));
    cr_expect(g && sh_graph_find(g, "_0_0"));
    sh_graph_free(g);
    sh_mode_release(mode);
    sh_module_release(net);
}

/* ---- inputs and outputs ---- */

static sh_value many(sh_values in, void *user) {
    (void)user;
    const sh_tensors list = sh_value_as_tensors(in.at[1]);
    sh_tensor *x = in.at[0].as.tensor, *y = sh_mul(sh_cat(list), in.at[2].as.f);
    if (in.at[3].tag == SH_TAG_FLAG && in.at[3].as.i) y = sh_neg(y);
    return sh_list_value(SH_LIST(x, y));
}

Test(trace, numbers_are_specialised_and_lists_opened) {
    static const char *const names[] = {"x", "list", "scale", "negate", NULL};
    sh_tensor *a = number(1), *b = number(2);
    cr_expect(reads(
        sh_trace_function(many, NULL, SH_INPUTS(a, SH_LIST(a, b), 0.5, sh_value_flag(true)),
                          &(sh_trace_options){.names = names}),
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %list_1 : [num_users=1] = placeholder[target=list_1]\n"
        "    %list_2 : [num_users=1] = placeholder[target=list_2]\n"
        "    %cat : [num_users=1] = call_function[target=cat](args = ([%list_1, %list_2],), kwargs = {})\n"
        "    %mul : [num_users=1] = call_function[target=mul](args = (%cat, 0.5), kwargs = {})\n"
        "    %neg : [num_users=1] = call_function[target=neg](args = (%mul,), kwargs = {})\n"
        "    return [x, neg]"));
}

static sh_value branch(sh_values in, void *user) {
    (void)user;
    sh_tensor *x = in.at[0].as.tensor, *mask = in.at[1].as.tensor;
    return sh_value_tensor(sh_item(sh_sum(mask)) > 1 ? sh_neg(x) : x);
}

Test(trace, branching_on_data_is_an_error_that_names_the_op_and_the_ways_out) {
    static const char *const names[] = {"x", "mask", NULL}, *const concrete[] = {"mask", NULL},
                             *const no[] = {"k", NULL};
    const sh_values in = SH_INPUTS(number(1), number(2));
    cr_expect(sh_trace_function(branch, NULL, in, &(sh_trace_options){.names = names}) == NULL);
    cr_expect(failed_with(
        SH_ERROR_UNSUPPORTED,
        "sh_item: the result of sum (%sum_1) has no data while a graph is traced; give what decides as "
        "a concrete argument, make the module that reads it a leaf of the trace, or choose with where"));
    cr_expect(eq(sz, sh_mode_depth(), 0));
    cr_expect(
        reads(sh_trace_function(branch, NULL, in, &(sh_trace_options){.names = names, .concrete = concrete}),
              "    %x : [num_users=1] = placeholder[target=x]\n"
              "    %neg : [num_users=1] = call_function[target=neg](args = (%x,), kwargs = {})\n"
              "    return neg"));
    cr_expect(sh_trace_function(branch, NULL, in, &(sh_trace_options){.names = names, .concrete = no}) ==
              NULL);
    cr_expect(failed_with(SH_ERROR_VALUE, "no input is called k"));
}

static sh_value read_it(sh_values in, void *user) {
    sh_tensor *x = in.at[0].as.tensor;
    char *text = NULL;
    switch (*(int *)user) {
    case 0: sh_item_int(x); break;
    case 1: sh_tensor_at(x, (const int64_t[]){0}); break;
    case 2: text = sh_tensor_text(x); break;
    case 3: sh_nonzero(x); break;
    case 4: sh_allclose(x, x); break;
    case 5: sh_save_npy("/nowhere", x); break;
    default: sh_to_dlpack_unversioned(x);
    }
    free(text);
    return in.at[0];
}

Test(trace, every_way_to_read_is_refused_alike) {
    for (int way = 0; way < 7; way++) {
        cr_expect(sh_trace_function(read_it, &way, SH_INPUTS(SH_FLOATS(1)), NULL) == NULL, "way %d", way);
        cr_expect(failed_with(SH_ERROR_UNSUPPORTED, "input x has no data while a graph is traced"), "way %d",
                  way);
    }
}

/* ---- leaves that read data ---- */

static sh_value decides(sh_module *self, sh_values in) {
    (void)self;
    sh_tensor *x = in.at[0].as.tensor;
    return sh_value_tensor(sh_item(sh_sum(x)) > 0 ? sh_neg(x) : x);
}
static sh_value same_shape(sh_module *self, sh_values in) {
    (void)self;
    return in.at[0];
}
static const sh_module_type decides_type = {.name = "Decides", .forward_values = decides, .leaf = true};
static const sh_module_type told_type = {
    .name = "Told", .forward_values = decides, .infer = same_shape, .leaf = true};

Test(trace, a_leaf_that_reads_data_is_a_node_where_its_type_tells_the_shape) {
    sh_module *net = sh_nn_sequential(sh_module_new(&told_type)),
              *bad = sh_nn_sequential(sh_module_new(&decides_type));
    sh_module *traced = sh_symbolic_trace(net, SH_INPUTS(number(1)), NULL);
    cr_assert(traced != NULL);
    cr_expect(eq(dbl, first(sh_forward(traced, number(3))), -3));
    cr_expect(eq(dbl, first(sh_forward(traced, number(-3))), -3));
    cr_expect(sh_symbolic_trace(bad, SH_INPUTS(number(1)), NULL) == NULL);
    cr_expect(failed_with(SH_ERROR_UNSUPPORTED, "leaf 0 reads data"));
    sh_module_release(traced);
    sh_module_release(net);
    sh_module_release(bad);
}

/* ---- user functions ---- */

static sh_status halve(void *user, sh_arguments args, sh_value *result) {
    (void)user;
    *result = sh_value_tensor(sh_mul(sh_arguments_tensor(args, 0), 0.5));
    return SH_OK;
}
static sh_tensor *halves(sh_module *self, sh_tensor *x) {
    (void)self;
    return sh_function_call("halve", x);
}
static const sh_module_type halves_type = {.name = "Halves", .forward = halves},
                            halves_leaf_type = {.name = "HalvesLeaf", .forward = halves, .leaf = true};

Test(trace, a_user_function_is_one_node_and_none_inside_a_leaf) {
    sh_function_register("halve", halve, NULL);
    sh_module *net = sh_nn_sequential(sh_module_new(&halves_leaf_type), sh_module_new(&halves_type));
    cr_expect(reads(sh_trace(net, SH_INPUTS(number(1)), NULL),
                    "    %input_1 : [num_users=1] = placeholder[target=input]\n"
                    "    %_0 : [num_users=1] = call_module[target=0](args = (%input_1,), kwargs = {})\n"
                    "    %halve : [num_users=1] = call_function[target=halve](args = (%_0,), kwargs = {})\n"
                    "    return halve"));
    sh_module_release(net);
    sh_function_remove("halve");
}

/* ---- memory ---- */

static bool trace_and_run(void) {
    sh_module *net = new_net();
    sh_module *traced = net ? sh_symbolic_trace(net, SH_INPUTS(sh_zeros(SH_SIZES(2, 3))), NULL) : NULL;
    const bool done = traced && sh_forward(traced, sh_zeros(SH_SIZES(2, 3)));
    sh_module_release(traced);
    sh_module_release(net);
    return done;
}

Test(trace, every_allocation_may_fail) { fail_each("tracing", trace_and_run); }

/* ---- statistics ---- */

static bool is_still(const sh_module *bn) {
    return sh_item_int(sh_module_buffer(bn, "num_batches_tracked")) == 0 &&
           sh_item(sh_max(sh_abs(sh_module_buffer(bn, "running_mean")))) == 0 &&
           sh_item(sh_min(sh_module_buffer(bn, "running_var"))) == 1;
}

Test(trace, statistics_of_a_batch_norm_in_training_stay_as_they_are) {
    SH_SCOPE {
        sh_module *bn = sh_nn_batch_norm2d(3);
        sh_tensor *x = sh_rand(SH_SIZES(2, 3, 4, 4));
        sh_graph_free(sh_trace(bn, SH_INPUTS(x), NULL));
        cr_expect(sh_error() == NULL && is_still(bn), "alone");
        sh_mode *noting = noting_mode("a");
        SH_WITH_MODE(noting) sh_graph_free(sh_trace(bn, SH_INPUTS(x), NULL));
        cr_expect(sh_error() == NULL && is_still(bn), "under a mode");
        sh_graph *through = sh_trace(bn, SH_INPUTS(x), &(sh_trace_options){.is_leaf = none});
        cr_expect(sh_error() == NULL && is_still(bn), "traced through");
        cr_expect(sh_graph_run(through, SH_LIST(x)) != NULL && !is_still(bn), "what was traced moves them");
        sh_tensor *moved = sh_clone(sh_module_buffer(bn, "running_mean"));
        sh_copy_(sh_module_buffer(bn, "running_mean"), sh_zeros(SH_SIZES(3)));
        sh_copy_(sh_module_buffer(bn, "running_var"), sh_ones(SH_SIZES(3)));
        cr_expect(sh_forward(bn, x) != NULL && sh_equal(sh_module_buffer(bn, "running_mean"), moved),
                  "as the module itself does");
        sh_graph_free(through);
        sh_mode_release(noting);
        sh_module_release(bn);
    }
}
