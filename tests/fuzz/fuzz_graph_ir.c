/* Texts of graphs from anywhere: refused with an error that has a place, or read; what is read is written, and that text
 * is read and written to the same again. Nothing stays behind. */
#include <stdlib.h>
#include <string.h>

#include "shunt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) abort();
}

/* The text of what `text` holds, or NULL and an error; a graph that stands alone or a module. */
static char *rewritten(const char *text, size_t size) {
    sh_module *module = sh_graph_module_parse(text, size, "fuzzed");
    const bool bare = !module && strstr(sh_error()->message, "a graph without modules");
    if (bare) sh_clear_error();
    sh_graph *graph = bare ? sh_graph_parse(text, size, "fuzzed") : NULL;
    require((module || graph) != (sh_error() != NULL));
    if (module) sh_graph_lint(sh_graph_module_graph(module));
    sh_clear_error();
    char *again = module ? sh_graph_module_ir(module) : graph ? sh_graph_ir(graph) : NULL;
    require(!(module || graph) || again);
    sh_module_release(module);
    sh_graph_free(graph);
    return again;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    SH_SCOPE {
        char *once = rewritten((const char *)data, size),
             *twice = once ? rewritten(once, strlen(once)) : NULL;
        require(!once || (twice && strcmp(once, twice) == 0));
        free(once);
        free(twice);
    }
    require(sh_memory_stats_get().live_tensors == 0);
    return 0;
}
