/* Record what runs as a graph, print it as torch.fx prints one, and run it again. */
#include <shunt.h>
#include <stdio.h>
#include <stdlib.h>

static sh_status relu_to_sin(sh_mode *mode, sh_call *call) {
    (void)mode;
    if (sh_call_family(call) == SH_OP_relu) SH_TRY(sh_call_swap(call, SH_OP_sin));
    return SH_PASS;
}

int main(void) {
    SH_SCOPE {
        sh_tensor *x = sh_full(SH_SIZES(2, 3), 1.0), *w = sh_full(SH_SIZES(4, 3), 0.5), *y;
        sh_capture *capture = sh_capture_new(NULL);
        sh_capture_input(capture, x, "x");
        SH_WITH_MODE(sh_capture_mode(capture))
            SH_WITH_MODE(relu_to_sin) { y = sh_relu(sh_add(sh_linear(x, w), 0.5)); }

        sh_graph *graph = sh_capture_graph(capture, SH_LIST(y));
        char *text = graph ? sh_graph_text(graph) : NULL;
        if (!text) return 1;
        puts(text); /* it holds sin: what really ran */

        sh_list *again = sh_graph_run(graph, SH_LIST(x));
        printf("run again gives the same: %s\n", sh_equal(sh_list_at(again, 0), y) ? "yes" : "no");
        free(text);
        sh_graph_free(graph);
        sh_capture_free(capture);
    }
    return sh_error() != NULL;
}
