/* nn_container.c - the modules that are made of others, and the one that does nothing: any values in, any out. */
#include "graph/module/nn_types.h"
#include "graph/module/tracing.h"

static const char *const inputs[] = {"input", NULL};
static const char *const no_ops[] = {NULL};

/* ---- identity ---- */

static sh_value identity_forward(sh_module *self, sh_values given) {
    if (given.n) return given.at[0];
    sh_fail(SH_ERROR_ARGUMENT, "%s: no input given", self->type->name);
    return sh_none();
}

const sh_module_type sh__nn_identity_type = {
    .name = "Identity", .forward_values = identity_forward, .inputs = inputs, .ops = no_ops, .leaf = true};

sh_module *sh_nn_identity(void) { return sh_module_new(&sh__nn_identity_type); }

/* ---- sequential, module_list ---- */

/* The first child takes all inputs, each other one what the one before it gave, which then goes. */
static sh_value sequential_forward(sh_module *self, sh_values given) {
    const uint32_t mark = sh__thread.nitems;
    sh_value value = identity_forward(self, given);
    for (uint32_t i = 0; i < self->children.n && !sh__error_pending(); i++) {
        value = sh__module_call_at(self->children.at[i].object, i ? (sh_values){&value, 1} : given, NULL);
        sh__scope_release(mark, &value, 1);
    }
    return value;
}

const sh_module_type sh__nn_sequential_type = {
    .name = "Sequential", .forward_values = sequential_forward, .inputs = inputs};
const sh_module_type sh__nn_module_list_type = {.name = "ModuleList"};

static sh_module *container(const sh_module_type *type, sh_module *const *list, size_t n) {
    sh_module *module = sh_module_new(type);
    for (size_t i = 0; i < n; i++) sh_module_append(module, list[i]);
    return sh__nn_finish(module);
}

sh_module *(sh_nn_sequential)(sh_module *const *list, size_t n) {
    return container(&sh__nn_sequential_type, list, n);
}
sh_module *(sh_nn_module_list)(sh_module *const *list, size_t n) {
    return container(&sh__nn_module_list_type, list, n);
}
