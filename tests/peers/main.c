/* main.c - peers THREADS [NET]...: nets by this library and its peers, in turns: time, error, memory, what it takes to begin.
 *
 * peers.sh runs it: PEERS_ORT is ONNX Runtime's library, PEERS_TORCH a shared object made of torch.cpp, PEERS_MODELS the
 * folder of the models. What is not there has no line. `peers peak MAKER NET THREADS` is one process of its own. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "tests/peers/table.h"

const peer_maker makers[] = {
    {"eager", ours_eager},      {"compiled", ours_compiled}, {"no Winograd", ours_no_winograd},
    {"ONNX Runtime", ort_open}, {"torch", torch_open},       {NULL, NULL},
};

static bool is_asked(const peer_net *net, int count, char **words) {
    for (int i = 2; i < count; i++)
        if (strcmp(words[i], net->name) == 0) return true;
    return count <= 2;
}

int main(int count, char **words) {
    static table t;
    const bool peak = count == 5 && strcmp(words[1], "peak") == 0;
    t.threads = count > 1 ? atoi(words[peak ? 4 : 1]) : 1;
    omp_set_num_threads(t.threads);
    if (peak) return peak_print(words[2], words[3], t.threads);
    printf("%-10s %s  %-22s %11s %11s %11s %11s %11s %11s\n", "net", "thr", "by", "us", "/ ORT", "/ torch",
           "error", "peak MiB", "ready ms");
    for (const peer_net *net = nets; net->name; net++) {
        if (!is_asked(net, count, words)) continue;
        table_time(&t, net);
        table_peaks(&t, net);
        table_print(&t, net);
        fflush(stdout);
    }
    table_trace(&t);
    targets_print(&t);
    return 0;
}
