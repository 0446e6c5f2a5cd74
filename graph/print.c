/* print.c - graphs as text, letter for letter as torch.fx of torch 2.x writes them, and as a table. */
#include "graph/print.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "graph/given.h"
#include "graph/graph_impl.h"

/* ---- arguments ---- */

void sh__print_plain(sh_text *out, const char *string) {
    for (; *string; string++) {
        const unsigned char c = (unsigned char)*string;
        if (c == '\n')
            sh__text_put(out, "\\n");
        else if (c == '\t')
            sh__text_put(out, "\\t");
        else if (c == '\r')
            sh__text_put(out, "\\r");
        else if (c < 32 || c == 127)
            sh__text_put(out, "\\x%02x", c);
        else
            sh__text_add(out, string, 1);
    }
}

void sh__print_string(sh_text *out, const char *string) {
    const char quote = strchr(string, '\'') && !strchr(string, '"') ? '"' : '\'';
    sh__text_add(out, &quote, 1);
    for (; *string; string++) {
        if (*string == '\\' || *string == quote) sh__text_add(out, "\\", 1);
        sh__print_plain(out, (const char[]){*string, 0});
    }
    sh__text_add(out, &quote, 1);
}

size_t sh__word_bytes(const char *at, const char *end) {
    if (at == end) return 0;
    const unsigned char c = (unsigned char)*at;
    if (c < 128 && (isalnum(c) || strchr("_.-+/", c))) return c != 0;
    return c == ':' && end - at > 1 && at[1] == ':' ? 2 : 0;
}

void sh__print_word(sh_text *out, const char *word) {
    const char *at = word, *const end = word + strlen(word);
    for (size_t n; (n = sh__word_bytes(at, end)) != 0;) at += n;
    if (at == end && at != word)
        sh__text_add(out, word, strlen(word));
    else
        sh__print_string(out, word);
}

static bool marks_nodes(sh_arg_style style) { return style == SH_STYLE_FX || style == SH_STYLE_IR; }

static void print_float(sh_text *out, double value, sh_arg_style style) {
    const double plain = __builtin_nan("");
    if (style < SH_STYLE_IR || value == value || memcmp(&value, &plain, sizeof value) == 0) {
        sh__text_float(out, value);
        return;
    }
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    sh__text_put(out, "nan(0x%" PRIx64 ")", bits);
}

static void print_list(sh_text *out, sh_arg list, sh_arg_style style) {
    const bool tuple = list.tag == SH_ARG_TUPLE;
    sh__text_put(out, tuple ? "(" : "[");
    for (uint32_t i = 0; i < list.count; i++) {
        if (i) sh__text_put(out, ", ");
        sh__print_arg(out, list.as.list[i], style);
    }
    sh__text_put(out, tuple && list.count == 1 ? ",)" : tuple ? ")" : "]");
}

void sh__print_arg(sh_text *out, sh_arg arg, sh_arg_style style) {
    switch (arg.tag) {
    case SH_ARG_NODE: sh__text_put(out, marks_nodes(style) ? "%%%s" : "%s", sh_node_name(arg.as.node)); break;
    case SH_ARG_INT: sh__text_put(out, "%" PRId64, arg.as.i); break;
    case SH_ARG_FLOAT: print_float(out, arg.as.f, style); break;
    case SH_ARG_FLAG: sh__text_put(out, arg.as.i ? "True" : "False"); break;
    case SH_ARG_DTYPE: sh__text_put(out, "torch.%s", sh_dtype_torch_name((sh_dtype)arg.as.i)); break;
    case SH_ARG_LIST:
    case SH_ARG_TUPLE: print_list(out, arg, style); break;
    case SH_ARG_STRING:
        if (style == SH_STYLE_FX)
            sh__print_plain(out, arg.as.string);
        else
            sh__print_string(out, arg.as.string);
        break;
    default: sh__text_put(out, "None");
    }
}

void sh__print_args(sh_text *out, sh_args args, sh_arg_style style) {
    print_list(out, sh_arg_tuple(args), style);
}

void sh__print_kwargs(sh_text *out, sh_kwargs kwargs, sh_arg_style style) {
    sh__text_put(out, "{");
    for (size_t i = 0; i < kwargs.n; i++) {
        if (i) sh__text_put(out, ", ");
        if (style == SH_STYLE_FX)
            sh__print_plain(out, kwargs.at[i].name);
        else if (style == SH_STYLE_REPR)
            sh__print_string(out, kwargs.at[i].name);
        else
            sh__print_word(out, kwargs.at[i].name);
        sh__text_put(out, ": ");
        sh__print_arg(out, kwargs.at[i].value, style);
    }
    sh__text_put(out, "}");
}

void sh__print_spec(sh_text *out, const sh_spec *spec) {
    if (!spec) return;
    sh__text_put(out, "%s[", sh_dtype_name(spec->dtype));
    for (int i = 0; i < spec->ndim; i++) {
        sh__text_put(out, i ? ", " : "");
        if (spec->sizes[i] < 0)
            sh__text_put(out, "?");
        else
            sh__text_put(out, "%" PRId64, spec->sizes[i]);
    }
    sh__text_put(out, "]");
}

/* ---- the text form ---- */

void sh__print_node(sh_text *out, const sh_node *node) {
    if (node->opcode == SH_OUTPUT) {
        sh__text_put(out, "return ");
        sh__print_arg(out, sh_node_arg(node, 0), SH_STYLE_REPR);
        return;
    }
    sh__text_put(out, "%%%s : ", node->name->text);
    if (node->type) {
        sh__print_plain(out, node->type);
        sh__text_add(out, " ", 1);
    }
    sh__text_put(out, "[num_users=%u] = %s[target=", node->nusers, sh_opcode_text(node->opcode));
    sh__print_plain(out, node->target);
    sh__text_put(out, "]");
    if (node->opcode == SH_GET_ATTR || (node->opcode == SH_PLACEHOLDER && !node->args.n)) return;
    if (node->opcode == SH_PLACEHOLDER) {
        sh__text_put(out, "(default=");
        if (node->args.at[0].tag == SH_ARG_STRING)
            sh__print_arg(out, node->args.at[0], SH_STYLE_FX);
        else
            sh__print_arg(out, node->args.at[0], SH_STYLE_REPR);
        sh__text_put(out, ")");
        return;
    }
    sh__text_put(out, "(args = ");
    sh__print_args(out, node->args, SH_STYLE_FX);
    sh__text_put(out, ", kwargs = ");
    sh__print_kwargs(out, node->kwargs, SH_STYLE_FX);
    sh__text_put(out, ")");
}

char *sh_node_text(const sh_node *node) {
    sh_text out = {0};
    sh__print_node(&out, node);
    return sh__text_take(&out);
}

char *sh_graph_text(const sh_graph *graph) {
    SH_GIVEN(graph, NULL);
    sh_text out = {0};
    sh__text_put(&out, "graph():");
    for (const sh_node *node = sh_graph_first(graph); node; node = sh_node_next(node)) {
        sh__text_put(&out, "\n    ");
        sh__print_node(&out, node);
    }
    return sh__text_take(&out);
}

/* ---- the table ---- */

enum { COLUMNS = 5 };

/* A row's cells, one behind the other in `cells`, each ended by 0. */
static void print_row(sh_text *cells, const sh_node *node) {
    const char *const texts[] = {sh_opcode_text(node->opcode), node->name->text, node->target};
    for (size_t i = 0; i < 3; i++) {
        sh__print_plain(cells, texts[i]);
        sh__text_add(cells, "", 1);
    }
    sh__print_args(cells, node->args, SH_STYLE_REPR);
    sh__text_add(cells, "", 1);
    sh__print_kwargs(cells, node->kwargs, SH_STYLE_REPR);
    sh__text_add(cells, "", 1);
}

static void put_dashes(sh_text *out, const size_t *widths) {
    for (int c = 0; c < COLUMNS; c++) {
        for (size_t i = 0; i < widths[c]; i++) sh__text_add(out, "-", 1);
        sh__text_put(out, c + 1 < COLUMNS ? "  " : "\n");
    }
}

char *sh_graph_tabular(const sh_graph *graph) {
    SH_GIVEN(graph, NULL);
    static const char header[] = "opcode\0name\0target\0args\0kwargs";
    sh_text cells = {0}, out = {0};
    size_t widths[COLUMNS] = {0};
    sh__text_add(&cells, header, sizeof header);
    for (const sh_node *node = sh_graph_first(graph); node; node = sh_node_next(node))
        print_row(&cells, node);
    const char *at = cells.at, *const end = cells.at + cells.length;
    for (int c = 0; !cells.failed && at < end; at += strlen(at) + 1, c = (c + 1) % COLUMNS)
        if (strlen(at) > widths[c]) widths[c] = strlen(at);
    at = cells.at;
    for (size_t i = 0; !cells.failed && at < end; at += strlen(at) + 1, i++) {
        if (i == COLUMNS) put_dashes(&out, widths);
        const bool last = i % COLUMNS == COLUMNS - 1;
        sh__text_put(&out, last ? "%-*s\n" : "%-*s  ", last ? 0 : (int)widths[i % COLUMNS], at);
    }
    out.failed |= cells.failed;
    sh__text_drop(&cells);
    return sh__text_take(&out);
}
