/* module_impl.h - how modules lie in memory.
 *
 * Parameters, buffers and children are short lists in the order they were set, searched by name. A module knows the
 * name that it was first added under, which is what its calls show. */
#ifndef SH_GRAPH_MODULE_MODULE_IMPL_H
#define SH_GRAPH_MODULE_MODULE_IMPL_H

#include "dispatch/memory_impl.h"
#include "dispatch/tensor_impl.h"
#include "graph/module/module.h"
#include "graph/node.h"

/* One named thing. In the list of parameters and buffers the object is a tensor, in that of children a module. */
typedef struct sh_slot_entry {
    char *name;
    size_t length;   /* of the name */
    void *object;    /* one reference held */
    uint64_t serial; /* of its being put here, never used twice in a process: an address may be */
} sh_slot_entry;

typedef struct sh_slots {
    sh_slot_entry *at;
    uint32_t n, capacity;
} sh_slots;

typedef struct sh_hook_entry {
    sh_hook id;
    sh_forward_pre_hook before; /* one of the two */
    sh_forward_hook after;
    void *user;
} sh_hook_entry;

struct sh_module {
    atomic_int refs;
    bool training;
    const sh_module_type *type;
    char *name; /* of its first place in a tree; NULL before */
    sh_slots parameters, buffers, children;
    sh_hook_entry *hooks;
    uint32_t nhooks;
    sh_hook last_hook;
    _Alignas(16) char state[];
};

/* The object's reference is taken over; that to the one before ends with `release`. */
void sh__slot_fill(sh_slot_entry *entry, void *object, void (*release)(void *object));
/* The entry of that name (`length` bytes), or NULL. */
sh_slot_entry *sh__slot_named(const sh_slots *slots, const char *name, size_t length);
/* The module at the first `length` bytes of a path, or NULL; at none of them, `module`. */
sh_module *sh__module_at(const sh_module *module, const char *path, size_t length);
/* What the type's forward gives, without scopes and hooks. */
sh_value sh__module_forward(sh_module *module, sh_values inputs);
/* The tensor at a dotted path, parameter or buffer as `what` says (SH_PARAMETERS | SH_BUFFERS), or NULL. */
sh_tensor *sh__module_tensor(const sh_module *module, const char *path, uint32_t what);
/* Deletes a child, parameter or buffer of this name, if it is there. */
bool sh__module_drop(sh_module *module, const char *name);

/* An error that names the type and the field if one of the state's numbers is out of its range. */
sh_status sh__fields_check(const sh_module_type *type, const void *state);

/* ---- graph_module.c ---- */
extern const sh_module_type sh__graph_module_type, sh__container_type;
/* With an empty graph. */
sh_module *sh__graph_module_empty(void);
/* What runs the graph in the place of an interpreter. */
typedef struct sh_graph_runner {
    void *object;
    /* False: not this call. Optional. */
    bool (*run)(void *object, sh_values inputs, sh_value *result);
    void (*free)(void *object); /* with the module */
} sh_graph_runner;
/* Where the module has its, to be set; NULL if this is no graph module. */
sh_graph_runner *sh__graph_module_runner(sh_module *module);
/* Where a pass may hang modules that only this graph calls: its graph module; for a graph that looks elsewhere a new tree
 * of what its nodes use, where it looks from then on. Borrowed; NULL if it has no modules, or with an error. */
sh_module *sh__graph_own_modules(sh_graph *graph);
/* Do all modules on the way to `path` belong to this tree alone, so that what hangs there may be another's? */
bool sh__module_holds_alone(const sh_module *root, const char *path);

/* ---- sets of addresses ---- */
typedef struct sh_seen {
    const void **at;
    size_t n, capacity;
} sh_seen;
/* True the first time it meets the address; false again, and false with an error when memory is out. */
bool sh__seen_first(sh_seen *seen, const void *address);
bool sh__seen_holds(const sh_seen *seen, const void *address);
void sh__seen_free(sh_seen *seen);

#endif
