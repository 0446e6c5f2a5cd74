/* interpret.c - runs a graph node by node.
 *
 * `values` holds what each node gave, by the node's id, with references of its own; the program says after
 * which step each is needed no more, so no more is alive than must be. What a node makes on the way dies with
 * the scope around it. */
#include <stdio.h>
#include <string.h>

#include "dispatch/chain.h"
#include "graph/given.h"
#include "graph/interpreter_impl.h"

/* ---- making and ending ---- */

static void set_hooks(sh_interpreter *in, const sh_interpreter_options *o) {
    in->options = *o;
    in->hooks[SH_PLACEHOLDER] = o->placeholder;
    in->hooks[SH_GET_ATTR] = o->get_attr;
    in->hooks[SH_CALL_FUNCTION] = o->call_function;
    in->hooks[SH_CALL_MODULE] = o->call_module;
    in->hooks[SH_OUTPUT] = o->output;
}

sh_interpreter *sh_interpreter_new(sh_graph *graph, const sh_interpreter_options *options) {
    if (sh__error_pending()) return NULL;
    if (!graph) {
        sh_fail(SH_ERROR_NULL, "sh_interpreter_new: graph is NULL");
        return NULL;
    }
    sh_interpreter *in = sh__calloc(1, sizeof *in);
    if (!in) return NULL;
    in->graph = graph;
    in->output = sh__absent();
    if (options) set_hooks(in, options);
    return in;
}

static void drop_values(sh_interpreter *in) {
    for (uint32_t i = 0; i < in->nvalues; i++)
        if (!sh__is_absent(in->values[i])) sh__value_drop(&in->values[i]);
    in->ngiven = 0;
}

static void clear(sh_interpreter *in) {
    drop_values(in);
    sh__value_drop(&in->output);
    sh__free(in->values);
    sh__free(in->words);
    sh__free(in->scratch.at);
}

void sh_interpreter_free(sh_interpreter *in) {
    if (!in) return;
    clear(in);
    sh__free(in);
}

void *sh_interpreter_user(const sh_interpreter *in) {
    SH_GIVEN(in, NULL);
    return in->options.user;
}
sh_graph *sh_interpreter_graph(const sh_interpreter *in) {
    SH_GIVEN(in, NULL);
    return in->graph;
}

/* ---- values ---- */

static sh_status reserve_values(sh_interpreter *in) {
    const uint32_t n = in->graph->next_id + 1;
    if (n <= in->nvalues) return SH_OK;
    sh_value *values = sh__realloc(in->values, n * sizeof *values);
    if (!values) return SH_ERROR_MEMORY;
    in->values = values;
    while (in->nvalues < n) values[in->nvalues++] = sh__absent();
    return SH_OK;
}

sh_status sh_interpreter_set_value(sh_interpreter *in, const sh_node *node, sh_value value) {
    if (sh__error_pending()) return sh_error()->code;
    SH_GIVEN(in, SH_ERROR_NULL);
    if (!node || node->graph != in->graph)
        return sh_fail(SH_ERROR_VALUE, "sh_interpreter_set_value: %s",
                       node ? "the node is of another graph" : "node is NULL");
    if (!in->program && !in->ngiven) drop_values(in); /* those kept from the run before */
    SH_TRY(reserve_values(in));
    SH_TRY(sh__value_hold(&value));
    if (!in->program) in->ngiven++;
    sh__value_drop(&in->values[node->id]);
    in->values[node->id] = value;
    return SH_OK;
}

sh_value sh_interpreter_value(const sh_interpreter *in, const sh_node *node) {
    SH_GIVEN(in, sh_none());
    if (node && node->graph == in->graph && node->id < in->nvalues && !sh__is_absent(in->values[node->id]))
        return in->values[node->id];
    sh_fail(SH_ERROR_VALUE, "sh_interpreter_value: %%%s has no value", node ? node->name->text : "NULL");
    return sh_none();
}

/* ---- before a run ---- */

/* The named inputs behind the first n: each must be a placeholder's that none of the first n goes to. */
static sh_status check_named(const sh_graph *graph, sh_arguments inputs, size_t n) {
    for (size_t i = n; i < inputs.n; i++) {
        const char *const name = inputs.at[i].name;
        const sh_node *node = sh_graph_first(graph);
        size_t place = 0;
        if (!name)
            return sh_fail(SH_ERROR_ARGUMENT, "input %zu stands without a name behind %s=", i,
                           inputs.at[i - 1].name);
        for (; node && !(node->opcode == SH_PLACEHOLDER && strcmp(node->target, name) == 0);
             node = sh_node_next(node))
            place += node->opcode == SH_PLACEHOLDER;
        if (!node) return sh_fail(SH_ERROR_ARGUMENT, "the graph takes no input %s", name);
        if (place < n) return sh_fail(SH_ERROR_ARGUMENT, "input %s is given twice", name);
    }
    return SH_OK;
}

static sh_status take_inputs(sh_interpreter *in, sh_arguments inputs) {
    size_t n = 0;
    while (n < inputs.n && !inputs.at[n].name) n++;
    if (n > in->program->ninputs)
        return sh_fail(SH_ERROR_ARGUMENT, "%zu inputs given, the graph takes %u", n, in->program->ninputs);
    SH_TRY(check_named(in->graph, inputs, n));
    in->inputs = inputs;
    in->npositional = n;
    return SH_OK;
}

/* The graph's own program, or one without what the given values make needless. */
static sh_program *choose_program(const sh_interpreter *in) {
    if (!in->ngiven) return sh__program_of(in->graph);
    bool *given = sh__calloc(in->nvalues, 2 * sizeof *given), *needless = given + in->nvalues;
    if (!given) return NULL;
    for (uint32_t i = 0; i < in->nvalues; i++) given[i] = !sh__is_absent(in->values[i]);
    sh_program *program =
        sh__needless_nodes(in->graph, given, needless) < 0 ? NULL : sh__program_without(in->graph, needless);
    sh__free(given);
    return program;
}

sh_status sh__run_begin(sh_interpreter *in, sh_arguments inputs) {
    if (!in->ngiven) drop_values(in);
    SH_TRY(reserve_values(in));
    in->program = choose_program(in);
    if (!in->program) return sh_error()->code;
    if (in->program->words > in->nwords) {
        uint64_t *words = sh__realloc(in->words, in->program->words * sizeof *words);
        if (!words) return SH_ERROR_MEMORY;
        in->words = words;
        in->nwords = in->program->words;
    }
    return take_inputs(in, inputs);
}

/* ---- the run ---- */

sh_status sh_interpreter_run_node(sh_interpreter *in, sh_node *node, sh_value *result) {
    SH_GIVEN(in, SH_ERROR_NULL);
    if (in->step && in->step->node == node) return sh__step_run(in, result);
    return sh_fail(SH_ERROR_VALUE, "sh_interpreter_run_node: %%%s is not the node at hand",
                   node ? node->name->text : "NULL");
}

/* The pending error also says which node was running, and where that was recorded. */
static void name_node(const sh_node *node) {
    const sh_error_info info = *sh_error();
    char message[SH_MESSAGE_SIZE], op[96], where[160], site[160] = "";
    snprintf(message, sizeof message, "%s", info.message);
    snprintf(op, sizeof op, "%s", info.op);
    snprintf(where, sizeof where, "%s", info.where);
    sh_clear_error();
    char *text = sh_node_text(node);
    if (!text) return;
    sh__node_place(node, site, sizeof site);
    sh_fail(info.code, "%s; while executing %s%s%s", message, text, *site ? ", recorded at " : "", site);
    char *const name = strchr(where, ' ');
    if (name) *name = 0;
    sh__error_at(*op ? op : NULL, name ? where : NULL, name ? name + 1 : NULL);
    sh__free(text);
}

static sh_status run_and_hold(sh_interpreter *in, sh_node *node, sh_value *result) {
    const sh_status status = SH_UNLIKELY(in->options.run_node != NULL)
                                 ? in->options.run_node(in, node, result)
                                 : sh__step_run(in, result);
    if (status < 0 || sh__error_pending()) return sh__error_ensure(status);
    return sh__value_hold(result);
}

static void end_values(sh_interpreter *in, const sh_step *step) {
    for (uint32_t i = 0; i < step->nends; i++) sh__value_drop(&in->values[step->ends[i]]);
}

sh_status sh__run_step(sh_interpreter *in, const sh_step *step) {
    sh_value result = sh_none();
    sh_status status = SH_OK;
    in->step = step;
    SH_SCOPE status = run_and_hold(in, step->node, &result);
    if (status < 0) {
        name_node(step->node);
        return sh_error()->code;
    }
    sh_value *to = step->node->opcode == SH_OUTPUT ? &in->output : &in->values[step->node->id];
    sh__value_drop(to);
    *to = result;
    if (!in->options.keep_values) end_values(in, step);
    return SH_OK;
}

static sh_status run_all(sh_interpreter *in) {
    for (uint32_t i = 0; i < in->program->nsteps && sh__is_absent(in->output); i++)
        SH_TRY(sh__run_step(in, &in->program->steps[i]));
    if (sh__is_absent(in->output))
        return sh_fail(SH_ERROR_VALUE, "the graph can't be run: it has no output node");
    return SH_OK;
}

sh_status sh_interpreter_run(sh_interpreter *in, sh_arguments inputs, sh_value *result) {
    SH_GIVEN(in, SH_ERROR_NULL);
    SH_GIVEN(result, SH_ERROR_NULL);
    if (!in->options.run) return sh_interpreter_run_graph(in, inputs, result);
    if (sh__error_pending()) return sh_error()->code;
    *result = sh_none();
    const sh_status status = in->options.run(in, inputs, result);
    return status < 0 || sh__error_pending() ? sh__error_ensure(status) : SH_OK;
}

sh_status sh__run_end(sh_interpreter *in, sh_status status, sh_value *result) {
    sh__program_release(in->program);
    in->program = NULL;
    in->step = NULL;
    in->ngiven = 0;
    if (!in->options.keep_values || status < 0) drop_values(in);
    *result = sh_none();
    if (status >= 0) {
        *result = in->output;
        in->output = sh__absent();
        return sh__value_own(result);
    }
    sh__value_drop(&in->output);
    return status;
}

sh_status sh_interpreter_run_graph(sh_interpreter *in, sh_arguments inputs, sh_value *result) {
    if (sh__error_pending()) return sh_error()->code;
    SH_GIVEN(in, SH_ERROR_NULL);
    SH_GIVEN(result, SH_ERROR_NULL);
    if (in->program) return sh_fail(SH_ERROR_VALUE, "sh_interpreter_run: the interpreter is running already");
    sh_status status = sh__run_begin(in, inputs);
    if (status >= 0) status = run_all(in);
    return sh__run_end(in, status, result);
}

/* ---- with tensors only ---- */

static sh_list *as_list(sh_value value) {
    if (value.tag == SH_TAG_TENSORS) return sh__list_of(value);
    const bool tensor = value.tag == SH_TAG_TENSOR;
    if (!tensor && value.tag != SH_TAG_NONE) {
        sh_fail(SH_ERROR_TYPE,
                "sh_graph_run: the graph returns no tensor; sh_interpreter_run gives what it returns");
        return NULL;
    }
    sh_list *list = sh__list_new(tensor);
    if (list && tensor) list->at[0] = sh_keep(value.as.tensor);
    return list ? sh__own_list(list) : NULL;
}

sh_list *sh_graph_run(const sh_graph *graph, sh_tensors inputs) {
    if (sh__error_pending()) return NULL;
    sh_argument *arguments = sh__calloc(inputs.n + 1, sizeof *arguments);
    sh_interpreter in = {.graph = (sh_graph *)(uintptr_t)graph, .output = sh__absent()};
    sh_value result = sh_none();
    for (size_t i = 0; arguments && i < inputs.n; i++) {
        arguments[i].value = sh_value_tensor(inputs.at[i]);
        if (!inputs.at[i]) sh_fail(SH_ERROR_NULL, "sh_graph_run: input %zu is NULL", i);
    }
    const sh_status status =
        arguments ? sh_interpreter_run(&in, (sh_arguments){arguments, inputs.n}, &result) : SH_ERROR_MEMORY;
    clear(&in);
    sh__free(arguments);
    return status < 0 ? NULL : as_list(result);
}
