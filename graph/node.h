/* node.h - one node of a graph: what it calls, with what, who uses it, what is known about it.
 *
 * Borrowed from its graph, which owns it. The setters keep users and inputs in step with the arguments; a setter
 * that fails changes nothing. */
#ifndef SH_GRAPH_NODE_H
#define SH_GRAPH_NODE_H

#include "graph/arg.h"
#include "ops/api.h"

SH_BEGIN_DECLS

typedef struct sh_graph sh_graph;

/* SH_OPCODE(name, its text). */
#define SH__OPCODES(SH_OPCODE)                                                                              \
    SH_OPCODE(PLACEHOLDER, "placeholder") /* an input; args: its default, or none */                        \
    SH_OPCODE(GET_ATTR, "get_attr")       /* a tensor that the graph owns */                                \
    SH_OPCODE(CALL_FUNCTION,                                                                                \
              "call_function")            /* an op by name ("add", "add_"), a function, operator.getitem */ \
    SH_OPCODE(CALL_MODULE, "call_module") /* a module by its path */                                        \
    SH_OPCODE(OUTPUT, "output")           /* args: the one value returned */

typedef enum sh_opcode {
#define SH_OPCODE(name, text) SH_##name,
    SH__OPCODES(SH_OPCODE)
#undef SH_OPCODE
} sh_opcode;

/* The target of nodes that take one of several results: operator.getitem(node, index). */
#define SH_GETITEM "operator.getitem"

/* ---- looking ---- */
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

/* Does it more than give a value: placeholders and the output, ops in place, into an `out` or random, functions not
 * declared pure? Such nodes stay though nobody uses them. */
SH_API bool sh_node_is_impure(const sh_node *node);

/* ---- editing ---- users and inputs follow */
SH_API sh_status sh_node_set_args(sh_node *node, sh_args args, sh_kwargs kwargs);
SH_API sh_status sh_node_set_arg(sh_node *node, size_t i, sh_arg arg);
/* Adds the keyword, or replaces its value. */
SH_API sh_status sh_node_set_kwarg(sh_node *node, const char *name, sh_arg arg);
SH_API sh_status sh_node_set_target(sh_node *node, const char *target);
/* In all arguments of `node`, nested ones too, `by` stands for `old`. */
SH_API sh_status sh_node_replace_input_with(sh_node *node, sh_node *old, sh_node *by);
/* The same in all users of `node`; `by` itself, when it uses `node`, keeps doing so. */
SH_API sh_status sh_node_replace_all_uses_with(sh_node *node, sh_node *by);
/* The same in those users that `chosen` wants. */
SH_API sh_status sh_node_replace_uses_where(sh_node *node, sh_node *by,
                                            bool (*chosen)(sh_node *user, void *data), void *data);
/* Makes room for an argument in front of argument i, or behind the last. */
SH_API sh_status sh_node_insert_arg(sh_node *node, size_t i, sh_arg arg);
/* Moves `other` behind `node`, or in front of it: both of one graph. Nothing keeps users behind what they use: see
 * sh_graph_lint. */
SH_API sh_status sh_node_append(sh_node *node, sh_node *other);
SH_API sh_status sh_node_prepend(sh_node *node, sh_node *other);

typedef enum sh_argument_form {
    SH_POSITIONAL_FORM, /* required arguments by place, others by name, none that equals its default: as captures write */
    SH_KEYWORD_FORM /* all by name, in the order of the schema */
} sh_argument_form;
/* Writes the arguments of a call of an op in one form, so that equal calls look equal. Other nodes stay as they are. */
SH_API sh_status sh_node_normalize_arguments(sh_node *node, sh_argument_form form);

/* ---- what is known about it ---- */
/* dtype and shape of the (first) result; NULL when unknown. */
SH_API const sh_spec *sh_node_spec(const sh_node *node);
SH_API void sh_node_set_spec(sh_node *node, const sh_spec *spec);
/* The named scopes that were open where it was recorded, "" if none. The string is copied. */
SH_API const char *sh_node_scope(const sh_node *node);
SH_API sh_status sh_node_set_scope(sh_node *node, const char *scope);
/* The address in the program that issued the call it stands for, or NULL. */
SH_API const void *sh_node_site(const sh_node *node);
SH_API void sh_node_set_site(sh_node *node, const void *site);

/* A type in words, printed between name and opcode; NULL if there is none. The string is copied. */
SH_API const char *sh_node_type(const sh_node *node);
SH_API sh_status sh_node_set_type(sh_node *node, const char *type);

/* ---- whatever else ---- by key; copies of the node keep it */
typedef enum sh_meta_kind {
    SH_META_NONE,
    SH_META_INT,
    SH_META_FLOAT,
    SH_META_STRING,
    SH_META_POINTER
} sh_meta_kind;
typedef struct sh_meta {
    sh_meta_kind kind; /* NONE: there is nothing under this key */
    union {
        int64_t i;
        double f;
        const char *string; /* the node's */
        void *pointer;
    } as;
} sh_meta;
SH_API sh_meta sh_node_meta(const sh_node *node, const char *key);
SH_API sh_status sh_node_set_meta_int(sh_node *node, const char *key, int64_t i);
SH_API sh_status sh_node_set_meta_float(sh_node *node, const char *key, double f);
SH_API sh_status sh_node_set_meta_string(sh_node *node, const char *key, const char *string); /* copied */
/* `end` runs when no node and no copy of one has it any more; optional. On an error it has not run. */
SH_API sh_status sh_node_set_meta_pointer(sh_node *node, const char *key, void *pointer,
                                          void (*end)(void *pointer));
SH_API void sh_node_drop_meta(sh_node *node, const char *key);
/* Key i, in the order they were set first; NULL past the last. */
SH_API const char *sh_node_meta_key(const sh_node *node, size_t i);

SH_END_DECLS

#endif
