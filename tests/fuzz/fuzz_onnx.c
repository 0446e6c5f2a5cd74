/* ONNX models and tensors from anywhere: each is refused with an error, or becomes a graph that prints, whose text names
 * its outputs, and that leaves nothing behind. */
#include <stdlib.h>
#include <string.h>

#include "dispatch/memory.h"
#include "dispatch/scope.h"
#include "graph/onnx/onnx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) abort();
}

static void look_at(const sh_graph *graph) {
    char *text = sh_graph_text(graph);
    require(text && strncmp(text, "graph():", 8) == 0);
    require(sh_graph_output_name(graph, 0) != NULL);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    SH_SCOPE {
        sh_graph *graph = sh_parse_onnx(data, size, "fuzzed");
        require((graph != NULL) != (sh_error() != NULL));
        if (graph) look_at(graph);
        sh_graph_free(graph);
        sh_clear_error();
        sh_tensor *t = sh_parse_onnx_tensor(data, size, "fuzzed");
        require((t != NULL) != (sh_error() != NULL));
        sh_clear_error();
    }
    require(sh_memory_stats_get().live_tensors == 0);
    return 0;
}
