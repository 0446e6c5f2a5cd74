/* A look behind every convolution, put there in one loop: what passes is printed and goes on as it was. */
#include <shunt.h>
#include <stdio.h>
#include <stdlib.h>

static sh_status print_range(void *user, sh_arguments args, sh_value *result) {
    sh_tensor *x = sh_arguments_tensor(args, 0);
    sh_value name = sh_arguments_named(args, "name");
    (void)user;
    printf("%-6s %lld x %lld x %lld, values from %.3f to %.3f\n", name.as.string,
           (long long)sh_tensor_size(x, 1), (long long)sh_tensor_size(x, 2), (long long)sh_tensor_size(x, 3),
           sh_item(sh_min(x)), sh_item(sh_max(x)));
    *result = sh_value_tensor(x);
    return SH_OK;
}

int main(void) {
    SH_SCOPE {
        sh_tensor *x = sh_randn(SH_SIZES(1, 3, 16, 16));
        sh_module *net = sh_nn_sequential(sh_nn_conv2d(3, 8, 3, .padding = 1), sh_nn_relu(),
                                          sh_nn_conv2d(8, 8, 3, .stride = 2), sh_nn_relu(),
                                          sh_nn_conv2d(8, 4, 1), sh_nn_sigmoid());
        sh_module *traced = sh_symbolic_trace(net, SH_INPUTS(x), NULL);
        sh_graph *graph = sh_graph_module_graph(traced);
        sh_function_register("print_range", print_range, NULL); /* not pure, so nothing drops it */

        SH_EACH_NODE(node, graph) {
            if (!sh_module_is(sh_node_module(node), "Conv2d")) continue;
            sh_node *look = NULL;
            SH_INSERTING_AFTER(node) { look = sh_graph_call_function(graph, "print_range", node); }
            sh_node_set_kwarg(look, "name", sh_arg_string(sh_node_name(node)));
        }
        sh_tensor *y = sh_forward(traced, x);
        printf("the result is what it was: %s\n", sh_equal(y, sh_forward(net, x)) ? "yes" : "no");
        sh_module_release(traced);
        sh_module_release(net);
    }
    if (sh_error()) fprintf(stderr, "%s\n", sh_error()->message);
    return sh_error() != NULL;
}
