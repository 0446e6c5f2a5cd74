/* coder.h - what the parts of code generation share: the text so far, and which variable each node became. */
#ifndef SH_GRAPH_CODE_CODER_H
#define SH_GRAPH_CODE_CODER_H

#include "graph/bind.h"
#include "graph/code/identifier.h"
#include "graph/graph_impl.h"
#include "graph/text.h"

enum { SH__CODE_IN_PLACE = 32 }; /* entries of a list, the most that SH_LIST can count */

/* What a node's variable holds, by its C type. */
typedef enum sh_code_kind {
    SH_CODE_NOTHING, /* there is no variable: nobody uses it */
    SH_CODE_TENSOR,  /* sh_tensor *v */
    SH_CODE_LIST,    /* sh_list *v */
    SH_CODE_FIELDS,  /* sh_max_dim_result v: a field for each result */
    SH_CODE_RESULTS, /* sh_value v[SH_MAX_RESULTS], of a call by name */
    SH_CODE_VALUE    /* sh_value v: what it is is known when it runs */
} sh_code_kind;

typedef struct sh_code_variable {
    sh_code_kind kind;
    const char *name;
    const sh_schema *schema; /* of FIELDS and RESULTS */
} sh_code_variable;

/* The array that stands for a list. */
typedef struct sh_code_array {
    const sh_arg *list;
    const char *name;
} sh_code_array;

typedef struct sh_coder {
    const sh_graph *graph;
    const char *function;
    sh_text out;
    sh_symbols names;
    sh_code_variable *variables;       /* by the nodes' ids */
    sh_code_array arrays[SH_MAX_ARGS]; /* of the statement at hand */
    uint32_t narrays;
    int indent;        /* of statements, in columns */
    bool needs_self;   /* submodules and tensors are looked up there */
    bool gives_tensor; /* the output is known to be one */
} sh_coder;

static inline const sh_code_variable *sh__code_variable(const sh_coder *c, const sh_arg *arg) {
    return &c->variables[arg->as.node->id];
}

/* Is it several tensors, as many as the schema says? */
static inline bool sh__code_has_results(const sh_code_variable *v) {
    return v->kind == SH_CODE_FIELDS || (v->kind == SH_CODE_RESULTS && v->schema->nreturns > 1);
}

/* ---- expression.c ---- */
/* Result i of a call that has several. */
void sh__code_result(sh_coder *c, const sh_code_variable *v, uint32_t i);
/* An argument where anything may stand: in SH_ARGUMENTS, SH_INPUTS, sh_call_op. */
sh_status sh__code_argument(sh_coder *c, const sh_arg *arg);
/* The tensor that a node is, or NULL for None; an error for anything else. */
sh_status sh__code_tensor(sh_coder *c, const sh_arg *arg);
/* A list, whose entries are tensors (or None) or else integers, as sh_tensors or sh_ints. */
sh_status sh__code_list(sh_coder *c, const sh_arg *arg, bool tensors);
bool sh__code_holds_tensors(const sh_coder *c, const sh_arg *list);
/* Lists that are too long to be written in place become arrays of their own, before the statement that needs them. */
sh_status sh__code_long_lists(sh_coder *c, const sh_node *node);

/* ---- call.c ---- */
/* The statement for a call_function node; sets its variable. */
sh_status sh__code_call(sh_coder *c, const sh_node *node);
/* The start of a statement: "sh_tensor *relu = ", or nothing for a node that nobody uses. */
void sh__code_begin(sh_coder *c, const sh_node *node, sh_code_kind kind, const char *type);
/* Its end: ";", and dtype and shape in a comment. */
void sh__code_end(sh_coder *c, const sh_node *node);
/* "(const sh_argument[]){...}, 3", or "NULL, 0". */
sh_status sh__code_arguments(sh_coder *c, const sh_node *node);
/* Is some user an operator.getitem of it? */
bool sh__code_is_indexed(const sh_node *node);

/* ---- nodes.c ---- */
sh_status sh__code_get_attr(sh_coder *c, const sh_node *node);
sh_status sh__code_call_module(sh_coder *c, const sh_node *node);
sh_status sh__code_output(sh_coder *c, const sh_node *node);

/* ---- typed.c ---- */
/* Can the typed function of a built-in op take the arguments just as they are? */
bool sh__code_is_typed(const sh_coder *c, const sh_binding *b);
/* sh_conv2d(x, weight, .bias = bias, .stride = {2, 2}) */
sh_status sh__code_typed(sh_coder *c, const sh_binding *b);
/* "max_dim" of max.dim. */
void sh__code_op_name(const sh_op *op, char *name, size_t size);

#endif
