/* byname.h - calling an op that is known by its name only.
 *
 *     sh_tensor *z = sh_call_op("add", x, 2.0, SH_NAMED("alpha", 3));
 *
 * The call is like any other: modes see it, defaults are filled in. */
#ifndef SH_DISPATCH_BYNAME_H
#define SH_DISPATCH_BYNAME_H

#include "dispatch/call.h"

SH_BEGIN_DECLS

typedef struct sh_argument {
    const char *name; /* NULL: positional */
    sh_value value;
} sh_argument;

/* Calls op `name` ("add", "add_", "max.dim"). Positional arguments first. `out` is a keyword like others.
 * Numbers may stand where a Tensor may. Results (SH_MAX_RESULTS entries) are owned by the current scope. */
SH_API sh_status sh_call_by_name(const char *name, const sh_argument *arguments, size_t n, sh_value *results);
SH_API sh_tensor *sh__call_op(const char *name, const sh_argument *arguments, size_t n);

static inline sh_value sh__value_itself(sh_value v) { return v; }
static inline sh_value sh__value_argument(sh_argument a) { return a.value; }
static inline const char *sh__name_of(const void *argument) { return ((const sh_argument *)argument)->name; }
static inline const char *sh__no_name(const void *value) {
    (void)value;
    return NULL;
}

SH_END_DECLS

#ifndef __cplusplus
/* By name, 1 to 12 arguments, one result. */
#define sh_call_op(name, ...) \
    sh__call_op(name, (const sh_argument[]){SH__EACH(SH__ARGUMENT, __VA_ARGS__)}, SH__COUNT(__VA_ARGS__))
#define SH_NAMED(name, v) ((sh_argument){name, SH_VALUE(v)})

/* Anything as a value: tensors, numbers, lists, strings. */
#define SH_VALUE(x) SH__VALUE(SH__UNIQUE(sh__v), x)
#define SH__VALUE(v, x)                                                                              \
    __extension__({                                                                                  \
        __auto_type v = (x);                                                                         \
        _Generic(v, sh_value: sh__value_itself, sh_tensor *: sh_value_tensor, bool: sh_value_flag, \
                 float: sh_value_float, double: sh_value_float, sh_ints: sh_value_ints,            \
                 sh_tensors: sh_value_tensors, char *: sh_value_string, const char *: sh_value_string, \
                 sh_argument: sh__value_argument, default: sh_value_int)(v); \
    })
#define SH__ARGUMENT(x) SH__ARGUMENT_(SH__UNIQUE(sh__a), x)
#define SH__ARGUMENT_(v, x)                                                    \
    __extension__({                                                            \
        __auto_type v = (x);                                                   \
        const sh_argument SH__CAT(v, r) = {SH__ARGUMENT_NAME(v), SH_VALUE(v)}; \
        SH__CAT(v, r);                                                         \
    })
#define SH__ARGUMENT_NAME(v) _Generic(v, sh_argument : sh__name_of, default : sh__no_name)(&v)

#define SH__EACH(f, ...) SH__CAT(SH__EACH_, SH__COUNT(__VA_ARGS__))(f, __VA_ARGS__)
#define SH__EACH_1(f, a) f(a)
#define SH__EACH_2(f, a, ...) f(a), SH__EACH_1(f, __VA_ARGS__)
#define SH__EACH_3(f, a, ...) f(a), SH__EACH_2(f, __VA_ARGS__)
#define SH__EACH_4(f, a, ...) f(a), SH__EACH_3(f, __VA_ARGS__)
#define SH__EACH_5(f, a, ...) f(a), SH__EACH_4(f, __VA_ARGS__)
#define SH__EACH_6(f, a, ...) f(a), SH__EACH_5(f, __VA_ARGS__)
#define SH__EACH_7(f, a, ...) f(a), SH__EACH_6(f, __VA_ARGS__)
#define SH__EACH_8(f, a, ...) f(a), SH__EACH_7(f, __VA_ARGS__)
#define SH__EACH_9(f, a, ...) f(a), SH__EACH_8(f, __VA_ARGS__)
#define SH__EACH_10(f, a, ...) f(a), SH__EACH_9(f, __VA_ARGS__)
#define SH__EACH_11(f, a, ...) f(a), SH__EACH_10(f, __VA_ARGS__)
#define SH__EACH_12(f, a, ...) f(a), SH__EACH_11(f, __VA_ARGS__)
#endif

#endif
