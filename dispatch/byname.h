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

/* Arguments of a call, borrowed; positional ones first. */
typedef struct sh_arguments {
    const sh_argument *at;
    size_t n;
} sh_arguments;

/* Calls op `name` ("add", "add_", "max.dim"). Positional arguments first. `out` is a keyword like others.
 * Numbers may stand where a Tensor may. Results (SH_MAX_RESULTS entries) are owned by the current scope. */
SH_API sh_status sh_call_by_name(const char *name, const sh_argument *arguments, size_t n, sh_value *results);
SH_API sh_tensor *sh__call_op(const char *name, const sh_argument *arguments, size_t n);

static inline sh_value sh__value_itself(sh_value v) { return v; }
static inline sh_argument sh__argument_itself(sh_argument a) { return a; }
static inline sh_argument sh__argument_value(sh_value v) {
    sh_argument a = {NULL, v};
    return a;
}
static inline sh_argument sh__argument_tensor(sh_tensor *t) { return sh__argument_value(sh_value_tensor(t)); }
static inline sh_argument sh__argument_flag(bool flag) { return sh__argument_value(sh_value_flag(flag)); }
static inline sh_argument sh__argument_float(double f) { return sh__argument_value(sh_value_float(f)); }
static inline sh_argument sh__argument_int(int64_t i) { return sh__argument_value(sh_value_int(i)); }
static inline sh_argument sh__argument_ints(sh_ints l) { return sh__argument_value(sh_value_ints(l)); }
static inline sh_argument sh__argument_tensors(sh_tensors l) {
    return sh__argument_value(sh_value_tensors(l));
}
static inline sh_argument sh__argument_string(const char *s) {
    return sh__argument_value(sh_value_string(s));
}

SH_END_DECLS

#ifndef __cplusplus
/* By name, 1 to 12 arguments, one result. */
#define sh_call_op(name, ...) \
    sh__call_op(name, (const sh_argument[]){SH__EACH(SH__ARGUMENT, __VA_ARGS__)}, SH__COUNT(__VA_ARGS__))
#define SH_ARGUMENTS(...) \
    ((sh_arguments){(const sh_argument[]){SH__EACH(SH__ARGUMENT, __VA_ARGS__)}, SH__COUNT(__VA_ARGS__)})
#define SH_NAMED(name, v) ((sh_argument){name, SH_VALUE(v)})

/* Anything as a value: tensors, numbers, lists, strings. No statement expression: a list written in place, such as
 * SH_SIZES(2, 3), must outlive it. */
#define SH_VALUE(x) \
    _Generic((x), sh_value: sh__value_itself, sh_tensor *: sh_value_tensor, bool: sh_value_flag,   \
             float: sh_value_float, double: sh_value_float, sh_ints: sh_value_ints,                \
             sh_tensors: sh_value_tensors, char *: sh_value_string, const char *: sh_value_string, \
             default: sh_value_int)(x)
#define SH__ARGUMENT(x) \
    _Generic((x), sh_argument: sh__argument_itself, sh_value: sh__argument_value,                  \
             sh_tensor *: sh__argument_tensor, bool: sh__argument_flag, float: sh__argument_float, \
             double: sh__argument_float, sh_ints: sh__argument_ints, sh_tensors: sh__argument_tensors, \
             char *: sh__argument_string, const char *: sh__argument_string, default: sh__argument_int)(x)

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
