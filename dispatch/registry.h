/* registry.h - registrations of kernels: who brought what for which op and backend.
 *
 * A registration is linked in once and never freed, and what it says of itself never changes but for its state: lists
 * of them are walked without a lock. */
#ifndef SH_DISPATCH_REGISTRY_H
#define SH_DISPATCH_REGISTRY_H

#include "dispatch/policy.h"
#include "dispatch/table.h"
#include "dispatch/where.h"

/* What few kernels have. */
typedef struct sh_hook {
    sh_selection where;
    sh_policy policy;
    bool conditional, calls_ops;
    atomic_int_fast64_t calls;    /* that met the condition, its call numbers apart */
    atomic_int_fast64_t verified; /* calls under the policy */
    atomic_bool told;             /* that it can't be verified */
} sh_hook;

enum { SH_KERNEL_REMOVED, SH_KERNEL_LIVE, SH_KERNEL_OUT /* live, but taken out by its policy */ };

struct sh_registration {
    sh_slot slot;
    sh_registration *_Atomic older; /* in the same column */
    sh_hook *hook;                  /* NULL: no condition, no policy */
    uint32_t index, generation, column;
    sh_op *op; /* NULL: a backend's fallback */
    uint8_t fallthrough;
    atomic_uint_fast8_t state;   /* SH_KERNEL_... */
    void (*removed)(void *user); /* of the options; or NULL */
};

/* What a slot of the table is, where it is not ruled. NULL for the one that only infers. */
static inline const sh_registration *sh__registration_of(const sh_slot *slot) {
    return slot->form == SH_FORM_INFER_ONLY ? NULL : (const sh_registration *)slot;
}

/* Under the table lock. */
void sh__register_builtin(sh_op *op, const sh_builtin_kernel *kernel);
/* A new kernel of an op (NULL: of all); without `boxed` it passes the op on. Slots stay as they are until they are published.
 * NULL and an error. */
sh_registration *sh__register_locked(sh_op *op, uint32_t column, sh_boxed boxed, void *user,
                                     const char *registrant);
void sh__remove_locked(sh_registration *r);
/* The same by handle; nothing if it is dead. */
void sh__kernel_drop_locked(sh_kernel kernel);
/* The newest registration of a backend's fallback, live or not; NULL if there never was one. */
const sh_registration *sh__fallback_of(uint32_t backend);
/* Ends the use of a kernel whose policy found it wrong; false if somebody else did so before. */
bool sh__kernel_take_out(const sh_registration *r);
/* All calls go by the table's slow path, where they can be seen (verbose.h). Under the table lock: publish after it. */
extern atomic_bool sh__table_watched SH_HIDDEN;

/* The next backend of the same device in fallthrough order, or -1. */
int sh__backend_next(uint32_t backend);

#endif
