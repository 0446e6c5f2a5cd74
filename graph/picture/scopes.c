/* scopes.c - which box a node is drawn in.
 *
 * Boxes are the outermost scopes that have nodes of their own: a sequential has none, so its blocks are the boxes, and what
 * is deeper belongs to them. A scope that holds most of the graph says nothing: it is opened, and what is in it decides. */
#include <string.h>

#include "graph/picture/picture.h"

sh_status sh__picture_note_scopes(sh_picture *p) {
    for (const sh_node *node = sh_graph_first(p->graph); node; node = sh_node_next(node)) {
        if (!sh__is_call(node) || !*node->scope) continue;
        sh_symbol *scope = sh__symbol(&p->scopes, node->scope, strlen(node->scope));
        if (!scope) return SH_ERROR_MEMORY;
        scope->taken = true;
    }
    return SH_OK;
}

size_t sh__box_scope(const sh_picture *p, const sh_node *node, const char **scope) {
    if (node->opcode == SH_GET_ATTR && node->first_user) node = node->first_user->user;
    *scope = node->scope;
    if (!sh__is_call(node)) return 0;
    for (size_t n = strcspn(node->scope, "."); n;
         n += node->scope[n] ? 1 + strcspn(node->scope + n + 1, ".") : 0) {
        const sh_symbol *symbol = sh__symbol_find(&p->scopes, node->scope, n);
        if (symbol && symbol->taken && !symbol->count) return n;
        if (!node->scope[n]) break;
    }
    return 0;
}

bool sh__same_box(const sh_picture *p, const sh_node *a, const sh_node *b) {
    const char *x, *y;
    const size_t n = sh__box_scope(p, a, &x);
    return n && sh__box_scope(p, b, &y) == n && strncmp(x, y, n) == 0;
}

/* Items of nodes that follow each other in one box. */
static void group(sh_picture *p) {
    p->nitems = 0;
    for (uint32_t i = 0, end; i < p->n; i = end) {
        sh_figure item = {.begin = i, .repeats = 1};
        for (end = i + 1; end < p->n && sh__same_box(p, p->order[i], p->order[end]); end++) {}
        item.end = end;
        if (end - i > 1) item.scope_length = sh__box_scope(p, p->order[i], &item.scope);
        p->items[p->nitems++] = item;
    }
}

/* The scope of the box that holds most of the picture, if there is such a one and little else. */
static sh_symbol *too_large(const sh_picture *p) {
    if (p->nitems >= 8) return NULL;
    for (uint32_t i = 0; i < p->nitems; i++) {
        const sh_figure *item = &p->items[i];
        if (item->scope && (item->end - item->begin) * 2 > p->n)
            return sh__symbol_find(&p->scopes, item->scope, item->scope_length);
    }
    return NULL;
}

void sh__picture_fold_scopes(sh_picture *p) {
    group(p);
    for (sh_symbol *large; (large = too_large(p)) != NULL;) {
        large->count = 1;
        group(p);
    }
    sh__picture_index(p);
}
