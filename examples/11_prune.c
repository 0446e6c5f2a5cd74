/* An interpreter with a hand on every layer: it looks at what passes, replaces the data of one layer, and shows what
 * pruning would cost before anybody prunes. The modules themselves stay as they are. */
#include <shunt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct hand {
    bool look;           /* print what each layer gives */
    const char *replace; /* zeros in the place of what this layer gives; NULL: none */
    double cut;          /* prune what a layer gives below this share of its largest value */
} hand;

/* Zeros for values that are smaller than this share of the largest. */
static sh_tensor *pruned(sh_tensor *x, double share) {
    sh_tensor *size = sh_abs(x);
    return sh_where(sh_lt(size, sh_mul(sh_max(size), share)), sh_zeros_like(x), x);
}

/* Around each call_module: before, the layer's own way, and after. */
static sh_status layer(sh_interpreter *in, sh_node *node, sh_arguments args, sh_value *result) {
    const hand *h = sh_interpreter_user(in);
    SH_TRY(sh_interpreter_call_module(in, node, args, result));
    sh_tensor *y = result->as.tensor;
    if (h->replace && strcmp(sh_node_target(node), h->replace) == 0) y = sh_zeros_like(y);
    if (h->cut > 0) y = pruned(y, h->cut);
    if (h->look)
        printf("  %-10s %-8s mean %7.4f, %2.0f %% zeros\n", sh_node_name(node),
               sh_module_type_of(sh_node_module(node))->name, sh_item(sh_mean(y)),
               100 * sh_item(sh_mean(sh_to(sh_eq(y, 0.0), SH_F32))));
    *result = sh_value_tensor(y);
    return sh_error() ? sh_error()->code : SH_OK;
}

/* What the net gives with this hand in it. */
static sh_tensor *run(sh_graph *graph, hand h, sh_tensor *x) {
    sh_interpreter *in =
        sh_interpreter_new(graph, &(sh_interpreter_options){.user = &h, .call_module = layer});
    sh_value y = sh_none();
    sh_interpreter_run(in, SH_ARGUMENTS(x), &y);
    sh_interpreter_free(in);
    return sh_value_as_tensor(y);
}

int main(void) {
    SH_SCOPE {
        sh_tensor *x = sh_randn(SH_SIZES(1, 3, 16, 16));
        sh_module *net = sh_nn_sequential(sh_nn_conv2d(3, 16, 3, .padding = 1), sh_nn_relu(),
                                          sh_nn_conv2d(16, 16, 3, .padding = 1), sh_nn_relu(),
                                          sh_nn_flatten(), sh_nn_linear(16 * 16 * 16, 10));
        sh_module *traced = sh_symbolic_trace(net, SH_INPUTS(x), NULL);
        sh_graph *graph = sh_graph_module_graph(traced);

        printf("as it is:\n");
        sh_tensor *y = run(graph, (hand){.look = true}, x);
        printf("layer 2 gives zeros:\n");
        run(graph, (hand){.look = true, .replace = "2"}, x);
        for (double cut = 0.01; cut < 0.5; cut *= 3) {
            sh_tensor *error = sh_sub(run(graph, (hand){.cut = cut}, x), y);
            printf("cut at %2.0f %%: off by %.4f at most\n", 100 * cut, sh_item(sh_max(sh_abs(error))));
        }
        printf("untouched: %s\n", sh_equal(sh_forward(traced, x), y) ? "yes" : "no");
        sh_module_release(traced);
        sh_module_release(net);
    }
    if (sh_error()) fprintf(stderr, "%s\n", sh_error()->message);
    return sh_error() != NULL;
}
