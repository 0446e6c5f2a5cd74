/* ResNet18 against torch's logits: run as it is, traced, captured, saved and loaded. */
#include <stdlib.h>
#include <unistd.h>

#include "tests/modes.h"
#include "tests/resnet.h"

TestSuite(resnet);

enum { CLASSES = 1000, IMAGES = 2 };

typedef struct golden {
    char names[16384]; /* of the state dict */
    double logits[IMAGES][CLASSES];
} golden;

static bool read_golden(golden *g) {
    FILE *file = fopen("tests/golden/resnet18.txt", "r");
    bool read = file && fgets(g->names, sizeof g->names, file);
    for (int i = 0; read && i < IMAGES * CLASSES; i++)
        read = fscanf(file, "%lf", &g->logits[i / CLASSES][i % CLASSES]) == 1;
    if (file) fclose(file);
    g->names[strcspn(g->names, "\n")] = 0;
    return read;
}

/* max|a - b| / max|b| of the logits of image `number`. */
static double distance(const golden *g, int number, const sh_tensor *logits) {
    double apart = 0, largest = 0;
    if (!logits || sh_tensor_numel(logits) != CLASSES) return 1;
    for (int i = 0; i < CLASSES; i++) {
        apart = fmax(apart, fabs(((const float *)sh_tensor_data(logits))[i] - g->logits[number][i]));
        largest = fmax(largest, fabs(g->logits[number][i]));
    }
    return apart / largest;
}

static sh_module *evaluated(void) {
    sh_module *net = resnet18();
    if (!net) return NULL;
    resnet_fill_all(net);
    sh_module_eval(net);
    return net;
}

static sh_status add_name(const char *path, sh_tensor *tensor, void *user) {
    char *names = user;
    (void)tensor;
    sprintf(names + strlen(names), *names ? " %s" : "%s", path);
    return SH_OK;
}

Test(resnet, gives_torchs_logits_however_it_is_run) {
    static golden g;
    static char names[sizeof g.names];
    cr_assert(read_golden(&g));
    sh_module *net = evaluated();
    cr_assert(net != NULL);
    sh_module_walk_tensors(net, SH_PARAMETERS | SH_BUFFERS, add_name, names);
    cr_expect(eq(str, names, g.names), "the names of the state dict are PyTorch's");
    sh_module *traced = sh_symbolic_trace(net, SH_INPUTS(resnet_image(0)), NULL);
    cr_assert(traced != NULL, "%s", sh_error() ? sh_error()->message : "");
    for (int i = 0; i < IMAGES; i++) SH_SCOPE {
            cr_expect(le(dbl, distance(&g, i, sh_forward(net, resnet_image((uint64_t)i))), 1e-5),
                      "as it is, image %d", i);
            cr_expect(le(dbl, distance(&g, i, sh_forward(traced, resnet_image((uint64_t)i))), 1e-5),
                      "traced, image %d", i);
        }
    cr_expect(sh_error() == NULL);
    sh_module_release(traced);
    sh_module_release(net);
}

/* What runs for image 0. */
static sh_graph *captured(sh_module *net) {
    sh_capture *capture = sh_capture_new(NULL);
    sh_tensor *x = resnet_image(0), *y = NULL;
    sh_capture_input(capture, x, "x");
    SH_WITH_MODE(sh_capture_mode(capture)) y = sh_forward(net, x);
    sh_graph *graph = sh_capture_graph(capture, SH_LIST(y));
    cr_assert(graph != NULL);
    sh_capture_free(capture);
    return graph;
}

/* Of what the graph gives for image 1. */
static double graph_distance(const golden *g, const sh_graph *graph) {
    sh_list *logits = sh_graph_run(graph, SH_LIST(resnet_image(1)));
    return distance(g, 1, logits ? sh_list_at(logits, 0) : NULL);
}

Test(resnet, a_capture_of_one_image_gives_the_logits_of_another) {
    static golden g;
    cr_assert(read_golden(&g));
    sh_module *net = evaluated();
    sh_graph *graph = captured(net);
    cr_expect(le(dbl, graph_distance(&g, graph), 1e-5));
    sh_graph_free(graph);
    sh_module_release(net);
}

Test(resnet, weights_go_through_a_file) {
    static golden g;
    char path[] = "/tmp/shunt-resnet-XXXXXX";
    cr_assert(read_golden(&g));
    close(mkstemp(path));
    sh_module *net = evaluated(), *fresh = resnet18();
    cr_assert(sh_module_save(net, path) == SH_OK);
    sh_module *traced = sh_symbolic_trace(fresh, SH_INPUTS(resnet_image(0)), NULL);
    cr_assert(sh_module_load(traced, path) == SH_OK, "%s", sh_error() ? sh_error()->message : "");
    sh_module_eval(traced);
    cr_expect(le(dbl, distance(&g, 1, sh_forward(traced, resnet_image(1))), 1e-5));
    unlink(path);
    sh_module_release(traced);
    sh_module_release(fresh);
    sh_module_release(net);
}

Test(resnet, folded_batch_norms_give_torchs_logits) {
    static golden g;
    cr_assert(read_golden(&g));
    sh_module *net = evaluated();
    sh_module *traced = sh_symbolic_trace(net, SH_INPUTS(resnet_image(0)), NULL);
    size_t folded = 0, gone = 0;
    cr_assert(sh_pass_fuse_conv_bn(sh_graph_module_graph(traced), &folded) == SH_OK, "%s",
              sh_error() ? sh_error()->message : "");
    cr_expect(eq(sz, folded, 20));
    cr_expect(sh_graph_module_delete_all_unused_submodules(traced, &gone) == SH_OK && gone == 20);
    cr_expect(sh_module_child(traced, "layer2.0.downsample.0") != NULL);
    cr_expect(sh_module_child(traced, "layer2.0.downsample.1") == NULL);
    cr_expect(le(dbl, distance(&g, 1, sh_forward(traced, resnet_image(1))), 2e-5));
    cr_expect(le(dbl, distance(&g, 1, sh_forward(net, resnet_image(1))), 1e-5), "the net is as it was");
    sh_module_release(traced);
    sh_module_release(net);
}

static bool same_logits(const sh_tensor *a, const sh_tensor *b) {
    return a && b && sh_tensor_numel(a) == CLASSES && sh_tensor_numel(b) == CLASSES &&
           memcmp(sh_tensor_data(a), sh_tensor_data(b), CLASSES * sizeof(float)) == 0;
}

Test(resnet, its_graph_goes_through_a_file_and_a_folder) {
    static golden g;
    char folder[] = "/tmp/shunt-resnet-XXXXXX", file[64], parts[64], command[80];
    cr_assert(read_golden(&g));
    cr_assert(mkdtemp(folder) != NULL);
    snprintf(file, sizeof file, "%s/net.shunt", folder);
    snprintf(parts, sizeof parts, "%s/net", folder);
    sh_module *net = evaluated(), *traced = sh_symbolic_trace(net, SH_INPUTS(resnet_image(0)), NULL);
    cr_assert(sh_graph_module_save(traced, file) == SH_OK, "%s", sh_error() ? sh_error()->message : "");
    cr_assert(sh_graph_module_to_folder(traced, parts) == SH_OK, "%s", sh_error() ? sh_error()->message : "");
    sh_tensor *logits = sh_forward(traced, resnet_image(1));
    sh_module_release(traced);
    sh_module_release(net);
    const char *const paths[] = {file, parts};
    for (int i = 0; i < 2; i++) {
        sh_module *loaded = sh_graph_module_load(paths[i]);
        cr_assert(loaded != NULL, "%s", sh_error() ? sh_error()->message : "");
        sh_tensor *y = sh_forward(loaded, resnet_image(1));
        cr_expect(le(dbl, distance(&g, 1, y), 1e-5), "%s", paths[i]);
        cr_expect(same_logits(y, logits), "%s gives the bits of before", paths[i]);
        sh_module_release(loaded);
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_expect(eq(int, system(command), 0));
}

Test(resnet, a_capture_goes_through_all_passes) {
    static golden g;
    cr_assert(read_golden(&g));
    sh_module *net = evaluated();
    sh_graph *graph = captured(net);
    size_t folded = 0, changes = 0;
    const sh_pass rest[] = {sh_pass_fold_constants, sh_pass_cse, sh_pass_dead_code, sh_pass_reinplace, NULL};
    cr_expect(sh_pass_fuse_conv_bn(graph, &folded) == SH_OK && folded == 20);
    cr_expect(sh_run_passes(graph, rest, &(sh_pass_options){.lint = true, .until_stable = true}, &changes) ==
              SH_OK);
    cr_expect(le(dbl, graph_distance(&g, graph), 2e-5));
    sh_graph_free(graph);
    sh_module_release(net);
}

static int by_layer(const sh_node *node, void *user) {
    const char *layer = strstr(sh_node_target(node), "layer");
    int *last = user;
    return *last = layer ? layer[5] - '0' : *last;
}

Test(resnet, parts_of_it_and_modules_taken_apart_give_the_same_bits) {
    static golden g;
    cr_assert(read_golden(&g));
    sh_module *net = evaluated();
    sh_graph *graph = sh_trace(net, SH_INPUTS(resnet_image(0)), NULL);
    int last = 0;
    size_t inlined = 0;
    sh_module *parts = sh_split_module(graph, by_layer, &last);
    cr_assert(parts != NULL, "%s", sh_error() ? sh_error()->message : "");
    cr_expect(eq(sz, sh_module_children(parts), 5));
    sh_tensor *expected = sh_forward(net, resnet_image(1));
    cr_expect(sh_equal(sh_forward(parts, resnet_image(1)), expected));
    cr_expect(sh_pass_inline_modules(graph, &inlined) == SH_OK && inlined == 60);
    cr_expect(sh_equal(sh_list_at(sh_graph_run(graph, SH_LIST(resnet_image(1))), 0), expected));
    sh_module_release(parts);
    sh_graph_free(graph);
    sh_module_release(net);
}
