/* Modules: trees, calls, hooks, scopes, state, printing. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/fail_each.h"
#include "tests/modes.h"
#include "tests/sample.h"

TestSuite(module);

/* relu(linear(x)), as a user writes it. */
static sh_tensor *net_forward(sh_module *self, sh_tensor *x) {
    return sh_relu(sh_forward(sh_module_child(self, "linear"), x));
}
static const sh_module_type net_type = {.name = "Net", .forward = net_forward};

static sh_module *new_net(void) {
    sh_module *net = sh_module_new(&net_type);
    if (sh_module_give(net, "linear", sh_nn_linear(3, 4))) return net;
    sh_module_release(net);
    return NULL;
}

/* Two in, a list of two out. */
static sh_value swap_forward(sh_module *self, sh_values in) {
    (void)self;
    return sh_list_value(SH_LIST(in.at[1].as.tensor, in.at[0].as.tensor));
}
static const sh_module_type swap_type = {.name = "Swap", .forward_values = swap_forward};

static sh_value twice_forward(sh_module *self, sh_values in) {
    (void)self;
    return sh_list_value(SH_LIST(in.at[0].as.tensor, in.at[0].as.tensor));
}
static const sh_module_type twice_type = {.name = "Twice", .forward_values = twice_forward};

static bool shows(sh_module *module, const char *expected) {
    char *text = sh_module_text(module);
    const bool same = text && strcmp(text, expected) == 0;
    if (!same) fprintf(stderr, "got:\n%s\nexpected:\n%s\n", text ? text : "nothing", expected);
    free(text);
    sh_module_release(module);
    return same;
}

/* ---- running ---- */

Test(module, a_user_module_is_one_function_and_its_result_belongs_to_the_caller) {
    sh_module *net = new_net();
    sh_tensor *x = sh_rand(SH_SIZES(2, 3));
    const size_t held = sh_scope_held();
    sh_tensor *y = sh_forward(net, x);
    cr_expect(eq(sz, sh_scope_held(), held + 1), "what forward made on the way dies with the call");
    sh_tensor *weight = sh_module_parameter(net, "linear.weight"),
              *bias = sh_module_parameter(net, "linear.bias");
    cr_expect(sample_same(y, sh_relu(sh_linear(x, weight, .bias = bias))));
    sh_module_release(net);
    cr_expect(not(first(y) < 0));
}

Test(module, several_inputs_and_a_list_pass_as_values) {
    sh_module *swap = sh_module_new(&swap_type);
    sh_tensor *a = number(1), *b = number(2);
    const sh_value out = sh_module_call(swap, SH_INPUTS(a, b));
    cr_assert(eq(u32, out.tag, SH_TAG_TENSORS));
    cr_expect(eq(u32, out.count, 2));
    cr_expect(out.as.tensors[0] == b && out.as.tensors[1] == a);
    sh_module *same = sh_nn_sequential(sh_nn_identity());
    const sh_value list = sh_module_call(same, SH_INPUTS(SH_LIST(a, b)));
    cr_expect(list.tag == SH_TAG_TENSORS && list.count == 2 && list.as.tensors[1] == b);
    sh_module_release(same);
    sh_module *both = sh_module_new(&twice_type);
    cr_expect(sh_forward(both, a) == NULL);
    cr_expect(failed_with(SH_ERROR_TYPE, "Twice gives no tensor: call it by sh_module_call"));
    sh_module_release(swap);
    sh_module_release(both);
}

Test(module, wrong_inputs_and_missing_forwards_are_errors_that_name_the_type) {
    sh_module *net = new_net(), *list = sh_nn_module_list(sh_nn_relu());
    sh_tensor *x = number(1);
    sh_module_call(net, SH_INPUTS(x, x));
    cr_expect(failed_with(SH_ERROR_ARGUMENT, "Net: 2 inputs given, forward takes one tensor"));
    sh_module_call(net, SH_INPUTS(3));
    cr_expect(failed_with(SH_ERROR_ARGUMENT, "which is no tensor"));
    cr_expect(sh_forward(list, x) == NULL);
    cr_expect(failed_with(SH_ERROR_UNSUPPORTED, "ModuleList has no forward"));
    cr_expect(sh_forward(net, NULL) == NULL);
    cr_expect(failed_with(SH_ERROR_NULL, "Net: the input is NULL"));
    cr_expect(sh_forward(NULL, x) == NULL);
    cr_expect(failed_with(SH_ERROR_NULL, "it is NULL"));
    sh_module_release(net);
    sh_module_release(list);
}

static sh_status note_path(sh_mode *mode, sh_call *call) {
    (void)mode;
    note(sh_scope_path(), call);
    return SH_PASS;
}

Test(module, ops_see_the_path_of_the_module_that_issues_them) {
    sh_module *block = sh_nn_sequential(new_net(), sh_nn_relu());
    sh_module *top = sh_nn_sequential(sh_nn_tanh());
    sh_module_give(top, "layer1", block);
    sh_tensor *x = sh_rand(SH_SIZES(2, 3));
    SH_WITH_MODE(note_path) sh_forward(top, x);
    cr_expect(eq(str, seen, "0:tanh layer1.0.linear:linear layer1.0:relu layer1.1:relu "));
    cr_expect(eq(str, TEXT(sh_scope_path()), ""));
    sh_module_release(top);
}

Test(module, an_error_inside_leaves_scopes_and_names_as_they_were) {
    sh_module *net = new_net();
    const size_t held = sh_scope_held();
    cr_expect(sh_forward(net, sh_rand(SH_SIZES(2, 5))) == NULL);
    cr_expect(failed_with(SH_ERROR_SHAPE, "linear"));
    cr_expect(eq(str, TEXT(sh_scope_path()), ""));
    cr_expect(eq(sz, sh_scope_held(), held + 1));
    sh_module_release(net);
}

/* ---- hooks ---- */

static sh_status double_input(sh_module *module, sh_value *inputs, size_t n, void *user) {
    (void)module;
    ++*(int *)user;
    for (size_t i = 0; i < n; i++) inputs[i] = sh_value_tensor(sh_mul(inputs[i].as.tensor, 2));
    return SH_OK;
}
static sh_status add_one(sh_module *module, sh_values inputs, sh_value *output, void *user) {
    (void)module;
    (void)inputs;
    ++*(int *)user;
    *output = sh_value_tensor(sh_add(output->as.tensor, 1));
    return SH_OK;
}
static sh_hook own;
static sh_status leave(sh_module *module, sh_values inputs, sh_value *output, void *user) {
    (void)inputs;
    (void)output;
    ++*(int *)user;
    return sh_module_unhook(module, own);
}
static sh_status refuse(sh_module *module, sh_value *inputs, size_t n, void *user) {
    (void)module;
    (void)inputs;
    (void)n;
    (void)user;
    return SH_ERROR_VALUE;
}

Test(module, hooks_change_inputs_and_output_and_may_take_themselves_off) {
    sh_module *relu = sh_nn_relu();
    int before = 0, after = 0, left = 0;
    const sh_hook h = sh_module_hook_before(relu, double_input, &before);
    own = sh_module_hook_after(relu, leave, &left);
    sh_module_hook_after(relu, add_one, &after);
    cr_expect(eq(dbl, first(sh_forward(relu, number(3))), 7));
    cr_expect(eq(dbl, first(sh_forward(relu, number(3))), 7));
    cr_expect(sh_module_unhook(relu, h) == SH_OK);
    cr_expect(eq(dbl, first(sh_forward(relu, number(3))), 4));
    cr_expect(before == 2 && after == 3 && left == 1);
    cr_expect(sh_module_unhook(relu, h) < 0);
    cr_expect(failed_with(SH_ERROR_VALUE, "has no hook"));
    sh_module_hook_before(relu, refuse, NULL);
    cr_expect(sh_forward(relu, number(1)) == NULL);
    cr_expect(failed_with(SH_ERROR_VALUE, ""));
    sh_module_release(relu);
}

/* ---- the tree ---- */

Test(module, names_are_unique_and_paths_lead_through_children) {
    sh_module *net = new_net(), *relu = sh_nn_relu();
    sh_tensor *t = number(1);
    cr_expect(sh_module_set_parameter(net, "linear", t) < 0);
    cr_expect(failed_with(SH_ERROR_VALUE, "Net has a child linear already"));
    cr_expect(sh_module_set_buffer(net, "a.b", t) < 0);
    cr_expect(failed_with(SH_ERROR_VALUE, "\"a.b\" is no name"));
    cr_expect(sh_module_set(net, "", relu) < 0);
    cr_expect(failed_with(SH_ERROR_VALUE, "empty"));
    cr_expect(sh_module_set(net, "no.relu", relu) < 0);
    cr_expect(failed_with(SH_ERROR_VALUE, "Net has no module no"));
    cr_expect(sh_module_set(net, "linear.act", relu) == SH_OK);
    cr_expect(sh_module_child(net, "linear.act") == relu && sh_module_child(net, "") == net);
    cr_expect(sh_module_child(net, "linear.no") == NULL && sh_module_child(net, "linear.act.x") == NULL);
    cr_expect(sh_module_delete(net, "linear.act") == SH_OK);
    cr_expect(sh_module_delete(net, "linear.act") < 0);
    cr_expect(failed_with(SH_ERROR_VALUE, "has no module linear.act"));
    sh_module_release(net);
    sh_module_release(relu);
}

Test(module, a_module_is_never_inside_itself) {
    sh_module *inner = sh_nn_sequential(sh_nn_relu()), *outer = sh_nn_sequential(sh_nn_tanh());
    sh_module_set(outer, "inner", inner);
    cr_expect(sh_module_set(inner, "outer", outer) < 0);
    cr_expect(failed_with(SH_ERROR_VALUE, "a Sequential can't be added inside itself"));
    cr_expect(sh_module_set(inner, "self", inner) < 0);
    cr_expect(failed_with(SH_ERROR_VALUE, "inside itself"));
    sh_module_release(inner);
    sh_module_release(outer);
}

static sh_status note_module(const char *path, sh_module *module, void *user) {
    (void)user;
    snprintf(seen + strlen(seen), 200, "[%s]%s ", path, sh_module_type_of(module)->name);
    return SH_OK;
}
static sh_status note_tensor(const char *path, sh_tensor *tensor, void *user) {
    (void)tensor;
    (void)user;
    snprintf(seen + strlen(seen), 200, "%s ", path);
    return SH_OK;
}
static sh_status note_type(sh_module *module, void *user) {
    (void)user;
    snprintf(seen + strlen(seen), 200, "%s ", sh_module_type_of(module)->name);
    return SH_OK;
}

static sh_module *shared_net(void) {
    sh_module *net = sh_module_new(&net_type), *linear = sh_nn_linear(2, 2);
    sh_module_set(net, "a", linear);
    sh_module_give(net, "bn", sh_nn_batch_norm2d(2));
    sh_module_give(net, "block", sh_nn_sequential(linear));
    return net;
}

Test(module, a_shared_module_is_met_once_under_its_first_path) {
    sh_module *net = shared_net();
    sh_module_walk(net, note_module, NULL);
    cr_expect(eq(str, seen, "[]Net [a]Linear [bn]BatchNorm2d [block]Sequential "));
    *seen = 0;
    sh_module_walk_tensors(net, SH_PARAMETERS, note_tensor, NULL);
    cr_expect(eq(str, seen, "a.weight a.bias bn.weight bn.bias "));
    *seen = 0;
    sh_module_walk_tensors(net, SH_BUFFERS, note_tensor, NULL);
    cr_expect(eq(str, seen, "bn.running_mean bn.running_var bn.num_batches_tracked "));
    *seen = 0;
    sh_module_walk_tensors(net, SH_PARAMETERS | SH_DUPLICATES, note_tensor, NULL);
    cr_expect(eq(str, seen, "a.weight a.bias bn.weight bn.bias block.0.weight block.0.bias "));
    *seen = 0;
    sh_module_apply(net, note_type, NULL);
    cr_expect(eq(str, seen, "Linear BatchNorm2d Sequential Net "));
    sh_module_release(net);
}

Test(module, train_and_eval_reach_all_and_to_keeps_shared_tensors_shared) {
    sh_module *net = shared_net();
    cr_expect(sh_module_is_training(sh_module_child(net, "block.0")));
    sh_module_eval(net);
    cr_expect(not(sh_module_is_training(sh_module_child(net, "block.0"))));
    cr_expect(sh_module_to(net, SH_BF16) == SH_OK);
    cr_expect(eq(int, sh_tensor_dtype(sh_module_parameter(net, "a.weight")), SH_BF16));
    cr_expect(sh_module_parameter(net, "a.weight") == sh_module_parameter(net, "block.0.weight"));
    cr_expect(eq(int, sh_tensor_dtype(sh_module_buffer(net, "bn.running_var")), SH_BF16));
    cr_expect(eq(int, sh_tensor_dtype(sh_module_buffer(net, "bn.num_batches_tracked")), SH_I64));
    cr_expect(sh_module_to(net, SH_I32) < 0);
    cr_expect(failed_with(SH_ERROR_DTYPE, "got i32, expected a float dtype"));
    sh_module_release(net);
}

Test(module, a_tensor_that_two_names_share_is_converted_once) {
    sh_module *net = sh_module_new(&net_type);
    sh_tensor *t = number(1.5);
    sh_module_set_parameter(net, "a", t);
    sh_module_set_parameter(net, "b", t);
    cr_expect(sh_module_to(net, SH_F64) == SH_OK);
    cr_expect(sh_module_parameter(net, "a") == sh_module_parameter(net, "b"));
    cr_expect(eq(dbl, first(sh_module_parameter(net, "a")), 1.5));
    sh_module_release(net);
}

/* ---- state dicts ---- */

Test(module, state_goes_to_a_file_and_back) {
    char path[] = "/tmp/shunt-module-XXXXXX";
    close(mkstemp(path));
    sh_module *from = shared_net(), *to = shared_net();
    sh_tensor *x = sh_rand(SH_SIZES(3, 2));
    cr_expect(
        not(sample_same(sh_forward(sh_module_child(from, "a"), x), sh_forward(sh_module_child(to, "a"), x))));
    cr_assert(sh_module_save(from, path) == SH_OK);
    cr_assert(sh_module_load(to, path) == SH_OK);
    cr_expect(
        sample_same(sh_forward(sh_module_child(from, "a"), x), sh_forward(sh_module_child(to, "a"), x)));
    cr_expect(sh_module_parameter(to, "a.weight") == sh_module_parameter(to, "block.0.weight"));
    sh_module_to(to, SH_F64);
    cr_expect(sh_module_load(to, path) == SH_OK);
    cr_expect(eq(int, sh_tensor_dtype(sh_module_parameter(to, "a.weight")), SH_F64));
    unlink(path);
    sh_module_release(from);
    sh_module_release(to);
}

Test(module, a_dict_that_does_not_fit_is_one_error_that_lists_all_and_changes_nothing) {
    sh_module *net = new_net();
    sh_dict *dict = sh_dict_new();
    sh_tensor *before = sh_clone(sh_module_parameter(net, "linear.bias"));
    sh_dict_set(dict, "linear.weight", sh_zeros(SH_SIZES(5, 3)));
    sh_dict_set(dict, "linear.scale", number(1));
    cr_expect(sh_module_load_state_dict(net, dict, true) < 0);
    cr_expect(failed_with(SH_ERROR_VALUE,
                          "missing keys: linear.bias; unexpected keys: linear.scale; keys of another shape: "
                          "linear.weight (got [5, 3], expected [4, 3])"));
    sh_dict_set(dict, "linear.bias", sh_zeros(SH_SIZES(4)));
    cr_expect(sh_module_load_state_dict(net, dict, false) < 0);
    cr_expect(failed_with(SH_ERROR_VALUE, "keys of another shape: linear.weight"));
    cr_expect(sample_same(sh_module_parameter(net, "linear.bias"), before));
    sh_dict_set(dict, "linear.weight", sh_ones(SH_SIZES(4, 3)));
    cr_expect(sh_module_load_state_dict(net, dict, false) == SH_OK);
    cr_expect(eq(dbl, first(sh_module_parameter(net, "linear.weight")), 1));
    sh_dict_free(dict);
    sh_module_release(net);
}

/* ---- printing ---- */

Test(module, prints_as_pytorch_does) {
    cr_expect(
        shows(sh_nn_sequential(sh_nn_conv2d(3, 8, 3, .padding = 1, .bias = false), sh_nn_batch_norm2d(8),
                               sh_nn_sequential(sh_nn_relu(.inplace = true), sh_nn_max_pool2d(2))),
              "Sequential(\n"
              "  (0): Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), bias=False)\n"
              "  (1): BatchNorm2d(8, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)\n"
              "  (2): Sequential(\n"
              "    (0): ReLU(inplace=True)\n"
              "    (1): MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)\n"
              "  )\n"
              ")"));
    cr_expect(shows(sh_nn_linear(3, 4), "Linear(in_features=3, out_features=4, bias=True)"));
    cr_expect(shows(sh_nn_conv1d(4, 8, 5, .stride = 2, .groups = 2, .dilation = 3),
                    "Conv1d(4, 8, kernel_size=(5,), stride=(2,), dilation=(3,), groups=2)"));
    cr_expect(shows(sh_nn_layer_norm({4, 5}), "LayerNorm((4, 5), eps=1e-05, elementwise_affine=True)"));
    cr_expect(shows(sh_nn_layer_norm(4), "LayerNorm((4,), eps=1e-05, elementwise_affine=True)"));
    cr_expect(shows(sh_nn_embedding(10, 3), "Embedding(10, 3)"));
    cr_expect(shows(sh_nn_embedding(10, 3, .padding_idx = -1), "Embedding(10, 3, padding_idx=9)"));
    cr_expect(shows(sh_nn_gelu(), "GELU(approximate='none')"));
    cr_expect(shows(sh_nn_silu(), "SiLU()"));
    cr_expect(shows(sh_nn_softmax(.dim = 1), "Softmax(dim=1)"));
    cr_expect(
        shows(sh_nn_avg_pool2d({3, 2}, .stride = 1), "AvgPool2d(kernel_size=(3, 2), stride=1, padding=0)"));
    cr_expect(shows(sh_nn_adaptive_avg_pool2d({1, 1}), "AdaptiveAvgPool2d(output_size=(1, 1))"));
    cr_expect(shows(sh_nn_flatten(), "Flatten(start_dim=1, end_dim=-1)"));
    cr_expect(shows(sh_nn_dropout(.p = 1), "Dropout(p=1.0, inplace=False)"));
    cr_expect(shows(sh_nn_identity(), "Identity()"));
    cr_expect(shows(sh_nn_module_list(sh_nn_sigmoid()), "ModuleList(\n  (0): Sigmoid()\n)"));
}

/* ---- memory ---- */

static bool build_and_run(void) {
    sh_module *net =
        sh_nn_sequential(sh_nn_conv2d(2, 2, 3), sh_nn_batch_norm2d(2), sh_nn_relu(), sh_nn_flatten(),
                         sh_nn_linear(8, 2), sh_nn_layer_norm(2), sh_nn_module_list(sh_nn_identity()));
    int runs = 0;
    bool done = net && sh_module_delete(net, "6") == SH_OK && sh_module_hook_after(net, add_one, &runs) &&
                sh_forward(net, sh_zeros(SH_SIZES(1, 2, 4, 4))) && sh_module_to(net, SH_F64) == SH_OK;
    char *text = done ? sh_module_text(net) : NULL;
    done = text != NULL;
    free(text);
    sh_module_release(net);
    return done;
}

static bool save_and_load(void) {
    sh_module *net = new_net();
    sh_dict *dict = net ? sh_module_state_dict(net) : NULL;
    const bool done = dict && sh_module_load_state_dict(net, dict, true) == SH_OK;
    sh_dict_free(dict);
    sh_module_release(net);
    return done;
}

Test(module, every_allocation_may_fail) {
    fail_each("building and running", build_and_run);
    fail_each("state dicts", save_and_load);
}
