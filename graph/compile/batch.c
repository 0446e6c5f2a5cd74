/* batch.c - graphs of several batch sizes compared, and made from one.
 *
 * Two traces of one forward are walked side by side. Everything but integers must be equal; of an integer that is not the
 * difference says the slope. */
#include "graph/compile/batch.h"

#include <inttypes.h>
#include <string.h>

#include "graph/graph_impl.h"

int64_t sh__batch_size(sh_values inputs) {
    for (size_t i = 0; i < inputs.n; i++) {
        const sh_tensor *t = inputs.at[i].tag == SH_TAG_TENSOR ? inputs.at[i].as.tensor : NULL;
        if (t && t->ndim) return t->sizes[0] > 1 ? t->sizes[0] : 0;
    }
    return 0;
}

/* ---- inputs of another size ---- */

/* A tensor without data; of one whose first dimension is the batch that dimension is `to`. */
static sh_tensor *resized(const sh_tensor *t, int64_t from, int64_t to) {
    int64_t sizes[SH_MAX_DIMS];
    memcpy(sizes, t->sizes, sizeof sizes);
    if (t->ndim && sizes[0] == from) sizes[0] = to;
    return sh_tensor_new_on(SH_META, (sh_dtype)t->dtype, (sh_ints){sizes, t->ndim});
}

static sh_value resized_value(sh_value v, int64_t from, int64_t to) {
    if (v.tag == SH_TAG_TENSOR) return sh_value_tensor(resized(v.as.tensor, from, to));
    if (v.tag != SH_TAG_TENSORS) return v;
    sh_value list = sh_list_value(sh_value_as_tensors(v));
    for (uint32_t i = 0; list.tag == SH_TAG_TENSORS && i < list.count; i++) {
        sh_tensor **entry = &sh__list_of(list)->at[i], *other = resized(*entry, from, to);
        if (!other) return sh_none();
        sh_release(*entry);
        *entry = sh_keep(other);
    }
    return list;
}

static sh_status trace_at(const sh_batch *batch, sh_module *module, sh_values inputs, int64_t size,
                          bool strict, sh_baked *baked) {
    sh_value others[SH_MAX_ARGS];
    if (inputs.n > SH_MAX_ARGS)
        return sh_fail(SH_ERROR_ARGUMENT, "sh_compile: %zu inputs, the most is %d", inputs.n, SH_MAX_ARGS);
    for (size_t i = 0; i < inputs.n; i++) others[i] = resized_value(inputs.at[i], batch->size, size);
    if (sh__error_pending()) return sh_error()->code;
    return sh__bake(module, (sh_values){others, inputs.n}, strict, baked);
}

/* ---- the integers of a graph ---- */

typedef sh_status (*visit_integer)(int64_t *at, const sh_node *node, void *user);
typedef struct walk {
    visit_integer visit;
    const sh_node *node;
    void *user;
} walk;

static sh_status walk_arg(walk *w, sh_arg *arg) {
    if (arg->tag == SH_ARG_INT) return w->visit(&arg->as.i, w->node, w->user);
    for (uint32_t i = 0; sh_arg_is_list(*arg) && i < arg->count; i++)
        SH_TRY(walk_arg(w, (sh_arg *)(uintptr_t)&arg->as.list[i]));
    return SH_OK;
}

static sh_status walk_node(walk *w, sh_node *node) {
    w->node = node;
    for (size_t i = 0; i < node->args.n; i++) SH_TRY(walk_arg(w, (sh_arg *)(uintptr_t)&node->args.at[i]));
    for (size_t i = 0; i < node->kwargs.n; i++)
        SH_TRY(walk_arg(w, (sh_arg *)(uintptr_t)&node->kwargs.at[i].value));
    for (int i = 0; node->has_spec && i < node->spec.ndim; i++)
        SH_TRY(w->visit(&node->spec.sizes[i], node, w->user));
    return SH_OK;
}

static sh_status walk_integers(sh_graph *graph, visit_integer visit, void *user) {
    walk w = {.visit = visit, .user = user};
    for (sh_node *node = graph->root.next; node != &graph->root; node = node->next)
        SH_TRY(walk_node(&w, node));
    return SH_OK;
}

typedef struct integers {
    int64_t *at;
    size_t n, room;
} integers;

static sh_status collect(int64_t *at, const sh_node *node, void *user) {
    integers *all = user;
    (void)node;
    if (all->n == all->room) {
        const size_t room = all->room ? 2 * all->room : 256;
        int64_t *moved = sh__realloc(all->at, room * sizeof *moved);
        if (!moved) return SH_ERROR_MEMORY;
        all->at = moved;
        all->room = room;
    }
    all->at[all->n++] = *at;
    return SH_OK;
}

/* ---- alike but for integers ---- */

static bool alike(sh_arg a, sh_arg b) {
    if (a.tag != b.tag) return false;
    if (a.tag == SH_ARG_INT) return true;
    if (a.tag == SH_ARG_NODE) return strcmp(a.as.node->name->text, b.as.node->name->text) == 0;
    if (!sh_arg_is_list(a)) return sh_arg_equal(a, b);
    bool same = a.count == b.count;
    for (uint32_t i = 0; same && i < a.count; i++) same = alike(a.as.list[i], b.as.list[i]);
    return same;
}

static bool alike_nodes(const sh_node *a, const sh_node *b) {
    bool same = a->opcode == b->opcode && strcmp(a->target, b->target) == 0 && a->args.n == b->args.n &&
                a->kwargs.n == b->kwargs.n && a->has_spec == b->has_spec && a->spec.ndim == b->spec.ndim &&
                a->spec.dtype == b->spec.dtype;
    for (size_t i = 0; same && i < a->args.n; i++) same = alike(a->args.at[i], b->args.at[i]);
    for (size_t i = 0; same && i < a->kwargs.n; i++)
        same = strcmp(a->kwargs.at[i].name, b->kwargs.at[i].name) == 0 &&
               alike(a->kwargs.at[i].value, b->kwargs.at[i].value);
    if (!same || a->opcode != SH_GET_ATTR) return same;
    return sh__graph_tensor(a->graph, a->target) == sh__graph_tensor(b->graph, b->target);
}

static sh_status differs(const sh_node *node, int64_t n, int64_t m, const char *how) {
    char place[256];
    sh__node_place(node, place, sizeof place);
    return sh_fail(SH_ERROR_SHAPE,
                   "sh_compile: %%%s (%s%s%s) %s between batch sizes %" PRId64 " and %" PRId64,
                   node->name->text, node->target, *place ? ", " : "", place, how, n, m);
}

/* Where one graph has ended, the other's call is the news, not the output. */
static sh_status compare(const sh_graph *a, const sh_graph *b, int64_t n, int64_t m) {
    const sh_node *x = a->root.next, *y = b->root.next;
    while (x != &a->root && y != &b->root && alike_nodes(x, y)) x = x->next, y = y->next;
    if (x == &a->root && y == &b->root) return SH_OK;
    const bool both = x != &a->root && y != &b->root && (x->opcode == SH_OUTPUT) == (y->opcode == SH_OUTPUT);
    if (both) return differs(x, n, m, "differs in more than integers");
    return differs(x == &a->root || x->opcode == SH_OUTPUT ? y : x, n, m,
                   "is called at one and not at the other");
}

/* ---- slopes ---- */

typedef struct fit {
    const integers *other; /* of the second graph */
    int64_t *slopes;
    size_t i;
    int64_t from, to;
} fit;

static sh_status find_slope(int64_t *at, const sh_node *node, void *user) {
    fit *f = user;
    const int64_t rise = f->other->at[f->i] - *at, run = f->to - f->from;
    if (rise % run) return differs(node, f->from, f->to, "has an integer that is not a*N + b");
    f->slopes[f->i++] = rise / run;
    return SH_OK;
}

static sh_status check_slope(int64_t *at, const sh_node *node, void *user) {
    fit *f = user;
    const int64_t expected = *at + f->slopes[f->i] * (f->to - f->from);
    return f->other->at[f->i++] == expected
               ? SH_OK
               : differs(node, f->from, f->to, "has an integer that is not a*N + b");
}

/* One more trace, at `size`, against the first. */
static sh_status meet(sh_batch *batch, sh_module *module, sh_values inputs, bool strict, int64_t size,
                      visit_integer visit) {
    sh_baked other;
    integers all = {0};
    SH_TRY(trace_at(batch, module, inputs, size, strict, &other));
    sh_status status = compare(batch->baked.graph, other.graph, batch->size, size);
    if (status >= 0) status = walk_integers(other.graph, collect, &all);
    if (status >= 0 && !batch->slopes) {
        batch->slopes = sh__calloc(all.n + 1, sizeof *batch->slopes);
        batch->nslopes = all.n;
        if (!batch->slopes) status = SH_ERROR_MEMORY;
    }
    fit f = {&all, batch->slopes, 0, batch->size, size};
    if (status >= 0) status = walk_integers(batch->baked.graph, visit, &f);
    sh__free(all.at);
    sh__baked_free(&other);
    return status;
}

sh_status sh__batch_take(sh_batch *batch, sh_module *module, sh_values inputs, bool strict) {
    *batch = (sh_batch){.size = sh__batch_size(inputs)};
    SH_TRY(sh__bake(module, inputs, strict, &batch->baked));
    sh_status status = SH_OK;
    SH_SCOPE {
        status = meet(batch, module, inputs, strict, batch->size + 1, find_slope);
        if (status >= 0) status = meet(batch, module, inputs, strict, 2 * batch->size + 3, check_slope);
    }
    if (status < 0) sh__batch_free(batch);
    return status;
}

/* ---- another size ---- */

typedef struct move {
    const int64_t *slopes;
    size_t i;
    int64_t by;
} move;

static sh_status move_integer(int64_t *at, const sh_node *node, void *user) {
    move *m = user;
    (void)node;
    *at += m->slopes[m->i++] * m->by;
    return SH_OK;
}

sh_graph *sh__batch_graph(const sh_batch *batch, int64_t size) {
    sh_graph *graph = sh_graph_clone(batch->baked.graph);
    move m = {batch->slopes, 0, size - batch->size};
    if (graph) walk_integers(graph, move_integer, &m);
    return graph;
}

void sh__batch_free(sh_batch *batch) {
    sh__baked_free(&batch->baked);
    sh__free(batch->slopes);
    *batch = (sh_batch){0};
}
