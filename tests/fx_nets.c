/* fx_nets.c - the small nets that are compared with torch.fx's traces of them.
 *
 * C leaves the order of arguments open: where two calls stand in one expression of fx_nets.py, the first has a line of
 * its own here. */
#include "tests/fx_nets.h"

static sh_tensor *run(sh_module *self, const char *path, sh_tensor *x) {
    return sh_forward(sh_module_child(self, path), x);
}

/* ---- mlp ---- */

static sh_tensor *mlp_forward(sh_module *self, sh_tensor *x) {
    x = sh_relu(run(self, "fc1", x));
    x = sh_tanh(run(self, "fc2", x));
    return sh_softmax(run(self, "fc3", x), -1);
}
static const sh_module_type mlp_type = {.name = "Mlp", .forward = mlp_forward};

static sh_module *mlp(void) {
    sh_module *m = sh_module_new(&mlp_type);
    sh_module_give(m, "fc1", sh_nn_linear(8, 16));
    sh_module_give(m, "fc2", sh_nn_linear(16, 16));
    sh_module_give(m, "fc3", sh_nn_linear(16, 4));
    return m;
}

/* ---- conv_net ---- */

static sh_tensor *conv_net_forward(sh_module *self, sh_tensor *x) {
    x = sh_flatten(run(self, "features", x), .start_dim = 1);
    return run(self, "classifier", run(self, "dropout", x));
}
static const sh_module_type conv_net_type = {.name = "ConvNet", .forward = conv_net_forward};

static sh_module *conv_net(void) {
    sh_module *m = sh_module_new(&conv_net_type);
    sh_module_give(m, "features",
                   sh_nn_sequential(sh_nn_conv2d(3, 8, 3, .padding = 1), sh_nn_batch_norm2d(8), sh_nn_relu(),
                                    sh_nn_max_pool2d(2), sh_nn_conv2d(8, 16, 3, .stride = 2),
                                    sh_nn_relu(.inplace = true), sh_nn_adaptive_avg_pool2d({1, 1})));
    sh_module_give(m, "dropout", sh_nn_dropout());
    sh_module_give(m, "classifier", sh_nn_linear(16, 10));
    return m;
}

/* ---- residual ---- */

static sh_tensor *block_forward(sh_module *self, sh_tensor *x) {
    sh_tensor *y = sh_relu(run(self, "bn1", run(self, "conv1", x)));
    y = run(self, "bn2", run(self, "conv2", y));
    return sh_relu(sh_add(y, x));
}
static const sh_module_type block_type = {.name = "Block", .forward = block_forward};

static sh_module *block(int64_t channels) {
    sh_module *m = sh_module_new(&block_type);
    sh_module_give(m, "conv1", sh_nn_conv2d(channels, channels, 3, .padding = 1, .bias = false));
    sh_module_give(m, "bn1", sh_nn_batch_norm2d(channels));
    sh_module_give(m, "conv2", sh_nn_conv2d(channels, channels, 3, .padding = 1, .bias = false));
    sh_module_give(m, "bn2", sh_nn_batch_norm2d(channels));
    return m;
}

static sh_tensor *residual_forward(sh_module *self, sh_tensor *x) {
    return sh_mul(run(self, "layers", run(self, "stem", x)), 0.5);
}
static const sh_module_type residual_type = {.name = "Residual", .forward = residual_forward};

static sh_module *residual(void) {
    sh_module *m = sh_module_new(&residual_type);
    sh_module_give(m, "stem", sh_nn_conv2d(3, 4, 3));
    sh_module_give(m, "layers", sh_nn_sequential(block(4), block(4)));
    return m;
}

/* ---- attention ---- */

static sh_tensor *heads(sh_module *self, const char *path, sh_tensor *y) {
    return sh_transpose(sh_view(run(self, path, y), SH_SIZES(2, 5, 2, 4)), 1, 2);
}

static sh_tensor *attention_forward(sh_module *self, sh_tensor *x) {
    sh_tensor *y = run(self, "norm", x);
    sh_tensor *q = heads(self, "query", y);
    sh_tensor *k = heads(self, "key", y);
    sh_tensor *v = heads(self, "value", y);
    sh_tensor *weights = sh_softmax(sh_div(sh_matmul(q, sh_transpose(k, -2, -1)), 2.0), -1);
    y = sh_reshape(sh_transpose(sh_matmul(weights, v), 1, 2), SH_SIZES(2, 5, 8));
    return sh_add(x, run(self, "proj", y));
}
static const sh_module_type attention_type = {.name = "Attention", .forward = attention_forward};

static sh_module *attention(void) {
    static const char *const linears[] = {"query", "key", "value", "proj"};
    sh_module *m = sh_module_new(&attention_type);
    sh_module_give(m, "norm", sh_nn_layer_norm(8));
    for (int i = 0; i < 4; i++) sh_module_give(m, linears[i], sh_nn_linear(8, 8));
    return m;
}

/* ---- lstm_cell ---- */

static sh_value lstm_forward(sh_module *self, sh_values in) {
    sh_tensor *x = in.at[0].as.tensor, *h = in.at[1].as.tensor, *c = in.at[2].as.tensor;
    sh_tensor *from_x =
        sh_linear(x, sh_module_parameter(self, "weight_ih"), .bias = sh_module_parameter(self, "bias"));
    sh_tensor *from_h = sh_linear(h, sh_module_parameter(self, "weight_hh"));
    sh_list *gates = sh_chunk(sh_add(from_x, from_h), 4, .dim = 1);
    if (!gates) return sh_none();
    sh_tensor *i = sh_sigmoid(sh_list_at(gates, 0));
    sh_tensor *f = sh_sigmoid(sh_list_at(gates, 1));
    sh_tensor *g = sh_tanh(sh_list_at(gates, 2));
    sh_tensor *o = sh_sigmoid(sh_list_at(gates, 3));
    sh_tensor *kept = sh_mul(f, c);
    c = sh_add(kept, sh_mul(i, g));
    return sh_list_value(SH_LIST(sh_mul(o, sh_tanh(c)), c));
}
static const char *const lstm_inputs[] = {"x", "h", "c", NULL};
static const sh_module_type lstm_type = {
    .name = "LstmCell", .forward_values = lstm_forward, .inputs = lstm_inputs};

static sh_module *lstm_cell(void) {
    sh_module *m = sh_module_new(&lstm_type);
    sh_module_set_parameter(m, "weight_ih", sh_zeros(SH_SIZES(16, 3)));
    sh_module_set_parameter(m, "weight_hh", sh_zeros(SH_SIZES(16, 4)));
    sh_module_set_parameter(m, "bias", sh_zeros(SH_SIZES(16)));
    return m;
}

/* ---- unet ---- */

static sh_tensor *unet_forward(sh_module *self, sh_tensor *x) {
    sh_tensor *small = run(self, "act", run(self, "down1", x));
    sh_tensor *second = run(self, "act", run(self, "down2", run(self, "pool", small)));
    sh_tensor *wide = sh_expand(sh_unsqueeze(sh_unsqueeze(second, 3), 5), SH_SIZES(1, 8, 4, 2, 4, 2));
    wide = sh_reshape(wide, SH_SIZES(1, 8, 8, 8));
    sh_tensor *both = sh_cat(SH_LIST(wide, small), .dim = 1);
    return run(self, "out", run(self, "act", run(self, "up", both)));
}
static const sh_module_type unet_type = {.name = "UNet", .forward = unet_forward};

static sh_module *unet(void) {
    sh_module *m = sh_module_new(&unet_type);
    sh_module_give(m, "down1", sh_nn_conv2d(1, 4, 3, .padding = 1));
    sh_module_give(m, "down2", sh_nn_conv2d(4, 8, 3, .padding = 1));
    sh_module_give(m, "up", sh_nn_conv2d(12, 4, 3, .padding = 1));
    sh_module_give(m, "pool", sh_nn_max_pool2d(2));
    sh_module_give(m, "act", sh_nn_silu());
    sh_module_give(m, "out", sh_nn_conv2d(4, 1, 1));
    return m;
}

/* ---- lists ---- */

static sh_value lists_forward(sh_module *self, sh_values in) {
    sh_tensor *x = in.at[0].as.tensor;
    sh_list *halves = sh_chunk(x, 2, .dim = 1);
    if (!halves) return sh_none();
    sh_tensor *low = sh_list_at(halves, 0), *high = sh_list_at(halves, 1);
    sh_tensor *first = run(self, "heads.0", low);
    sh_tensor *second = run(self, "heads.1", high);
    sh_tensor *both = sh_stack(SH_LIST(low, high));
    return sh_list_value(SH_LIST(first, second, both, sh_neg(x)));
}
static const sh_module_type lists_type = {.name = "Lists", .forward_values = lists_forward};

static sh_module *lists(void) {
    sh_module *m = sh_module_new(&lists_type);
    sh_module_give(m, "heads", sh_nn_module_list(sh_nn_linear(4, 2), sh_nn_linear(4, 3)));
    return m;
}

/* ---- shared ---- */

static sh_tensor *shared_forward(sh_module *self, sh_tensor *x) {
    x = run(self, "encoder", x);
    x = run(self, "encoder", sh_relu(x));
    return sh_sub(run(self, "tail", x), x);
}
static const sh_module_type shared_type = {.name = "Shared", .forward = shared_forward};

static sh_module *shared(void) {
    sh_module *m = sh_module_new(&shared_type), *encoder = sh_module_give(m, "encoder", sh_nn_linear(4, 4));
    sh_module_give(m, "tail", sh_nn_sequential(sh_nn_gelu(), sh_nn_identity()));
    if (encoder) sh_module_set(m, "tail.again", encoder);
    return m;
}

/* ---- in_place ---- */

static sh_tensor *in_place_forward(sh_module *self, sh_tensor *x) {
    sh_tensor *y = sh_mul(x, 2);
    y = sh_add_(y, 1);
    y = sh_relu_(y);
    return run(self, "relu", sh_mul_(y, sh_module_buffer(self, "count")));
}
static const sh_module_type in_place_type = {.name = "InPlace", .forward = in_place_forward};

static sh_module *in_place(void) {
    sh_module *m = sh_module_new(&in_place_type);
    sh_module_set_buffer(m, "count", sh_zeros(SH_SIZES(1)));
    sh_module_give(m, "relu", sh_nn_relu(.inplace = true));
    return m;
}

/* ---- embedding ---- */

static sh_tensor *embedding_forward(sh_module *self, sh_tensor *tokens) {
    sh_tensor *x = sh_add(run(self, "words", tokens), sh_module_parameter(self, "positions"));
    return run(self, "out", sh_mean(run(self, "norm", x), .dim = 1));
}
static const char *const embedding_inputs[] = {"tokens", NULL};
static const sh_module_type embedding_type = {
    .name = "Embed", .forward = embedding_forward, .inputs = embedding_inputs};

static sh_module *embedding(void) {
    sh_module *m = sh_module_new(&embedding_type);
    sh_module_give(m, "words", sh_nn_embedding(20, 6));
    sh_module_give(m, "norm", sh_nn_layer_norm(6));
    sh_module_give(m, "out", sh_nn_linear(6, 2, .bias = false));
    sh_module_set_parameter(m, "positions", sh_zeros(SH_SIZES(5, 6)));
    return m;
}

/* ---- all of them ---- */

const fx_net fx_nets[] = {
    {"mlp", mlp, 1, {{SH_F32, 2, {3, 8}}}},
    {"conv_net", conv_net, 1, {{SH_F32, 4, {2, 3, 12, 12}}}},
    {"residual", residual, 1, {{SH_F32, 4, {1, 3, 8, 8}}}},
    {"attention", attention, 1, {{SH_F32, 3, {2, 5, 8}}}},
    {"lstm_cell", lstm_cell, 3, {{SH_F32, 2, {2, 3}}, {SH_F32, 2, {2, 4}}, {SH_F32, 2, {2, 4}}}},
    {"unet", unet, 1, {{SH_F32, 4, {1, 1, 8, 8}}}},
    {"lists", lists, 1, {{SH_F32, 2, {2, 8}}}},
    {"shared", shared, 1, {{SH_F32, 2, {2, 4}}}},
    {"in_place", in_place, 1, {{SH_F32, 2, {2, 3}}}},
    {"embedding", embedding, 1, {{SH_I64, 2, {2, 5}}}},
};
const int fx_nets_count = sizeof fx_nets / sizeof *fx_nets;

sh_values fx_net_inputs(const fx_net *net, sh_value *room) {
    for (int i = 0; i < net->ninputs; i++)
        room[i] = sh_value_tensor(sh_zeros(sh_ints_of(net->inputs[i].sizes, (size_t)net->inputs[i].ndim),
                                           .dtype = net->inputs[i].dtype));
    return (sh_values){room, (size_t)net->ninputs};
}
