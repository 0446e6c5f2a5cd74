/* nn_types.h - the types of the built-in modules, one for each line of nn.def, and what their makers share. */
#ifndef SH_GRAPH_MODULE_NN_TYPES_H
#define SH_GRAPH_MODULE_NN_TYPES_H

#include "graph/module/module_impl.h"
#include "graph/module/nn.h"

#define SH_NN(name, ...)                                               \
    extern const sh_module_type sh__nn_##name##_type;                  \
    extern const sh_module_field sh__nn_##name##_fields[];             \
    sh_tensor *sh__nn_##name##_forward(sh_module *self, sh_tensor *x); \
    size_t sh__nn_##name##_repr(const sh_module *self, char *text, size_t size);
#define SH_NN_IMPURE(name, ...)                                                  \
    extern const sh_module_type sh__nn_##name##_type;                            \
    extern const sh_module_field sh__nn_##name##_fields[];                       \
    sh_tensor *sh__nn_##name##_forward(sh_module *self, sh_tensor *x);           \
    size_t sh__nn_##name##_repr(const sh_module *self, char *text, size_t size); \
    bool sh__nn_##name##_is_impure(const sh_module *self);
#define SH_NN_STATISTICS(name, ...) \
    SH_NN_IMPURE(name, __VA_ARGS__) \
    sh_value sh__nn_##name##_infer(sh_module *self, sh_values inputs);
#define SH_NN_PLAIN(name, ...)                        \
    extern const sh_module_type sh__nn_##name##_type; \
    sh_tensor *sh__nn_##name##_forward(sh_module *self, sh_tensor *x);
#include "graph/module/nn.def"
#undef SH_NN

extern const sh_module_type sh__nn_identity_type, sh__nn_sequential_type, sh__nn_module_list_type;

/* Is it one of nn.def's, which do no more than issue their ops? */
bool sh__nn_is_built_in(const sh_module_type *type);

/* A module with these options as its state; NULL and an error that names the option which is out of range. */
sh_module *sh__nn_new(const sh_module_type *type, const void *options);
/* The module, or if an error is pending NULL and its end. */
sh_module *sh__nn_finish(sh_module *module);

/* One number for both where the second is SH_SAME. */
typedef struct sh_pair {
    int64_t at[2];
} sh_pair;
static inline sh_pair sh__nn_pair(const int64_t *given) {
    return (sh_pair){{given[0], given[1] == SH_SAME ? given[0] : given[1]}};
}
/* "3" where one number was given, else "(3, 5)". */
typedef struct sh_words {
    char text[80];
} sh_words;
sh_words sh__nn_pair_text(const int64_t *given);
/* As Python writes it: 1e-05, 0.1, 1.0. */
sh_words sh__nn_number_text(double number);
static inline const char *sh__nn_flag_text(bool flag) { return flag ? "True" : "False"; }

/* A parameter drawn uniformly from -bound to bound. */
void sh__nn_uniform(sh_module *module, const char *name, sh_ints sizes, double bound);
/* A parameter or buffer of one value. */
void sh__nn_filled(sh_module *module, const char *name, sh_ints sizes, double value, bool parameter);

#endif
