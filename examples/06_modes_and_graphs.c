/* A mode and a graph together: a mode rewrites while the trace runs, then a loop puts a look behind every conv. */
#include <shunt.h>
#include <stdio.h>
#include <stdlib.h>

static sh_status relu_to_silu(sh_mode *mode, sh_call *call) {
    (void)mode;
    return sh_call_family(call) == SH_OP_relu && sh_call_swap(call, SH_OP_silu) < 0 ? sh_error()->code
                                                                                    : SH_PASS;
}

/* What the new nodes call: it says what shape passes, and hands it on. */
static sh_status look(void *user, sh_arguments args, sh_value *result) {
    sh_tensor *x = sh_arguments_tensor(args, 0);
    (void)user;
    printf("  %lld channels of %lld x %lld\n", (long long)sh_tensor_size(x, 1),
           (long long)sh_tensor_size(x, 2), (long long)sh_tensor_size(x, 3));
    *result = args.at[0].value;
    return SH_OK;
}

int main(void) {
    SH_SCOPE {
        static const char *const wants[] = {"relu", NULL};
        sh_tensor *x = sh_randn(SH_SIZES(1, 3, 8, 8));
        sh_module *net = sh_nn_sequential(sh_nn_conv2d(3, 4, 3), sh_nn_relu(), sh_nn_max_pool2d(2),
                                          sh_nn_conv2d(4, 8, 3, .padding = 1), sh_nn_relu());
        sh_mode *mode =
            sh_mode_new(relu_to_silu, &(sh_mode_options){.kind = SH_MODE_REWRITING, .ops = wants});
        sh_module *traced;
        SH_WITH_MODE(mode) { traced = sh_symbolic_trace(net, SH_INPUTS(x), NULL); }
        sh_graph *graph = sh_graph_module_graph(traced);

        sh_function_register("look", look, NULL);
        SH_EACH_NODE(node, graph) {
            const sh_module *module = sh_module_child(net, sh_node_target(node));
            if (sh_node_opcode(node) != SH_CALL_MODULE || !sh_module_parameter(module, "weight")) continue;
            sh_node *after = NULL;
            SH_INSERTING_AFTER(node) { after = sh_graph_call_function(graph, "look", node); }
            sh_node_replace_all_uses_with(node, after); /* but not in `after` itself */
        }
        char *text = sh_graph_text(graph);
        puts(text); /* silu, which the mode put there, and a look behind each conv */
        sh_forward(traced, x);
        free(text);
        sh_mode_release(mode);
        sh_module_release(traced);
        sh_module_release(net);
    }
    if (sh_error()) fprintf(stderr, "%s\n", sh_error()->message);
    return sh_error() != NULL;
}
