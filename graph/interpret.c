/* interpret.c - runs a graph node by node through the public ops.
 *
 * `values` holds what each node gave, by the node's id, with one reference each; `remaining` counts its users
 * that have not run. A value goes when that count reaches 0, so no more is alive than must be. Each op is
 * called by name inside a named scope of the node, so modes see it and rules can mean it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/chain.h"
#include "graph/graph_impl.h"
#include "graph/invoke.h"

typedef enum result_kind { RESULT_NONE, RESULT_TENSOR, RESULT_LIST, RESULT_LITERAL } result_kind;

typedef struct result {
    result_kind kind;
    union {
        sh_tensor *tensor;
        sh_list *list;
        sh_arg literal; /* a placeholder's default */
    } as;
} result;

typedef struct interpreter {
    const sh_graph *graph;
    sh_tensors inputs;
    size_t next_input;
    result *values;
    uint32_t *remaining;
    sh_scratch scratch;
    sh_list *output;
} interpreter;

static void drop(result *value) {
    if (value->kind == RESULT_TENSOR) sh_release(value->as.tensor);
    if (value->kind == RESULT_LIST) sh__list_release(value->as.list);
    value->kind = RESULT_NONE;
}

static sh_status resolve(void *user, const sh_node *node, sh_value *value) {
    const interpreter *in = user;
    const result *r = &in->values[node->id];
    switch (r->kind) {
    case RESULT_TENSOR: *value = sh_value_tensor(r->as.tensor); return SH_OK;
    case RESULT_LIST: *value = sh_value_tensors((sh_tensors){r->as.list->at, r->as.list->n}); return SH_OK;
    case RESULT_LITERAL: *value = sh__literal_value(r->as.literal); return SH_OK;
    default: return sh_fail(SH_ERROR_VALUE, "%%%s is used before it has a value", node->name->text);
    }
}

/* ---- nodes ---- */

static sh_status take_results(result *to, const sh_value *results) {
    uint32_t n = 0;
    while (n < SH_MAX_RESULTS && results[n].tag != SH_TAG_NONE) n++;
    if (n == 1 && results[0].tag == SH_TAG_TENSOR) {
        *to = (result){RESULT_TENSOR, {.tensor = sh_keep(results[0].as.tensor)}};
        return SH_OK;
    }
    const sh_tensors view = sh_value_as_tensors(results[0]);
    const bool is_list = results[0].tag == SH_TAG_TENSORS;
    sh_list *list = sh__list_new(is_list ? view.n : n);
    if (!list) return SH_ERROR_MEMORY;
    for (uint32_t i = 0; i < list->n; i++) list->at[i] = sh_keep(is_list ? view.at[i] : results[i].as.tensor);
    *to = (result){RESULT_LIST, {.list = list}};
    return SH_OK;
}

static sh_status run_op(interpreter *in, const sh_node *node, result *to) {
    sh_value results[SH_MAX_RESULTS];
    SH_TRY(sh__node_call(node, resolve, in, &in->scratch, results));
    return take_results(to, results);
}

static sh_status run_getitem(const interpreter *in, const sh_node *node, result *to) {
    const sh_arg from = sh_node_arg(node, 0), index = sh_node_arg(node, 1);
    if (from.tag != SH_ARG_NODE || index.tag != SH_ARG_INT)
        return sh_fail(SH_ERROR_ARGUMENT, "operator.getitem takes a node and an integer");
    const result *list = &in->values[from.as.node->id];
    if (list->kind != RESULT_LIST)
        return sh_fail(SH_ERROR_TYPE, "operator.getitem: %%%s is no list of tensors",
                       from.as.node->name->text);
    const int64_t n = list->as.list->n, i = index.as.i < 0 ? index.as.i + n : index.as.i;
    if (i < 0 || i >= n)
        return sh_fail(SH_ERROR_INDEX,
                       "operator.getitem: index %" PRId64 " of %%%s, which has %" PRId64 " entries",
                       index.as.i, from.as.node->name->text, n);
    *to = (result){RESULT_TENSOR, {.tensor = sh_keep(list->as.list->at[i])}};
    return SH_OK;
}

/* In the scopes that were open where it was recorded, and one of its own name. */
static sh_status run_call(interpreter *in, const sh_node *node, result *to) {
    if (strcmp(node->target, SH_GETITEM) == 0) return run_getitem(in, node, to);
    if (*node->scope) SH_TRY(sh_name_push(node->scope));
    sh_status status = sh_name_push(node->name->text);
    if (status >= 0) {
        status = run_op(in, node, to);
        sh_name_pop();
    }
    if (*node->scope) sh_name_pop();
    return status;
}

static sh_status run_placeholder(interpreter *in, const sh_node *node, result *to) {
    if (in->next_input < in->inputs.n) {
        sh_tensor *t = in->inputs.at[in->next_input++];
        if (!t) return sh_fail(SH_ERROR_NULL, "input %s is NULL", node->target);
        *to = (result){RESULT_TENSOR, {.tensor = sh_keep(t)}};
        return SH_OK;
    }
    if (!node->args.n)
        return sh_fail(SH_ERROR_ARGUMENT, "input %s is missing: %zu are given", node->target, in->inputs.n);
    *to = (result){RESULT_LITERAL, {.literal = node->args.at[0]}};
    return SH_OK;
}

static sh_status run_get_attr(const interpreter *in, const sh_node *node, result *to) {
    sh_tensor *t = sh_graph_attr(in->graph, node->target);
    if (!t) return sh_fail(SH_ERROR_VALUE, "the graph has no attribute %s", node->target);
    *to = (result){RESULT_TENSOR, {.tensor = sh_keep(t)}};
    return SH_OK;
}

/* Writes the tensors under `arg` to `to` (NULL: only counts) and adds how many they are to `n`. */
static sh_status flatten(interpreter *in, sh_arg arg, sh_tensor **to, size_t *n) {
    if (arg.tag == SH_ARG_LIST || arg.tag == SH_ARG_TUPLE) {
        for (uint32_t i = 0; i < arg.count; i++) SH_TRY(flatten(in, arg.as.list[i], to, n));
        return SH_OK;
    }
    if (arg.tag == SH_ARG_NONE) return SH_OK;
    const result *r = arg.tag == SH_ARG_NODE ? &in->values[arg.as.node->id] : NULL;
    if (!r || r->kind == RESULT_NONE || r->kind == RESULT_LITERAL)
        return sh_fail(SH_ERROR_TYPE, "an output is no tensor");
    const size_t more = r->kind == RESULT_LIST ? r->as.list->n : 1;
    for (size_t i = 0; to && i < more; i++)
        to[*n + i] = sh_keep(r->kind == RESULT_LIST ? r->as.list->at[i] : r->as.tensor);
    *n += more;
    return SH_OK;
}

static sh_status run_output(interpreter *in, const sh_node *node) {
    size_t n = 0;
    SH_TRY(flatten(in, sh_node_arg(node, 0), NULL, &n));
    in->output = sh__list_new(n);
    if (!in->output) return SH_ERROR_MEMORY;
    n = 0;
    return flatten(in, sh_node_arg(node, 0), in->output->at, &n);
}

static sh_status run_node(interpreter *in, const sh_node *node) {
    result *to = &in->values[node->id];
    switch (node->opcode) {
    case SH_PLACEHOLDER: return run_placeholder(in, node, to);
    case SH_GET_ATTR: return run_get_attr(in, node, to);
    case SH_CALL_FUNCTION: return run_call(in, node, to);
    case SH_OUTPUT: return run_output(in, node);
    default:
        return sh_fail(SH_ERROR_UNSUPPORTED, "%s can't be run: the graph holds no modules",
                       sh_opcode_text(node->opcode));
    }
}

/* ---- the run ---- */

static void free_used(interpreter *in, const sh_node *node) {
    in->remaining[node->id] = node->nusers;
    if (!node->nusers) drop(&in->values[node->id]);
    for (uint32_t i = 0; i < node->ninputs; i++) {
        const uint32_t id = node->uses[i].input->id;
        if (--in->remaining[id] == 0) drop(&in->values[id]);
    }
}

/* The pending error also says which node was running. */
static void name_node(const sh_node *node) {
    const sh_error_info info = *sh_error();
    char *text;
    char message[SH_MESSAGE_SIZE], op[96], where[160];
    snprintf(message, sizeof message, "%s", info.message);
    snprintf(op, sizeof op, "%s", info.op);
    snprintf(where, sizeof where, "%s", info.where);
    sh_clear_error();
    text = sh_node_text(node);
    if (!text) return;
    sh_fail(info.code, "%s; while executing %s", message, text);
    char *const name = strchr(where, ' ');
    if (name) *name = 0;
    sh__error_at(*op ? op : NULL, name ? where : NULL, name ? name + 1 : NULL);
    sh__free(text);
}

static sh_status run(interpreter *in) {
    for (const sh_node *node = sh_graph_first(in->graph); node && !in->output; node = sh_node_next(node)) {
        sh_status status = SH_OK;
        SH_SCOPE status = run_node(in, node);
        if (status < 0) {
            name_node(node);
            return status;
        }
        free_used(in, node);
    }
    if (in->next_input < in->inputs.n)
        return sh_fail(SH_ERROR_ARGUMENT, "sh_graph_run: %zu inputs given, the graph takes %zu", in->inputs.n,
                       in->next_input);
    if (!in->output) return sh_fail(SH_ERROR_VALUE, "sh_graph_run: the graph has no output node");
    return SH_OK;
}

sh_list *sh_graph_run(const sh_graph *graph, sh_tensors inputs) {
    if (sh__error_pending()) return NULL;
    interpreter in = {.graph = graph, .inputs = inputs};
    in.values = sh__calloc(graph->next_id + 1, sizeof *in.values);
    in.remaining = in.values ? sh__calloc(graph->next_id + 1, sizeof *in.remaining) : NULL;
    const sh_status status = in.remaining ? run(&in) : SH_ERROR_MEMORY;
    for (uint32_t i = 0; in.values && i < graph->next_id; i++) drop(&in.values[i]);
    sh__free(in.values);
    sh__free(in.remaining);
    sh__free(in.scratch.at);
    if (status >= 0) return sh__own_list(in.output);
    if (in.output) sh__list_release(in.output);
    return NULL;
}
