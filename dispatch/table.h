/* table.h - the live dispatch table.
 *
 * An op's slots are pointers to immutable slot records, one per backend, published atomically and
 * recomputed from the registrations whenever those change. A slot that a fast path may call has
 * `typed` set: the op's own C signature, in one of two forms:
 *   out form      sh_status k(sh_tensor *result..., arguments...)    results are allocated already
 *   returns form  sh_status k(sh_value *results, arguments...)       the kernel makes them, scope-owned
 * Records of removed registrations are kept, so a call in flight never sees one vanish. */
#ifndef SH_DISPATCH_TABLE_H
#define SH_DISPATCH_TABLE_H

#include <stdatomic.h>

#include "dispatch/thread.h"

typedef void (*sh_function)(void); /* any kernel; its real type is the op's */

typedef enum sh_form { SH_FORM_OUT, SH_FORM_RETURNS, SH_FORM_INFER_ONLY, SH_FORM_BOXED } sh_form;

typedef struct sh_slot {
    sh_function typed; /* NULL: take the slow path */
    sh_boxed boxed;
    void *user;
    uint8_t form;
    uint8_t leaf;      /* calls no op: nothing needs hiding while it runs; SH_LEAF_... */
    uint8_t ruled;     /* the call decides, by rules, conditions and policies: see candidates.h */
    uint8_t composite; /* from the composite column */
    uint8_t hooked;    /* not the library's own */
    const char *registrant;
    const char *backend;
} sh_slot;

typedef struct sh_registration sh_registration;

enum { SH_DEFINED_KERNELS = 3 };

/* What one sh_op_define made. Immutable once it is published and kept for ever: a call in flight may read it. */
typedef struct sh_definition {
    sh_schema *schema;
    sh_infer infer;
    void *infer_user;
    sh_cost cost;
    const char *registrant;
    bool infers;  /* it says what results will be, or there are none to make */
    bool writes;  /* an argument is marked (a!) */
    bool aliases; /* a result is marked (a) or (a!) */
    bool spreads; /* an argument is int[N], for which one integer may stand */
    uint32_t nkernels;
    sh_kernel kernels[SH_DEFINED_KERNELS]; /* those that came with it and go with it */
    struct sh_definition *before;          /* retired earlier, of whatever op */
} sh_definition;

enum { SH_LEAF_PLAIN = 1, SH_LEAF_OF_COMPOSITE = 2 /* its op could be split instead */ };

/* Calls a typed kernel on boxed values. Out form: results hold the tensors. Returns form: they are set. */
typedef sh_status (*sh_thunk)(sh_function kernel, sh_value *results, const sh_value *args);

enum { SH_COLUMN_COMPOSITE = SH_MAX_BACKENDS, SH_COLUMNS };
enum { SH_BACKEND_CPU = 0, SH_BACKEND_REF = 1, SH_BACKEND_META = 2 };

struct sh_op {
    const char *name;
    uint32_t id, family;
    _Atomic uint32_t tags;
    uint16_t bit; /* of the family, in the sets of wanted ones */
    uint16_t word;
    const sh_schema *_Atomic schema;
    const sh_definition *_Atomic definition; /* of an op made at run time */
    sh_infer infer;                          /* of a built-in one; ask sh__op_infers */
    void *infer_user;
    sh_thunk thunk_out, thunk_returns;
    const sh_slot *_Atomic slots[SH_MAX_BACKENDS];
    sh_registration *_Atomic columns[SH_COLUMNS]; /* newest first */
};

enum { SH_MAX_OPS = 4096 };

extern _Atomic uint8_t sh__default_backend[SH_MAX_DEVICES] SH_HIDDEN;
extern _Atomic uint64_t sh__global_wants[SH_FAMILY_WORDS] SH_HIDDEN;

/* A kernel that the library brings, as the generated table lists it. */
typedef struct sh_builtin_kernel {
    uint32_t op;
    uint32_t column; /* SH_BACKEND_... or SH_COLUMN_COMPOSITE */
    sh_function kernel;
    sh_form form;
} sh_builtin_kernel;
/* Takes the built-in ops into the table; ids are their places. For the ops layer's constructor. */
void sh__table_install(sh_op *ops, uint32_t nops, const sh_builtin_kernel *kernels, size_t nkernels);

/* The op of this name, made as a placeholder without schema if it is not there; NULL and an error if full. */
sh_op *sh__op_intern(const char *name);
sh_op *sh__op_intern_locked(const char *name); /* under the table lock; its slots are not published */
/* The family id that a name has or will have. */
sh_status sh__family_intern(const char *name, uint32_t *family);
sh_op *sh__op_at(uint32_t id);

/* The slot of one backend by the registrations alone, conditions apart; NULL: none. */
const sh_slot *sh__slot_resolve(const sh_op *op, uint32_t backend);
/* The slot behind a handle, if it is alive and for this op (or a fallback); NULL and an error. */
const sh_slot *sh__kernel_slot(sh_kernel kernel, const sh_op *op);
const char *sh__device_name(int device);
void sh__table_lock(void);
void sh__table_unlock(void);
/* Recomputes the slots of one op, or of all; under the table lock. */
void sh__slots_publish(sh_op *op);
void sh__slots_publish_all(void);

/* Rises with each change of a slot. */
extern atomic_uint_fast64_t sh__table_version SH_HIDDEN;
/* Rises with whatever may change what a call does, on any thread: the table, the default backends, the global modes, the
 * configuration of a mode. Who has seen it at one value has nothing to look at again while it stays. */
extern atomic_uint_fast64_t sh__configuration SH_HIDDEN;
static inline void sh__configuration_changed(void) { atomic_fetch_add(&sh__configuration, 1); }

/* rules.c */
/* Does any rule touch this op? */
bool sh__rules_touch(const sh_op *op);
/* The backend that the rules choose for this call, or -1. `counts`: rules that go by call numbers count it. */
int sh__rules_choose(const sh_call *call, int device, bool counts);

/* NULL for a built-in op, and for one that is not defined now. */
static inline const sh_definition *sh__definition(const sh_op *op) {
    return atomic_load_explicit(&op->definition, memory_order_acquire);
}
/* Does it say what its results will be? */
static inline bool sh__op_infers(const sh_op *op) {
    const sh_definition *d = op->infer ? NULL : sh__definition(op);
    return op->infer || (d && d->infers);
}
/* Fills `results` (one entry a result) from the arguments of a call of an op that infers. */
sh_status sh__call_infer(const sh_call *call, const sh_value *args, sh_spec *results);

/* ---- the fast path ---- */

/* May an op of this family skip the chain? Nothing pending, switched or in flight, and no mode wants it. */
static inline bool sh__undisturbed(const sh_thread *thread, uint32_t family) {
    const uint32_t bit = sh__family_bit(family), word = bit / 64;
    const uint64_t wants =
        thread->wants[word] | atomic_load_explicit(&sh__global_wants[word], memory_order_relaxed);
    return thread->gate == 0 && !(wants >> bit % 64 & 1);
}

/* The backend that calls on the device begin with: this thread's choice, else the default; rules apart. */
static inline uint32_t sh__backend_here(uint32_t device) {
    const uint8_t chosen = sh__thread.state.backend[device];
    return chosen ? chosen - 1u : atomic_load_explicit(&sh__default_backend[device], memory_order_relaxed);
}
static inline const sh_slot *sh__slot_here(const sh_op *op, uint32_t device) {
    return atomic_load_explicit(&op->slots[sh__backend_here(device)], memory_order_acquire);
}

static inline const sh_slot *sh__default_slot(const sh_op *op, uint32_t device) {
    const uint32_t backend = atomic_load_explicit(&sh__default_backend[device], memory_order_relaxed);
    return atomic_load_explicit(&op->slots[backend], memory_order_acquire);
}

#endif
