/* nancheck.c - what nancheck costs on convolutional nets: each beside itself without the mode, in turns. */
#include "shunt.h"
#include "tests/bench/timing.h"

typedef struct layer {
    int64_t in, out, size, groups; /* channels, filters of size by size */
    bool pools;                    /* halves the image after */
} layer;

enum { LAYERS = 7, IMAGE = 112 };

/* VGG's kind: the time goes into the convolutions. */
static const layer dense[LAYERS] = {{3, 32, 3, 1, false}, {32, 32, 3, 1, true},  {32, 64, 3, 1, false},
                                    {64, 64, 3, 1, true}, {64, 96, 3, 1, false}, {96, 96, 3, 1, true},
                                    {96, 128, 3, 1, true}};
/* MobileNet's kind: a filter a channel, then products of one pixel, so that moving results is much of the work. */
static const layer sparse[LAYERS] = {{3, 16, 3, 1, true},   {16, 16, 3, 16, false}, {16, 48, 1, 1, false},
                                     {48, 48, 3, 48, true}, {48, 96, 1, 1, false},  {96, 96, 3, 96, true},
                                     {96, 128, 1, 1, false}};

static sh_tensor *image, *dense_filters[LAYERS], *sparse_filters[LAYERS];
static sh_mode *nancheck;

static void make_filters(const layer *net, sh_tensor **filters) {
    for (int i = 0; i < LAYERS; i++) {
        const int64_t depth = net[i].in / net[i].groups;
        sh_tensor *normal = sh_randn(SH_SIZES(net[i].out, depth, net[i].size, net[i].size));
        filters[i] = sh_keep(sh_mul(normal, 1.0 / (double)(depth * net[i].size)));
    }
}

static void run_net(const layer *net, sh_tensor *const *filters) {
    sh_tensor *x = image;
    for (int i = 0; i < LAYERS; i++) {
        const int64_t edge = net[i].size / 2;
        x = sh_relu(sh_conv2d(x, filters[i], .padding = {edge, edge}, .groups = net[i].groups));
        if (net[i].pools) x = sh_max_pool2d(x, SH_SIZES(2, 2));
    }
}

#define NET(name)                                                                   \
    static void plain_##name(int64_t times) {                                       \
        for (int64_t i = 0; i < times; i++) SH_SCOPE run_net(name, name##_filters); \
    }                                                                               \
    static void checked_##name(int64_t times) {                                     \
        SH_WITH_MODE(nancheck) plain_##name(times);                                 \
    }
NET(dense)
NET(sparse)

int main(void) {
    static const pair pairs[] = {{"nancheck, dense conv net", checked_dense, plain_dense, 2, 1.05},
                                 {"nancheck, depthwise conv net", checked_sparse, plain_sparse, 10, 1.05}};
    image = sh_keep(sh_rand(SH_SIZES(1, 3, IMAGE, IMAGE)));
    make_filters(dense, dense_filters);
    make_filters(sparse, sparse_filters);
    if (sh_mode_from_spec("nancheck:inf=1", &nancheck) < 0) return 1;
    print_head("nancheck", "plain");
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) print_pair(&pairs[i]);
    sh_mode_release(nancheck);
    return sh_error() != NULL;
}
