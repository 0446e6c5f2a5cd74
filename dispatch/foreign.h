/* foreign.h - for what stands in for functions of programs that know nothing of ops: the preload library.
 *
 * Such a function asks first whether anybody wants to see its call. If so it shows the caller's memory as tensors and calls
 * an op, whose kernel is the real function; calls that this makes on its way in are hidden, unless they are to be shown. */
#ifndef SH_DISPATCH_FOREIGN_H
#define SH_DISPATCH_FOREIGN_H

#include "dispatch/mode.h"

SH_BEGIN_DECLS

/* Would a call of `op` on host memory, made here and now, do no more than run `kernel`? No mode wants it, no other kernel
 * was put before, and it is not inside a call that hides what it does. Takes a few nanoseconds, no lock. */
SH_API bool sh_op_undisturbed(const sh_op *op, sh_boxed kernel);

/* Calls op on arguments in schema order (room for SH_MAX_ARGS; edited in place). `out`, if not NULL, is what an op with one
 * result writes, borrowed as the arguments are. Results (SH_MAX_RESULTS) are owned by the current scope. `site` is the
 * address in the program that the call stands for. */
SH_API sh_status sh_op_call(const sh_op *op, sh_value *args, sh_tensor *out, sh_value *results,
                            const void *site);

/* As sh_kernel_register, but every other kernel of the column counts as registered later: hooks that came before the op
 * was defined stay in front, without a note. */
SH_API sh_status sh_kernel_register_base(const char *name, const char *backend, sh_boxed boxed, void *user,
                                         const char *registrant, sh_kernel *kernel);

/* From a kernel: what it calls until sh_inside_end goes through all modes, one level deeper (sh_call_depth). */
typedef struct sh_inside {
    void *start_entry;
    uint32_t start, shown;
} sh_inside;
SH_API void sh_inside_show(sh_inside *inside);
SH_API void sh_inside_end(const sh_inside *inside);

SH_END_DECLS

#endif
