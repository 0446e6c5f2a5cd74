/* nets.c - the nets that are compared, as modules of ours: two real ones, a chain of small calls, one of large arrays. */
#include <stdlib.h>
#include <string.h>

#include "tests/peers/peers.h"
#include "tests/resnet.h"

static sh_module *make_resnet18(void) {
    sh_module *m = resnet18();
    if (!m) return NULL;
    resnet_fill_all(m);
    sh_module_eval(m);
    return m;
}
static sh_tensor *image(void) { return resnet_image(0); }

static sh_module *make_blazeface(void) {
    static const sh_module_type type = {.name = "BlazeFace"};
    sh_module *root = sh_module_new(&type);
    sh_graph *graph = sh_load_onnx(net_file(net_find("blazeface")));
    sh_module *m = graph ? sh_graph_module_new(root, graph) : NULL;
    sh_module_release(root);
    return m;
}
static sh_tensor *face(void) {
    sh_tensor *t = sh_tensor_new(SH_F32, SH_SIZES(1, 128, 128, 3));
    if (t) resnet_fill(t, 1000, -1, 1);
    return t;
}

static sh_tensor *run_adds(sh_module *self, sh_tensor *x) {
    sh_tensor *y = x;
    (void)self;
    for (int i = 0; i < 64; i++) y = sh_add(y, x);
    return y;
}
static sh_module *make_adds(void) {
    static const sh_module_type type = {.name = "Adds", .forward = run_adds};
    return sh_module_new(&type);
}
static sh_tensor *small(void) {
    sh_tensor *t = sh_tensor_new(SH_F32, SH_SIZES(2, 2));
    if (t) resnet_fill(t, 1001, -1, 1);
    return t;
}

static sh_tensor *run_gelu(sh_module *self, sh_tensor *x) {
    (void)self;
    sh_tensor *inner = sh_mul(sh_add(x, sh_mul(sh_pow(x, 3), 0.044715)), 0.79788456);
    return sh_mul(sh_mul(x, 0.5), sh_add(sh_tanh(inner), 1));
}
static sh_module *make_gelu(void) {
    static const sh_module_type type = {.name = "Gelu", .forward = run_gelu};
    return sh_module_new(&type);
}
static sh_tensor *large(void) {
    sh_tensor *t = sh_tensor_new(SH_F32, SH_SIZES(1000000));
    if (t) resnet_fill(t, 1002, -4, 4);
    return t;
}

const peer_net nets[] = {
    {"resnet18", make_resnet18, image, 1, 1},
    {"blazeface", make_blazeface, face, 4, 1},
    {"adds", make_adds, small, 400, 64},
    {"gelu", make_gelu, large, 4, 1},
    {NULL, NULL, NULL, 0, 0},
};

const peer_net *net_find(const char *name) {
    for (const peer_net *n = nets; n->name; n++)
        if (strcmp(n->name, name) == 0) return n;
    return NULL;
}

const char *net_file(const peer_net *net) {
    static char path[512];
    const char *folder = getenv("PEERS_MODELS");
    snprintf(path, sizeof path, "%s/%s.onnx", folder ? folder : "build/models", net->name);
    return path;
}
