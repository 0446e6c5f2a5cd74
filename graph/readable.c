/* readable.c - graphs as a person reads code: one assignment a line, with dtype, shape and where it was recorded.
 *
 *     forward(f32[4, 8] x) {
 *         // net.c:31 in forward
 *         f32[4, 16] linear = self.linear(x);
 *         // block
 *         // net.c:32 in forward
 *         f32[4, 16] relu = relu(linear);
 *         return relu;
 *     }
 *
 * It is no C: sh_graph_code writes that. Scopes and places are said where they change; what isn't known isn't said. */
#include <string.h>

#include "graph/given.h"
#include "graph/graph_impl.h"
#include "graph/print.h"

/* What the lines above were about. */
typedef struct reader {
    sh_text out;
    const char *scope;
    char place[256];
} reader;

static void put_typed(sh_text *out, const sh_node *node) {
    sh__print_spec(out, sh_node_spec(node));
    if (node->has_spec) sh__text_put(out, " ");
    sh__text_put(out, "%s", node->name->text);
}

static void put_inputs(sh_text *out, const sh_graph *graph) {
    const char *separator = "";
    for (const sh_node *node = sh_graph_first(graph); node; node = sh_node_next(node)) {
        if (node->opcode != SH_PLACEHOLDER) continue;
        sh__text_put(out, "%s", separator);
        put_typed(out, node);
        if (node->args.n) sh__text_put(out, " = ");
        if (node->args.n) sh__print_arg(out, node->args.at[0], SH_STYLE_REPR);
        separator = ", ";
    }
}

static void put_arguments(sh_text *out, const sh_node *node) {
    const char *separator = "";
    sh__text_put(out, "(");
    for (size_t i = 0; i < node->args.n; i++, separator = ", ") {
        sh__text_put(out, "%s", separator);
        sh__print_arg(out, node->args.at[i], SH_STYLE_REPR);
    }
    for (size_t i = 0; i < node->kwargs.n; i++, separator = ", ") {
        sh__text_put(out, "%s", separator);
        sh__print_plain(out, node->kwargs.at[i].name);
        sh__text_put(out, "=");
        sh__print_arg(out, node->kwargs.at[i].value, SH_STYLE_REPR);
    }
    sh__text_put(out, ")");
}

/* The scopes that a module opens for its call are those of its path but the last. */
static void put_scope(reader *r, const sh_node *node) {
    if (strcmp(node->scope, r->scope) == 0) return;
    r->scope = node->scope;
    sh__text_put(&r->out, "    // ");
    sh__print_plain(&r->out, *node->scope ? node->scope : "(outside)");
    sh__text_put(&r->out, "\n");
}

static void put_place(reader *r, const sh_node *node) {
    char place[sizeof r->place] = "";
    sh__node_place(node, place, sizeof place);
    if (!*place || strcmp(place, r->place) == 0) return;
    memcpy(r->place, place, sizeof place);
    sh__text_put(&r->out, "    // ");
    sh__print_plain(&r->out, place);
    sh__text_put(&r->out, "\n");
}

static void put_call(reader *r, const sh_node *node) {
    sh_text *out = &r->out;
    if (node->opcode != SH_GET_ATTR) put_scope(r, node);
    put_place(r, node);
    sh__text_put(out, "    ");
    put_typed(out, node);
    sh__text_put(out, node->opcode == SH_CALL_FUNCTION ? " = " : " = self.");
    sh__print_plain(out, node->target);
    if (node->opcode != SH_GET_ATTR) put_arguments(out, node);
    sh__text_put(out, ";\n");
}

char *sh_graph_readable(const sh_graph *graph) {
    SH_GIVEN(graph, NULL);
    reader r = {.scope = ""};
    sh__text_put(&r.out, "forward(");
    put_inputs(&r.out, graph);
    sh__text_put(&r.out, ") {\n");
    for (const sh_node *node = sh_graph_first(graph); node; node = sh_node_next(node)) {
        if (node->opcode == SH_PLACEHOLDER) continue;
        if (node->opcode != SH_OUTPUT) {
            put_call(&r, node);
            continue;
        }
        sh__text_put(&r.out, "    ");
        sh__print_node(&r.out, node);
        sh__text_put(&r.out, ";\n");
    }
    sh__text_put(&r.out, "}\n");
    return sh__text_take(&r.out);
}
