/* constant.c - where a get_attr node's tensor is: with the graph, else with its modules. */
#include "graph/pass/constant.h"

#include "graph/module/graph_module.h"
#include "graph/recorder.h"

sh_tensor *sh__constant_of(const sh_node *node) {
    return node && node->opcode == SH_GET_ATTR ? sh__graph_tensor(node->graph, node->target) : NULL;
}

/* A node whose name no tensor has; its target is still the wish. */
static sh_node *create_named(sh_graph *graph, const char *wish) {
    for (;;) {
        sh_node *node = sh_graph_create_node(graph, SH_GET_ATTR, wish, SH_NO_ARGS, SH_NO_KWARGS, NULL);
        if (!node || !sh__graph_tensor(graph, node->name->text)) return node;
        sh__node_discard(node);
    }
}

sh_node *sh__constant_new(sh_graph *graph, const char *wish, sh_tensor *value) {
    sh_node *node = value ? create_named(graph, wish) : NULL;
    if (!node) return NULL;
    if (sh_graph_set_attr(graph, node->name->text, value) < 0 ||
        sh_node_set_target(node, node->name->text) < 0) {
        sh__node_discard(node);
        return NULL;
    }
    sh__recorder_set_spec(node, value);
    return node;
}

static sh_status note_storage(const char *path, sh_tensor *t, void *storages) {
    (void)path;
    if (t->storage) sh__seen_first(storages, t->storage);
    return sh__error_pending() ? sh_error()->code : SH_OK;
}

/* A module that is more than its value may write to all that is in it. */
static sh_status note_module(const sh_node *node, sh_seen *storages) {
    sh_module *module = sh_node_is_impure(node) ? sh_node_module(node) : NULL;
    return module ? sh_module_walk_tensors(module, SH_PARAMETERS | SH_BUFFERS, note_storage, storages)
                  : SH_OK;
}

sh_status sh__written_constants(const sh_graph *graph, const sh_memory_map *memory, sh_seen *storages) {
    for (const sh_node *node = sh_graph_first(graph); node; node = sh_node_next(node)) {
        sh_tensor *t = sh__constant_of(node);
        if (t && sh__is_written(memory, node)) SH_TRY(note_storage(NULL, t, storages));
        if (node->opcode == SH_CALL_MODULE) SH_TRY(note_module(node, storages));
    }
    return SH_OK;
}

void sh__node_discard_with_constants(sh_node *node) {
    const uint32_t n = node->ninputs;
    sh__uses_drop(node); /* the entries stay readable till the node ends */
    for (uint32_t i = 0; i < n; i++) {
        sh_node *input = node->uses[i].input;
        if (input->opcode == SH_GET_ATTR && !input->nusers) sh__node_discard(input);
    }
    sh__node_discard(node);
}
