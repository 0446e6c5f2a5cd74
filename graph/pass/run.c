/* run.c - passes in a row, and the small ones. */
#include "dispatch/status.h"
#include "graph/graph_impl.h"
#include "graph/pass/pass.h"

sh_status sh_pass_dead_code(sh_graph *graph, size_t *changes) {
    size_t ignored = 0;
    if (sh__error_pending()) return sh_error()->code;
    if (!graph) return sh_fail(SH_ERROR_NULL, "sh_pass_dead_code: the graph is NULL");
    if (!changes) changes = &ignored;
    *changes += sh_graph_eliminate_dead_code(graph, NULL, NULL);
    return SH_OK;
}

sh_status sh_pass_normalize_arguments(sh_graph *graph, size_t *changes) {
    size_t ignored = 0;
    if (sh__error_pending()) return sh_error()->code;
    if (!graph) return sh_fail(SH_ERROR_NULL, "sh_pass_normalize_arguments: the graph is NULL");
    if (!changes) changes = &ignored;
    SH_EACH_NODE(node, graph) {
        const uint64_t version = graph->version;
        SH_TRY(sh_node_normalize_arguments(node, SH_POSITIONAL_FORM));
        *changes += graph->version != version;
    }
    return SH_OK;
}

static sh_status run_round(sh_graph *graph, const sh_pass *passes, bool lint, size_t *changes) {
    for (size_t i = 0; passes[i]; i++) {
        SH_TRY(passes[i](graph, changes));
        if (lint) SH_TRY(sh_graph_lint(graph));
    }
    return SH_OK;
}

sh_status sh_run_passes(sh_graph *graph, const sh_pass *passes, const sh_pass_options *options,
                        size_t *changes) {
    static const sh_pass_options plain = {0};
    size_t total = 0;
    if (sh__error_pending()) return sh_error()->code;
    if (!graph || !passes)
        return sh_fail(SH_ERROR_NULL, "sh_run_passes: the %s NULL", graph ? "list is" : "graph is");
    if (!options) options = &plain;
    const unsigned most = options->rounds ? options->rounds : 100;
    for (unsigned round = 0;; round++) {
        size_t before = total;
        if (round == most)
            return sh_fail(SH_ERROR_VALUE, "sh_run_passes: round %u still changed the graph", most);
        SH_TRY(run_round(graph, passes, options->lint, &total));
        if (changes) *changes = total;
        if (!options->until_stable || total == before) return SH_OK;
    }
}
