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

/* Calls op `name` ("add", "add_", "max.dim"). Positional arguments first. `out` is a keyword like others. A name without
 * an overload means the first of its family that takes the arguments: "eye" with two is eye.m. What the typed function
 * takes is taken: numbers for a Tensor, one axis or SH_DIMS for a list of them, 0 and 1 for a bool, SH_F64 for a dtype.
 * Results (SH_MAX_RESULTS entries, NONE behind those that there are) are owned by the current scope. sh_call_op gives NULL
 * for an op without results; whether it failed is then told by sh_error. */
SH_API sh_status sh_call_by_name(const char *name, const sh_argument *arguments, size_t n, sh_value *results);
SH_API sh_tensor *sh__call_op(const char *name, const sh_argument *arguments, size_t n);

static inline sh_value sh__value_itself(sh_value v) { return v; }
static inline sh_value sh__value_null(void *null) { return sh_value_tensor((sh_tensor *)null); }
static inline sh_value sh__value_unsigned(uint64_t i) {
    if (i > INT64_MAX)
        sh_fail(SH_ERROR_VALUE, "the number %llu has no place in 64 bits with a sign", (unsigned long long)i);
    return sh_value_int((int64_t)i);
}
static inline sh_value sh__value_wide(long double f) { return sh_value_float((double)f); }
static inline sh_argument sh__argument_itself(sh_argument a) { return a; }
static inline sh_argument sh__argument_value(sh_value v) {
    sh_argument a = {NULL, v};
    return a;
}
static inline sh_argument sh__argument_tensor(sh_tensor *t) { return sh__argument_value(sh_value_tensor(t)); }
static inline sh_argument sh__argument_null(void *null) { return sh__argument_value(sh__value_null(null)); }
static inline sh_argument sh__argument_flag(bool flag) { return sh__argument_value(sh_value_flag(flag)); }
static inline sh_argument sh__argument_float(double f) { return sh__argument_value(sh_value_float(f)); }
static inline sh_argument sh__argument_wide(long double f) { return sh__argument_value(sh__value_wide(f)); }
static inline sh_argument sh__argument_int(int64_t i) { return sh__argument_value(sh_value_int(i)); }
static inline sh_argument sh__argument_unsigned(uint64_t i) {
    return sh__argument_value(sh__value_unsigned(i));
}
static inline sh_argument sh__argument_ints(sh_ints l) { return sh__argument_value(sh_value_ints(l)); }
static inline sh_argument sh__argument_tensors(sh_tensors l) {
    return sh__argument_value(sh_value_tensors(l));
}
static inline sh_argument sh__argument_string(const char *s) {
    return sh__argument_value(sh_value_string(s));
}

/* A value that has left the block it was made in, together with the list that was written in place there. */
enum { SH__BOX_ROOM = 32 };
typedef struct sh__box {
    sh_value value;
    union {
        int64_t ints[SH__BOX_ROOM];
        sh_tensor *tensors[SH__BOX_ROOM];
    } room;
} sh__box;
static inline sh__box sh__box_of(sh_value v) {
    sh__box box;
    box.value = v;
    for (uint32_t i = 0; v.count <= SH__BOX_ROOM && i < v.count; i++) {
        if (v.tag == SH_TAG_INTS)
            box.room.ints[i] = v.as.ints[i];
        else
            box.room.tensors[i] = v.as.tensors[i];
    }
    return box;
}
static inline sh_value sh__unbox(sh__box *box) {
    if (box->value.count > SH__BOX_ROOM) return box->value;
    if (box->value.tag == SH_TAG_INTS) box->value.as.ints = box->room.ints;
    if (box->value.tag == SH_TAG_TENSORS) box->value.as.tensors = box->room.tensors;
    return box->value;
}

SH_END_DECLS

#ifndef __cplusplus
/* By name, 1 to 12 arguments, one result. What is written as an argument stands once in the expansion, here and in
 * SH_VALUE, so that nesting does not grow it. */
#define sh_call_op(name, ...) SH__CALL_OP(SH__UNIQUE(sh__a), name, __VA_ARGS__)
#define SH__CALL_OP(v, name, ...)                                                               \
    __extension__({                                                                             \
        SH__BOUND(SH__BIND, v, __VA_ARGS__)                                                     \
        sh__call_op(name, (const sh_argument[]){SH__BOUND(SH__BOUND_ARGUMENT, v, __VA_ARGS__)}, \
                    SH__COUNT(__VA_ARGS__));                                                    \
    })
#define SH_ARGUMENTS(...) \
    ((sh_arguments){(const sh_argument[]){SH__EACH(SH__ARGUMENT, __VA_ARGS__)}, SH__COUNT(__VA_ARGS__)})
#define SH_NAMED(name, v) ((sh_argument){name, SH_VALUE(v)})

/* Anything as a value: tensors, numbers, lists, strings. A list of up to 32 entries is copied and lives as long as the
 * block that SH_VALUE stands in; of a longer one, which must outlive the value, the place is taken. */
#define SH_VALUE(x) SH__VALUE(SH__UNIQUE(sh__v), x)
#define SH__VALUE(v, x)                                                                                            \
    sh__unbox((sh__box[]){__extension__({                                                                          \
        __auto_type v = (x);                                                                                       \
        sh__box_of(_Generic(v, sh_value: sh__value_itself, sh_tensor *: sh_value_tensor, void *: sh__value_null, \
                            bool: sh_value_flag, float: sh_value_float, double: sh_value_float,                 \
                            long double: sh__value_wide, unsigned long: sh__value_unsigned,                     \
                            unsigned long long: sh__value_unsigned, sh_ints: sh_value_ints,                     \
                            sh_tensors: sh_value_tensors, char *: sh_value_string,                              \
                            const char *: sh_value_string, default: sh_value_int)(v)); \
    })})

#define SH__BIND(v, x) __auto_type v = (x);
#define SH__ARGUMENT(x) \
    _Generic((x), sh_argument: sh__argument_itself, sh_value: sh__argument_value,                               \
             sh_tensor *: sh__argument_tensor, void *: sh__argument_null, bool: sh__argument_flag,            \
             float: sh__argument_float, double: sh__argument_float, long double: sh__argument_wide,          \
             unsigned long: sh__argument_unsigned, unsigned long long: sh__argument_unsigned,                 \
             sh_ints: sh__argument_ints, sh_tensors: sh__argument_tensors, char *: sh__argument_string,       \
             const char *: sh__argument_string, default: sh__argument_int)(x)
#define SH__BOUND_ARGUMENT(v, x) SH__ARGUMENT(v),

/* f(a), f(b) ... */
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

/* f(v_1, a) f(v_2, b) ... */
#define SH__BOUND(f, v, ...) SH__CAT(SH__BOUND_, SH__COUNT(__VA_ARGS__))(f, v, __VA_ARGS__)
#define SH__BOUND_1(f, v, a) f(SH__CAT(v, _1), a)
#define SH__BOUND_2(f, v, a, ...) f(SH__CAT(v, _2), a) SH__BOUND_1(f, v, __VA_ARGS__)
#define SH__BOUND_3(f, v, a, ...) f(SH__CAT(v, _3), a) SH__BOUND_2(f, v, __VA_ARGS__)
#define SH__BOUND_4(f, v, a, ...) f(SH__CAT(v, _4), a) SH__BOUND_3(f, v, __VA_ARGS__)
#define SH__BOUND_5(f, v, a, ...) f(SH__CAT(v, _5), a) SH__BOUND_4(f, v, __VA_ARGS__)
#define SH__BOUND_6(f, v, a, ...) f(SH__CAT(v, _6), a) SH__BOUND_5(f, v, __VA_ARGS__)
#define SH__BOUND_7(f, v, a, ...) f(SH__CAT(v, _7), a) SH__BOUND_6(f, v, __VA_ARGS__)
#define SH__BOUND_8(f, v, a, ...) f(SH__CAT(v, _8), a) SH__BOUND_7(f, v, __VA_ARGS__)
#define SH__BOUND_9(f, v, a, ...) f(SH__CAT(v, _9), a) SH__BOUND_8(f, v, __VA_ARGS__)
#define SH__BOUND_10(f, v, a, ...) f(SH__CAT(v, _10), a) SH__BOUND_9(f, v, __VA_ARGS__)
#define SH__BOUND_11(f, v, a, ...) f(SH__CAT(v, _11), a) SH__BOUND_10(f, v, __VA_ARGS__)
#define SH__BOUND_12(f, v, a, ...) f(SH__CAT(v, _12), a) SH__BOUND_11(f, v, __VA_ARGS__)
#else
namespace sh__cxx {

/* Anything as a value: tensors, numbers, lists, strings. Lists and strings are borrowed. */
inline sh_value value(sh_value v) { return v; }
inline sh_value value(sh_tensor *t) { return sh_value_tensor(t); }
inline sh_value value(std::nullptr_t) { return sh_none(); }
inline sh_value value(sh_ints list) { return sh_value_ints(list); }
inline sh_value value(sh_tensors list) { return sh_value_tensors(list); }
inline sh_value value(const char *string) { return sh_value_string(string); }
inline sh_value value(sh_dtype dtype) { return sh_value_dtype(dtype); }
template <class N> std::enable_if_t<std::is_arithmetic_v<N>, sh_value> value(N n) {
    if constexpr (std::is_same_v<N, bool>)
        return sh_value_flag(n);
    else if constexpr (std::is_floating_point_v<N>)
        return sh_value_float(static_cast<double>(n));
    else if constexpr (std::is_unsigned_v<N>)
        return sh__value_unsigned(n);
    else
        return sh_value_int(n);
}
template <class L, class T, std::size_t N> sh_value value(const in_place<L, T, N> &list) {
    return value(static_cast<L>(list));
}

/* One argument of a call by name: a value, or a named one. */
inline sh_argument argument(sh_argument a) { return a; }
template <class T> sh_argument argument(const T &v) { return sh_argument{nullptr, value(v)}; }

template <std::size_t N> using arguments_in_place = in_place<sh_arguments, sh_argument, N>;
template <class... A> arguments_in_place<sizeof...(A)> arguments(const A &...a) { return {{argument(a)...}}; }

} // namespace sh__cxx

#define SH_VALUE(x) (::sh__cxx::value(x))
#define SH_NAMED(name, v) (sh_argument{name, SH_VALUE(v)})
#define SH_ARGUMENTS(...) (::sh__cxx::arguments(__VA_ARGS__))
template <class... A> sh_tensor *sh_call_op(const char *name, const A &...a) {
    const sh_argument list[] = {::sh__cxx::argument(a)..., sh_argument{nullptr, sh_none()}};
    return sh__call_op(name, list, sizeof...(A));
}
#endif

#endif
