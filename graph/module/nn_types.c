/* nn_types.c - the types of the built-in modules, and what their makers share. */
#include "graph/module/nn_types.h"

#include <stdio.h>
#include <string.h>

#include "graph/text.h"
#include "ops/ops.h"

static const char *const inputs[] = {"input", NULL};

#define SH_NN_COMMON(name_, type_, ...)                                                  \
    .name = #type_, .forward = sh__nn_##name_##_forward, .inputs = inputs, .leaf = true, \
    .ops = (const char *const[]) {                                                       \
        __VA_ARGS__, NULL                                                                \
    }
#define SH_NN_SHOWN(name_)                                                  \
    .extra_repr = sh__nn_##name_##_repr, .fields = sh__nn_##name_##_fields, \
    .state_size = sizeof(sh_nn_##name_##_options)
#define SH_NN(name_, ...) \
    const sh_module_type sh__nn_##name_##_type = {SH_NN_COMMON(name_, __VA_ARGS__), SH_NN_SHOWN(name_)};
#define SH_NN_IMPURE(name_, ...)                                                                        \
    const sh_module_type sh__nn_##name_##_type = {SH_NN_COMMON(name_, __VA_ARGS__), SH_NN_SHOWN(name_), \
                                                  .is_impure = sh__nn_##name_##_is_impure};
#define SH_NN_STATISTICS(name_, ...)                                                                    \
    const sh_module_type sh__nn_##name_##_type = {SH_NN_COMMON(name_, __VA_ARGS__), SH_NN_SHOWN(name_), \
                                                  .is_impure = sh__nn_##name_##_is_impure,              \
                                                  .infer = sh__nn_##name_##_infer};
#define SH_NN_PLAIN(name_, ...) \
    const sh_module_type sh__nn_##name_##_type = {SH_NN_COMMON(name_, __VA_ARGS__)};
#include "graph/module/nn.def"
#undef SH_NN

bool sh__nn_is_built_in(const sh_module_type *type) {
    static const sh_module_type *const all[] = {
#define SH_NN(name_, ...) &sh__nn_##name_##_type,
#include "graph/module/nn.def"
#undef SH_NN
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] == type) return true;
    return false;
}

sh_module *sh__nn_new(const sh_module_type *type, const void *options) {
    sh_module *module = sh__fields_check(type, options) < 0 ? NULL : sh_module_new(type);
    if (module) memcpy(module->state, options, type->state_size);
    return module;
}

sh_module *sh__nn_finish(sh_module *module) {
    if (!sh__error_pending()) return module;
    sh_module_release(module);
    return NULL;
}

/* ---- texts ---- */

sh_words sh__nn_pair_text(const int64_t *given) {
    sh_words words;
    if (given[1] == SH_SAME)
        snprintf(words.text, sizeof words.text, "%lld", (long long)given[0]);
    else
        snprintf(words.text, sizeof words.text, "(%lld, %lld)", (long long)given[0], (long long)given[1]);
    return words;
}

sh_words sh__nn_number_text(double number) {
    sh_words words = {""};
    sh_text text = {0};
    sh__text_float(&text, number);
    if (text.at) snprintf(words.text, sizeof words.text, "%s", text.at);
    sh__text_drop(&text);
    return words;
}

/* ---- parameters ---- */

void sh__nn_uniform(sh_module *module, const char *name, sh_ints sizes, double bound) {
    if (!sh__error_pending())
        sh_module_set_parameter(module, name, sh_sub_(sh_mul_(sh_rand(sizes), 2 * bound), bound));
}

void sh__nn_filled(sh_module *module, const char *name, sh_ints sizes, double value, bool parameter) {
    sh_tensor *t = sh_full(sizes, value, .dtype = SH_F32);
    if (!t) return;
    if (parameter)
        sh_module_set_parameter(module, name, t);
    else
        sh_module_set_buffer(module, name, t);
}
