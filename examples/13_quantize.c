/* Quantise a small conv net after training: watch it run, make it compute on 8-bit integers, see what each layer lost. */
#include <shunt.h>
#include <stdio.h>
#include <stdlib.h>

static sh_tensor *run(sh_module *self, const char *path, sh_tensor *x) {
    return sh_forward(sh_module_child(self, path), x);
}

static sh_tensor *forward(sh_module *self, sh_tensor *x) {
    sh_tensor *a = run(self, "relu", run(self, "bn", run(self, "conv1", x)));
    sh_tensor *b = sh_relu(sh_add(a, run(self, "conv2", a)));
    return run(self, "fc", sh_flatten(run(self, "pool", b), .start_dim = 1));
}

static sh_module *net(void) {
    static const sh_module_type type = {.name = "Net", .forward = forward};
    sh_module *m = sh_module_new(&type);
    sh_manual_seed(1);
    sh_module_give(m, "conv1", sh_nn_conv2d(3, 16, 3, .padding = 1, .bias = false));
    sh_module_give(m, "bn", sh_nn_batch_norm2d(16));
    sh_module_give(m, "relu", sh_nn_relu());
    sh_module_give(m, "conv2", sh_nn_conv2d(16, 16, 3, .padding = 1));
    sh_module_give(m, "pool", sh_nn_adaptive_avg_pool2d({1, 1}));
    sh_module_give(m, "fc", sh_nn_linear(16, 10));
    sh_module_eval(m);
    return m;
}

int main(void) {
    SH_SCOPE {
        sh_module *model = net();
        sh_tensor *x = sh_randn(SH_SIZES(4, 3, 32, 32));
        sh_module *traced = sh_symbolic_trace(model, SH_INPUTS(x), NULL);

        /* observers go in; conv + bn + relu is one thing, and so is add + relu */
        sh_module *prepared = sh_quantize_prepare(traced, NULL, NULL);
        for (int batch = 0; batch < 8; batch++)
            SH_SCOPE sh_quantize_calibrate(prepared, SH_INPUTS(sh_randn(SH_SIZES(4, 3, 32, 32))));

        /* what they saw becomes scales and zero points, the layers become integer ops */
        sh_module *quantized = sh_quantize_convert(prepared);
        char *text = quantized ? sh_graph_text(sh_graph_module_graph(quantized)) : NULL;
        puts(text ? text : sh_error()->message);

        sh_comparison *comparison = sh_quantize_compare(traced, quantized, SH_ARGUMENTS(x));
        char *table = sh_comparison_table(comparison, true);
        if (table) printf("\nworst first:\n%s", table);
        printf("the whole net: %.1f dB\n", sh_compute_sqnr(sh_forward(model, x), sh_forward(quantized, x)));

        free(table);
        free(text);
        sh_comparison_free(comparison);
        sh_module_release(quantized);
        sh_module_release(prepared);
        sh_module_release(traced);
        sh_module_release(model);
    }
    if (sh_error()) fprintf(stderr, "%s\n", sh_error()->message);
    return sh_error() != NULL;
}
