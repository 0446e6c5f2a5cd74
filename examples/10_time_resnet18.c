/* A timing interpreter of one's own, on ResNet18: `run` and `run_node` are overridden, each looks at the clock around
 * the interpreter's own way. (sh_timing is one that is ready made, and counts FLOPs too.) */
#include <shunt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    return sh_nn_sequential(sh_nn_conv2d(3, 64, 7, .stride = 2, .padding = 3, .bias = false),
                            sh_nn_batch_norm2d(64), sh_nn_relu(.inplace = true),
                            sh_nn_max_pool2d(3, .stride = 2, .padding = 1), stage(64, 64), stage(64, 128),
                            stage(128, 256), stage(256, 512), sh_nn_adaptive_avg_pool2d({1, 1}),
                            sh_nn_flatten(), sh_nn_linear(512, 1000));
}

/* ---- the interpreter ---- */

typedef struct times {
    double total, node[128]; /* seconds; of nodes in the order they ran */
    const sh_node *nodes[128];
    size_t n;
} times;

static double seconds(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static sh_status run(sh_interpreter *in, sh_arguments inputs, sh_value *result) {
    times *t = sh_interpreter_user(in);
    const double start = seconds();
    t->n = 0;
    SH_TRY(sh_interpreter_run_graph(in, inputs, result));
    t->total = seconds() - start;
    return SH_OK;
}

static sh_status run_node(sh_interpreter *in, sh_node *node, sh_value *result) {
    times *t = sh_interpreter_user(in);
    const double start = seconds();
    SH_TRY(sh_interpreter_run_node(in, node, result));
    t->nodes[t->n] = node;
    t->node[t->n++] = seconds() - start;
    return SH_OK;
}

/* ---- what it found ---- */

/* What kind of layer a node is: its module's type, or the op. */
static const char *kind_of(const sh_node *node) {
    const sh_module *module = sh_node_module(node);
    return module ? sh_module_type_of(module)->name : sh_node_target(node);
}

static double sum_of(const times *t, const char *kind) {
    double sum = 0;
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(kind_of(t->nodes[i]), kind) == 0) sum += t->node[i];
    return sum;
}

static void report(const times *t) {
    size_t slowest = 0, kind = 0;
    for (size_t i = 1; i < t->n; i++) {
        if (t->node[i] > t->node[slowest]) slowest = i;
        if (sum_of(t, kind_of(t->nodes[i])) > sum_of(t, kind_of(t->nodes[kind]))) kind = i;
    }
    const char *name = kind_of(t->nodes[kind]);
    printf("%zu nodes in %.1f ms\n", t->n, 1e3 * t->total);
    printf("slowest type of layer: %s, %.1f ms, %.0f %% of the run\n", name, 1e3 * sum_of(t, name),
           100 * sum_of(t, name) / t->total);
    printf("slowest layer: %s, %.1f ms, %.0f %%\n", sh_node_target(t->nodes[slowest]), 1e3 * t->node[slowest],
           100 * t->node[slowest] / t->total);
}

int main(void) {
    SH_SCOPE {
        sh_tensor *x = sh_randn(SH_SIZES(1, 3, 224, 224));
        sh_module *net = resnet18();
        sh_module_eval(net);
        sh_module *traced = sh_symbolic_trace(net, SH_INPUTS(x), NULL);
        static times t;
        sh_interpreter *in =
            sh_interpreter_new(sh_graph_module_graph(traced),
                               &(sh_interpreter_options){.user = &t, .run = run, .run_node = run_node});
        sh_value y;
        for (int i = 0; i < 3; i++)
            SH_SCOPE sh_interpreter_run(in, SH_ARGUMENTS(x), &y); /* the last one counts */
        if (!sh_error()) report(&t);
        sh_interpreter_free(in);
        sh_module_release(traced);
        sh_module_release(net);
    }
    if (sh_error()) fprintf(stderr, "%s\n", sh_error()->message);
    return sh_error() != NULL;
}
