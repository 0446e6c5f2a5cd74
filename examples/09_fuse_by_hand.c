/* Convolution and batch norm made one, by hand: a new convolution is put before the old one, takes over all uses of
 * the norm, and both go. The library has this as a pass too; here is how such a pass is written. */
#include <shunt.h>
#include <stdio.h>
#include <stdlib.h>

/* The convolution that does what both do: w * s, (b - mean) * s + shift, where s = gamma / sqrt(var + eps). As
 * torch.nn.utils.fusion.fuse_conv_bn_weights. The caller's. */
static sh_module *fused(const sh_module *conv, const sh_module *norm) {
    const sh_nn_conv2d_options *old = sh_module_state(conv);
    const sh_nn_batch_norm2d_options *bn = sh_module_state(norm);
    sh_tensor *weight = sh_module_parameter(conv, "weight"), *bias = sh_module_parameter(conv, "bias");
    sh_tensor *mean = sh_module_buffer(norm, "running_mean"), *var = sh_module_buffer(norm, "running_var");
    sh_tensor *scale = sh_mul(sh_module_parameter(norm, "weight"), sh_rsqrt(sh_add(var, bn->eps)));
    sh_tensor *shift = bias ? sh_sub(bias, mean) : sh_neg(mean);
    sh_module *module = sh_nn_conv2d(
        old->in_channels, old->out_channels, .kernel_size = {old->kernel_size[0], old->kernel_size[1]},
        .stride = {old->stride[0], old->stride[1]}, .padding = {old->padding[0], old->padding[1]});
    if (!module) return NULL;
    sh_module_set_parameter(module, "weight", sh_mul(weight, sh_reshape(scale, SH_SIZES(-1, 1, 1, 1))));
    sh_module_set_parameter(module, "bias", sh_add(sh_mul(shift, scale), sh_module_parameter(norm, "bias")));
    return module;
}

static void fuse(sh_module *traced, sh_node *conv, sh_node *norm) {
    sh_graph *graph = sh_graph_module_graph(traced);
    char path[100];
    snprintf(path, sizeof path, "%s_fused", sh_node_target(conv));
    sh_module *module = fused(sh_node_module(conv), sh_node_module(norm));
    sh_graph_module_add_submodule(traced, path, module);
    sh_module_release(module);

    sh_node *node = NULL;
    SH_INSERTING_BEFORE(conv) {
        node = sh_graph_create_node(graph, SH_CALL_MODULE, path, sh_node_args(conv), SH_NO_KWARGS, NULL);
    }
    sh_node_replace_all_uses_with(norm, node);
    sh_graph_erase_node(norm);
    sh_graph_erase_node(conv);
}

int main(void) {
    SH_SCOPE {
        sh_tensor *x = sh_randn(SH_SIZES(2, 3, 8, 8));
        sh_module *net = sh_nn_sequential(
            sh_nn_conv2d(3, 8, 3, .padding = 1, .bias = false), sh_nn_batch_norm2d(8), sh_nn_relu(),
            sh_nn_conv2d(8, 4, 3, .stride = 2), sh_nn_batch_norm2d(4), sh_nn_relu());
        for (int i = 0; i < 10; i++)
            SH_SCOPE sh_forward(net, sh_randn(SH_SIZES(8, 3, 8, 8))); /* statistics */
        sh_module_eval(net);

        sh_module *traced = sh_symbolic_trace(net, SH_INPUTS(x), NULL);
        sh_graph *graph = sh_graph_module_graph(traced);
        SH_EACH_NODE(norm, graph) {
            if (!sh_module_is(sh_node_module(norm), "BatchNorm2d")) continue;
            sh_node *conv = sh_node_arg(norm, 0).as.node;
            if (sh_module_is(sh_node_module(conv), "Conv2d") && sh_node_users(conv, NULL, 0) == 1)
                fuse(traced, conv, norm);
        }
        sh_graph_module_delete_all_unused_submodules(traced, NULL);
        char *text = sh_graph_text(graph);
        puts(text);
        free(text);
        printf("gives what it gave: %s\n",
               sh_allclose(sh_forward(traced, x), sh_forward(net, x), .rtol = 1e-4, .atol = 1e-5) ? "yes"
                                                                                                  : "no");
        sh_module_release(traced);
        sh_module_release(net);
    }
    if (sh_error()) fprintf(stderr, "%s\n", sh_error()->message);
    return sh_error() != NULL;
}
