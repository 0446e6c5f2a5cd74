/* call.c - a module runs: hooks, forward, hooks, inside a scope that is left with the result alone.
 *
 * A trace in progress on this thread is asked first, as it may make one node of the call. A hook may add and remove
 * hooks: the next one to run is found by its number each time. */
#include <string.h>

#include "dispatch/cold.h"
#include "graph/given.h"
#include "graph/module/module_impl.h"
#include "graph/module/tracing.h"

__thread sh_tracing *sh__tracing;

/* ---- hooks ---- */

static sh_hook add_hook(sh_module *module, sh_hook_entry entry) {
    if (sh__error_pending()) return 0;
    if (!module || (!entry.before && !entry.after)) {
        sh_fail(SH_ERROR_NULL, "a hook is added, and %s is NULL", module ? "its function" : "its module");
        return 0;
    }
    sh_hook_entry *hooks = sh__realloc(module->hooks, (module->nhooks + 1) * sizeof *hooks);
    if (!hooks) return 0;
    entry.id = ++module->last_hook;
    hooks[module->nhooks++] = entry;
    module->hooks = hooks;
    return entry.id;
}

sh_hook sh_module_hook_before(sh_module *module, sh_forward_pre_hook hook, void *user) {
    SH_GIVEN(module, 0);
    SH_GIVEN(hook, 0);
    return add_hook(module, (sh_hook_entry){.before = hook, .user = user});
}

sh_hook sh_module_hook_after(sh_module *module, sh_forward_hook hook, void *user) {
    SH_GIVEN(module, 0);
    SH_GIVEN(hook, 0);
    return add_hook(module, (sh_hook_entry){.after = hook, .user = user});
}

sh_status sh_module_unhook(sh_module *module, sh_hook hook) {
    SH_GIVEN(module, SH_ERROR_NULL);
    for (uint32_t i = 0; i < module->nhooks; i++) {
        if (module->hooks[i].id != hook) continue;
        module->nhooks--;
        memmove(&module->hooks[i], &module->hooks[i + 1], (module->nhooks - i) * sizeof *module->hooks);
        return SH_OK;
    }
    return sh_fail(SH_ERROR_VALUE, "sh_module_unhook: %s has no hook %llu", module->type->name,
                   (unsigned long long)hook);
}

/* The next hook of this kind after number `id`, copied; its id is 0 when there is none. */
static sh_hook_entry next_hook(const sh_module *module, sh_hook id, bool before) {
    for (uint32_t i = 0; i < module->nhooks; i++)
        if (module->hooks[i].id > id && (module->hooks[i].before != NULL) == before) return module->hooks[i];
    return (sh_hook_entry){0};
}

static sh_status run_hooks_before(sh_module *module, sh_value *inputs, size_t n) {
    for (sh_hook_entry h = {0}; (h = next_hook(module, h.id, true)).id;) {
        const sh_status status = h.before(module, inputs, n, h.user);
        if (status < 0 || sh__error_pending()) return sh__error_ensure(status);
    }
    return SH_OK;
}

static sh_status run_hooks_after(sh_module *module, sh_values inputs, sh_value *output) {
    for (sh_hook_entry h = {0}; (h = next_hook(module, h.id, false)).id;) {
        const sh_status status = h.after(module, inputs, output, h.user);
        if (status < 0 || sh__error_pending()) return sh__error_ensure(status);
    }
    return SH_OK;
}

/* ---- forward ---- */

sh_value sh__module_forward(sh_module *module, sh_values inputs) {
    const sh_module_type *type = module->type;
    if (type->forward_values) return type->forward_values(module, inputs);
    if (!type->forward) {
        sh_fail(SH_ERROR_UNSUPPORTED, "%s has no forward function", type->name);
        return sh_none();
    }
    if (inputs.n == 1 && inputs.at[0].tag == SH_TAG_TENSOR)
        return sh_value_tensor(type->forward(module, inputs.at[0].as.tensor));
    sh_fail(SH_ERROR_ARGUMENT, "%s: %zu inputs given%s, forward takes one tensor", type->name, inputs.n,
            inputs.n == 1 ? ", which is no tensor" : "");
    return sh_none();
}

static sh_status run_forward(sh_module *module, sh_values inputs, sh_value *output) {
    *output = sh__module_forward(module, inputs);
    if (sh__error_pending()) return sh_error()->code;
    if (output->tag != SH_TAG_NONE) return SH_OK;
    return sh_fail(SH_ERROR_RESULT, "%s: forward returned neither a result nor an error", module->type->name);
}

static sh_status run_infer(sh_module *module, sh_values inputs, sh_value *output) {
    if (!module->type->infer) return run_forward(module, inputs, output);
    *output = module->type->infer(module, inputs);
    return sh__error_pending() ? sh_error()->code : SH_OK;
}

/* Hooks of before see a copy of the inputs that they may write to. */
static sh_status run_hooked(sh_module *module, sh_values inputs, sh_value *output) {
    sh_value copy[SH_MAX_ARGS];
    if (inputs.n > SH_MAX_ARGS)
        return sh_fail(SH_ERROR_ARGUMENT, "%s: %zu inputs, the most is %d", module->type->name, inputs.n,
                       SH_MAX_ARGS);
    if (inputs.n) memcpy(copy, inputs.at, inputs.n * sizeof *copy);
    const sh_values seen = {copy, inputs.n};
    SH_TRY(run_hooks_before(module, copy, inputs.n));
    SH_TRY(run_forward(module, seen, output));
    SH_TRY(run_hooks_after(module, seen, output));
    if (output->tag != SH_TAG_NONE) return SH_OK;
    return sh_fail(SH_ERROR_RESULT, "%s: a hook took the result away", module->type->name);
}

/* ---- calls ---- */

/* A list becomes a new one: the array of what forward returned may be anybody's. */
static sh_list *copy_list(sh_value value) {
    sh_list *list = sh__list_new(value.count);
    for (uint32_t i = 0; list && i < value.count; i++) list->at[i] = sh_keep(value.as.tensors[i]);
    return list;
}

/* Ends the scope of a call; what it gave goes to the caller's. */
static sh_value leave_with(sh_value value, sh_scope *scope) {
    sh_list *list = value.tag == SH_TAG_TENSORS ? copy_list(value) : NULL;
    if (value.tag == SH_TAG_TENSOR) sh_keep(value.as.tensor);
    sh_scope_end(scope);
    if (value.tag == SH_TAG_TENSOR) return sh__own(value.as.tensor) ? value : sh_none();
    if (value.tag != SH_TAG_TENSORS) return value;
    return list && sh__own_list(list) ? sh_value_tensors(sh_list_view(list)) : sh_none();
}

typedef sh_status (*runner)(sh_module *module, sh_values inputs, sh_value *output);

static sh_value run_scoped(sh_module *module, runner run, sh_values inputs) {
    sh_value output = sh_none();
    if (module->name && sh_name_push(module->name) < 0) return output;
    sh_scope scope = sh_scope_begin(__FILE__, __LINE__);
    const sh_status status = run(module, inputs, &output);
    output = leave_with(status < 0 ? sh_none() : output, &scope);
    if (module->name) sh_name_pop();
    return output;
}

sh_value sh__module_run(sh_module *module, sh_values inputs) {
    return run_scoped(module, run_forward, inputs);
}

sh_value sh__module_infer(sh_module *module, sh_values inputs) {
    return run_scoped(module, run_infer, inputs);
}

sh_value sh__module_call_at(sh_module *module, sh_values inputs, const void *site) {
    sh_value output = sh_none();
    if (sh__error_pending()) return output;
    if (!module) {
        sh_fail(SH_ERROR_NULL, "a module is called, and it is NULL");
        return output;
    }
    if (sh__tracing && sh__tracing->module_called(sh__tracing, module, inputs, site, &output)) return output;
    return run_scoped(module, module->nhooks ? run_hooked : run_forward, inputs);
}

sh_value sh_module_call(sh_module *module, sh_values inputs) {
    return sh__module_call_at(module, inputs, __builtin_return_address(0));
}

sh_tensor *sh_forward(sh_module *module, sh_tensor *x) {
    if (sh__error_pending()) return NULL;
    if (!x) {
        sh_fail(SH_ERROR_NULL, "%s: the input is NULL", module ? module->type->name : "sh_forward");
        return NULL;
    }
    const void *const site = __builtin_return_address(0);
    const sh_value input = sh_value_tensor(x),
                   output = sh__module_call_at(module, (sh_values){&input, 1}, site);
    if (output.tag != SH_TAG_TENSOR && !sh__error_pending())
        sh_fail(SH_ERROR_TYPE, "%s gives no tensor: call it by sh_module_call", module->type->name);
    return sh_value_as_tensor(output);
}
