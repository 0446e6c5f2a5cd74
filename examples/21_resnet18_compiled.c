/* ResNet18 compiled: what the plan does, step by step, and how long a run takes beside the eager one. `shunt graph --plan` and
 * `shunt bench --compile` do the same for a model in a file. */
#include <shunt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ---- ResNet18, as torchvision has it ---- */

static sh_tensor *through(sh_module *self, const char *path, sh_tensor *x) {
    return sh_forward(sh_module_child(self, path), x);
}

static sh_tensor *block_forward(sh_module *self, sh_tensor *x) {
    sh_tensor *y = through(self, "relu", through(self, "bn1", through(self, "conv1", x)));
    y = through(self, "bn2", through(self, "conv2", y));
    if (sh_module_child(self, "downsample")) x = through(self, "downsample", x);
    return through(self, "relu", sh_add(y, x));
}

static sh_module *block(int64_t in, int64_t out, int64_t stride) {
    static const sh_module_type type = {.name = "BasicBlock", .forward = block_forward};
    sh_module *m = sh_module_new(&type);
    sh_module_give(m, "conv1", sh_nn_conv2d(in, out, 3, .stride = stride, .padding = 1, .bias = false));
    sh_module_give(m, "bn1", sh_nn_batch_norm2d(out));
    sh_module_give(m, "relu", sh_nn_relu(.inplace = true));
    sh_module_give(m, "conv2", sh_nn_conv2d(out, out, 3, .padding = 1, .bias = false));
    sh_module_give(m, "bn2", sh_nn_batch_norm2d(out));
    if (stride != 1)
        sh_module_give(m, "downsample",
                       sh_nn_sequential(sh_nn_conv2d(in, out, 1, .stride = stride, .bias = false),
                                        sh_nn_batch_norm2d(out)));
    return m;
}

static sh_module *stage(int64_t in, int64_t out) {
    return sh_nn_sequential(block(in, out, in == out ? 1 : 2), block(out, out, 1));
}

static sh_module *resnet18(void) {
    sh_module *net = sh_nn_sequential(
        sh_nn_conv2d(3, 64, 7, .stride = 2, .padding = 3, .bias = false), sh_nn_batch_norm2d(64),
        sh_nn_relu(.inplace = true), sh_nn_max_pool2d(3, .stride = 2, .padding = 1), stage(64, 64),
        stage(64, 128), stage(128, 256), stage(256, 512), sh_nn_adaptive_avg_pool2d({1, 1}), sh_nn_flatten(),
        sh_nn_linear(512, 1000));
    sh_module_eval(net);
    return net;
}

/* ---- both ways in turns ---- */

enum { TURNS = 9 };

static double ms(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static double median(double *samples) {
    qsort(samples, TURNS, sizeof *samples, by_value);
    return samples[TURNS / 2];
}

static void time_both(sh_module *net, sh_compiled *compiled, sh_tensor *x) {
    double eager[TURNS], planned[TURNS];
    for (int i = 0; i < TURNS; i++) SH_SCOPE {
            const double start = ms();
            sh_forward(net, x);
            const double between = ms();
            sh_compiled_run(compiled, x);
            eager[i] = between - start;
            planned[i] = ms() - between;
        }
    printf("eager %.1f ms, compiled %.1f ms\n", median(eager), median(planned));
}

int main(void) {
    SH_SCOPE {
        sh_tensor *x = sh_randn(SH_SIZES(1, 3, 224, 224));
        sh_module *net = resnet18();
        sh_compiled *compiled = sh_compile(net, NULL);
        sh_tensor *y = sh_compiled_run(compiled, x); /* traces, makes the plan, runs it */
        char *plan = sh_compiled_plan_text(compiled), *report = sh_compiled_report(compiled);
        if (plan && report) printf("%s\n%s\n", plan, report);
        printf("as eager: %s\n",
               sh_allclose(y, sh_forward(net, x), .rtol = 1e-3, .atol = 1e-4) ? "yes" : "no");
        time_both(net, compiled, x);
        free(plan);
        free(report);
        sh_compiled_free(compiled);
        sh_module_release(net);
    }
    if (sh_error()) fprintf(stderr, "%s\n", sh_error()->message);
    return sh_error() != NULL;
}
