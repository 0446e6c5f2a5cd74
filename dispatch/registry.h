/* registry.h - registrations of kernels: who brought what for which op and backend. */
#ifndef SH_DISPATCH_REGISTRY_H
#define SH_DISPATCH_REGISTRY_H

#include "dispatch/table.h"

struct sh_registration {
    sh_slot slot;
    sh_registration *older; /* in the same column */
    uint32_t index, generation, column;
    sh_op *op; /* NULL: a backend's fallback */
    uint8_t fallthrough, live;
    void (*removed)(void *user); /* see sh__kernel_register_owned; or NULL */
};

/* Under the table lock. */
void sh__register_builtin(sh_op *op, const sh_builtin_kernel *kernel);
/* A new kernel of an op (NULL: of all); without `boxed` it passes the op on. Slots stay as they are until they are published.
 * NULL and an error. */
sh_registration *sh__register_locked(sh_op *op, uint32_t column, sh_boxed boxed, void *user,
                                     const char *registrant);
void sh__remove_locked(sh_registration *r);
/* sh_kernel_register of a kernel that hears of its end: of its removal by handle, after which calls in flight may still use
 * what `user` points to. */
sh_status sh__kernel_register_owned(const char *name, const char *backend, sh_boxed boxed, void *user,
                                    void (*removed)(void *user), const char *registrant, sh_kernel *kernel);
/* The same by handle; nothing if it is dead. */
void sh__kernel_drop_locked(sh_kernel kernel);
/* The newest live fallback of a backend. */
const sh_registration *sh__fallback_of(uint32_t backend);

/* The next backend of the same device in fallthrough order, or -1. */
int sh__backend_next(uint32_t backend);

#endif
