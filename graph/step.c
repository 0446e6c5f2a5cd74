/* step.c - one node run the interpreter's own way.
 *
 * Where the program has the op and its arguments placed, values are loaded into a copy of the template and the op
 * is called; else, and where a hook brings arguments of its own, the call goes by name. */
#include <inttypes.h>
#include <string.h>

#include "dispatch/chain.h"
#include "graph/interpreter_impl.h"

static sh_status resolve(void *user, const sh_node *node, sh_value *value) {
    const sh_interpreter *in = user;
    *value = node->id < in->nvalues ? in->values[node->id] : sh__absent();
    if (!sh__is_absent(*value)) return SH_OK;
    return sh_fail(SH_ERROR_VALUE, "%%%s is used before it has a value", node->name->text);
}

/* ---- results ---- */

/* Several results are a list. */
static sh_status one_value(const sh_value *results, uint32_t n, sh_value *result) {
    if (n == 1) {
        *result = results[0];
        return SH_OK;
    }
    sh_list *list = sh__list_new(n);
    if (!list) return SH_ERROR_MEMORY;
    for (uint32_t i = 0; i < n; i++) list->at[i] = sh_keep(results[i].as.tensor);
    *result = sh_value_tensors((sh_tensors){list->at, n});
    return sh__value_own(result);
}

static uint32_t count_results(const sh_value *results) {
    uint32_t n = 0;
    while (n < SH_MAX_RESULTS && results[n].tag != SH_TAG_NONE) n++;
    return n;
}

/* ---- prepared calls ---- */

/* The list that stands at `argument`, in the interpreter's words so that it can be written. */
static uint64_t *open_list(const sh_step *step, sh_value *args, uint32_t argument, uint64_t **free) {
    sh_value *list = &args[argument];
    if (list->as.bits == step->args[argument].as.bits) {
        memcpy(*free, list->as.ints, list->count * sizeof **free);
        list->as.ints = (const int64_t *)*free;
        *free += list->count;
    }
    return (uint64_t *)(uintptr_t)list->as.ints;
}

static sh_status load_entry(const sh_step *step, const sh_load *l, const sh_value *v, uint64_t *list) {
    const bool ints = step->args[l->argument].tag == SH_TAG_INTS;
    const bool fits = ints ? v->tag == SH_TAG_INT || v->tag == SH_TAG_FLAG
                           : v->tag == SH_TAG_TENSOR || v->tag == SH_TAG_NONE;
    if (!fits)
        return sh_fail(SH_ERROR_TYPE, "%s: argument %s: entry %" PRId64 " is no %s", step->op->name,
                       step->schema->params[l->argument].name, l->entry, ints ? "int" : "Tensor");
    list[l->entry] = v->as.bits;
    return SH_OK;
}

static sh_status load_other(const sh_step *step, const sh_load *l, const sh_value *v, sh_value *args,
                            sh_tensor **target) {
    const sh_call call = {.op = step->op};
    if (l->argument != SH__TARGET)
        return sh__check_arg(&call, &step->schema->params[l->argument], v, NULL, &args[l->argument]);
    *target = sh_value_as_tensor(*v);
    return *target ? SH_OK : sh_fail(SH_ERROR_TYPE, "%s: out must be a Tensor", step->op->name);
}

static sh_status load_arguments(const sh_interpreter *in, const sh_step *step, sh_value *args,
                                sh_tensor **target) {
    uint64_t *free = in->words;
    memcpy(args, step->args, step->nargs * sizeof *args);
    for (uint32_t i = 0; i < step->nloads; i++) {
        const sh_load *l = &step->loads[i];
        const sh_value *v = &in->values[l->id];
        if (SH_UNLIKELY(sh__is_absent(*v)))
            return sh_fail(SH_ERROR_VALUE, "an argument of %%%s has no value yet", step->node->name->text);
        if (SH_LIKELY(l->entry < 0 && v->tag == SH_TAG_TENSOR && l->argument != SH__TARGET &&
                      step->schema->params[l->argument].type == SH_TYPE_TENSOR))
            args[l->argument] = *v;
        else if (l->entry < 0)
            SH_TRY(load_other(step, l, v, args, target));
        else
            SH_TRY(load_entry(step, l, v, open_list(step, args, l->argument, &free)));
    }
    for (uint32_t left = step->numbers; left; left &= left - 1) {
        sh_value *number = &args[__builtin_ctz(left)];
        *number = sh_value_tensor(sh_tensor_from_number(*number));
        if (number->tag == SH_TAG_NONE) return sh_error()->code;
    }
    if (step->variant == SH_INPLACE) *target = sh_value_as_tensor(args[0]);
    return SH_OK;
}

static sh_status run_prepared(const sh_interpreter *in, const sh_step *step, sh_value *result) {
    sh_value args[SH_MAX_ARGS], results[SH_MAX_RESULTS];
    sh_tensor *target = NULL;
    const void *const caller[] = {NULL,
                                  step->node->site}; /* findings then name the place that was recorded */
    SH_TRY(load_arguments(in, step, args, &target));
    SH_TRY(sh__call_placed(step->op, step->schema, step->variant, target, args, results, caller));
    return one_value(results, step->schema->nreturns, result);
}

/* ---- calls with arguments at hand ---- */

static sh_status call_op(const sh_node *node, sh_arguments args, sh_value *result) {
    sh_value results[SH_MAX_RESULTS] = {{0}};
    const void *const caller[] = {NULL, node->site};
    SH_TRY(sh__call_by_name(node->target, args.at, args.n, results, caller));
    return one_value(results, count_results(results), result);
}

static sh_status get_item(sh_arguments args, sh_value *result) {
    if (args.n != 2 || args.at[1].value.tag != SH_TAG_INT)
        return sh_fail(SH_ERROR_ARGUMENT, SH_GETITEM " takes a list and an integer");
    *result = sh_value_item(args.at[0].value, args.at[1].value.as.i);
    return sh__error_pending() ? sh_error()->code : SH_OK;
}

sh_status sh_interpreter_call_function(sh_interpreter *in, sh_node *node, sh_arguments args,
                                       sh_value *result) {
    (void)in;
    if (strcmp(node->target, SH_GETITEM) == 0) return get_item(args, result);
    sh_function_entry *function = sh__function_find(node->target);
    if (!function) return call_op(node, args, result);
    const sh_status status = sh__function_call_at(function, args, node->site, result);
    sh__function_release(function);
    return status;
}

sh_status sh_interpreter_call_module(sh_interpreter *in, sh_node *node, sh_arguments args, sh_value *result) {
    const sh_graph_root *root = sh__graph_root(in->graph);
    if (root->call) return root->call(root->object, node->target, args, result);
    return sh_fail(SH_ERROR_UNSUPPORTED, "call_module can't be run: the graph belongs to no module");
}

/* ---- inputs, attributes, output ---- */

static const sh_step *step_of(const sh_interpreter *in, const sh_node *node) {
    for (uint32_t i = 0; in->program && i < in->program->nsteps; i++)
        if (in->program->steps[i].node == node) return &in->program->steps[i];
    return NULL;
}

static const sh_argument *input_of(const sh_interpreter *in, const sh_step *step) {
    if (step->input < in->npositional) return &in->inputs.at[step->input];
    for (size_t i = in->npositional; i < in->inputs.n; i++)
        if (strcmp(in->inputs.at[i].name, step->node->target) == 0) return &in->inputs.at[i];
    return NULL;
}

sh_status sh_interpreter_placeholder(sh_interpreter *in, sh_node *node, sh_arguments args, sh_value *result) {
    const sh_step *step = in->step && in->step->node == node ? in->step : step_of(in, node);
    const sh_argument *given = step ? input_of(in, step) : NULL;
    if (!given && !args.n)
        return sh_fail(SH_ERROR_ARGUMENT, "input %s is missing: %zu are given", node->target, in->inputs.n);
    *result = given ? given->value : args.at[0].value;
    return SH_OK;
}

sh_status sh_interpreter_get_attr(sh_interpreter *in, sh_node *node, sh_arguments args, sh_value *result) {
    (void)args;
    sh_tensor *t = sh__graph_tensor(in->graph, node->target);
    if (!t) return sh_fail(SH_ERROR_VALUE, "the graph has no attribute %s", node->target);
    *result = sh_value_tensor(t);
    return SH_OK;
}

sh_status sh_interpreter_output(sh_interpreter *in, sh_node *node, sh_arguments args, sh_value *result) {
    (void)in;
    (void)node;
    *result = sh_arguments_at(args, 0);
    return SH_OK;
}

/* Counts the tensors under `arg` in `n`, and keeps them in `list` if that is there. */
static sh_status flatten(const sh_interpreter *in, sh_arg arg, sh_list *list, uint32_t *n) {
    sh_value v = sh_none();
    for (uint32_t i = 0; sh_arg_is_list(arg) && i < arg.count; i++)
        SH_TRY(flatten(in, arg.as.list[i], list, n));
    if (sh_arg_is_list(arg) || arg.tag == SH_ARG_NONE) return SH_OK;
    if (arg.tag == SH_ARG_NODE) SH_TRY(resolve((void *)(uintptr_t)in, arg.as.node, &v));
    sh_tensor *const *at = v.tag == SH_TAG_TENSORS ? v.as.tensors : &v.as.tensor;
    const uint32_t more = v.tag == SH_TAG_TENSORS ? v.count : v.tag == SH_TAG_TENSOR;
    if (arg.tag != SH_ARG_NODE || (v.tag > SH_TAG_TENSORS))
        return sh_fail(SH_ERROR_TYPE, "an output in a list is no tensor");
    for (uint32_t i = 0; list && i < more; i++) list->at[*n + i] = sh_keep(at[i]);
    *n += more;
    return SH_OK;
}

/* One value as it is; a list as the tensors in it, lists in it opened. */
static sh_status returned(const sh_interpreter *in, sh_arg arg, sh_value *value) {
    uint32_t n = 0;
    if (arg.tag == SH_ARG_NODE) return resolve((void *)(uintptr_t)in, arg.as.node, value);
    *value = sh__literal_value(arg);
    if (arg.tag != SH_ARG_LIST && arg.tag != SH_ARG_TUPLE) return SH_OK;
    SH_TRY(flatten(in, arg, NULL, &n));
    sh_list *list = sh__list_new(n);
    if (!list) return SH_ERROR_MEMORY;
    n = 0;
    flatten(in, arg, list, &n);
    *value = sh_value_tensors((sh_tensors){list->at, n});
    return sh__value_own(value);
}

/* ---- a step ---- */

/* With a hook, it; else what the program knows, else the default. */
static sh_status run_with(sh_interpreter *in, const sh_step *step, sh_arguments args, sh_value *result) {
    static const sh_run_opcode own[] = {
        [SH_PLACEHOLDER] = sh_interpreter_placeholder,
        [SH_GET_ATTR] = sh_interpreter_get_attr,
        [SH_CALL_FUNCTION] = sh_interpreter_call_function,
        [SH_CALL_MODULE] = sh_interpreter_call_module,
        [SH_OUTPUT] = sh_interpreter_output,
    };
    sh_node *node = step->node;
    if (in->hooks[node->opcode]) return in->hooks[node->opcode](in, node, args, result);
    if (step->function) return sh__function_call_at(step->function, args, node->site, result);
    return own[node->opcode](in, node, args, result);
}

enum { ROOM = SH_MAX_ARGS + 1 }; /* arguments on the C stack; functions may have more */

static sh_status fetch_and_run(sh_interpreter *in, const sh_step *step, sh_value *result) {
    const sh_node *node = step->node;
    const size_t n = node->args.n + node->kwargs.n;
    sh_argument local[ROOM], *arguments = n <= ROOM ? local : sh__alloc(n * sizeof *arguments);
    if (!arguments) return SH_ERROR_MEMORY;
    sh_status status = sh__node_arguments(node, resolve, in, &in->scratch, arguments);
    if (status >= 0) status = run_with(in, step, (sh_arguments){arguments, n}, result);
    if (arguments != local) sh__free(arguments);
    return status;
}

static sh_status run_output(sh_interpreter *in, const sh_step *step, sh_value *result) {
    sh_argument argument = {NULL, sh_none()};
    SH_TRY(returned(in, sh_node_arg(step->node, 0), &argument.value));
    return run_with(in, step, (sh_arguments){&argument, 1}, result);
}

/* In the scopes that were open where it was recorded, and one of its own name. A module names itself. */
static sh_status run_call(sh_interpreter *in, const sh_step *step, sh_value *result) {
    const sh_node *node = step->node;
    const bool known = step->op && sh_op_schema(step->op) == step->schema && !in->hooks[SH_CALL_FUNCTION];
    if (*node->scope) SH_TRY(sh_name_push(node->scope));
    sh_status status = sh_name_push(node->name->text);
    if (status >= 0) {
        status = known ? run_prepared(in, step, result) : fetch_and_run(in, step, result);
        sh_name_pop();
    }
    if (*node->scope) sh_name_pop();
    return status;
}

/* A module opens the scope of its own name itself. */
static sh_status run_module(sh_interpreter *in, const sh_step *step, sh_value *result) {
    const sh_node *node = step->node;
    if (!*node->scope) return fetch_and_run(in, step, result);
    SH_TRY(sh_name_push(node->scope));
    const sh_status status = fetch_and_run(in, step, result);
    sh_name_pop();
    return status;
}

sh_status sh__step_run(sh_interpreter *in, sh_value *result) {
    const sh_step *step = in->step;
    *result = sh_none();
    if (step->node->opcode == SH_OUTPUT) return run_output(in, step, result);
    if (step->node->opcode == SH_CALL_FUNCTION) return run_call(in, step, result);
    if (step->node->opcode == SH_CALL_MODULE) return run_module(in, step, result);
    return fetch_and_run(in, step, result);
}
