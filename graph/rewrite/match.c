/* match.c - matching from the pattern's last node back to its placeholders.
 *
 * The pattern's nodes are visited users first, so each is bound before its arguments are compared; there is no
 * recursion along chains. Where there is a choice (operands in either order, the node for a second output) one is tried,
 * and what it had bound is taken back if the rest fails. */
#include "graph/rewrite/match.h"

#include <string.h>

#include "dispatch/chain.h"
#include "graph/bind.h"
#include "graph/module/graph_module.h"

#include "ops/compare.h"

static bool match_from(sh_match *m, uint32_t i);

/* ---- binding ---- */

static void undo_to(sh_match *m, uint32_t mark) {
    while (m->ntrail > mark) m->values[m->trail[--m->ntrail]].tag = UINT32_MAX;
}

static bool stands_for_another(const sh_match *m, const sh_node *node) {
    for (uint32_t i = 0; i < m->norder; i++) {
        const sh_arg *value = &m->values[m->order[i]->id];
        if (sh__is_bound(value) && value->as.node == node) return true;
    }
    return false;
}

static bool same_tensor(const sh_node *p, const sh_node *g) {
    const sh_tensor *a = sh_graph_attr(p->graph, p->target), *b = sh_graph_attr(g->graph, g->target);
    if (!a || !b) return !a && !b && strcmp(p->target, g->target) == 0;
    return a == b || (a->device == SH_HOST && b->device == SH_HOST && sh_equal(a, b));
}

/* As torch.fx: modules by their type where both graphs have them, else by their path. */
static bool same_module(const sh_node *p, const sh_node *g) {
    const sh_module *a = sh_node_module(p), *b = sh_node_module(g);
    return a && b ? sh_module_type_of(a) == sh_module_type_of(b) : strcmp(p->target, g->target) == 0;
}

static bool same_target(const sh_node *p, const sh_node *g) {
    if (p->opcode != g->opcode) return false;
    if (p->opcode == SH_GET_ATTR) return same_tensor(p, g);
    return p->opcode == SH_CALL_MODULE ? same_module(p, g) : strcmp(p->target, g->target) == 0;
}

static bool may_stand_for(const sh_match *m, const sh_node *p, const sh_node *g) {
    return g->id < m->limit && !m->taken[g->id] && same_target(p, g) && !stands_for_another(m, g);
}

static bool bind_node(sh_match *m, const sh_node *p, sh_arg arg) {
    sh_arg *value = &m->values[p->id];
    if (sh__is_bound(value)) return sh_arg_equal(*value, arg);
    if (p->opcode != SH_PLACEHOLDER && (arg.tag != SH_ARG_NODE || !may_stand_for(m, p, arg.as.node)))
        return false;
    *value = arg;
    m->trail[m->ntrail++] = p->id;
    return true;
}

/* ---- arguments ---- */

static bool is_number(const sh_arg *a) { return a->tag == SH_ARG_INT || a->tag == SH_ARG_FLOAT; }

static double number(const sh_arg *a) { return a->tag == SH_ARG_INT ? (double)a->as.i : a->as.f; }

static bool has_node(const sh_arg *a) {
    bool found = a->tag == SH_ARG_NODE;
    for (uint32_t i = 0; sh_arg_is_list(*a) && !found && i < a->count; i++) found = has_node(&a->as.list[i]);
    return found;
}

static bool match_arg(sh_match *m, const sh_arg *p, const sh_arg *g) {
    if (p->tag == SH_ARG_NODE) return bind_node(m, p->as.node, *g);
    if (m->options->ignore_literals && !has_node(p)) return !has_node(g);
    if (sh_arg_is_list(*p)) {
        if (!sh_arg_is_list(*g) || p->count != g->count) return false;
        for (uint32_t i = 0; i < p->count; i++)
            if (!match_arg(m, &p->as.list[i], &g->as.list[i])) return false;
        return true;
    }
    if (is_number(p) && is_number(g)) return number(p) == number(g) || sh_arg_equal(*p, *g);
    return sh_arg_equal(*p, *g);
}

/* NULL is an argument that was left out. */
static bool match_bound(sh_match *m, const sh_param *param, const sh_arg *p, const sh_arg *g) {
    if (p && g) return match_arg(m, p, g);
    const sh_arg *given = p ? p : g;
    if (!given) return true;
    return sh__arg_is_default(param, given) || (m->options->ignore_literals && !has_node(given));
}

static bool match_binding(sh_match *m, const sh_binding *p, const sh_binding *g, bool swapped) {
    if (p->op != g->op || p->variant != g->variant) return false;
    if (p->out && !match_arg(m, p->out, g->out)) return false;
    for (uint32_t i = 0; i < p->schema->nparams; i++) {
        const uint32_t other = swapped && i < 2 ? 1 - i : i;
        if (!match_bound(m, &p->schema->params[i], p->args[i], g->args[other])) return false;
    }
    return true;
}

static bool match_as_written(sh_match *m, const sh_node *p, const sh_node *g) {
    if (p->args.n != g->args.n || p->kwargs.n != g->kwargs.n) return false;
    for (size_t i = 0; i < p->args.n; i++)
        if (!match_arg(m, &p->args.at[i], &g->args.at[i])) return false;
    for (size_t i = 0; i < p->kwargs.n; i++) {
        const sh_arg other = sh_node_kwarg(g, p->kwargs.at[i].name);
        if (!match_arg(m, &p->kwargs.at[i].value, &other)) return false;
    }
    return true;
}

static bool match_args(sh_match *m, const sh_node *p, const sh_node *g, bool swapped) {
    sh_binding a, b;
    if (sh__binds(p, &a) && sh__binds(g, &b)) return match_binding(m, &a, &b, swapped);
    return match_as_written(m, p, g);
}

/* ---- choices ---- */

static bool is_commutative(const sh_node *p) {
    static const char *const names[] = {"add",         "mul",         "maximum",     "minimum",
                                        "eq",          "ne",          "logical_and", "logical_or",
                                        "logical_xor", "bitwise_and", "bitwise_or",  "bitwise_xor"};
    sh_binding b;
    if (!sh__binds(p, &b)) return false;
    for (uint32_t i = 2; i < b.schema->nparams; i++) /* alpha belongs to the second operand */
        if (b.args[i] && !sh__arg_is_default(&b.schema->params[i], b.args[i])) return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (b.variant == SH_FUNCTIONAL && strcmp(p->target, names[i]) == 0) return true;
    return false;
}

static bool either_way(sh_match *m, uint32_t i) {
    const sh_node *p = m->order[i], *g = m->values[p->id].as.node;
    const uint32_t mark = m->ntrail;
    for (int swapped = 0; swapped < 2; swapped++) {
        if (match_args(m, p, g, swapped) && match_from(m, i + 1)) return true;
        undo_to(m, mark);
    }
    return false;
}

static bool try_candidate(sh_match *m, uint32_t i, sh_node *g) {
    const uint32_t mark = m->ntrail;
    if (bind_node(m, m->order[i], sh_arg_node(g)) && match_from(m, i)) return true;
    undo_to(m, mark);
    return false;
}

/* A node of the graph that is bound to an input of p, or NULL. */
static const sh_node *bound_input(const sh_match *m, const sh_node *p) {
    for (uint32_t k = 0; k < p->ninputs; k++) {
        const sh_arg *value = &m->values[p->uses[k].input->id];
        if (sh__is_bound(value) && value->tag == SH_ARG_NODE) return value->as.node;
    }
    return NULL;
}

/* A second output, which no node of the pattern leads to. */
static bool any_candidate(sh_match *m, uint32_t i) {
    const sh_node *input = bound_input(m, m->order[i]);
    for (const sh_use *use = input ? input->first_user : NULL; use; use = use->next)
        if (try_candidate(m, i, use->user)) return true;
    for (sh_node *g = input ? NULL : sh_graph_first(m->graph); g; g = sh_node_next(g))
        if (try_candidate(m, i, g)) return true;
    return false;
}

static bool is_wanted(const sh_match *m) {
    const sh_match_filter *filter = m->options->filters;
    for (; filter && *filter; filter++)
        if (!(*filter)(m, m->options->user)) return false;
    return true;
}

static bool match_from(sh_match *m, uint32_t i) {
    for (; i < m->norder; i++) {
        const sh_node *p = m->order[i];
        const sh_arg *value = &m->values[p->id];
        if (!sh__is_bound(value)) return any_candidate(m, i);
        if (m->options->commutative && is_commutative(p)) return either_way(m, i);
        if (!match_args(m, p, value->as.node, false)) return false;
    }
    return sh__match_placed(m) && is_wanted(m);
}

bool sh__match_at(sh_match *m, sh_node *node) {
    undo_to(m, 0);
    return m->norder && try_candidate(m, 0, node);
}

/* ---- the pattern ---- */

static size_t flatten(const sh_arg *arg, const sh_node **nodes) {
    if (arg->tag == SH_ARG_NODE) {
        *nodes = arg->as.node;
        return 1;
    }
    size_t n = 0;
    for (uint32_t i = 0; sh_arg_is_list(*arg) && i < arg->count; i++)
        n += flatten(&arg->as.list[i], nodes + n);
    return n;
}

static size_t count_nodes(const sh_arg *arg) {
    size_t n = arg->tag == SH_ARG_NODE;
    for (uint32_t i = 0; sh_arg_is_list(*arg) && i < arg->count; i++) n += count_nodes(&arg->as.list[i]);
    return n;
}

static sh_status check_pattern(const sh_graph *pattern, sh_arg *result) {
    const sh_node *output = sh_graph_output_node(pattern);
    *result = output ? sh_node_arg(output, 0) : sh_arg_none();
    if (count_nodes(result)) return SH_OK;
    return sh_fail(SH_ERROR_VALUE, "a pattern must return a node; this one %s",
                   output ? "returns none" : "has no output");
}

sh_status sh__match_begin(sh_match *m, sh_graph *graph, const sh_graph *pattern,
                          const sh_pattern_options *options) {
    static const sh_pattern_options plain = {0};
    sh_arg result;
    *m = (sh_match){
        .pattern = pattern, .graph = graph, .options = options ? options : &plain, .limit = graph->next_id};
    SH_TRY(check_pattern(pattern, &result));
    const size_t n = pattern->next_id + 1;
    m->order = sh__calloc(n + count_nodes(&result), sizeof *m->order);
    m->values = sh__calloc(n, sizeof *m->values);
    m->trail = sh__calloc(n, sizeof *m->trail);
    m->taken = sh__calloc(graph->next_id + 1, sizeof *m->taken);
    if (!m->order || !m->values || !m->trail || !m->taken) return SH_ERROR_MEMORY;
    m->anchors = m->order + n;
    m->nanchors = (uint32_t)flatten(&result, m->anchors);
    for (size_t i = 0; i < n; i++) m->values[i].tag = UINT32_MAX;
    for (const sh_node *p = sh_graph_last(pattern); p; p = sh_node_prev(p))
        if (p->opcode != SH_PLACEHOLDER && p->opcode != SH_OUTPUT) m->order[m->norder++] = p;
    return SH_OK;
}

void sh__match_end(sh_match *m) {
    sh__free((void *)m->order);
    sh__free(m->values);
    sh__free(m->trail);
    sh__free(m->taken);
}

/* ---- what it has found ---- */

sh_arg sh_match_value(const sh_match *match, const sh_node *of_pattern) {
    const bool known =
        of_pattern && of_pattern->graph == match->pattern && sh__is_bound(&match->values[of_pattern->id]);
    return known ? match->values[of_pattern->id] : sh_arg_none();
}

sh_node *sh_match_node(const sh_match *match, const char *name) {
    const sh_arg value = sh_match_value(match, sh_graph_find(match->pattern, name));
    return value.tag == SH_ARG_NODE ? value.as.node : NULL;
}

const sh_graph *sh_match_pattern(const sh_match *match) { return match->pattern; }
