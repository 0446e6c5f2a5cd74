/* expand.c - the copies come first, then the uses move, then the node goes. */
#include "graph/pass/expand.h"

#include <stdio.h>
#include <string.h>

#include "graph/invoke.h"

/* ---- may it be? ---- */

static sh_arg body_output(const sh_graph *body) {
    const sh_node *output = sh_graph_output_node(body);
    return output ? sh_node_arg(output, 0) : sh_arg_none();
}

/* Takes one entry out of a list of so many. */
static bool takes_entry(const sh_node *user, const sh_node *list, uint32_t n) {
    const sh_arg index = sh_node_arg(user, 1);
    return user->opcode == SH_CALL_FUNCTION && strcmp(user->target, SH_GETITEM) == 0 &&
           sh_node_arg(user, 0).as.node == list && index.tag == SH_ARG_INT && index.as.i >= 0 &&
           index.as.i < n;
}

static bool fits_users(const sh_node *node, sh_arg output) {
    if (!sh_arg_is_list(output)) return output.tag == SH_ARG_NODE;
    for (uint32_t i = 0; i < output.count; i++)
        if (output.as.list[i].tag != SH_ARG_NODE) return false;
    for (const sh_use *use = node->first_user; use; use = use->next)
        if (!takes_entry(use->user, node, output.count)) return false;
    return true;
}

/* ---- copying ---- */

static bool map_inputs(sh_node_map *map, const sh_expansion *e) {
    size_t i = 0;
    for (const sh_node *p = sh_graph_first(e->body); p; p = sh_node_next(p)) {
        if (p->opcode != SH_PLACEHOLDER) continue;
        if (i >= e->inputs.n && !p->args.n) return false;
        const sh_arg input = i < e->inputs.n ? e->inputs.at[i] : p->args.at[0];
        if (sh_node_map_set_arg(map, p, input) < 0) return false;
        i++;
    }
    return i >= e->inputs.n;
}

static sh_status set_prefix(const sh_node *from, sh_node *copy, const char *prefix) {
    const size_t size = strlen(prefix) + strlen(from->target) + 2;
    char *path = sh__alloc(size);
    if (!path) return SH_ERROR_MEMORY;
    snprintf(path, size, "%s.%s", prefix, from->target);
    const sh_status status = sh_node_set_target(copy, path);
    sh__free(path);
    return status;
}

/* Copies were recorded where the node was, inside its scopes. */
static sh_status place_copy(sh_node *copy, const sh_node *node) {
    char scope[512];
    if (!copy->site) copy->site = node->site;
    if (!*node->scope) return SH_OK;
    snprintf(scope, sizeof scope, *copy->scope ? "%s.%s" : "%s%s", node->scope, copy->scope);
    return sh_node_set_scope(copy, scope);
}

static sh_status finish_copies(const sh_expansion *e, const sh_node_map *map, const sh_node *node) {
    for (const sh_node *from = sh_graph_first(e->body); from; from = sh_node_next(from)) {
        sh_node *copy = from->opcode == SH_PLACEHOLDER ? NULL : sh_node_map_get(map, from);
        if (!copy) continue;
        const bool elsewhere = from->opcode == SH_CALL_MODULE ||
                               (from->opcode == SH_GET_ATTR && !sh_graph_attr(e->body, from->target));
        if (e->prefix && elsewhere) SH_TRY(set_prefix(from, copy, e->prefix));
        SH_TRY(place_copy(copy, node));
    }
    return SH_OK;
}

/* ---- the uses ---- */

/* A copy takes the name of what it stands for, unless it has taken one already. */
static sh_status take_over(sh_node *node, sh_node *copy, uint32_t from) {
    const bool fresh = copy->id >= from && !copy->nusers;
    SH_TRY(sh_node_replace_all_uses_with(node, copy));
    if (fresh) sh__node_swap_names(copy, node);
    return SH_OK;
}

static sh_status move_uses(sh_node *node, sh_arg output, uint32_t from) {
    if (output.tag == SH_ARG_NODE) return take_over(node, output.as.node, from);
    if (!sh_arg_is_list(output))
        return sh_fail(SH_ERROR_TYPE, "%%%s would become a literal", node->name->text);
    while (node->first_user) {
        sh_node *item = node->first_user->user;
        const sh_arg entry = output.as.list[item->args.at[1].as.i];
        SH_TRY(take_over(item, entry.as.node, from));
        sh__node_discard(item);
    }
    return SH_OK;
}

/* What was put in and is not used, the last first. */
static void discard_new(sh_node *node, uint32_t from) {
    for (sh_node *n = sh_node_prev(node), *prev; n && n->id >= from; n = prev) {
        prev = sh_node_prev(n);
        if (!n->nusers) sh__node_discard(n);
    }
}

bool sh__node_expand(sh_node *node, const sh_expansion *e) {
    const uint32_t from = node->graph->next_id;
    sh_arg output = body_output(e->body);
    if (!fits_users(node, output)) return false;
    sh_node_map *map = sh_node_map_new(e->body);
    bool done = map && map_inputs(map, e);
    if (done) SH_INSERTING_BEFORE(node) done = sh_graph_graph_copy(node->graph, map, &output) >= 0;
    done = done && finish_copies(e, map, node) >= 0 && move_uses(node, output, from) >= 0;
    if (done)
        sh__node_discard(node);
    else
        discard_new(node, from);
    sh_node_map_free(map);
    return done;
}

/* ---- inputs without data ---- */

bool sh__node_meta_inputs(const sh_node *node, sh_value *values) {
    for (size_t i = 0; i < node->args.n; i++) {
        const sh_arg arg = node->args.at[i];
        if (sh_arg_is_list(arg) || (arg.tag == SH_ARG_NODE && !sh__spec_is_known(arg.as.node))) return false;
        values[i] = sh__literal_value(arg);
        if (arg.tag == SH_ARG_NODE && sh__node_meta_value(arg.as.node, &values[i]) < 0) return false;
    }
    return true;
}
