/* copy.c - nodes of one graph copied into another.
 *
 * A walk over the nodes, never over the arguments as a tree, so a chain of any length costs no depth of the
 * C stack. The map is an array by the ids of the nodes that are copied from. */
#include <stdio.h>
#include <string.h>

#include "dispatch/copy.h"
#include "graph/given.h"
#include "graph/graph_impl.h"
#include "graph/identity.h"
#include "ops/ops.h"

struct sh_node_map {
    const sh_graph *from;
    sh_arg *copies; /* by id; None: there is none */
    uint32_t n;
    sh_pool pool;
    sh_arg_block block; /* the output's arguments */
};

/* ---- the map ---- */

sh_node_map *sh_node_map_new(const sh_graph *from) {
    if (sh__error_pending()) return NULL;
    if (!from) {
        sh_fail(SH_ERROR_NULL, "sh_node_map_new: the graph is NULL");
        return NULL;
    }
    sh_node_map *map = sh__calloc(1, sizeof *map);
    if (map) map->from = from;
    return map;
}

void sh_node_map_free(sh_node_map *map) {
    if (!map) return;
    sh__free(map->copies);
    sh__pool_free(&map->pool, map->block.block, map->block.size);
    sh__pool_end(&map->pool);
    sh__free(map);
}

/* The graph may have grown since the last look. */
static sh_status reserve(sh_node_map *map, uint32_t id) {
    if (id < map->n) return SH_OK;
    const uint32_t n = map->from->next_id;
    sh_arg *copies = sh__realloc(map->copies, n * sizeof *copies);
    if (!copies) return SH_ERROR_MEMORY;
    for (uint32_t i = map->n; i < n; i++) copies[i] = sh_arg_none();
    map->copies = copies;
    map->n = n;
    return SH_OK;
}

sh_status sh_node_map_set(sh_node_map *map, const sh_node *node, sh_node *copy) {
    return sh_node_map_set_arg(map, node, copy ? sh_arg_node(copy) : sh_arg_none());
}

sh_status sh_node_map_set_arg(sh_node_map *map, const sh_node *node, sh_arg copy) {
    if (sh__error_pending()) return sh_error()->code;
    if (!node || node->graph != map->from)
        return sh_fail(SH_ERROR_VALUE, "sh_node_map_set: %s%s",
                       node ? "the map is of another graph than %" : "node is NULL",
                       node ? node->name->text : "");
    SH_TRY(reserve(map, node->id));
    map->copies[node->id] = copy;
    return SH_OK;
}

static sh_arg copy_of_node(const sh_node_map *map, const sh_node *node) {
    return node && node->graph == map->from && node->id < map->n ? map->copies[node->id] : sh_arg_none();
}

sh_node *sh_node_map_get(const sh_node_map *map, const sh_node *node) {
    const sh_arg copy = copy_of_node(map, node);
    return copy.tag == SH_ARG_NODE ? copy.as.node : NULL;
}

/* ---- attributes ---- */

/* The name that `value` has or gets in the graph: the one it had, or that with a number. */
static const char *bring_attribute(sh_graph *graph, const char *name, sh_tensor *value) {
    const size_t size = strlen(name) + 16;
    char *other = sh__alloc(size);
    if (!other) return NULL;
    snprintf(other, size, "%s", name);
    const sh_tensor *taken;
    for (unsigned i = 1; (taken = sh_graph_attr(graph, other)) && taken != value; i++)
        snprintf(other, size, "%s_%u", name, i);
    const char *result =
        !taken && sh_graph_set_attr(graph, other, value) < 0 ? NULL : sh__graph_string(graph, other);
    sh__free(other);
    return result;
}

/* What the copy's target is; for a get_attr node the tensor comes along. NULL and an error. */
const char *sh__copied_target(sh_graph *graph, const sh_node *node) {
    sh_tensor *value = node->opcode == SH_GET_ATTR ? sh_graph_attr(node->graph, node->target) : NULL;
    return value && graph != node->graph ? bring_attribute(graph, node->target, value) : node->target;
}

/* ---- nodes ---- */

static sh_status use_copy(sh_arg *arg, void *user) {
    const sh_arg copy = copy_of_node(user, arg->as.node);
    if (copy.tag == SH_ARG_NONE)
        return sh_fail(SH_ERROR_VALUE, "a copied node uses %%%s, of which the map knows no copy",
                       arg->as.node->name->text);
    *arg = copy;
    return SH_OK;
}

static sh_status copied_args(sh_graph *graph, const sh_node *node, sh_node_map *map, sh_arg_block *block) {
    SH_TRY(sh__args_copy(graph, node->args, node->kwargs, &map->pool, block));
    const sh_status status = sh__args_visit(block->args, block->kwargs, use_copy, map);
    if (status < 0) sh__pool_free(&map->pool, block->block, block->size);
    return status;
}

sh_status sh__node_copy_knowledge(sh_node *to, const sh_node *from) {
    to->site = from->site;
    to->has_spec = from->has_spec;
    to->spec = from->spec;
    SH_TRY(sh_node_set_scope(to, from->scope));
    SH_TRY(sh_node_set_type(to, from->type));
    return sh__meta_copy(to, from);
}

static sh_node *copy_as(sh_graph *graph, const sh_node *node, const char *target, sh_node_map *map) {
    sh_arg_block block;
    if (reserve(map, node->id) < 0 || copied_args(graph, node, map, &block) < 0) return NULL;
    sh_node *copy =
        sh_graph_create_node(graph, node->opcode, target, block.args, block.kwargs, node->name->text);
    sh__pool_free(&map->pool, block.block, block.size);
    if (!copy) return NULL;
    if (sh__node_copy_knowledge(copy, node) >= 0) {
        map->copies[node->id] = sh_arg_node(copy);
        return copy;
    }
    sh__node_discard(copy);
    return NULL;
}

sh_node *sh_graph_node_copy(sh_graph *graph, const sh_node *node, sh_node_map *map) {
    if (sh__error_pending()) return NULL;
    SH_GIVEN(graph, NULL);
    SH_GIVEN(node, NULL);
    SH_GIVEN(map, NULL);
    if (node->graph != map->from) {
        sh_fail(SH_ERROR_VALUE, "sh_graph_node_copy: the map is of another graph than the node");
        return NULL;
    }
    const char *target = sh__copied_target(graph, node);
    return target ? copy_as(graph, node, target, map) : NULL;
}

static sh_status copy_output(sh_graph *graph, const sh_node *output, sh_node_map *map, sh_arg *value) {
    sh_arg_block block = {.block = NULL};
    if (output) SH_TRY(copied_args(graph, output, map, &block));
    sh__pool_free(&map->pool, map->block.block, map->block.size);
    map->block = block;
    *value = block.args.n ? block.args.at[0] : sh_arg_none();
    return SH_OK;
}

sh_status sh_graph_graph_copy(sh_graph *graph, sh_node_map *map, sh_arg *output) {
    if (sh__error_pending()) return sh_error()->code;
    SH_GIVEN(graph, SH_ERROR_NULL);
    SH_GIVEN(map, SH_ERROR_NULL);
    const sh_node *last = NULL;
    const uint32_t end = map->from->next_id; /* into itself: copies are not copied again */
    for (const sh_node *node = sh_graph_first(map->from); node; node = sh_node_next(node)) {
        if (node->id >= end) continue;
        if (node->opcode == SH_OUTPUT)
            last = node;
        else if (copy_of_node(map, node).tag == SH_ARG_NONE && !sh_graph_node_copy(graph, node, map))
            return sh_error()->code;
    }
    return output ? copy_output(graph, last, map, output) : SH_OK;
}

/* ---- whole graphs ---- */

/* In the same layout, by which sums round. */
static sh_tensor *copy_of(const sh_tensor *t) {
    sh_switch off;
    if (t->device == SH_HOST && t->data) {
        sh_tensor *copy = sh__tensor_double(t);
        return copy ? sh__own(copy) : NULL;
    }
    sh_switch_off(&off, SH_OFF_ALL);
    sh_tensor *copy = sh_clone((sh_tensor *)(uintptr_t)t);
    sh_switch_end(&off);
    return copy;
}

/* Attributes that were one tensor are one tensor in the copy. `seen`: the originals, item: their place among the attributes. */
static sh_status copy_attribute(sh_graph *to, const sh_symbol *attr, sh_identities *seen) {
    const sh_origin *origin = sh__identity_find(seen, attr->object);
    sh_tensor *copy = origin ? to->attrs.at[origin->item]->object : copy_of(attr->object);
    if (!copy) return sh_error()->code;
    SH_TRY(sh_graph_set_attr(to, attr->text, copy));
    return origin ? SH_OK : sh__identity_set(seen, attr->object, NULL, (int64_t)to->attrs.n - 1);
}

static sh_status copy_attributes(sh_graph *to, const sh_graph *from) {
    sh_identities seen = {0};
    sh_status status = SH_OK;
    for (uint32_t i = 0; status >= 0 && i < from->attrs.n; i++)
        SH_SCOPE status = copy_attribute(to, from->attrs.at[i], &seen);
    sh__identities_free(&seen);
    return status;
}

/* The copy has each attribute already, so get_attr nodes keep their targets. */
static sh_status copy_nodes(sh_graph *to, const sh_graph *from, sh_node_map *map) {
    for (const sh_node *node = sh_graph_first(from); node; node = sh_node_next(node))
        if (!copy_as(to, node, node->target, map)) return sh_error()->code;
    return SH_OK;
}

sh_graph *sh_graph_clone(const sh_graph *graph) {
    sh_node_map *map = sh_node_map_new(graph);
    sh_graph *copy = map ? sh_graph_new() : NULL;
    const bool done = copy && copy_attributes(copy, graph) >= 0 && copy_nodes(copy, graph, map) >= 0;
    sh_node_map_free(map);
    if (done) {
        sh__graph_share_root(copy, graph);
        return copy;
    }
    sh_graph_free(copy);
    return NULL;
}
