/* module.h - modules: a tree of named parameters, buffers and children, with a function that runs it.
 *
 *     static sh_tensor *forward(sh_module *self, sh_tensor *x) {
 *         return sh_relu(sh_forward(sh_module_child(self, "linear"), x));
 *     }
 *     static const sh_module_type net_type = {.name = "Net", .forward = forward};
 *
 *     sh_module *net = sh_module_new(&net_type);
 *     sh_module_give(net, "linear", sh_nn_linear(3, 4));
 *     y = sh_forward(net, x);
 *     sh_module_release(net);
 *
 * Who owns: what sh_module_new and the sh_nn_... functions return is the caller's (sh_module_release); getters
 * borrow; sh_module_set retains, sh_module_give takes the caller's reference over. A call's result is owned by the
 * caller's scope, what forward made on the way dies with the call.
 *
 * A module may hang in the tree at several paths; it is one module all the same. Edits are for one thread at a time;
 * several may run forward. While a child runs, its name is a named scope, so modes and findings see "layer1.0.conv1". */
#ifndef SH_GRAPH_MODULE_MODULE_H
#define SH_GRAPH_MODULE_MODULE_H

#include "dispatch/byname.h"

SH_BEGIN_DECLS

typedef struct sh_module sh_module;

/* Values in a row: the inputs of a module. Borrowed. */
typedef struct sh_values {
    const sh_value *at;
    size_t n;
} sh_values;

/* One member of a module's state, so that it can be checked, saved and made anew. */
typedef enum sh_field_kind {
    SH_FIELD_INT,   /* int64_t; SH_NO_INT: None */
    SH_FIELD_FLOAT, /* double; SH_NO_NUMBER: None */
    SH_FIELD_FLAG,  /* bool */
    SH_FIELD_INTS,  /* int64_t[count]; {n, SH_SAME}: n for both */
    SH_FIELD_CHOICE /* const char *, one of `choices` */
} sh_field_kind;
typedef enum sh_field_range { SH_FIELD_ANY, SH_FIELD_NOT_NEGATIVE, SH_FIELD_POSITIVE } sh_field_range;
typedef struct sh_module_field {
    const char *name;
    sh_field_kind kind;
    sh_field_range range;       /* of integers */
    size_t offset;              /* in the state */
    size_t count;               /* entries of INTS */
    const char *const *choices; /* of CHOICE, NULL-terminated */
} sh_module_field;

/* What a kind of module is. It must outlive its modules. */
typedef struct sh_module_type {
    const char *name; /* "Linear": how it prints */
    /* One tensor in, one out; or anything in, a tensor or a list out (sh_list_value). Either returns nothing and leaves an
     * error where it fails. */
    sh_tensor *(*forward)(sh_module *self, sh_tensor *x);
    sh_value (*forward_values)(sh_module *self, sh_values inputs);
    /* What forward would return for these inputs, in shape and dtype, on the meta device: for leaves of a trace whose
     * forward reads data. Optional. */
    sh_value (*infer)(sh_module *self, sh_values inputs);
    /* Writes what repr shows between the brackets and returns its length, as snprintf. Optional. */
    size_t (*extra_repr)(const sh_module *self, char *text, size_t size);
    /* Does forward do more than give a value: write to its input or to buffers, draw random numbers? Then its node stays
     * though nobody uses the value. NULL: no. */
    bool (*is_impure)(const sh_module *self);
    void (*finish)(sh_module *self); /* frees what the state holds; optional */
    size_t state_size;               /* bytes of state, zero at first */
    /* The members of the state, up to one without a name: all of it that a saved module needs. NULL: a module that has
     * state can't be saved. */
    const sh_module_field *fields;
    const char *const
        *inputs;            /* names of forward's inputs, NULL-terminated; NULL: "x", or "input" for a leaf */
    const char *const *ops; /* the ops that forward issues, NULL-terminated; NULL: any */
    bool leaf;              /* a trace makes one node of it */
} sh_module_type;

/* ---- making ---- */
SH_API sh_module *sh_module_new(const sh_module_type *type);
SH_API sh_module *sh_module_keep(sh_module *module);
SH_API void sh_module_release(sh_module *module); /* NULL is fine */
SH_API const sh_module_type *sh_module_type_of(const sh_module *module);
/* Is its type called this, as "Conv2d" or "Net"? NULL is nothing. */
SH_API bool sh_module_is(const sh_module *module, const char *type);
/* type->state_size bytes, aligned for any object. */
SH_API void *sh_module_state(const sh_module *module);

/* Types by name, as saved modules find theirs: those built in and those registered, newest first. A type stays where it is
 * until it is removed. A name that a built-in type has is refused. Thread-safe. */
SH_API sh_status sh_module_type_register(const sh_module_type *type);
SH_API sh_status sh_module_type_remove(const sh_module_type *type);
/* NULL without an error if there is none. */
SH_API const sh_module_type *sh_module_type_find(const char *name);

/* ---- parameters and buffers ---- a name has no dot; one that is taken by another kind is an error. Retained. */
SH_API sh_status sh_module_set_parameter(sh_module *module, const char *name, sh_tensor *value);
SH_API sh_status sh_module_set_buffer(sh_module *module, const char *name, sh_tensor *value);
/* By dotted path, "layer1.0.weight"; borrowed; NULL without an error if there is none. */
SH_API sh_tensor *sh_module_parameter(const sh_module *module, const char *path);
SH_API sh_tensor *sh_module_buffer(const sh_module *module, const char *path);

/* ---- children ---- by dotted path, "layer1.0.conv1" */
/* Borrowed; NULL without an error if there is none. "" is the module itself. */
SH_API sh_module *sh_module_child(const sh_module *module, const char *path);
/* Child i in the order they were added; NULL past the last. */
SH_API sh_module *sh_module_child_at(const sh_module *module, size_t i);
SH_API const char *sh_module_child_name(const sh_module *module, size_t i);
SH_API size_t sh_module_children(const sh_module *module);
/* Adds or replaces; all but the last part of the path must be there. Refused where `child` holds `module`. */
SH_API sh_status sh_module_set(sh_module *module, const char *path, sh_module *child);
/* The same, and takes the caller's reference over, on failure too. Returns the child, borrowed, or NULL. A NULL child
 * whose error is pending is passed through. */
SH_API sh_module *sh_module_give(sh_module *module, const char *path, sh_module *child);
/* The same under the next free number: for sequential and module_list. */
SH_API sh_module *sh_module_append(sh_module *module, sh_module *child);
SH_API sh_status sh_module_delete(sh_module *module, const char *path);

/* ---- running ---- */
/* The one-tensor case. NULL and an error if the module gives a list. */
SH_API sh_tensor *sh_forward(sh_module *module, sh_tensor *x);
/* Runs the hooks of before, forward, and the hooks of after. NONE and an error if one fails. */
SH_API sh_value sh_module_call(sh_module *module, sh_values inputs);

/* Before forward; may write to inputs[0..n). After it; may replace *output. */
typedef sh_status (*sh_forward_pre_hook)(sh_module *module, sh_value *inputs, size_t n, void *user);
typedef sh_status (*sh_forward_hook)(sh_module *module, sh_values inputs, sh_value *output, void *user);
typedef uint64_t sh_hook; /* 0: none */
/* They run in the order they were added. 0 and an error when memory is out. */
SH_API sh_hook sh_module_hook_before(sh_module *module, sh_forward_pre_hook hook, void *user);
SH_API sh_hook sh_module_hook_after(sh_module *module, sh_forward_hook hook, void *user);
SH_API sh_status sh_module_unhook(sh_module *module, sh_hook hook);

/* ---- the whole tree ---- */
SH_API bool sh_module_is_training(const sh_module *module);
SH_API void sh_module_train(sh_module *module, bool training); /* all of them; new modules train */
SH_API void sh_module_eval(sh_module *module);                 /* train(false) */
/* All parameters and buffers of a float dtype become `dtype`; what was one tensor stays one. Nothing changes on failure. */
SH_API sh_status sh_module_to(sh_module *module, sh_dtype dtype);

/* Each module once, under its first path, a parent before its children; the root's path is "". Stops at an error. */
typedef sh_status (*sh_module_visit)(const char *path, sh_module *module, void *user);
SH_API sh_status sh_module_walk(sh_module *module, sh_module_visit visit, void *user);
/* Each module once, children first, as torch.nn.Module.apply. */
SH_API sh_status sh_module_apply(sh_module *module, sh_status (*function)(sh_module *module, void *user),
                                 void *user);
enum { SH_PARAMETERS = 1, SH_BUFFERS = 2, SH_DUPLICATES = 4 };
/* Parameters, buffers or both. Each tensor once, under its first path, unless SH_DUPLICATES asks for every path. */
typedef sh_status (*sh_module_tensor_visit)(const char *path, sh_tensor *tensor, void *user);
SH_API sh_status sh_module_walk_tensors(sh_module *module, uint32_t what, sh_module_tensor_visit visit,
                                        void *user);
/* As PyTorch's repr, no newline at the end. The caller's to free(). */
SH_API char *sh_module_text(const sh_module *module);

SH_END_DECLS

#ifndef __cplusplus
/* Up to 12 inputs written in place: sh_module_call(m, SH_INPUTS(x, y)). */
#define SH_INPUTS(...) \
    ((sh_values){(const sh_value[]){SH__EACH(SH_VALUE, __VA_ARGS__)}, SH__COUNT(__VA_ARGS__)})
#else
namespace sh__cxx {
template <class... V> in_place<sh_values, sh_value, sizeof...(V)> inputs(const V &...v) {
    return {{value(v)...}};
}
} // namespace sh__cxx
#define SH_INPUTS(...) (::sh__cxx::inputs(__VA_ARGS__))
#endif

#endif
