/* interface.h - libffi, seen by interface.c alone: call interfaces and closures for signatures. */
#ifndef SH_DISPATCH_FFI_INTERFACE_H
#define SH_DISPATCH_FFI_INTERFACE_H

#include "dispatch/ffi/c_kernel.h"
#include "dispatch/ffi/signature.h"

typedef struct sh_interface sh_interface;

/* Prepared once; NULL and an error. The caller ends it. */
sh_interface *sh__interface_new(const sh_signature *signature);
void sh__interface_free(sh_interface *interface);
/* `args` points to each parameter's value; `value` has room for 16 bytes and gets what is returned, whole numbers
 * widened to 8 bytes. */
void sh__interface_call(const sh_interface *interface, sh_c_function function, void *value, void **args);
void sh__interface_widen(sh_ctype type, void *value);

/* A function whose calls come to `handler`: `value` is 16 zeroed bytes for what is to be returned. NULL and an error. */
typedef void (*sh_c_handler)(void *value, void **args, void *user);
typedef struct sh_trampoline sh_trampoline;
sh_trampoline *sh__trampoline_new(const sh_interface *interface, const sh_signature *signature,
                                  sh_c_handler handler, void *user, sh_c_function *code);
void sh__trampoline_free(sh_trampoline *trampoline);

#endif
