/* trace.c - a trace: inputs become placeholders, forward runs, what it returns becomes the output.
 *
 * A trace is a capture (record.c) whose calls run on tensors without data, and whose modules are looked at before they
 * run. So the two record alike, and the modes that are pushed act in both. */
#include "graph/trace.h"

#include <stdio.h>
#include <string.h>

#include "dispatch/no_data.h"
#include "graph/module/graph_module.h"
#include "graph/trace_impl.h"

/* ---- names ---- */

static bool is_in(const char *const *list, const char *name) {
    for (; list && *list; list++)
        if (strcmp(*list, name) == 0) return true;
    return false;
}

/* The name of input i, in `buffer` where it has none. */
static const char *input_name(const sh_tracer *t, size_t i, char *buffer, size_t size) {
    const char *const *names = t->options->names ? t->options->names : t->root->type->inputs;
    for (size_t k = 0; names && names[k]; k++)
        if (k == i) return names[k];
    snprintf(buffer, size, i ? "x_%zu" : "x", i);
    return buffer;
}

/* Each name in `concrete` must be an input's. */
static sh_status check_concrete(const sh_tracer *t, size_t n) {
    char buffer[32];
    for (const char *const *c = t->options->concrete; c && *c; c++) {
        size_t i = 0;
        while (i < n && strcmp(input_name(t, i, buffer, sizeof buffer), *c) != 0) i++;
        if (i == n)
            return sh_fail(SH_ERROR_VALUE, "sh_trace: no input is called %s, which is to be concrete", *c);
    }
    return SH_OK;
}

/* ---- inputs ---- */

static sh_tensor *placeholder(sh_tracer *t, const sh_tensor *like, const char *name) {
    sh_tensor *input = sh__trace_stand_in(like);
    if (!input || sh_capture_input(t->capture, input, name) < 0) return NULL;
    input->flags |= SH_TENSOR_UNBOUND;
    return input;
}

static sh_status list_placeholders(sh_tracer *t, sh_value *list, const char *name) {
    char entry[200];
    *list = sh_list_value(sh_value_as_tensors(*list));
    for (uint32_t i = 0; i < list->count; i++) {
        snprintf(entry, sizeof entry, "%s_%u", name, i + 1);
        sh_tensor **at = &sh__list_of(*list)->at[i], *input = *at ? placeholder(t, *at, entry) : NULL;
        if (!input) return sh_fail(SH_ERROR_NULL, "sh_trace: entry %u of input %s is NULL", i, name);
        sh_release(*at);
        *at = sh_keep(input);
    }
    return sh__error_pending() ? sh_error()->code : SH_OK;
}

static sh_status keep_concrete(sh_tracer *t, sh_value value) {
    if (value.tag == SH_TAG_TENSOR) return sh__identity_set(&t->concrete, value.as.tensor, NULL, 0);
    for (uint32_t i = 0; value.tag == SH_TAG_TENSORS && i < value.count; i++)
        SH_TRY(sh__identity_set(&t->concrete, value.as.tensors[i], NULL, 0));
    return SH_OK;
}

static sh_status make_inputs(sh_tracer *t, sh_values given, sh_value *inputs) {
    SH_TRY(check_concrete(t, given.n));
    for (size_t i = 0; i < given.n; i++) {
        char buffer[32];
        const char *name = input_name(t, i, buffer, sizeof buffer);
        inputs[i] = given.at[i];
        if (inputs[i].tag == SH_TAG_NONE) return sh_fail(SH_ERROR_NULL, "sh_trace: input %s is NULL", name);
        if (is_in(t->options->concrete, name)) {
            SH_TRY(keep_concrete(t, inputs[i]));
            continue;
        }
        if (inputs[i].tag == SH_TAG_TENSORS) SH_TRY(list_placeholders(t, &inputs[i], name));
        if (inputs[i].tag != SH_TAG_TENSOR) continue;
        inputs[i] = sh_value_tensor(placeholder(t, inputs[i].as.tensor, name));
        if (sh__error_pending()) return sh_error()->code;
    }
    return SH_OK;
}

/* ---- the output ---- */

static sh_status make_output(sh_tracer *t, sh_value value) {
    sh_arg *entries = sh__alloc((value.count + 1) * sizeof *entries), *next = entries, arg;
    if (!entries) return SH_ERROR_MEMORY;
    sh_status status = sh__recorder_value(t->recorder, value, &next, &arg);
    if (status >= 0 && !sh_graph_output(t->recorder->graph, arg)) status = sh_error()->code;
    sh__free(entries);
    return status;
}

/* ---- the trace ---- */

static sh_status run(sh_tracer *t, sh_values given) {
    sh_value inputs[SH_MAX_ARGS], output = sh_none();
    if (given.n > SH_MAX_ARGS)
        return sh_fail(SH_ERROR_ARGUMENT, "sh_trace: %zu inputs, the most is %d", given.n, SH_MAX_ARGS);
    SH_TRY(make_inputs(t, given, inputs));
    if (!t->options->no_leaves) SH_TRY(sh__paths_of_modules(&t->modules, t->root));
    SH_WITH_MODE(sh_capture_mode(t->capture)) {
        t->outer = sh__tracing;
        sh__tracing = &t->tracing;
        output = sh__module_run(t->root, (sh_values){inputs, given.n});
        if (!sh__error_pending()) make_output(t, output);
        sh__tracing = t->outer;
    }
    return sh__error_pending() ? sh_error()->code : SH_OK;
}

static sh_status begin(sh_tracer *t) {
    t->capture = sh_capture_new(NULL);
    if (!t->capture) return sh_error()->code;
    t->recorder = &t->capture->recorder;
    t->recorder->outside = sh__trace_outside;
    t->recorder->user = t;
    t->capture->run = sh__trace_call;
    t->capture->run_user = t;
    sh__set_trace_reader(sh__trace_read);
    return SH_OK;
}

/* The graph goes to the caller, the rest ends. */
static sh_graph *end(sh_tracer *t, sh_status status) {
    sh_graph *graph = NULL;
    if (status >= 0) {
        graph = t->recorder->graph;
        t->recorder->graph = NULL;
    }
    sh_capture_free(t->capture);
    sh__identities_free(&t->concrete);
    sh__paths_free(&t->modules);
    sh__paths_free(&t->tensors);
    return graph;
}

sh_graph *sh_trace(sh_module *root, sh_values inputs, const sh_trace_options *options) {
    static const sh_trace_options defaults = {0};
    if (sh__error_pending()) return NULL;
    if (!root) {
        sh_fail(SH_ERROR_NULL, "sh_trace: root is NULL");
        return NULL;
    }
    sh_tracer t = {.tracing = {sh__trace_module}, .root = root, .options = options ? options : &defaults};
    sh_graph *graph = NULL;
    SH_SCOPE {
        sh_status status = begin(&t);
        if (status >= 0) status = run(&t, inputs);
        graph = end(&t, status);
    }
    sh_graph_set_module(graph, root);
    return graph;
}

sh_module *sh_symbolic_trace(sh_module *root, sh_values inputs, const sh_trace_options *options) {
    sh_graph *graph = sh_trace(root, inputs, options);
    return graph ? sh_graph_module_new(root, graph) : NULL;
}

/* ---- functions ---- */

typedef struct function_state {
    sh_traceable function;
    void *user;
} function_state;

static sh_value call_function(sh_module *self, sh_values inputs) {
    const function_state *state = sh_module_state(self);
    return state->function(inputs, state->user);
}

sh_module *sh__module_of_function(sh_traceable function, void *user) {
    static const sh_module_type type = {
        .name = "function", .forward_values = call_function, .state_size = sizeof(function_state)};
    sh_module *module = sh_module_new(&type);
    if (module) *(function_state *)sh_module_state(module) = (function_state){function, user};
    return module;
}

sh_graph *sh_trace_function(sh_traceable function, void *user, sh_values inputs,
                            const sh_trace_options *options) {
    if (!function) sh_fail(SH_ERROR_NULL, "sh_trace_function: function is NULL");
    sh_module *module = sh__module_of_function(function, user);
    if (!module) return NULL;
    sh_graph *graph = sh_trace(module, inputs, options);
    sh_module_release(module);
    return graph;
}
