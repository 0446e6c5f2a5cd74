/* record_function.c - calls of user functions become nodes, as those of ops do in recorder.c.
 *
 * The arguments become nodes before the body runs: a function that is not pure may write to them, and what
 * the graph keeps is how they were. */
#include "dispatch/memory_impl.h"
#include "graph/recorder.h"

typedef struct arguments {
    sh_arg *args; /* then the entries of lists; one block */
    sh_kwarg *kwargs;
    size_t nargs, nkwargs;
} arguments;

static sh_status before_writes(sh_recorder *r, sh_value v) {
    if (v.tag == SH_TAG_TENSOR && !sh_tensor_is_wrapped_number(v.as.tensor))
        SH_TRY(sh__recorder_before_write(r, v.as.tensor));
    for (uint32_t i = 0; v.tag == SH_TAG_TENSORS && i < v.count; i++)
        if (v.as.tensors[i]) SH_TRY(sh__recorder_before_write(r, v.as.tensors[i]));
    return SH_OK;
}

static sh_status allocate(sh_arguments from, arguments *to) {
    size_t entries = from.n;
    for (size_t i = 0; i < from.n; i++) entries += from.at[i].value.count;
    *to = (arguments){0};
    to->kwargs = sh__alloc(from.n * sizeof *to->kwargs + entries * sizeof *to->args + 1);
    to->args = (sh_arg *)(to->kwargs + from.n);
    return to->kwargs ? SH_OK : SH_ERROR_MEMORY;
}

static sh_status collect(sh_recorder *r, const sh_function_call_record *call, arguments *to) {
    SH_TRY(allocate(call->args, to));
    sh_arg *entries = to->args + call->args.n;
    for (size_t i = 0; i < call->args.n; i++) {
        const sh_argument *from = &call->args.at[i];
        sh_arg arg;
        if (!(call->function->options.flags & SH_FUNCTION_PURE)) SH_TRY(before_writes(r, from->value));
        SH_TRY(sh__recorder_value(r, from->value, &entries, &arg));
        if (from->name)
            to->kwargs[to->nkwargs++] = (sh_kwarg){from->name, arg};
        else
            to->args[to->nargs++] = arg;
    }
    return SH_OK;
}

static sh_status append(sh_recorder *r, const sh_function_call_record *call, const arguments *a) {
    sh_node *node =
        sh_graph_create_node(r->graph, SH_CALL_FUNCTION, call->function->name, (sh_args){a->args, a->nargs},
                             (sh_kwargs){a->kwargs, a->nkwargs}, NULL);
    return sh__recorder_finish(r, node, call->site, call->result, 1);
}

static void enter(pthread_mutex_t *lock) {
    if (lock) pthread_mutex_lock(lock);
}
static void leave(pthread_mutex_t *lock) {
    if (lock) pthread_mutex_unlock(lock);
}

sh_status sh__recorder_call_function(sh_recorder *r, const sh_function_call_record *call,
                                     pthread_mutex_t *lock) {
    arguments a;
    enter(lock);
    sh_status status = collect(r, call, &a);
    leave(lock);
    if (status >= 0) status = sh__function_run(call);
    enter(lock);
    if (status >= 0) status = append(r, call, &a);
    leave(lock);
    sh__free(a.kwargs);
    return status;
}
