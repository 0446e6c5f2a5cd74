/* quantized.c - convolutions and products of integers beside those of f32 in one run: what int8 wins, of 7 bits, as
 * observers make activations, and of 8, which oneDNN multiplies exactly only with VNNI. With OMP_NUM_THREADS=1, as
 * `make bench` sets. */
#include "shunt.h"
#include "tests/bench/timing.h"

/* One layer both ways. A kernel of 0 is a linear layer of `size` rows. */
typedef struct layer {
    const char *name;
    int64_t inputs, outputs, size, kernel, stride, times;
    double most;
} layer;

static const layer layers[] = {
    {"conv 64>64, 56x56, 3x3", 64, 64, 56, 3, 1, 3, 0.7},
    {"conv 64>64, 56x56, 1x1", 64, 64, 56, 1, 1, 10, 0.7},
    {"conv 64>128, 56x56, 3x3 / 2", 64, 128, 56, 3, 2, 3, 0.7},
    {"conv 256>256, 14x14, 3x3", 256, 256, 14, 3, 1, 3, 0.9},
    {"conv 512>512, 7x7, 3x3", 512, 512, 7, 3, 1, 3, 1},
    {"conv 3>64, 224x224, 7x7 / 2", 3, 64, 224, 7, 2, 2, 1},
    {"linear 1024>1024, batch 1", 1024, 1024, 1, 0, 1, 50, 0.8},
    {"linear 1024>1024, batch 32", 1024, 1024, 32, 0, 1, 5, 0.8},
    {"linear 1024>1024, batch 128", 1024, 1024, 128, 0, 1, 2, 0.8},
};

static layer at;
static int64_t values; /* that inputs have */
static sh_tensor *x, *weight, *bias, *xq, *weight_q, *scales;

static void make_tensors(void) {
    const int64_t image[] = {1, at.inputs, at.size, at.size},
                  filters[] = {at.outputs, at.inputs, at.kernel, at.kernel};
    const int64_t rows[] = {at.size, at.inputs};
    const sh_ints xs = at.kernel ? sh_ints_of(image, 4) : sh_ints_of(rows, 2),
                  ws = sh_ints_of(filters, at.kernel ? 4 : 2);
    x = sh_rand(xs);
    weight = sh_rand(ws);
    bias = sh_rand(SH_SIZES(at.outputs));
    xq = sh_randint(values, xs, .dtype = SH_U8);
    weight_q = sh_randint_low(-128, 128, ws, .dtype = SH_I8);
    scales = sh_full(SH_SIZES(at.outputs), 0.01);
}

static sh_tensor *run_float(void) {
    const int64_t p = at.kernel / 2;
    if (!at.kernel) return sh_linear(x, weight, .bias = bias);
    return sh_conv2d(x, weight, .bias = bias, .padding = {p, p}, .stride = {at.stride, at.stride});
}

static sh_tensor *run_quantized(void) {
    const int64_t p = at.kernel / 2;
    if (!at.kernel)
        return sh_quantized_linear(xq, 0.02, 100, weight_q, scales, .bias = bias, .output_scale = 0.5,
                                   .output_zero_point = 3, .output_dtype = SH_U8, .relu = true);
    return sh_quantized_conv2d(xq, 0.02, 100, weight_q, scales, .bias = bias, .padding = {p, p},
                               .stride = {at.stride, at.stride}, .output_scale = 0.5, .output_zero_point = 3,
                               .output_dtype = SH_U8, .relu = true);
}

static void floats(int64_t times) {
    for (int64_t i = 0; i < times; i++) SH_SCOPE {
            (void)run_float();
        }
}
static void integers(int64_t times) {
    for (int64_t i = 0; i < times; i++) SH_SCOPE {
            (void)run_quantized();
        }
}

static int layers_of(int64_t n) {
    values = n;
    print_head(n == 128 ? "int8, 7 bits" : "int8, 8 bits", "f32");
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) SH_SCOPE {
            at = layers[i];
            make_tensors();
            const pair p = {at.name, integers, floats, at.times, at.most};
            print_pair(&p);
            if (sh_error()) return 1;
        }
    return 0;
}

int main(void) { return layers_of(128) || layers_of(256); }
