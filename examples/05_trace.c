/* A module of one's own, traced to a graph; then every relu becomes sin in a loop over the nodes. */
#include <shunt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sh_tensor *net_forward(sh_module *self, sh_tensor *x) {
    return sh_relu(sh_forward(sh_module_child(self, "linear"), x));
}
static const sh_module_type net_type = {.name = "Net", .forward = net_forward};

static void show(char *text) {
    puts(text ? text : sh_error()->message);
    free(text);
}

int main(void) {
    SH_SCOPE {
        sh_tensor *x = sh_randn(SH_SIZES(2, 3));
        sh_module *net = sh_module_new(&net_type);
        sh_module_give(net, "linear", sh_nn_linear(3, 4));
        show(sh_module_text(net));

        sh_module *traced =
            sh_symbolic_trace(net, SH_INPUTS(x), NULL); /* of x only shape and dtype are used */
        sh_graph *graph = sh_graph_module_graph(traced);
        show(sh_graph_text(graph));
        printf("gives what the module gives: %s\n",
               sh_equal(sh_forward(traced, x), sh_forward(net, x)) ? "yes" : "no");

        SH_EACH_NODE(node, graph) {
            if (strcmp(sh_node_target(node), "relu") == 0) sh_node_set_target(node, "sin");
        }
        sh_tensor *linear = sh_forward(sh_module_child(net, "linear"), x);
        printf("and after the loop sin of linear: %s\n",
               sh_equal(sh_forward(traced, x), sh_sin(linear)) ? "yes" : "no");
        sh_module_release(traced);
        sh_module_release(net);
    }
    return sh_error() != NULL;
}
