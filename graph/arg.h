/* arg.h - arguments of nodes: other nodes, numbers, strings, dtypes, and lists of all these.
 *
 *     sh_graph_create_node(g, SH_CALL_FUNCTION, "cat", SH_ARGS(sh_arg_list(SH_ARGS(x, y))),
 *                          SH_KWARGS(SH_KWARG("dim", -1)), NULL);
 *
 * An argument owns nothing: it is borrowed where it is passed, the node's where it is read. */
#ifndef SH_GRAPH_ARG_H
#define SH_GRAPH_ARG_H

#include "dispatch/byname.h"

SH_BEGIN_DECLS

typedef struct sh_node sh_node;

typedef enum sh_arg_tag {
    SH_ARG_NONE,
    SH_ARG_NODE,
    SH_ARG_INT,
    SH_ARG_FLOAT,
    SH_ARG_FLAG,
    SH_ARG_STRING,
    SH_ARG_DTYPE,
    SH_ARG_LIST,
    SH_ARG_TUPLE
} sh_arg_tag;

/* One argument. Lists nest up to 64 deep. Borrowed where it is passed, the node's where it is read. */
typedef struct sh_arg {
    uint32_t tag;
    uint32_t count; /* of a list or tuple */
    union {
        sh_node *node;
        int64_t i; /* INT, FLAG, DTYPE */
        double f;
        const char *string;
        const struct sh_arg *list;
    } as;
} sh_arg;

typedef struct sh_args {
    const sh_arg *at;
    size_t n;
} sh_args;

typedef struct sh_kwarg {
    const char *name;
    sh_arg value;
} sh_kwarg;

typedef struct sh_kwargs {
    const sh_kwarg *at;
    size_t n;
} sh_kwargs;

static inline sh_arg sh_arg_none(void) {
    sh_arg a = {SH_ARG_NONE, 0, {0}};
    return a;
}
static inline sh_arg sh_arg_node(sh_node *node) {
    sh_arg a = {SH_ARG_NODE, 0, {0}};
    a.as.node = node;
    return a;
}
static inline sh_arg sh_arg_int(int64_t i) {
    sh_arg a = {SH_ARG_INT, 0, {0}};
    a.as.i = i;
    return a;
}
static inline sh_arg sh_arg_float(double f) {
    sh_arg a = {SH_ARG_FLOAT, 0, {0}};
    a.as.f = f;
    return a;
}
static inline sh_arg sh_arg_flag(bool flag) {
    sh_arg a = {SH_ARG_FLAG, 0, {0}};
    a.as.i = flag;
    return a;
}
static inline sh_arg sh_arg_string(const char *string) {
    sh_arg a = {SH_ARG_STRING, 0, {0}};
    a.as.string = string;
    return a;
}
static inline sh_arg sh_arg_dtype(sh_dtype dtype) {
    sh_arg a = {SH_ARG_DTYPE, 0, {0}};
    a.as.i = dtype;
    return a;
}
static inline sh_arg sh_arg_list(sh_args list) {
    sh_arg a = {SH_ARG_LIST, 0, {0}};
    a.count = (uint32_t)list.n;
    a.as.list = list.at;
    return a;
}
static inline sh_arg sh_arg_tuple(sh_args list) {
    sh_arg a = {SH_ARG_TUPLE, 0, {0}};
    a.count = (uint32_t)list.n;
    a.as.list = list.at;
    return a;
}
static inline sh_arg sh__arg_itself(sh_arg a) { return a; }
static inline bool sh_arg_is_list(sh_arg a) { return a.tag == SH_ARG_LIST || a.tag == SH_ARG_TUPLE; }
/* Same meaning: lists entry by entry, strings by content, nodes by identity. */
SH_API bool sh_arg_equal(sh_arg a, sh_arg b);

SH_END_DECLS

#ifndef __cplusplus
/* A node, a number, a string, an sh_arg as an argument. No statement expression: lists in x must outlive it. */
#define SH_ARG(x) \
    _Generic((x), sh_arg: sh__arg_itself, sh_node *: sh_arg_node, bool: sh_arg_flag, float: sh_arg_float, \
             double: sh_arg_float, char *: sh_arg_string, const char *: sh_arg_string, default: sh_arg_int)(x)
#define SH_ARGS(...) ((sh_args){(const sh_arg[]){SH__EACH(SH_ARG, __VA_ARGS__)}, SH__COUNT(__VA_ARGS__)})
#define SH_NO_ARGS ((sh_args){NULL, 0})
#define SH_KWARG(name, x) ((sh_kwarg){name, SH_ARG(x)})
#define SH_KWARGS(...) ((sh_kwargs){(const sh_kwarg[]){__VA_ARGS__}, SH__COUNT(__VA_ARGS__)})
#define SH_NO_KWARGS ((sh_kwargs){NULL, 0})
#else
namespace sh__cxx {

/* A node, a number, a string, an sh_arg as an argument. */
inline sh_arg arg(sh_arg a) { return a; }
inline sh_arg arg(sh_node *node) { return sh_arg_node(node); }
inline sh_arg arg(const char *string) { return sh_arg_string(string); }
inline sh_arg arg(sh_dtype dtype) { return sh_arg_dtype(dtype); }
template <class N> std::enable_if_t<std::is_arithmetic_v<N>, sh_arg> arg(N n) {
    if constexpr (std::is_same_v<N, bool>)
        return sh_arg_flag(n);
    else if constexpr (std::is_floating_point_v<N>)
        return sh_arg_float(static_cast<double>(n));
    else
        return sh_arg_int(static_cast<int64_t>(n));
}
template <class... A> in_place<sh_args, sh_arg, sizeof...(A)> args(const A &...a) { return {{arg(a)...}}; }
template <class... K> in_place<sh_kwargs, sh_kwarg, sizeof...(K)> kwargs(const K &...k) { return {{k...}}; }

} // namespace sh__cxx

#define SH_ARG(x) (::sh__cxx::arg(x))
#define SH_ARGS(...) (::sh__cxx::args(__VA_ARGS__))
#define SH_NO_ARGS (sh_args{nullptr, 0})
#define SH_KWARG(name, x) (sh_kwarg{name, SH_ARG(x)})
#define SH_KWARGS(...) (::sh__cxx::kwargs(__VA_ARGS__))
#define SH_NO_KWARGS (sh_kwargs{nullptr, 0})
#endif

#endif
