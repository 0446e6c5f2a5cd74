/* bind.h - the arguments of a call_function node, placed by the schema of its op. */
#ifndef SH_GRAPH_BIND_H
#define SH_GRAPH_BIND_H

#include "graph/graph.h"

typedef struct sh_binding {
    const sh_op *op;
    const sh_schema *schema;
    sh_variant variant;
    const sh_arg *args[SH_MAX_ARGS]; /* in schema order; NULL: left out, the default stands */
    const sh_arg *out;               /* of the variant SH_OUT */
} sh_binding;

/* An error that says what does not fit: no such op, an argument too many, missing, twice, unknown, of another kind. */
sh_status sh__bind(const sh_node *node, sh_binding *binding);
/* The same as a question: is this a call of an op whose arguments fit? */
bool sh__binds(const sh_node *node, sh_binding *binding);
/* The tensor argument that a call writes to: `out`, or the first of an in-place form. NULL if there is none. */
const sh_arg *sh__bound_target(const sh_binding *binding);
/* The node that an argument is; NULL: it is none, or left out. */
static inline sh_node *sh__arg_node(const sh_arg *arg) {
    return arg && arg->tag == SH_ARG_NODE ? arg->as.node : NULL;
}
/* A literal that says what the parameter's default says anyway. */
bool sh__arg_is_default(const sh_param *param, const sh_arg *arg);

#endif
