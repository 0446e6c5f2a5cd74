/* args.c - arguments of nodes: nested values, copied as one block.
 *
 * A copy is made in two walks: the first measures, the second writes. Strings go to the graph's table, so
 * only arrays of arguments are in the block. */
#include <string.h>

#include "graph/graph_impl.h"

enum { MAX_DEPTH = 64 };

/* ---- equality ---- */

static bool lists_equal(sh_arg a, sh_arg b) {
    if (a.count != b.count) return false;
    for (uint32_t i = 0; i < a.count; i++)
        if (!sh_arg_equal(a.as.list[i], b.as.list[i])) return false;
    return true;
}

bool sh_arg_equal(sh_arg a, sh_arg b) {
    if (a.tag != b.tag) return false;
    switch (a.tag) {
    case SH_ARG_NONE: return true;
    case SH_ARG_NODE: return a.as.node == b.as.node;
    case SH_ARG_FLOAT: return a.as.f == b.as.f || (a.as.f != a.as.f && b.as.f != b.as.f);
    case SH_ARG_STRING: return strcmp(a.as.string, b.as.string) == 0;
    case SH_ARG_LIST:
    case SH_ARG_TUPLE: return lists_equal(a, b);
    default: return a.as.i == b.as.i;
    }
}

/* ---- copying ---- */

/* Adds how many entries all lists under `arg` have. */
static sh_status measure(sh_arg arg, int depth, size_t *entries) {
    if (arg.tag > SH_ARG_TUPLE)
        return sh_fail(SH_ERROR_VALUE, "an argument of a node has the unknown tag %u", arg.tag);
    if (arg.tag == SH_ARG_STRING && !arg.as.string)
        return sh_fail(SH_ERROR_NULL, "an argument of a node is a NULL string");
    if (!sh_arg_is_list(arg)) return SH_OK;
    if (depth == MAX_DEPTH)
        return sh_fail(SH_ERROR_VALUE, "lists in an argument of a node nest deeper than %d", MAX_DEPTH);
    *entries += arg.count;
    for (uint32_t i = 0; i < arg.count; i++) SH_TRY(measure(arg.as.list[i], depth + 1, entries));
    return SH_OK;
}

typedef struct writer {
    sh_graph *graph;
    sh_arg *free;
} writer;

static sh_status write_arg(writer *w, sh_arg *to, sh_arg from) {
    *to = from;
    if (from.tag == SH_ARG_STRING) {
        to->as.string = sh__graph_string(w->graph, from.as.string);
        return to->as.string ? SH_OK : SH_ERROR_MEMORY;
    }
    if (!sh_arg_is_list(from)) return SH_OK;
    sh_arg *list = w->free;
    w->free += from.count;
    to->as.list = list;
    for (uint32_t i = 0; i < from.count; i++) SH_TRY(write_arg(w, &list[i], from.as.list[i]));
    return SH_OK;
}

static sh_status write_all(writer *w, sh_args args, sh_kwargs kwargs, sh_arg *to_args, sh_kwarg *to_kwargs) {
    for (size_t i = 0; i < args.n; i++) SH_TRY(write_arg(w, &to_args[i], args.at[i]));
    for (size_t i = 0; i < kwargs.n; i++) {
        to_kwargs[i].name = sh__graph_string(w->graph, kwargs.at[i].name);
        if (!to_kwargs[i].name) return SH_ERROR_MEMORY;
        SH_TRY(write_arg(w, &to_kwargs[i].value, kwargs.at[i].value));
    }
    return SH_OK;
}

sh_status sh__args_copy(sh_graph *graph, sh_args args, sh_kwargs kwargs, sh_pool *pool, sh_arg_block *copy) {
    size_t entries = args.n;
    for (size_t i = 0; i < args.n; i++) SH_TRY(measure(args.at[i], 0, &entries));
    for (size_t i = 0; i < kwargs.n; i++) {
        if (!kwargs.at[i].name) return sh_fail(SH_ERROR_NULL, "a keyword argument of a node has no name");
        SH_TRY(measure(kwargs.at[i].value, 0, &entries));
    }
    *copy = (sh_arg_block){NULL, 0, {NULL, args.n}, {NULL, kwargs.n}};
    const size_t bytes = kwargs.n * sizeof(sh_kwarg) + entries * sizeof(sh_arg);
    if (!bytes) return SH_OK;
    copy->block = sh__pool_alloc(pool, bytes);
    if (!copy->block) return SH_ERROR_MEMORY;
    copy->size = bytes;
    sh_kwarg *const to_kwargs = copy->block;
    sh_arg *const to_args = (sh_arg *)(to_kwargs + kwargs.n);
    copy->args.at = to_args;
    copy->kwargs.at = to_kwargs;
    writer w = {graph, to_args + args.n};
    const sh_status status = write_all(&w, args, kwargs, to_args, to_kwargs);
    if (status < 0) sh__pool_free(pool, copy->block, bytes);
    return status;
}

/* ---- visiting ---- */

static sh_status visit_arg(sh_arg *arg, sh_arg_visit visit, void *user) {
    if (arg->tag == SH_ARG_NODE) return visit(arg, user);
    for (uint32_t i = 0; sh_arg_is_list(*arg) && i < arg->count; i++)
        SH_TRY(visit_arg((sh_arg *)(uintptr_t)&arg->as.list[i], visit, user));
    return SH_OK;
}

sh_status sh__args_visit(sh_args args, sh_kwargs kwargs, sh_arg_visit visit, void *user) {
    for (size_t i = 0; i < args.n; i++) SH_TRY(visit_arg((sh_arg *)(uintptr_t)&args.at[i], visit, user));
    for (size_t i = 0; i < kwargs.n; i++)
        SH_TRY(visit_arg((sh_arg *)(uintptr_t)&kwargs.at[i].value, visit, user));
    return SH_OK;
}
