/* meta.c - what users keep with nodes, by key.
 *
 * A short list, searched by name. A pointer stands in a box that copies of the node share; the box counts them. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/site.h"
#include "graph/given.h"
#include "graph/graph_impl.h"

typedef struct box {
    atomic_int refs;
    void *pointer;
    void (*end)(void *pointer);
} box;

typedef struct sh_meta_entry {
    struct sh_meta_entry *next;
    const char *key; /* of the graph's strings */
    sh_meta value;
    box *box; /* one reference; NULL unless it is a pointer */
} sh_meta_entry;

static void release(box *b) {
    if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1) return;
    if (b->end) b->end(b->pointer);
    sh__free(b);
}

/* The link that holds the entry of this key, or the one behind the last. */
static sh_meta_entry **link_of(sh_node *node, const char *key) {
    sh_meta_entry **link = &node->meta;
    while (*link && strcmp((*link)->key, key) != 0) link = &(*link)->next;
    return link;
}

/* Takes the box over, on failure too. */
static sh_status set(sh_node *node, const char *key, sh_meta value, box *b) {
    sh_meta_entry **link = link_of(node, key), *entry = *link;
    if (!entry) {
        const char *copy = sh__graph_string(node->graph, key);
        entry = copy ? sh__calloc(1, sizeof *entry) : NULL;
        if (!entry) {
            release(b);
            return SH_ERROR_MEMORY;
        }
        entry->key = copy;
        *link = entry;
    }
    box *const before = entry->box;
    entry->value = value;
    entry->box = b;
    release(before);
    return SH_OK;
}

static sh_status check(const sh_node *node, const char *key) {
    if (sh__error_pending()) return sh_error()->code;
    if (!node || !key) return sh_fail(SH_ERROR_NULL, "sh_node_set_meta: %s is NULL", node ? "key" : "node");
    return SH_OK;
}

sh_status sh_node_set_meta_int(sh_node *node, const char *key, int64_t i) {
    SH_TRY(check(node, key));
    return set(node, key, (sh_meta){SH_META_INT, {.i = i}}, NULL);
}

sh_status sh_node_set_meta_float(sh_node *node, const char *key, double f) {
    SH_TRY(check(node, key));
    return set(node, key, (sh_meta){SH_META_FLOAT, {.f = f}}, NULL);
}

sh_status sh_node_set_meta_string(sh_node *node, const char *key, const char *string) {
    SH_TRY(check(node, key));
    if (!string) return sh_fail(SH_ERROR_NULL, "sh_node_set_meta_string: string is NULL");
    const char *copy = sh__graph_string(node->graph, string);
    return copy ? set(node, key, (sh_meta){SH_META_STRING, {.string = copy}}, NULL) : SH_ERROR_MEMORY;
}

sh_status sh_node_set_meta_pointer(sh_node *node, const char *key, void *pointer,
                                   void (*end)(void *pointer)) {
    SH_TRY(check(node, key));
    box *b = sh__alloc(sizeof *b);
    if (!b) return SH_ERROR_MEMORY;
    *b = (box){.pointer = pointer};
    atomic_init(&b->refs, 1);
    SH_TRY(set(node, key, (sh_meta){SH_META_POINTER, {.pointer = pointer}}, b));
    b->end = end;
    return SH_OK;
}

sh_meta sh_node_meta(const sh_node *node, const char *key) {
    SH_GIVEN(node, (sh_meta){0});
    SH_GIVEN(key, (sh_meta){0});
    const sh_meta_entry *entry = *link_of((sh_node *)(uintptr_t)node, key);
    return entry ? entry->value : (sh_meta){SH_META_NONE, {0}};
}

const char *sh_node_meta_key(const sh_node *node, size_t i) {
    SH_GIVEN(node, NULL);
    const sh_meta_entry *entry = node->meta;
    while (entry && i--) entry = entry->next;
    return entry ? entry->key : NULL;
}

static void drop(sh_meta_entry **link) {
    sh_meta_entry *const entry = *link;
    *link = entry->next;
    release(entry->box);
    sh__free(entry);
}

void sh_node_drop_meta(sh_node *node, const char *key) {
    SH_GIVEN_OR_LEAVE(node);
    SH_GIVEN_OR_LEAVE(key);
    sh_meta_entry **link = link_of(node, key);
    if (*link) drop(link);
}

void sh__meta_free(sh_node *node) {
    while (node->meta) drop(&node->meta);
}

static sh_status copy_entry(sh_node *to, const sh_meta_entry *entry) {
    if (entry->value.kind == SH_META_STRING)
        return sh_node_set_meta_string(to, entry->key, entry->value.as.string);
    if (entry->box) atomic_fetch_add_explicit(&entry->box->refs, 1, memory_order_relaxed);
    return set(to, entry->key, entry->value, entry->box);
}

sh_status sh__meta_copy(sh_node *to, const sh_node *from) {
    for (const sh_meta_entry *entry = from->meta; entry; entry = entry->next) SH_TRY(copy_entry(to, entry));
    return SH_OK;
}

void sh__node_place(const sh_node *node, char *text, size_t size) {
    const sh_meta trace = sh_node_meta(node, "stack_trace");
    if (trace.kind == SH_META_STRING)
        snprintf(text, size, "%s", trace.as.string);
    else
        sh_site_text(node->site, text, size);
}
