/* kernels.c - what the larger kernels take, for peers.sh to set beside torch's. One line a kernel: name, microseconds. */
#include <stdio.h>

#include "shunt.h"
#include "tests/bench/timing.h"

static sh_tensor *vector, *large, *square, *image, *weight;

#define KERNEL(name, call)                             \
    static void name(int64_t times) {                  \
        for (int64_t i = 0; i < times; i++) SH_SCOPE { \
                call;                                  \
            }                                          \
    }
KERNEL(add_1e7, sh_add(large, large))
KERNEL(exp_1e5, sh_exp(vector))
KERNEL(sigmoid_1e5, sh_sigmoid(vector))
KERNEL(tanh_1e5, sh_tanh(vector))
KERNEL(matmul_1024, sh_matmul(square, square))
KERNEL(conv2d_64_56, sh_conv2d(image, weight, .padding = {1, 1}))

int main(void) {
    static timed quick[] = {
        {"exp_1e5", exp_1e5, 0}, {"sigmoid_1e5", sigmoid_1e5, 0}, {"tanh_1e5", tanh_1e5, 0}};
    static timed slow[] = {
        {"add_1e7", add_1e7, 0}, {"matmul_1024", matmul_1024, 0}, {"conv2d_64_56", conv2d_64_56, 0}};
    vector = sh_keep(sh_rand(SH_SIZES(100000)));
    large = sh_keep(sh_rand(SH_SIZES(10000000)));
    square = sh_keep(sh_rand(SH_SIZES(1024, 1024)));
    image = sh_keep(sh_rand(SH_SIZES(1, 64, 56, 56)));
    weight = sh_keep(sh_rand(SH_SIZES(64, 64, 3, 3)));
    time_all(quick, 3, 9, 50);
    time_all(slow, 3, 3, 2);
    for (int i = 0; i < 3; i++) printf("%s %.1f\n", quick[i].name, quick[i].ns / 1e3);
    for (int i = 0; i < 3; i++) printf("%s %.1f\n", slow[i].name, slow[i].ns / 1e3);
    return 0;
}
