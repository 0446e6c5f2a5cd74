/* partition.c - which node goes to which part: as a callback says, or all that is supported in as few parts as may be.
 *
 * For the latter each node has a level: how many times the way to it goes from supported to other nodes, at most. Nodes of
 * one level that are joined by needs among themselves can be one part, as no way leads out of a level and back. A part then
 * moves up to the level of one that needs it where nothing else is in between, and joins that. */
#include <stdlib.h>
#include <string.h>

#include "graph/pass/split_impl.h"

const sh_node *sh__item_list(const sh_node *node) {
    const bool item = node->opcode == SH_CALL_FUNCTION && strcmp(node->target, SH_GETITEM) == 0;
    const sh_arg list = item ? sh_node_arg(node, 0) : sh_arg_none();
    return list.tag == SH_ARG_NODE && sh__is_call(list.as.node) ? list.as.node : NULL;
}

/* ---- numbers into parts ---- */

static int compare_ints(const void *a, const void *b) {
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Sorted, each once. */
static uint32_t unique(int *numbers, uint32_t n) {
    uint32_t kept = 0;
    qsort(numbers, n, sizeof *numbers, compare_ints);
    for (uint32_t i = 0; i < n; i++)
        if (!kept || numbers[kept - 1] != numbers[i]) numbers[kept++] = numbers[i];
    return kept;
}

/* `number`: by id, below 0 outside. `numbers` and `of` have room for all nodes. */
static sh_module *split_by_numbers(const sh_graph *graph, const int *number, const char *prefix, int *numbers,
                                   uint32_t *of) {
    sh_parts parts = {.of = of, .prefix = prefix, .numbers = numbers};
    uint32_t n = 0;
    for (const sh_node *node = sh_graph_first(graph); node; node = sh_node_next(node))
        if (sh__is_call(node) && number[node->id] >= 0) numbers[n++] = number[node->id];
    parts.nunits = parts.nparts = unique(numbers, n);
    for (const sh_node *node = sh_graph_first(graph); node; node = sh_node_next(node)) {
        of[node->id] = SH__NO_UNIT;
        if (!sh__is_call(node)) continue;
        const int *found = number[node->id] < 0 ? NULL
                                                : bsearch(&number[node->id], numbers, parts.nparts,
                                                          sizeof *numbers, compare_ints);
        of[node->id] = found ? (uint32_t)(found - numbers) : parts.nunits++;
    }
    return sh__split(graph, &parts);
}

static sh_module *split_with(const sh_graph *graph, const int *number, const char *prefix) {
    int *numbers = sh__alloc((graph->size + 1) * sizeof *numbers);
    uint32_t *of = sh__alloc((graph->next_id + 1) * sizeof *of);
    sh_module *module = numbers && of ? split_by_numbers(graph, number, prefix, numbers, of) : NULL;
    sh__free(numbers);
    sh__free(of);
    return module;
}

static sh_status check(const sh_graph *graph, bool asked, const char *function) {
    if (sh__error_pending()) return sh_error()->code;
    if (!graph || !asked)
        return sh_fail(SH_ERROR_NULL, "%s: the %s is NULL", function, graph ? "function" : "graph");
    return SH_OK;
}

sh_module *sh_split_module(const sh_graph *graph, sh_partition_of partition, void *user) {
    if (check(graph, partition != NULL, "sh_split_module") < 0) return NULL;
    int *number = sh__calloc(graph->next_id + 1, sizeof *number);
    if (!number) return NULL;
    for (const sh_node *node = sh_graph_first(graph); node; node = sh_node_next(node)) {
        const sh_node *list = sh__item_list(node);
        if (sh__is_call(node)) number[node->id] = list ? number[list->id] : partition(node, user);
    }
    sh_module *module = sh__error_pending() ? NULL : split_with(graph, number, "submod");
    sh__free(number);
    return module;
}

/* ---- what is supported ---- */

typedef struct partitioner {
    const sh_graph *graph;
    sh_need *needs; /* in the order of nodes */
    size_t nneeds;
    bool *supported; /* by id, as the rest */
    int *level;
    uint32_t *joined; /* the id of a node of the same part, nearer to the one that stands for it */
    uint32_t *size;   /* of the part that this node stands for */
} partitioner;

static uint32_t part_of(partitioner *p, uint32_t id) {
    while (p->joined[id] != id) id = p->joined[id] = p->joined[p->joined[id]];
    return id;
}

static void join(partitioner *p, uint32_t a, uint32_t b) {
    a = part_of(p, a);
    b = part_of(p, b);
    if (a == b) return;
    const uint32_t larger = p->size[a] < p->size[b] ? b : a, smaller = a ^ b ^ larger;
    p->joined[smaller] = larger;
    p->size[larger] += p->size[smaller];
    p->level[larger] = p->level[larger] > p->level[smaller] ? p->level[larger] : p->level[smaller];
}

static void find_supported(partitioner *p, sh_node_filter supported, void *user) {
    for (const sh_node *node = sh_graph_first(p->graph); node; node = sh_node_next(node)) {
        const sh_node *list = sh__item_list(node);
        p->joined[node->id] = node->id;
        p->size[node->id] = 1;
        p->supported[node->id] = sh__is_call(node) && (list ? p->supported[list->id] : supported(node, user));
    }
}

static void find_levels(partitioner *p) {
    for (size_t i = 0; i < p->nneeds; i++) {
        const uint32_t node = p->needs[i].node->id, needed = p->needs[i].needed->id;
        const int level = p->level[needed] + (p->supported[needed] && !p->supported[node]);
        if (level > p->level[node]) p->level[node] = level;
    }
}

static bool between_parts(partitioner *p, const sh_need *need) {
    return p->supported[need->needed->id] && part_of(p, need->needed->id) != part_of(p, need->node->id) &&
           need->node->opcode != SH_OUTPUT;
}

/* The highest level that the needs of one part leave it; they are of one part, the one at `from`. */
static int highest(partitioner *p, const sh_need *needs, size_t n) {
    int level = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t user = needs[i].node->id;
        const int most = p->supported[user] ? p->level[part_of(p, user)] : p->level[user] - 1;
        if (!i || most < level) level = most;
    }
    return level;
}

/* A need by the level of the part that is needed, the highest first, then by part. */
typedef struct ranked {
    int level;
    uint32_t part;
    size_t at; /* keeps the sort stable */
    sh_need need;
} ranked;

static int compare_ranked(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->level != y->level) return x->level < y->level ? 1 : -1;
    if (x->part != y->part) return x->part < y->part ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

static void raise_part(partitioner *p, uint32_t part, const sh_need *needs, size_t n) {
    const int level = highest(p, needs, n);
    if (level > p->level[part]) p->level[part] = level;
    for (size_t i = 0; i < n; i++) {
        const uint32_t user = needs[i].node->id, own = part_of(p, part);
        if (p->supported[user] && p->level[part_of(p, user)] == p->level[own]) join(p, own, user);
    }
}

/* Parts of high levels first, as those below may join them. */
static sh_status raise_parts(partitioner *p) {
    ranked *all = sh__alloc((p->nneeds + 1) * sizeof *all);
    size_t n = 0;
    if (!all) return SH_ERROR_MEMORY;
    for (size_t i = 0; i < p->nneeds; i++) {
        const uint32_t part = part_of(p, p->needs[i].needed->id);
        if (between_parts(p, &p->needs[i])) all[n++] = (ranked){p->level[part], part, i, p->needs[i]};
    }
    qsort(all, n, sizeof *all, compare_ranked);
    for (size_t i = 0; i < n; i++) p->needs[i] = all[i].need;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && all[end].part == all[i].part;) end++;
        raise_part(p, all[i].part, &p->needs[i], end - i);
    }
    sh__free(all);
    return SH_OK;
}

static sh_status find_parts(partitioner *p) {
    find_levels(p);
    for (size_t i = 0; i < p->nneeds; i++) {
        const uint32_t node = p->needs[i].node->id, needed = p->needs[i].needed->id;
        if (p->supported[node] && p->supported[needed] && p->level[node] == p->level[needed])
            join(p, node, needed);
    }
    return raise_parts(p);
}

/* Numbers by the first node of each part. `number` and `of_part` are by id. */
static void number_parts(partitioner *p, size_t least, int *number, int *of_part) {
    int n = 0;
    for (const sh_node *node = sh_graph_first(p->graph); node; node = sh_node_next(node)) {
        number[node->id] = -1;
        if (!p->supported[node->id] || p->size[part_of(p, node->id)] < least) continue;
        int *of = &of_part[part_of(p, node->id)];
        if (!*of) *of = ++n;
        number[node->id] = *of - 1;
    }
}

static sh_status reserve(partitioner *p) {
    const size_t n = p->graph->next_id + 1;
    p->level = sh__calloc(n, sizeof *p->level + 2 * sizeof *p->joined + sizeof *p->supported);
    if (!p->level) return SH_ERROR_MEMORY;
    p->joined = (uint32_t *)(p->level + n);
    p->size = p->joined + n;
    p->supported = (bool *)(p->size + n);
    return SH_OK;
}

sh_module *sh_partition_by_support(const sh_graph *graph, sh_node_filter supported, void *user,
                                   const sh_partition_options *options) {
    if (check(graph, supported != NULL, "sh_partition_by_support") < 0) return NULL;
    partitioner p = {.graph = graph};
    int *number = sh__calloc(graph->next_id + 1, 2 * sizeof *number);
    sh_module *module = NULL;
    if (number && reserve(&p) >= 0) p.needs = sh__graph_needs(graph, &p.nneeds);
    if (p.needs) find_supported(&p, supported, user);
    if (p.needs && !sh__error_pending() && find_parts(&p) >= 0) {
        number_parts(&p, options ? options->least : 0, number, number + graph->next_id + 1);
        module = split_with(graph, number, "fused");
    }
    sh__free(p.needs);
    sh__free(p.level);
    sh__free(number);
    return module;
}
