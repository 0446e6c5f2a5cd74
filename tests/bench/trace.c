/* trace.c - what a symbolic trace of ResNet18 costs: microseconds, the median of `rounds`. */
#include <stdio.h>

#include "tests/bench/timing.h"
#include "tests/resnet.h"

static sh_module *net;
static sh_tensor *image;

static void trace(int64_t times) {
    for (int64_t i = 0; i < times; i++) sh_graph_free(sh_trace(net, SH_INPUTS(image), NULL));
}

static void trace_to_module(int64_t times) {
    for (int64_t i = 0; i < times; i++) sh_module_release(sh_symbolic_trace(net, SH_INPUTS(image), NULL));
}

int main(void) {
    net = resnet18();
    image = resnet_image(0);
    timed work[] = {{"trace", trace, 0}, {"symbolic_trace", trace_to_module, 0}};
    if (!net || !image) return 1;
    time_all(work, 2, 15, 20);
    for (int i = 0; i < 2; i++) printf("resnet18 %-16s %8.1f us\n", work[i].name, work[i].ns / 1000);
    sh_module_release(net);
    return sh_error() != NULL;
}
