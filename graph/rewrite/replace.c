/* replace.c - the loop over matches, and one replacement.
 *
 * Matches are replaced as they are found, so that the next one is looked for in the graph as it then is: what a match
 * takes as its input may have been put in by the one before. */
#include "graph/rewrite/match.h"

#include "dispatch/chain.h"

typedef sh_status (*match_visit)(sh_match *m, void *user);

static void take(sh_match *m) {
    for (uint32_t i = 0; i < m->norder; i++) m->taken[m->values[m->order[i]->id].as.node->id] = true;
}

static sh_status each_match(sh_graph *graph, const sh_graph *pattern, const sh_pattern_options *options,
                            match_visit visit, void *user) {
    if (sh__error_pending()) return sh_error()->code;
    if (!graph || !pattern)
        return sh_fail(SH_ERROR_NULL, "a pattern is looked for: the %s is NULL", graph ? "pattern" : "graph");
    sh_match m;
    sh_status status = sh__match_begin(&m, graph, pattern, options);
    if (status >= 0) SH_EACH_NODE(node, graph) {
            if (status < 0 || node->id >= m.limit || !sh__match_at(&m, node)) continue;
            take(&m);
            status = visit(&m, user);
        }
    sh__match_end(&m);
    return status;
}

/* ---- looking ---- */

typedef struct look {
    sh_status (*visit)(const sh_match *match, void *user);
    void *user;
} look;

static sh_status show(sh_match *m, void *user) {
    const look *l = user;
    return l->visit(m, l->user);
}

sh_status sh_find_pattern(sh_graph *graph, const sh_graph *pattern, const sh_pattern_options *options,
                          sh_status (*visit)(const sh_match *match, void *user), void *user) {
    if (!visit) return sh_fail(SH_ERROR_NULL, "sh_find_pattern: visit is NULL");
    return each_match(graph, pattern, options, show, &(look){visit, user});
}

/* ---- replacing ---- */

typedef struct job {
    const sh_graph *replacement;
    size_t count;
} job;

static const sh_node *next_placeholder(const sh_node *node) {
    while (node && node->opcode != SH_PLACEHOLDER) node = sh_node_next(node);
    return node;
}

static sh_status map_inputs(const sh_match *m, const sh_graph *replacement, sh_node_map *map) {
    const sh_node *p = next_placeholder(sh_graph_first(m->pattern)),
                  *r = next_placeholder(sh_graph_first(replacement));
    for (; p && r; p = next_placeholder(sh_node_next(p)), r = next_placeholder(sh_node_next(r)))
        SH_TRY(sh_node_map_set_arg(map, r, sh_match_value(m, p)));
    if (!p && !r) return SH_OK;
    return sh_fail(
        SH_ERROR_VALUE,
        "the pattern and its replacement have different numbers of placeholders: only the %s has %%%s",
        p ? "pattern" : "replacement", (p ? p : r)->name->text);
}

typedef struct results {
    sh_match *match;
    uint32_t n; /* met so far */
    bool rewire;
} results;

/* The i-th result takes over the uses of the i-th anchor. */
static sh_status take_result(const sh_arg *arg, results *r) {
    for (uint32_t i = 0; sh_arg_is_list(*arg) && i < arg->count; i++)
        SH_TRY(take_result(&arg->as.list[i], r));
    if (arg->tag != SH_ARG_NODE) return SH_OK;
    const uint32_t i = r->n++;
    if (!r->rewire || i >= r->match->nanchors) return SH_OK;
    sh_node *anchor = r->match->values[r->match->anchors[i]->id].as.node;
    return anchor == arg->as.node ? SH_OK : sh_node_replace_all_uses_with(anchor, arg->as.node);
}

static sh_status rewire(sh_match *m, const sh_arg *output) {
    results r = {m, 0, false};
    SH_TRY(take_result(output, &r));
    if (r.n != m->nanchors)
        return sh_fail(SH_ERROR_VALUE, "the pattern returns %u nodes, its replacement %u", m->nanchors, r.n);
    r = (results){m, 0, true};
    return take_result(output, &r);
}

static sh_status erase_parts(sh_match *m) {
    for (uint32_t i = 0; i < m->norder; i++) {
        sh_node *node = m->values[m->order[i]->id].as.node;
        if (node->nusers == 0) SH_TRY(sh_graph_erase_node(node));
    }
    return SH_OK;
}

/* What was put in and is not used, the last first. */
static void discard_new(sh_graph *graph, uint32_t from) {
    for (sh_node *node = sh_graph_last(graph), *prev; node; node = prev) {
        prev = sh_node_prev(node);
        if (node->id >= from && node->nusers == 0) sh__node_discard(node);
    }
}

static sh_status put(sh_match *m, const sh_graph *replacement) {
    const uint32_t from = m->graph->next_id;
    sh_node_map *map = sh_node_map_new(replacement);
    sh_arg output = sh_arg_none();
    sh_status status = map ? map_inputs(m, replacement, map) : SH_ERROR_MEMORY;
    if (status >= 0) SH_INSERTING_BEFORE(m->point) status = sh_graph_graph_copy(m->graph, map, &output);
    if (status >= 0) status = rewire(m, &output);
    if (status < 0) discard_new(m->graph, from);
    sh_node_map_free(map);
    return status < 0 ? status : erase_parts(m);
}

static sh_status replace_one(sh_match *m, void *user) {
    job *j = user;
    sh_graph *made = m->options->replacement ? m->options->replacement(m, m->options->user) : NULL;
    if (sh__error_pending()) {
        sh_graph_free(made);
        return sh_error()->code;
    }
    const sh_graph *replacement = made ? made : m->options->replacement ? NULL : j->replacement;
    if (!replacement) return SH_OK;
    const sh_status status = put(m, replacement);
    sh_graph_free(made);
    j->count += status >= 0;
    return status;
}

sh_status sh_replace_pattern(sh_graph *graph, const sh_graph *pattern, const sh_graph *replacement,
                             const sh_pattern_options *options, size_t *count) {
    job j = {replacement, 0};
    if (count) *count = 0;
    if (!replacement && !(options && options->replacement))
        return sh_fail(SH_ERROR_NULL, "sh_replace_pattern: the replacement is NULL");
    const sh_status status = each_match(graph, pattern, options, replace_one, &j);
    if (count) *count = j.count;
    return status;
}

sh_status sh_replace_traced(sh_graph *graph, sh_traceable pattern, sh_traceable replacement, sh_values inputs,
                            const sh_pattern_options *options, size_t *count) {
    sh_graph *from = sh_trace_function(pattern, NULL, inputs, NULL), *to = NULL;
    if (from && replacement) to = sh_trace_function(replacement, NULL, inputs, NULL);
    sh_status status = sh__error_pending() ? sh_error()->code : SH_OK;
    if (status >= 0) status = sh_replace_pattern(graph, from, to, options, count);
    sh_graph_free(from);
    sh_graph_free(to);
    return status;
}
