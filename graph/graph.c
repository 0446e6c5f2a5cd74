/* graph.c - graphs: nodes made, placed, erased; attributes.
 *
 * What fails changes nothing. Teardown is a walk over the ring: depth of the graph never becomes depth of
 * the C stack. */
#include <stdio.h>
#include <string.h>

#include "graph/given.h"
#include "graph/graph_impl.h"
#include "graph/program.h"

/* ---- making and ending ---- */

sh_graph *sh_graph_new(void) {
    if (sh__error_pending()) return NULL;
    static atomic_uint_fast64_t last;
    sh_graph *graph = sh__calloc(1, sizeof *graph);
    if (!graph) return NULL;
    graph->serial = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
    graph->root.prev = graph->root.next = &graph->root;
    graph->root.graph = graph;
    pthread_mutex_init(&graph->program.lock, NULL);
    return graph;
}

static void free_node(sh_node *node) {
    sh_pool *pool = &node->graph->pool;
    sh__meta_free(node);
    sh__pool_free(pool, node->block, node->block_size);
    sh__pool_free(pool, node->uses, node->uses_room * sizeof *node->uses);
    sh__pool_free(pool, node, sizeof *node);
}

void sh_graph_free(sh_graph *graph) {
    if (!graph) return;
    sh__graph_set_root(graph, (sh_graph_root){0});
    sh__program_release(graph->program.made);
    pthread_mutex_destroy(&graph->program.lock);
    for (sh_node *node = graph->root.next, *next; node != &graph->root; node = next) {
        next = node->next;
        free_node(node);
    }
    for (uint32_t i = 0; i < graph->attrs.n; i++) sh_release(graph->attrs.at[i]->object);
    sh__symbols_free(&graph->names);
    sh__symbols_free(&graph->attrs);
    sh__symbols_free(&graph->strings);
    sh__pool_end(&graph->pool);
    sh__free(graph);
}

void sh__graph_set_root(sh_graph *graph, sh_graph_root root) {
    const sh_graph_root before = graph->modules;
    graph->modules = root;
    if (before.held) before.release(before.object);
}

void sh__graph_share_root(sh_graph *to, const sh_graph *from) {
    sh_graph_root root = from->modules;
    root.held = root.keep != NULL;
    if (root.held) root.keep(root.object);
    sh__graph_set_root(to, root);
}

const sh_graph_root *sh__graph_root(const sh_graph *graph) { return &graph->modules; }

sh_tensor *sh__graph_tensor(const sh_graph *graph, const char *name) {
    const sh_graph_root *root = &graph->modules;
    sh_tensor *t = sh_graph_attr(graph, name);
    return t || !root->tensor ? t : root->tensor(root->object, name);
}

size_t sh_graph_size(const sh_graph *graph) {
    SH_GIVEN(graph, 0);
    return graph->size;
}

/* ---- making nodes ---- */

/* "max.dim" and "mylib::max" are named as max is. `name` has room for the target. */
static const char *plain_name(sh_opcode opcode, const char *target, char *name) {
    if (opcode != SH_CALL_FUNCTION) return target;
    const char *colons = strrchr(target, ':');
    if (strncmp(target, "operator.", 9) == 0) return target + 9;
    const char *const plain = colons ? colons + 1 : target;
    const size_t length = strcspn(plain, ".");
    memcpy(name, plain, length);
    name[length] = 0;
    return name;
}

/* A target is named as Python would name it: maxPool -> max_pool. `name` has room for twice the target. */
static void snake_case(const char *target, char *name) {
    bool lower = false;
    for (; *target; target++) {
        const char c = *target;
        const bool upper = c >= 'A' && c <= 'Z';
        if (upper && lower) *name++ = '_';
        *name++ = upper ? (char)(c - 'A' + 'a') : c;
        lower = c >= 'a' && c <= 'z';
    }
    *name = 0;
}

static sh_symbol *name_from_target(sh_graph *graph, sh_opcode opcode, const char *target) {
    const size_t length = strlen(target), room = 3 * length + 2;
    char near[256], *buffer = near;
    if (room > sizeof near && !(buffer = sh__alloc(room))) return NULL;
    char *const snake = buffer + length + 1;
    snake_case(plain_name(opcode, target, buffer), snake);
    sh_symbol *symbol = sh__name_create(graph, snake);
    if (buffer != near) sh__free(buffer);
    return symbol;
}

void sh__node_link(sh_node *node, sh_node *place) {
    node->prev = place->prev;
    node->next = place;
    place->prev->next = node;
    place->prev = node;
    node->graph->size++;
    node->graph->version++;
}

void sh__node_unlink(sh_node *node) {
    for (sh_cursor *c = node->graph->cursor; c; c = c->outer)
        if (c->at == node) c->at = node->prev;
    node->prev->next = node->next;
    node->next->prev = node->prev;
    node->graph->size--;
    node->graph->version++;
}

static sh_status check_creation(const sh_graph *graph, sh_opcode opcode, const char *target) {
    if (!graph) return sh_fail(SH_ERROR_NULL, "sh_graph_create_node: graph is NULL");
    if (!target) return sh_fail(SH_ERROR_NULL, "sh_graph_create_node: target is NULL");
    if (opcode > SH_OUTPUT)
        return sh_fail(SH_ERROR_VALUE, "sh_graph_create_node: %d is no opcode", (int)opcode);
    if (opcode == SH_OUTPUT && sh_graph_output_node(graph))
        return sh_fail(SH_ERROR_VALUE, "the graph has an output node already");
    return SH_OK;
}

sh_node *sh_graph_create_node(sh_graph *graph, sh_opcode opcode, const char *target, sh_args args,
                              sh_kwargs kwargs, const char *name) {
    if (sh__error_pending() || check_creation(graph, opcode, target) < 0) return NULL;
    sh_node *node = sh__pool_alloc(&graph->pool, sizeof *node);
    if (!node) return NULL;
    memset(node, 0, sizeof *node);
    node->graph = graph;
    node->opcode = opcode;
    node->scope = "";
    node->target = sh__graph_string(graph, target);
    if (!node->target || sh_node_set_args(node, args, kwargs) < 0) goto fail;
    node->name = name ? sh__name_create(graph, name) : name_from_target(graph, opcode, target);
    if (!node->name) goto fail;
    node->name->object = node;
    node->id = graph->next_id++;
    sh__node_link(node,
                  graph->insertion && graph->insertion->before ? graph->insertion->before : &graph->root);
    return node;
fail:
    sh__uses_drop(node);
    free_node(node);
    return NULL;
}

sh_node *sh_graph_placeholder(sh_graph *graph, const char *name) {
    return sh_graph_create_node(graph, SH_PLACEHOLDER, name, SH_NO_ARGS, SH_NO_KWARGS, NULL);
}

sh_node *sh_graph_get_attr(sh_graph *graph, const char *name) {
    if (sh__error_pending() || check_creation(graph, SH_GET_ATTR, name) < 0) return NULL;
    if (!sh__graph_tensor(graph, name)) {
        sh_fail(SH_ERROR_VALUE, "the graph has no attribute %s", name);
        return NULL;
    }
    return sh_graph_create_node(graph, SH_GET_ATTR, name, SH_NO_ARGS, SH_NO_KWARGS, NULL);
}

sh_node *sh_graph_output(sh_graph *graph, sh_arg value) {
    return sh_graph_create_node(graph, SH_OUTPUT, "output", (sh_args){&value, 1}, SH_NO_KWARGS, NULL);
}

/* ---- erasing ---- */

static sh_status has_users(const sh_node *node) {
    char list[512];
    size_t n = 0;
    uint32_t listed = 0;
    for (const sh_use *use = node->first_user; use && n + strlen(use->user->name->text) + 4 < sizeof list;
         use = use->next, listed++)
        n += (size_t)sprintf(list + n, "%s%%%s", n ? ", " : "", use->user->name->text);
    return sh_fail(SH_ERROR_VALUE, "node %%%s can't be erased: it has %u user%s: %s%s", node->name->text,
                   node->nusers, node->nusers == 1 ? "" : "s", list, listed < node->nusers ? ", ..." : "");
}

void sh__node_discard(sh_node *node) {
    for (sh_insertion *i = node->graph->insertion; i; i = i->outer)
        if (i->before == node) i->before = node->next == &node->graph->root ? NULL : node->next;
    sh__uses_drop(node);
    sh__node_unlink(node);
    node->name->object = NULL;
    free_node(node);
}

sh_status sh_graph_erase_node(sh_node *node) {
    if (sh__error_pending()) return sh_error()->code;
    if (!node) return sh_fail(SH_ERROR_NULL, "sh_graph_erase_node: node is NULL");
    if (node->nusers) return has_users(node);
    sh__node_discard(node);
    return SH_OK;
}

/* ---- finding ---- */

sh_node *sh_graph_find(const sh_graph *graph, const char *name) {
    SH_GIVEN(graph, NULL);
    SH_GIVEN(name, NULL);
    const sh_symbol *symbol = sh__symbol_find(&graph->names, name, strlen(name));
    return symbol ? symbol->object : NULL;
}

sh_node *sh_graph_first(const sh_graph *graph) {
    SH_GIVEN(graph, NULL);
    return sh_node_next(&graph->root);
}
sh_node *sh_graph_last(const sh_graph *graph) {
    SH_GIVEN(graph, NULL);
    return sh_node_prev(&graph->root);
}

sh_node *sh_graph_output_node(const sh_graph *graph) {
    SH_GIVEN(graph, NULL);
    for (sh_node *node = sh_graph_last(graph); node; node = sh_node_prev(node))
        if (node->opcode == SH_OUTPUT) return node;
    return NULL;
}

static sh_arg entry(sh_arg list, size_t i) {
    if (list.tag != SH_ARG_LIST && list.tag != SH_ARG_TUPLE) return i ? sh_arg_none() : list;
    return i < list.count ? list.as.list[i] : sh_arg_none();
}

const char *sh_graph_output_name(const sh_graph *graph, size_t i) {
    SH_GIVEN(graph, NULL);
    const sh_node *output = sh_graph_output_node(graph);
    if (!output) return NULL;
    const sh_arg name = entry(sh_node_kwarg(output, "names"), i), value = entry(sh_node_arg(output, 0), i);
    if (name.tag == SH_ARG_STRING) return name.as.string;
    return value.tag == SH_ARG_NODE ? value.as.node->name->text : NULL;
}

/* ---- insertion points ---- */

static sh_insertion *insert_at(sh_insertion *insertion, sh_node *node, sh_node *place) {
    if (!node) {
        sh_fail(SH_ERROR_NULL, "a node is inserted beside another, which is NULL");
        return NULL;
    }
    sh_graph *graph = node->graph;
    *insertion = (sh_insertion){graph, place == &graph->root ? NULL : place, graph->insertion};
    graph->insertion = insertion;
    return insertion;
}

sh_insertion *sh__insert_before(sh_insertion *insertion, sh_node *node) {
    return insert_at(insertion, node, node);
}
sh_insertion *sh__insert_after(sh_insertion *insertion, sh_node *node) {
    return insert_at(insertion, node, node ? node->next : NULL);
}

void sh_insertion_end(sh_insertion *insertion) {
    if (!insertion->graph) return;
    insertion->graph->insertion = insertion->outer;
    insertion->graph = NULL;
}

/* ---- loops ---- */

sh_cursor *sh__cursor_begin(sh_cursor *cursor, const sh_graph *graph) {
    if (!graph) {
        sh_fail(SH_ERROR_NULL, "SH_EACH_NODE: graph is NULL");
        return NULL;
    }
    sh_graph *own = (sh_graph *)(uintptr_t)graph;
    *cursor = (sh_cursor){own, &own->root, own->cursor};
    own->cursor = cursor;
    return cursor;
}

sh_node *sh__cursor_next(sh_cursor *cursor) {
    sh_node *const next = cursor->at->next;
    if (next == &cursor->graph->root) return NULL;
    cursor->at = next;
    return next;
}

void sh_cursor_end(sh_cursor *cursor) {
    if (!cursor->graph) return;
    cursor->graph->cursor = cursor->outer;
    cursor->graph = NULL;
}

/* ---- attributes ---- */

sh_status sh_graph_set_attr(sh_graph *graph, const char *name, sh_tensor *value) {
    if (sh__error_pending()) return sh_error()->code;
    SH_GIVEN(graph, SH_ERROR_NULL);
    if (!name || !value)
        return sh_fail(SH_ERROR_NULL, "sh_graph_set_attr: %s is NULL", name ? "value" : "name");
    sh_symbol *symbol = sh__symbol(&graph->attrs, name, strlen(name));
    if (!symbol) return SH_ERROR_MEMORY;
    sh_tensor *before = symbol->object;
    symbol->object = sh_keep(value);
    sh_release(before);
    graph->attrs_version++;
    return SH_OK;
}

sh_tensor *sh_graph_attr(const sh_graph *graph, const char *name) {
    SH_GIVEN(graph, NULL);
    SH_GIVEN(name, NULL);
    const sh_symbol *symbol = sh__symbol_find(&graph->attrs, name, strlen(name));
    return symbol ? symbol->object : NULL;
}

size_t sh_graph_attr_count(const sh_graph *graph) {
    SH_GIVEN(graph, 0);
    return graph->attrs.n;
}

const char *sh_graph_attr_name(const sh_graph *graph, size_t i) {
    SH_GIVEN(graph, NULL);
    return i < graph->attrs.n ? graph->attrs.at[i]->text : NULL;
}

/* Those that a node gets, in their order; tensors are not retained again. */
static sh_status list_used_attrs(const sh_graph *graph, sh_symbols *used) {
    for (uint32_t i = 0; i < graph->attrs.n; i++) graph->attrs.at[i]->taken = false;
    for (const sh_node *node = sh_graph_first(graph); node; node = sh_node_next(node)) {
        if (node->opcode != SH_GET_ATTR) continue;
        sh_symbol *attr = sh__symbol_find(&graph->attrs, node->target, strlen(node->target));
        if (attr) attr->taken = true;
    }
    for (uint32_t i = 0; i < graph->attrs.n; i++) {
        const sh_symbol *attr = graph->attrs.at[i];
        sh_symbol *copy = attr->taken ? sh__symbol(used, attr->text, strlen(attr->text)) : NULL;
        if (attr->taken && !copy) return SH_ERROR_MEMORY;
        if (copy) copy->object = attr->object;
    }
    return SH_OK;
}

sh_status sh_graph_delete_all_unused_attrs(sh_graph *graph, size_t *count) {
    if (sh__error_pending()) return sh_error()->code;
    if (!graph) return sh_fail(SH_ERROR_NULL, "sh_graph_delete_all_unused_attrs: graph is NULL");
    sh_symbols used = {0};
    if (list_used_attrs(graph, &used) < 0) {
        sh__symbols_free(&used);
        return SH_ERROR_MEMORY;
    }
    for (uint32_t i = 0; i < graph->attrs.n; i++)
        if (!graph->attrs.at[i]->taken) sh_release(graph->attrs.at[i]->object);
    if (count) *count = graph->attrs.n - used.n;
    sh__symbols_free(&graph->attrs);
    graph->attrs = used;
    return SH_OK;
}
