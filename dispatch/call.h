/* call.h - the record of one op in flight, as callbacks and boxed kernels see it.
 *
 * A call shows the op, its variant (new result, in place, out), its arguments in schema order with
 * defaults filled in, and, once something below has run, its results. It lives on the C stack of the
 * caller; nothing in it may be kept after the callback returns (sh_keep what you need).
 *
 * What a mode edits is seen below it, never above: after sh_next the call again shows this mode's own
 * op and arguments, plus the results. (M4) */
#ifndef SH_DISPATCH_CALL_H
#define SH_DISPATCH_CALL_H

#include "dispatch/op.h"
#include "dispatch/scope.h"

SH_BEGIN_DECLS

typedef enum sh_variant { SH_FUNCTIONAL, SH_INPLACE, SH_OUT } sh_variant;

/* ---- looking ---- */
SH_API const sh_op *sh_call_op_of(const sh_call *call);
/* The schema of its arguments; it is there even where the op has just been undefined. */
SH_API const sh_schema *sh_call_schema(const sh_call *call);
SH_API uint32_t sh_call_family(const sh_call *call);
/* "add", "add_", "max.dim", "clamp_.Tensor"; "add" with an out too. */
SH_API const char *sh_call_name(const sh_call *call);
SH_API sh_variant sh_call_variant(const sh_call *call);
/* The tensor that an in-place or out form writes; NULL for a functional call. */
SH_API sh_tensor *sh_call_target(const sh_call *call);
SH_API uint32_t sh_call_nargs(const sh_call *call);
/* Argument i in schema order. A list shows each of its tensors (value.h). */
SH_API sh_value sh_call_arg(const sh_call *call, uint32_t i);
SH_API sh_value sh_call_arg_named(const sh_call *call, const char *name); /* NONE if there is none */
SH_API sh_tensor *sh_call_tensor(const sh_call *call, uint32_t i);        /* NULL if it is no tensor */
/* Every tensor among the arguments, lists opened; at most `capacity` are written. Returns how many there are. */
SH_API size_t sh_call_tensors(const sh_call *call, sh_tensor **tensors, size_t capacity);
SH_API bool sh_call_has_result(const sh_call *call);
SH_API uint32_t sh_call_nresults(const sh_call *call);
/* Result i; NONE before there is one. Borrowed: it lives until the whole call ends. */
SH_API sh_value sh_call_result(const sh_call *call, uint32_t i);
/* The number of this function-level op since the running mode was pushed, from 1; 0 if it does not count calls. */
SH_API uint64_t sh_call_number(const sh_call *call);
/* The address in the program that issued the function-level call. For "file:line". */
SH_API const void *sh_call_site(const sh_call *call);
/* "Net.layer1.conv": the named scopes open on this thread (sh_name_push), joined by dots. */
SH_API const char *sh_scope_path(void);
/* How deep inside other calls this one is; 0 for a call of the program's. */
SH_API uint32_t sh_call_depth(const sh_call *call);

/* ---- acting ---- from a mode's callback only */
/* Runs everything below this mode; the results are then in the call. May be used more than once: each
 * time what is below runs again, each result is its own. (M4) */
SH_API sh_status sh_next(sh_call *call);
/* Makes it a call of another op. Required arguments map by name, those without a namesake by position
 * when kinds agree; an argument that the new op lacks is dropped if it has its default, else it is an
 * error that names it. The variant follows: add_ becomes mul_. (M6) */
SH_API sh_status sh_call_swap(sh_call *call, uint32_t op_id);
SH_API sh_status sh_call_swap_named(sh_call *call, const char *op);
/* Replaces argument i; its kind is checked at once. Argument 0 of an in-place call is what is written and returned: the
 * caller gets the tensor that was put there, in its current scope, and its own self is as it was. */
SH_API sh_status sh_call_set_arg(sh_call *call, uint32_t i, sh_value value);
SH_API sh_status sh_call_set_arg_named(sh_call *call, const char *name, sh_value value);
/* Answers the call, or replaces a result. Kind and count are checked at once, and with an infer function
 * dtype as well when nothing below has run. */
SH_API sh_status sh_call_set_result(sh_call *call, uint32_t i, sh_value value);
SH_API sh_status sh_call_set_tensor(sh_call *call, sh_tensor *result); /* result 0 */
/* Runs the op of this call on other memory or another backend, below every mode: how nancheck or a shadow
 * run recompute. Results go to `results` (SH_MAX_RESULTS), owned by the current scope. */
SH_API sh_status sh_call_run_on(const sh_call *call, const char *backend, sh_value *results);

/* Named scopes, for reports and rules. Strings are copied. */
SH_API sh_status sh_name_push(const char *name);
SH_API void sh_name_pop(void);

/* Prints "add(f32[2, 2], f32[2, 2], alpha=2)": arguments equal to their defaults are left out (case 19).
 * With results: " -> f32[2, 2]". Returns the length it would have, as snprintf. */
SH_API size_t sh_call_print(const sh_call *call, char *text, size_t size);

/* One value as it prints in a call: "f32[2, 3]", "2", "[1, 1]", "None". */
SH_API size_t sh_value_print(sh_value value, char *text, size_t size);

SH_END_DECLS

#endif
