/* read_node.c - the line of a node, and what stands behind it.
 *
 * A node is made as any user makes one, so nothing can come out of a text that the API would refuse. */
#include <string.h>

#include "graph/graph_impl.h"
#include "graph/ir/impl.h"

typedef struct line {
    sh_ir_token start;
    const char *name, *type, *target;
    sh_opcode opcode;
    sh_args args;
    sh_kwargs kwargs;
    sh_arg value; /* room for one argument */
} line;

/* ---- the head ---- */

/* [num_users=2] */
static sh_status read_num_users(sh_ir_reader *r) {
    SH_TRY(sh__ir_take(r, '[', "[num_users="));
    SH_TRY(sh__ir_take_word(r, "num_users"));
    SH_TRY(sh__ir_take(r, '=', "= behind num_users"));
    const size_t n = r->token.length;
    if (r->token.kind != SH_IR_WORD || strspn(r->token.at, "0123456789") < n)
        return sh__ir_expected(r, "a number of users");
    SH_TRY(sh__ir_next(r));
    return sh__ir_take(r, ']', "a ] behind the number of users");
}

/* %name : type [num_users=2] = */
static sh_status read_head(sh_ir_reader *r, line *l) {
    SH_TRY(sh__ir_take(r, '%', "a node"));
    SH_TRY(sh__ir_take_text(r, "the name of a node", &l->name));
    if (sh__ir_is(r, ':')) {
        SH_TRY(sh__ir_next(r));
        if (!sh__ir_is(r, '[') && !sh__ir_is(r, '=')) SH_TRY(sh__ir_take_text(r, "a type", &l->type));
        if (sh__ir_is(r, '[')) SH_TRY(read_num_users(r));
    }
    return sh__ir_take(r, '=', "a = before the opcode");
}

static sh_status read_opcode(sh_ir_reader *r, line *l) {
    int code = 0;
    while (code <= SH_OUTPUT && !sh__ir_is_word(r, sh_opcode_text((sh_opcode)code))) code++;
    if (code > SH_OUTPUT)
        return sh__ir_expected(r, "an opcode (placeholder, get_attr, call_function, call_module, output)");
    l->opcode = (sh_opcode)code;
    SH_TRY(sh__ir_next(r));
    SH_TRY(sh__ir_take(r, '[', "[target="));
    SH_TRY(sh__ir_take_word(r, "target"));
    SH_TRY(sh__ir_take(r, '=', "= behind target"));
    SH_TRY(sh__ir_take_text(r, "a target", &l->target));
    return sh__ir_take(r, ']', "a ] behind the target");
}

/* (args = (...), kwargs = {...}), or of a placeholder (default=...) */
static sh_status read_arguments(sh_ir_reader *r, line *l) {
    if (!sh__ir_is(r, '(')) return SH_OK;
    SH_TRY(sh__ir_next(r));
    if (sh__ir_is_word(r, "default")) {
        SH_TRY(sh__ir_next(r));
        SH_TRY(sh__ir_take(r, '=', "= behind default"));
        SH_TRY(sh__ir_read_arg(r, SH_IR_MARKED, &l->value));
        l->args = (sh_args){&l->value, 1};
    } else {
        SH_TRY(sh__ir_take_word(r, "args"));
        SH_TRY(sh__ir_take(r, '=', "= behind args"));
        SH_TRY(sh__ir_read_args(r, &l->args));
        SH_TRY(sh__ir_take(r, ',', ", before kwargs"));
        SH_TRY(sh__ir_take_word(r, "kwargs"));
        SH_TRY(sh__ir_take(r, '=', "= behind kwargs"));
        SH_TRY(sh__ir_read_kwargs(r, &l->kwargs));
    }
    return sh__ir_take(r, ')', "a ) behind the arguments");
}

/* ---- what is known about it ---- */

static sh_status set_meta(sh_node *node, const sh_kwarg *entry) {
    switch (entry->value.tag) {
    case SH_ARG_INT: return sh_node_set_meta_int(node, entry->name, entry->value.as.i);
    case SH_ARG_FLOAT: return sh_node_set_meta_float(node, entry->name, entry->value.as.f);
    case SH_ARG_STRING: return sh_node_set_meta_string(node, entry->name, entry->value.as.string);
    default: return sh_fail(SH_ERROR_TYPE, "the key %s of meta: expected a number or a string", entry->name);
    }
}

static sh_status read_meta(sh_ir_reader *r, sh_node *node) {
    const sh_ir_token token = r->token;
    sh_kwargs entries;
    SH_TRY(sh__ir_read_kwargs(r, &entries));
    for (size_t i = 0; i < entries.n; i++)
        if (set_meta(node, &entries.at[i]) < 0) return sh__ir_at(r, &token);
    return sh__ir_charge(r, entries.n * 64);
}

static sh_status read_scope(sh_ir_reader *r, sh_node *node) {
    const char *scope;
    SH_TRY(sh__ir_take_text(r, "a scope", &scope));
    return sh_node_set_scope(node, scope);
}

static sh_status read_spec(sh_ir_reader *r, sh_node *node) {
    sh_spec spec;
    SH_TRY(sh__ir_read_spec(r, true, &spec));
    sh_node_set_spec(node, &spec);
    return SH_OK;
}

/* , tensor = f32[2, 3], scope = 'layer1', meta = {cost: 3} */
static sh_status read_knowledge(sh_ir_reader *r, sh_node *node) {
    static const struct {
        const char *word;
        sh_status (*read)(sh_ir_reader *r, sh_node *node);
    } parts[] = {{"tensor", read_spec}, {"scope", read_scope}, {"meta", read_meta}};
    enum { PARTS = sizeof parts / sizeof *parts };
    while (sh__ir_is(r, ',')) {
        SH_TRY(sh__ir_next(r));
        size_t i = 0;
        while (i < PARTS && !sh__ir_is_word(r, parts[i].word)) i++;
        if (i == PARTS) return sh__ir_expected(r, "tensor, scope or meta");
        SH_TRY(sh__ir_next(r));
        SH_TRY(sh__ir_take(r, '=', "a ="));
        SH_TRY(parts[i].read(r, node));
    }
    return SH_OK;
}

/* ---- the node ---- */

static sh_status check_name(const sh_ir_reader *r, const line *l) {
    if (sh_graph_find(r->graph, l->name))
        return sh__ir_bad(r, &l->start, "two nodes have the name %%%.200s", l->name);
    const sh_node *last = sh_graph_last(r->graph);
    if (last && sh_node_opcode(last) == SH_OUTPUT)
        return sh__ir_bad(r, &l->start, "%%%.200s stands behind the output", l->name);
    return SH_OK;
}

static sh_status make_node(sh_ir_reader *r, const line *l, sh_node **made) {
    SH_TRY(check_name(r, l));
    SH_TRY(sh__ir_charge(r, sizeof(sh_node)));
    sh_node *node = sh_graph_create_node(r->graph, l->opcode, l->target, l->args, l->kwargs, l->name);
    if (!node) return sh__ir_at(r, &l->start);
    if (strcmp(sh_node_name(node), l->name) != 0)
        return sh__ir_bad(r, &l->start, "no node can have the name %.200s; %%%.200s could", l->name,
                          sh_node_name(node));
    SH_TRY(sh_node_set_type(node, l->type));
    const bool may_lack = !r->root && l->opcode == SH_GET_ATTR; /* where the text has no modules */
    if (!may_lack && sh__node_check_target(node) < 0) return sh__ir_at(r, &l->start);
    *made = node;
    return SH_OK;
}

sh_status sh__ir_read_node(sh_ir_reader *r) {
    line l = {.start = r->token};
    sh_node *node;
    SH_TRY(read_head(r, &l));
    SH_TRY(read_opcode(r, &l));
    SH_TRY(read_arguments(r, &l));
    SH_TRY(make_node(r, &l, &node));
    return read_knowledge(r, node);
}

sh_status sh__ir_read_return(sh_ir_reader *r) {
    line l = {.start = r->token, .name = "output", .target = "output", .opcode = SH_OUTPUT};
    sh_node *node;
    SH_TRY(sh__ir_next(r));
    SH_TRY(sh__ir_read_arg(r, SH_IR_BARE, &l.value));
    l.args = (sh_args){&l.value, 1};
    SH_TRY(make_node(r, &l, &node));
    return read_knowledge(r, node);
}
