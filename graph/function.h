/* function.h - C functions as targets of nodes, beside ops: what any Python callable is to torch.fx.
 *
 *     static sh_status show(void *user, sh_arguments args, sh_value *result) {
 *         printf("mean %g\n", sh_item(sh_mean(sh_arguments_tensor(args, 0))));
 *         *result = args.at[0].value;
 *         return SH_OK;
 *     }
 *     sh_function_register("show", show, NULL);
 *     sh_graph_call_function(graph, "show", conv);       // a node that calls it
 *     y = sh_function_call("show", x);                   // or from code; a capture records it as one node
 *
 * A function takes any values, by place and by name. Modes don't see the call itself, they see the ops that it
 * issues; while a capture or a trace records, those are hidden from it and the call is one node (torch.fx's `wrap`).
 * What has a fixed signature and should be seen by modes is better defined as an op (sh_op_define).
 *
 * A function that is not declared pure is never dropped, merged or moved. Registration is thread-safe; a call takes
 * one lock. */
#ifndef SH_GRAPH_FUNCTION_H
#define SH_GRAPH_FUNCTION_H

#include "dispatch/byname.h"

SH_BEGIN_DECLS

/* Sets `result` to a tensor, a list of tensors (sh_list_value), a number, a dtype or None (it is None when the body
 * starts); tensors are arguments or the scope's. Arguments are borrowed. */
typedef sh_status (*sh_function_body)(void *user, sh_arguments args, sh_value *result);
/* dtype and shape of the one tensor that the body would give; reads no data. */
typedef sh_status (*sh_function_infer)(void *user, sh_arguments args, sh_spec *result);

enum { SH_FUNCTION_PURE = 1 }; /* same arguments, same results, no effect: may be merged or dropped */

typedef struct sh_function_options {
    uint32_t flags;          /* SH_FUNCTION_... */
    sh_function_infer infer; /* answers calls on tensors without data; optional: else the body runs on them */
    void *user;              /* for both functions */
    void (*destroy)(
        void *user); /* runs when it was removed and the last run that uses it is over; optional */
} sh_function_options;

/* Under a name that no op has, such as "mylib::gate". Registering again wins over the older registration until it is
 * removed. The name is copied; options may be NULL. */
SH_API sh_status sh_function_register(const char *name, sh_function_body body,
                                      const sh_function_options *options);
/* Removes the newest registration of this name; the one before it is back. */
SH_API sh_status sh_function_remove(const char *name);
SH_API bool sh_function_is_registered(const char *name);
/* SH_FUNCTION_... of the newest registration; 0 if there is none. */
SH_API uint32_t sh_function_flags(const char *name);

/* Calls it; tensors in the result are owned by the current scope, what the body made on the way is gone. */
SH_API sh_status sh_function_call_values(const char *name, sh_arguments args, sh_value *result);
SH_API sh_tensor *sh__function_call(const char *name, sh_arguments args);

/* Positional argument i, or NONE. */
static inline sh_value sh_arguments_at(sh_arguments args, size_t i) {
    return i < args.n && !args.at[i].name ? args.at[i].value : sh_none();
}
static inline sh_tensor *sh_arguments_tensor(sh_arguments args, size_t i) {
    return sh_value_as_tensor(sh_arguments_at(args, i));
}
/* The keyword argument of that name, or NONE. */
SH_API sh_value sh_arguments_named(sh_arguments args, const char *name);

SH_END_DECLS

#ifndef __cplusplus
/* 1 to 12 arguments; its tensor, NULL where it gives none: an error if it gives something else. */
#define sh_function_call(name, ...) sh__function_call(name, SH_ARGUMENTS(__VA_ARGS__))
#else
template <class... A> sh_tensor *sh_function_call(const char *name, const A &...a) {
    return sh__function_call(name, ::sh__cxx::arguments(a...));
}
#endif

#endif
