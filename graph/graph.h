/* graph.h - a program as data: nodes in the order they run, as in torch.fx.
 *
 *     graph():
 *         %x : [num_users=1] = placeholder[target=x]
 *         %relu : [num_users=1] = call_function[target=relu](args = (%x,), kwargs = {})
 *         return relu
 *
 * A node has an opcode, a target (an op, an attribute, an input's name), arguments that refer to other
 * nodes, and the set of nodes that use it; the setters keep both sides of that in step. Names are unique
 * and follow torch.fx's rules. The graph also owns named tensors, its attributes, that get_attr nodes read.
 *
 *     sh_graph *g = sh_graph_new();
 *     sh_node *x = sh_graph_placeholder(g, "x");
 *     sh_node *y = sh_graph_call_function(g, "add", x, 2.0);
 *     sh_graph_output(g, SH_ARG(sh_graph_call_function(g, "relu", y)));
 *     puts(text = sh_graph_text(g));
 *
 * The graph owns its nodes; sh_graph_free ends them all. Nodes are borrowed. One thread at a time edits. */
#ifndef SH_GRAPH_GRAPH_H
#define SH_GRAPH_GRAPH_H

#include "ops/api.h"

SH_BEGIN_DECLS

typedef struct sh_graph sh_graph;
typedef struct sh_node sh_node;

/* SH_OPCODE(name, its text). */
#define SH__OPCODES(SH_OPCODE)                                                                         \
    SH_OPCODE(PLACEHOLDER, "placeholder")     /* an input; args: its default, or none */               \
    SH_OPCODE(GET_ATTR, "get_attr")           /* a tensor that the graph owns */                       \
    SH_OPCODE(CALL_FUNCTION, "call_function") /* an op by name ("add", "add_"), or operator.getitem */ \
    SH_OPCODE(CALL_MODULE, "call_module")     /* a module by its path */                               \
    SH_OPCODE(OUTPUT, "output")               /* args: the one value returned */

typedef enum sh_opcode {
#define SH_OPCODE(name, text) SH_##name,
    SH__OPCODES(SH_OPCODE)
#undef SH_OPCODE
} sh_opcode;

/* The target of nodes that take one of several results: operator.getitem(node, index). */
#define SH_GETITEM "operator.getitem"

/* ---- arguments ---- */
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
/* Same meaning: lists entry by entry, strings by content, nodes by identity. */
SH_API bool sh_arg_equal(sh_arg a, sh_arg b);

/* ---- graphs ---- */
SH_API sh_graph *sh_graph_new(void);
SH_API void sh_graph_free(sh_graph *graph);
SH_API size_t sh_graph_size(const sh_graph *graph); /* nodes in it */

/* A new node at the insertion point. Args and kwargs are copied; the nodes in them must be this graph's. `name` is a
 * wish (NULL: the target's). NULL and an error if an argument is NULL or of another graph. */
SH_API sh_node *sh_graph_create_node(sh_graph *graph, sh_opcode opcode, const char *target, sh_args args,
                                     sh_kwargs kwargs, const char *name);
SH_API sh_node *sh_graph_placeholder(sh_graph *graph, const char *name);
/* A get_attr node for an attribute that must be there. */
SH_API sh_node *sh_graph_get_attr(sh_graph *graph, const char *name);
SH_API sh_node *sh_graph_output(sh_graph *graph, sh_arg value);
/* Refused while the node has users: the error lists them. */
SH_API sh_status sh_graph_erase_node(sh_node *node);
/* The node of this name, or NULL. */
SH_API sh_node *sh_graph_find(const sh_graph *graph, const char *name);
SH_API sh_node *sh_graph_first(const sh_graph *graph);
SH_API sh_node *sh_graph_last(const sh_graph *graph);
/* The output node, or NULL. */
SH_API sh_node *sh_graph_output_node(const sh_graph *graph);

/* How output i is called: by entry i of the output node's keyword `names` (a model's own names), else as the node that
 * gives it. NULL past the last. */
SH_API const char *sh_graph_output_name(const sh_graph *graph, size_t i);

/* Each node in order; the one at hand may be erased. */
#define SH_EACH_NODE(n, graph)                                                                   \
    for (sh_node *n = sh_graph_first(graph), *SH__CAT(n, _next) = n ? sh_node_next(n) : NULL; n; \
         n = SH__CAT(n, _next), SH__CAT(n, _next) = n ? sh_node_next(n) : NULL)

/* ---- where new nodes go ---- at the end, unless inside one of these:
 *     SH_INSERTING_BEFORE(node) { ... }     SH_INSERTING_AFTER(node) { ... } */
typedef struct sh_insertion {
    sh_graph *graph;
    sh_node *before; /* NULL: at the end */
    struct sh_insertion *outer;
} sh_insertion;
/* `insertion` lives until sh_insertion_end. */
SH_API sh_insertion *sh__insert_before(sh_insertion *insertion, sh_node *node);
SH_API sh_insertion *sh__insert_after(sh_insertion *insertion, sh_node *node);
SH_API void sh_insertion_end(sh_insertion *insertion);
#define SH_INSERTING_BEFORE(node) SH__INSERTING(SH__UNIQUE(sh__i), sh__insert_before, node)
#define SH_INSERTING_AFTER(node) SH__INSERTING(SH__UNIQUE(sh__i), sh__insert_after, node)
#define SH__INSERTING(v, enter, node)                                                    \
    for (sh_insertion v __attribute__((cleanup(sh_insertion_end))) = {NULL, NULL, NULL}, \
                        *SH__CAT(v, p) = enter(&v, node);                                \
         SH__CAT(v, p); SH__CAT(v, p) = NULL)

/* ---- nodes: looking ---- */
SH_API const char *sh_node_name(const sh_node *node);
SH_API sh_opcode sh_node_opcode(const sh_node *node);
SH_API const char *sh_opcode_text(sh_opcode opcode);
SH_API const char *sh_node_target(const sh_node *node);
SH_API sh_graph *sh_node_graph(const sh_node *node);
SH_API sh_node *sh_node_next(const sh_node *node); /* NULL behind the last */
SH_API sh_node *sh_node_prev(const sh_node *node);
SH_API sh_args sh_node_args(const sh_node *node);
SH_API sh_kwargs sh_node_kwargs(const sh_node *node);
/* Argument i, or the keyword of that name; NONE if there is none. */
SH_API sh_arg sh_node_arg(const sh_node *node, size_t i);
SH_API sh_arg sh_node_kwarg(const sh_node *node, const char *name);
/* The nodes that use it, each once, in the order they came to; at most `capacity` are written. Returns how many there are. */
SH_API size_t sh_node_users(const sh_node *node, sh_node **users, size_t capacity);
/* The nodes that it uses, each once, in the order of its arguments. */
SH_API size_t sh_node_inputs(const sh_node *node, sh_node **inputs, size_t capacity);

/* ---- nodes: editing ---- users and inputs follow */
SH_API sh_status sh_node_set_args(sh_node *node, sh_args args, sh_kwargs kwargs);
SH_API sh_status sh_node_set_arg(sh_node *node, size_t i, sh_arg arg);
/* Adds the keyword, or replaces its value. */
SH_API sh_status sh_node_set_kwarg(sh_node *node, const char *name, sh_arg arg);
SH_API sh_status sh_node_set_target(sh_node *node, const char *target);
/* In all arguments of `node`, nested ones too, `by` stands for `old`. */
SH_API sh_status sh_node_replace_input_with(sh_node *node, sh_node *old, sh_node *by);
/* The same in all users of `node`; `by` itself, when it uses `node`, keeps doing so. */
SH_API sh_status sh_node_replace_all_uses_with(sh_node *node, sh_node *by);

/* ---- nodes: what is known about them ---- */
/* dtype and shape of the (first) result; NULL when unknown. */
SH_API const sh_spec *sh_node_spec(const sh_node *node);
SH_API void sh_node_set_spec(sh_node *node, const sh_spec *spec);
/* The named scopes that were open where it was recorded, "" if none. The string is copied. */
SH_API const char *sh_node_scope(const sh_node *node);
SH_API sh_status sh_node_set_scope(sh_node *node, const char *scope);
/* The address in the program that issued the call it stands for, or NULL. */
SH_API const void *sh_node_site(const sh_node *node);
SH_API void sh_node_set_site(sh_node *node, const void *site);

/* ---- attributes ---- tensors that the graph keeps, by name */
SH_API sh_status sh_graph_set_attr(sh_graph *graph, const char *name, sh_tensor *value);
SH_API sh_tensor *sh_graph_attr(const sh_graph *graph,
                                const char *name); /* borrowed; NULL if there is none */
SH_API size_t sh_graph_attr_count(const sh_graph *graph);
SH_API const char *sh_graph_attr_name(const sh_graph *graph, size_t i);

/* ---- looking at all of it ---- texts are the caller's to free(); NULL and an error when memory is out */
SH_API char *sh_graph_text(const sh_graph *graph);    /* as torch 2.x prints it, no newline at the end */
SH_API char *sh_node_text(const sh_node *node);       /* one line of it */
SH_API char *sh_graph_tabular(const sh_graph *graph); /* a table: opcode name target args kwargs */
SH_API char *sh_graph_dot(const sh_graph *graph);     /* for Graphviz */
SH_API char *sh_graph_svg(const sh_graph *graph); /* drawn by Graphviz's `dot`; an error if it is not there */

/* ---- running it ---- */
/* The values of the placeholders in, what the output node returns out (one tensor or the tensors of its list,
 * opened), owned by the scope. Each op is a call like any other, inside a named scope of the node's name, so modes
 * see it. A value is freed after its last use. NULL and an error that names the node. */
SH_API sh_list *sh_graph_run(const sh_graph *graph, sh_tensors inputs);

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
/* A call_function node, 1 to 12 positional arguments. */
#define sh_graph_call_function(graph, target, ...) \
    sh_graph_create_node(graph, SH_CALL_FUNCTION, target, SH_ARGS(__VA_ARGS__), SH_NO_KWARGS, NULL)
#endif

#endif
