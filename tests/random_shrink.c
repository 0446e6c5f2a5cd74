/* random_shrink.c - a failing graph made smaller: every step is tried on a copy, and kept if the copy still runs and still
 * fails.
 *
 * Outputs go, or what they were made from is returned; what nobody uses goes; a node is replaced by an input of its own that
 * has the same shape and dtype, or by a new input of the graph; keywords go; a size becomes a smaller one wherever it
 * stands. That again and again, till nothing is left to take. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/tensor_impl.h"
#include "graph/graph_impl.h"
#include "graph/ir/ir.h"
#include "tests/random_graph.h"
#include "tests/sample.h"

typedef struct shrinker {
    random_graph *r;
    random_graph_check fails;
    void *user;
} shrinker;

/* ---- copies ---- */

static random_graph copy_of(const random_graph *r) {
    random_graph copy = *r;
    copy.graph = sh_graph_clone(r->graph);
    for (size_t i = 0; i < r->ninputs; i++) sh_keep(r->inputs[i]);
    return copy;
}

static bool runs(const random_graph *r) {
    sh_tensor *room[RANDOM_INPUTS_MOST];
    bool done = false;
    sh_switch off;
    sh_switch_off(&off, SH_OFF_ALL);
    SH_SCOPE {
        sh_graph *graph = sh_graph_lint(r->graph) >= 0 ? sh_graph_clone(r->graph) : NULL;
        done = graph && sh_graph_run(graph, random_copies((sh_tensors){r->inputs, r->ninputs}, room)) != NULL;
        sh_graph_free(graph);
    }
    sh_switch_end(&off);
    sh_clear_error();
    return done;
}

static bool fails_on(const random_graph *r, random_graph_check fails, void *user) {
    sh_tensor *room[RANDOM_INPUTS_MOST];
    bool failed = false;
    SH_SCOPE {
        sh_graph *graph = sh_graph_clone(r->graph);
        failed = fails(graph, random_copies((sh_tensors){r->inputs, r->ninputs}, room), user);
        sh_graph_free(graph);
    }
    sh_clear_error();
    return failed;
}

/* The copy takes the graph's place if it still fails; it is gone either way. */
static bool keep_if_failing(const shrinker *s, random_graph *copy) {
    sh_clear_error();
    const bool keeps = runs(copy) && fails_on(copy, s->fails, s->user);
    if (keeps) {
        random_graph_free(s->r);
        *s->r = *copy;
    } else
        random_graph_free(copy);
    return keeps;
}

/* ---- what goes ---- */

/* Node `i` in order. */
static sh_node *node_at(const sh_graph *graph, size_t i) {
    sh_node *node = sh_graph_first(graph);
    while (node && i--) node = sh_node_next(node);
    return node;
}

static size_t place_of_input(const sh_graph *graph, const sh_node *input) {
    size_t place = 0;
    for (const sh_node *node = sh_graph_first(graph); node != input; node = sh_node_next(node))
        place += node->opcode == SH_PLACEHOLDER;
    return place;
}

static void drop_input(random_graph *r, sh_node *node) {
    const size_t place = place_of_input(r->graph, node);
    sh__node_discard(node);
    sh_release(r->inputs[place]);
    memmove(&r->inputs[place], &r->inputs[place + 1], (--r->ninputs - place) * sizeof *r->inputs);
}

/* What no node uses. */
static void tidy(random_graph *r) {
    for (sh_node *node = sh_graph_first(r->graph), *next; node; node = next) {
        next = sh_node_next(node);
        if (node->opcode == SH_PLACEHOLDER && !node->nusers && r->ninputs > 1) drop_input(r, node);
    }
    sh_graph_delete_all_unused_attrs(r->graph, NULL);
}

/* The nodes that are returned, lists opened. */
static size_t outputs_of(const sh_arg *arg, sh_arg *at, size_t n) {
    if (arg->tag == SH_ARG_NODE) at[n++] = *arg;
    for (uint32_t i = 0; sh_arg_is_list(*arg) && i < arg->count; i++) n = outputs_of(&arg->as.list[i], at, n);
    return n;
}

static bool drop_outputs(const shrinker *s) {
    bool shrunk = false;
    for (size_t i = 0;; i++) {
        random_graph copy = copy_of(s->r);
        sh_node *output = sh_graph_output_node(copy.graph);
        sh_arg at[16];
        const size_t n = outputs_of(&output->args.at[0], at, 0);
        if (i == n || n == 1) {
            random_graph_free(&copy);
            return shrunk;
        }
        memmove(&at[i], &at[i + 1], (n - i - 1) * sizeof *at);
        sh_node_set_arg(output, 0, n == 2 ? at[0] : sh_arg_tuple((sh_args){at, n - 1}));
        tidy(&copy);
        const bool kept = keep_if_failing(s, &copy);
        shrunk |= kept;
        i -= kept;
    }
}

/* Returns an input of what was returned. */
static bool try_earlier(const shrinker *s, uint32_t i) {
    random_graph copy = copy_of(s->r);
    sh_node *output = sh_graph_output_node(copy.graph);
    sh_arg at[16];
    outputs_of(&output->args.at[0], at, 0);
    sh_node_set_arg(output, 0, sh_arg_node(at[0].as.node->uses[i].input));
    tidy(&copy);
    return keep_if_failing(s, &copy);
}

static bool raise_output(const shrinker *s) {
    bool shrunk = false;
    for (bool raised = true; raised; shrunk |= raised) {
        sh_arg at[16];
        raised = false;
        if (outputs_of(&sh_graph_output_node(s->r->graph)->args.at[0], at, 0) != 1) return shrunk;
        for (uint32_t i = 0, n = at[0].as.node->ninputs; i < n && !raised; i++) raised = try_earlier(s, i);
    }
    return shrunk;
}

/* ---- nodes ---- */

/* An input of the graph with other numbers. */
static sh_node *new_input(random_graph *r, const sh_spec *spec) {
    sh_node *node = NULL;
    sh_tensor *t = sh_tensor_new(spec->dtype, sh_ints_of(spec->sizes, (size_t)spec->ndim));
    if (!t || r->ninputs == RANDOM_INPUTS_MOST) return NULL;
    sample_fill(t);
    if (sh_dtype_kind_of(spec->dtype) == SH_KIND_FLOAT) sh_mul_(t, 0.3141592653589793);
    sh_node *first = sh_graph_first(r->graph);
    while (first->opcode == SH_PLACEHOLDER) first = sh_node_next(first);
    SH_INSERTING_BEFORE(first) node = sh_graph_placeholder(r->graph, "p");
    r->inputs[r->ninputs++] = sh_keep(t);
    sh_node_set_spec(node, spec);
    return node;
}

/* What may stand for the node: way 0 is none, where nobody uses it; then its inputs; the last is a new input. */
static bool replace_node(random_graph *r, sh_node *node, uint32_t way) {
    if (way == 0 && node->nusers) return false;
    sh_node *by = NULL;
    if (way > node->ninputs)
        by = node->has_spec ? new_input(r, &node->spec) : NULL;
    else if (way && sh__node_has_spec_of(node, node->uses[way - 1].input))
        by = node->uses[way - 1].input;
    if (way && (!by || sh_node_replace_all_uses_with(node, by) < 0)) return false;
    sh__node_discard(node);
    return true;
}

static bool try_node(const shrinker *s, size_t place, uint32_t way) {
    random_graph copy = copy_of(s->r);
    bool replaced = false;
    SH_SCOPE replaced = replace_node(&copy, node_at(copy.graph, place), way);
    if (replaced) {
        tidy(&copy);
        return keep_if_failing(s, &copy);
    }
    random_graph_free(&copy);
    return false;
}

static bool drop_nodes(const shrinker *s) {
    bool shrunk = false;
    for (size_t i = sh_graph_size(s->r->graph); i-- > 0;) {
        const sh_node *node = node_at(s->r->graph, i);
        if (!node || !(sh__is_call(node) || node->opcode == SH_GET_ATTR)) continue;
        const uint32_t ways = node->ninputs + 2;
        for (uint32_t way = 0; way < ways; way++)
            if (try_node(s, i, way)) {
                shrunk = true;
                break;
            }
    }
    return shrunk;
}

static bool try_without_keyword(const shrinker *s, size_t place, size_t keyword) {
    sh_kwarg kept[SH_MAX_ARGS];
    random_graph copy = copy_of(s->r);
    sh_node *node = node_at(copy.graph, place);
    size_t n = 0;
    for (size_t k = 0; k < node->kwargs.n; k++)
        if (k != keyword) kept[n++] = node->kwargs.at[k];
    sh_node_set_args(node, node->args, (sh_kwargs){kept, n});
    tidy(&copy);
    return keep_if_failing(s, &copy);
}

static bool drop_keywords(const shrinker *s) {
    bool shrunk = false;
    for (size_t i = sh_graph_size(s->r->graph); i-- > 0;) {
        const sh_node *node = node_at(s->r->graph, i);
        for (size_t k = node && sh__is_call(node) ? node->kwargs.n : 0; k-- > 0;)
            if (try_without_keyword(s, i, k)) {
                shrunk = true;
                break;
            }
    }
    return shrunk;
}

/* ---- sizes ---- */

static void resize_list(sh_arg *arg, int64_t from, int64_t to, sh_arg *at) {
    if (!sh_arg_is_list(*arg) || arg->count > SH_MAX_DIMS) return;
    for (uint32_t i = 0; i < arg->count; i++) {
        at[i] = arg->as.list[i];
        if (at[i].tag == SH_ARG_INT && at[i].as.i == from) at[i].as.i = to;
    }
    arg->as.list = at;
}

static void resize_arguments(sh_node *node, int64_t from, int64_t to) {
    for (size_t i = 0; node->opcode == SH_CALL_FUNCTION && i < node->args.n; i++) {
        sh_arg at[SH_MAX_DIMS], arg = node->args.at[i];
        resize_list(&arg, from, to, at);
        sh_node_set_arg(node, i, arg);
    }
}

/* The first entries along each axis of that size. */
static sh_tensor *resized(sh_tensor *t, int64_t from, int64_t to) {
    for (int i = 0; t && i < t->ndim; i++)
        if (t->sizes[i] == from) t = sh_narrow(t, i, 0, to);
    return t;
}

static void resize(random_graph *r, int64_t from, int64_t to) {
    sh_value specs[RANDOM_INPUTS_MOST];
    sh_argument arguments[RANDOM_INPUTS_MOST];
    for (size_t i = 0; i < r->ninputs; i++) {
        sh_tensor *old = r->inputs[i];
        r->inputs[i] = sh_keep(resized(old, from, to));
        sh_release(old);
        specs[i] = sh_value_tensor(sh_tensor_new_on(SH_META, sh_tensor_dtype(r->inputs[i]),
                                                    sh_ints_of(r->inputs[i]->sizes, r->inputs[i]->ndim)));
        arguments[i] = (sh_argument){NULL, specs[i]};
    }
    for (size_t i = 0; i < sh_graph_attr_count(r->graph); i++) {
        const char *name = sh_graph_attr_name(r->graph, i);
        sh_graph_set_attr(r->graph, name, sh_clone(resized(sh_graph_attr(r->graph, name), from, to)));
    }
    SH_EACH_NODE(node, r->graph) resize_arguments(node, from, to);
    sh_graph_propagate_shapes(r->graph, (sh_arguments){arguments, r->ninputs});
}

static bool try_size(const shrinker *s, int64_t from, int64_t to) {
    random_graph copy = copy_of(s->r);
    sh_switch off;
    sh_switch_off(&off, SH_OFF_ALL);
    SH_SCOPE resize(&copy, from, to);
    sh_switch_end(&off);
    return keep_if_failing(s, &copy);
}

static bool shrink_sizes(const shrinker *s) {
    enum { LARGEST = 2500 };
    bool shrunk = false;
    for (int64_t from = LARGEST; from > 1; from--) {
        bool there = false;
        for (size_t i = 0; i < s->r->ninputs; i++)
            for (int d = 0; d < s->r->inputs[i]->ndim; d++) there |= s->r->inputs[i]->sizes[d] == from;
        for (int64_t to = 1; there && to < from; to = to < 4 ? to + 1 : 2 * to)
            if (try_size(s, from, to)) {
                shrunk = true;
                break;
            }
    }
    return shrunk;
}

/* ---- all of it ---- */

static bool drop_dead_code(const shrinker *s) {
    random_graph copy = copy_of(s->r);
    if (sh_graph_eliminate_dead_code(copy.graph, NULL, NULL)) {
        tidy(&copy);
        return keep_if_failing(s, &copy);
    }
    random_graph_free(&copy);
    return false;
}

void random_graph_shrink(random_graph *r, random_graph_check fails, void *user) {
    const shrinker s = {r, fails, user};
    for (bool shrunk = true; shrunk;) {
        shrunk = drop_outputs(&s);
        shrunk |= drop_dead_code(&s);
        shrunk |= raise_output(&s);
        shrunk |= drop_nodes(&s);
        shrunk |= drop_keywords(&s);
        shrunk |= shrink_sizes(&s);
    }
}

static void print_ints(FILE *out, const int64_t *at, int n) {
    for (int i = 0; i < n; i++) fprintf(out, "%s%lld", i ? ", " : "", (long long)at[i]);
}

char *random_graph_text(const random_graph *r) {
    char *text = NULL, *graph = sh_graph_ir(r->graph);
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return graph;
    fprintf(out, "# seed %llu\n", (unsigned long long)r->seed);
    for (size_t i = 0; i < r->ninputs; i++) {
        const sh_tensor *t = r->inputs[i];
        fprintf(out, "# input %zu: %s[", i, sh_dtype_name(sh_tensor_dtype(t)));
        print_ints(out, t->sizes, t->ndim);
        fputs("], strides (", out);
        print_ints(out, t->strides, t->ndim);
        fputs(")\n", out);
    }
    fputs(graph ? graph : "no text\n", out);
    fclose(out);
    free(graph);
    return text;
}

size_t random_graphs_failing(uint64_t first, uint64_t seeds, const random_graph_how *how,
                             random_graph_check fails, void *user) {
    enum { PRINTED = 3 };
    size_t failed = 0;
    for (uint64_t seed = first; seed < first + seeds; seed++) {
        random_graph r = random_graph_new(seed, how);
        if (fails_on(&r, fails, user)) {
            if (failed++ < PRINTED) {
                random_graph_shrink(&r, fails, user);
                char *text = random_graph_text(&r);
                fprintf(stderr, "%s\n", text);
                free(text);
            }
        }
        random_graph_free(&r);
    }
    return failed;
}
