/* One capture over several threads: each enters a captured context, and every call of every thread is a node. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "graph/record.h"
#include "ops/ops.h"

enum { THREADS = 8, CALLS = 200 };

static const sh_context *context;

static void *work(void *unused) {
    sh_context_guard guard;
    (void)unused;
    if (sh_context_enter(context, &guard) < 0) abort();
    SH_SCOPE {
        sh_tensor *x = SH_FLOATS(1, 2), *y = SH_FLOATS(3, 4);
        for (int i = 0; i < CALLS; i++) x = sh_add_(x, sh_mul(y, 2));
        if (!x) abort();
    }
    sh_context_leave(&guard);
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    sh_capture *capture = sh_capture_new(&(sh_capture_options){.shared = true});
    sh_context *snapshot = NULL;
    if (!capture) return 1;
    SH_WITH_MODE(sh_capture_mode(capture)) snapshot = sh_context_capture();
    if (!snapshot) return 1;
    context = snapshot;
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    sh_context_free(snapshot);
    sh_graph *graph = sh_capture_graph(capture, (sh_tensors){NULL, 0});
    size_t calls = 0;
    SH_EACH_NODE(node, graph) calls += sh_node_opcode(node) == SH_CALL_FUNCTION;
    sh_graph_free(graph);
    sh_capture_free(capture);
    const int good = calls == 2 * THREADS * CALLS;
    printf("%d passed, %d failed\n", good, !good);
    return !good;
}
