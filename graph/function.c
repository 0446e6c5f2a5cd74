/* function.c - the registry of user functions, and one call of one.
 *
 * A list, newest first, under a lock; who calls holds a reference, so a function may be removed while it
 * runs. A call runs in a scope of its own: only its result comes out. */
#include <pthread.h>
#include <string.h>

#include "dispatch/chain.h"
#include "graph/function_impl.h"
#include "graph/held.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sh_function_entry *newest;
static atomic_uint_fast64_t version;

/* ---- the registry ---- */

static sh_status check_name(const char *name, sh_function_body body) {
    sh_variant variant;
    if (sh__error_pending()) return sh_error()->code;
    if (!name || !body)
        return sh_fail(SH_ERROR_NULL, "sh_function_register: %s is NULL", name ? "body" : "name");
    if (!*name || strncmp(name, "operator.", 9) == 0)
        return sh_fail(SH_ERROR_VALUE, "sh_function_register: \"%s\" can't be the name of a function", name);
    if (sh__op_named(name, &variant))
        return sh_fail(SH_ERROR_OP, "sh_function_register: there is an op of the name %s", name);
    return SH_OK;
}

sh_status sh_function_register(const char *name, sh_function_body body, const sh_function_options *options) {
    SH_TRY(check_name(name, body));
    const size_t length = strlen(name);
    sh_function_entry *function = sh__calloc(1, sizeof *function + length + 1);
    if (!function) return SH_ERROR_MEMORY;
    atomic_init(&function->refs, 1);
    function->body = body;
    if (options) function->options = *options;
    memcpy(function->name, name, length);
    pthread_mutex_lock(&lock);
    function->next = newest;
    newest = function;
    atomic_fetch_add(&version, 1);
    sh__configuration_changed();
    pthread_mutex_unlock(&lock);
    return SH_OK;
}

/* The link that holds the newest of this name, or the one behind the last. */
static sh_function_entry **link_of(const char *name) {
    sh_function_entry **link = &newest;
    while (*link && strcmp((*link)->name, name) != 0) link = &(*link)->next;
    return link;
}

sh_status sh_function_remove(const char *name) {
    if (!name) return sh_fail(SH_ERROR_NULL, "sh_function_remove: name is NULL");
    pthread_mutex_lock(&lock);
    sh_function_entry **const link = link_of(name), *const function = *link;
    if (function) {
        *link = function->next;
        atomic_fetch_add(&version, 1);
        sh__configuration_changed();
    }
    pthread_mutex_unlock(&lock);
    if (!function) return sh_fail(SH_ERROR_VALUE, "sh_function_remove: there is no function %s", name);
    sh__function_release(function);
    return SH_OK;
}

sh_function_entry *sh__function_find(const char *name) {
    pthread_mutex_lock(&lock);
    sh_function_entry *const function = *link_of(name);
    if (function) atomic_fetch_add_explicit(&function->refs, 1, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
    return function;
}

void sh__function_release(sh_function_entry *function) {
    if (!function || atomic_fetch_sub_explicit(&function->refs, 1, memory_order_acq_rel) != 1) return;
    if (function->options.destroy) function->options.destroy(function->options.user);
    sh__free(function);
}

uint64_t sh__functions_version(void) { return atomic_load_explicit(&version, memory_order_acquire); }

bool sh_function_is_registered(const char *name) {
    sh_function_entry *const function = sh__function_find(name);
    sh__function_release(function);
    return function != NULL;
}

uint32_t sh_function_flags(const char *name) {
    sh_function_entry *const function = sh__function_find(name);
    const uint32_t flags = function ? function->options.flags : 0;
    sh__function_release(function);
    return flags;
}

/* ---- a call ---- */

static bool lacks_data(const sh_tensor *t) { return t && sh_tensor_device(t) == SH_META; }

static bool any_lacks_data(sh_arguments args) {
    for (size_t i = 0; i < args.n; i++) {
        const sh_value v = args.at[i].value;
        if (lacks_data(sh_value_as_tensor(v))) return true;
        for (uint32_t k = 0; v.tag == SH_TAG_TENSORS && k < v.count; k++)
            if (lacks_data(v.as.tensors[k])) return true;
    }
    return false;
}

static sh_status infer(const sh_function_entry *function, sh_arguments args, sh_value *result) {
    sh_spec spec = {0};
    SH_TRY(function->options.infer(function->options.user, args, &spec));
    SH_TRY(sh__spec_check(&spec, function->name));
    *result =
        sh_value_tensor(sh_tensor_new_on(SH_META, spec.dtype, (sh_ints){spec.sizes, (size_t)spec.ndim}));
    return SH_OK;
}

static sh_status check_result(const sh_function_entry *function, sh_value result) {
    if (result.tag == SH_TAG_INTS || result.tag == SH_TAG_STRING || result.tag > SH_TAG_DTYPE)
        return sh_fail(SH_ERROR_RESULT,
                       "%s: the result has tag %u: expected a tensor, tensors, a number, a dtype or none",
                       function->name, result.tag);
    for (uint32_t i = 0; result.tag == SH_TAG_TENSORS && i < result.count; i++)
        if (!result.as.tensors[i])
            return sh_fail(SH_ERROR_RESULT, "%s: entry %u of the result is NULL", function->name, i);
    return SH_OK;
}

/* The result is held. */
static sh_status run_held(const sh_function_entry *function, sh_arguments args, sh_value *result) {
    *result = sh_none();
    const sh_status status = function->options.infer && any_lacks_data(args)
                                 ? infer(function, args, result)
                                 : function->body(function->options.user, args, result);
    if (status < 0 || sh__error_pending()) return sh__error_ensure(status);
    SH_TRY(check_result(function, *result));
    return sh__value_hold(result);
}

sh_status sh__function_run(const sh_function_call_record *call) {
    sh_status status = SH_OK;
    SH_SCOPE status = run_held(call->function, call->args, call->result);
    if (status >= 0) return sh__value_own(call->result);
    *call->result = sh_none();
    sh__error_at(call->function->name, NULL, NULL);
    return status;
}

sh_status sh__function_call_at(const sh_function_entry *function, sh_arguments args, const void *site,
                               sh_value *result) {
    const sh_function_call_record call = {function, args, result, site};
    if (sh__error_pending()) return sh_error()->code;
    sh_mode *recorder = sh__recorder_in_sight();
    if (!recorder) return sh__function_run(&call);
    const sh_status status = recorder->record(recorder, &call);
    sh_mode_release(recorder);
    return status;
}

static sh_status call_named(const char *name, sh_arguments args, const void *site, sh_value *result) {
    if (sh__error_pending()) return sh_error()->code;
    if (!name) return sh_fail(SH_ERROR_NULL, "sh_function_call: name is NULL");
    sh_function_entry *function = sh__function_find(name);
    if (!function) return sh_fail(SH_ERROR_VALUE, "there is no function %s", name);
    const sh_status status = sh__function_call_at(function, args, site, result);
    sh__function_release(function);
    return status;
}

sh_status sh_function_call_values(const char *name, sh_arguments args, sh_value *result) {
    return call_named(name, args, __builtin_return_address(0), result);
}

sh_tensor *sh__function_call(const char *name, sh_arguments args) {
    sh_value result;
    if (call_named(name, args, __builtin_return_address(0), &result) < 0) return NULL;
    if (result.tag != SH_TAG_TENSOR && result.tag != SH_TAG_NONE)
        sh_fail(SH_ERROR_RESULT, "%s gives no tensor: use sh_function_call_values", name);
    return sh_value_as_tensor(result);
}

sh_value sh_arguments_named(sh_arguments args, const char *name) {
    for (size_t i = 0; i < args.n; i++)
        if (args.at[i].name && strcmp(args.at[i].name, name) == 0) return args.at[i].value;
    return sh_none();
}
