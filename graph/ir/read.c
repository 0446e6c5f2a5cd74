/* read.c - the text as a whole: its first line, then statements, each by its first word. */
#include <string.h>

#include "graph/ir/impl.h"
#include "graph/module/graph_module.h"

/* ---- graphs ---- */

static sh_status begin_bare(sh_ir_reader *r, const sh_ir_token *token) {
    if (r->bare || *r->path)
        return sh__ir_bad(r, token, "a text without modules has one graph, which has no name");
    r->graph = r->bare = sh_graph_new();
    return r->bare ? SH_OK : sh_error()->code;
}

static sh_status begin_of_module(sh_ir_reader *r, const sh_ir_token *token) {
    sh_module *module = sh_module_child(r->root, r->path);
    r->graph = module ? sh_graph_module_graph(module) : NULL;
    if (!r->graph) return sh__ir_bad(r, token, "there is no graph module %.200s above", r->path);
    if (sh__seen_first(&r->graphs, r->graph)) return SH_OK;
    return sh__error_pending() ? sh_error()->code
                               : sh__ir_bad(r, token, "the graph of %.200s stands here twice", r->path);
}

/* graph PATH(): */
static sh_status read_graph(sh_ir_reader *r) {
    SH_TRY(sh__ir_next(r));
    const sh_ir_token token = r->token;
    const char *path = "";
    if (!sh__ir_is(r, '(')) SH_TRY(sh__ir_take_text(r, "the path of a graph module", &path));
    SH_TRY(sh__ir_take(r, '(', "(): behind graph"));
    SH_TRY(sh__ir_take(r, ')', "a )"));
    SH_TRY(sh__ir_take(r, ':', "a :"));
    sh__text_cut(&r->path_text, 0);
    sh__text_add(&r->path_text, path, strlen(path));
    if (r->path_text.failed) return SH_ERROR_MEMORY;
    r->path = r->path_text.at;
    return r->root ? begin_of_module(r, &token) : begin_bare(r, &token);
}

static sh_status find_unread(const char *path, sh_module *module, void *user) {
    const sh_ir_reader *r = user;
    const sh_graph *graph = sh_graph_module_graph(module);
    if (!graph || sh__seen_holds(&r->graphs, graph)) return SH_OK;
    return sh__ir_bad(r, &r->token, "the graph of module \"%.200s\" is missing", path);
}

/* ---- statements ---- */

static sh_status need_graph(const sh_ir_reader *r) {
    return r->graph ? SH_OK : sh__ir_bad(r, &r->token, "nodes stand behind a line graph():");
}

static sh_status read_statement(sh_ir_reader *r) {
    static const struct {
        const char *word;
        sh_status (*read)(sh_ir_reader *r);
        bool in_graph;
    } statements[] = {{"module", sh__ir_read_module, false}, {"parameter", sh__ir_read_tensor, false},
                      {"buffer", sh__ir_read_tensor, false}, {"graph", read_graph, false},
                      {"attr", sh__ir_read_tensor, true},    {"return", sh__ir_read_return, true}};
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        if (!sh__ir_is_word(r, statements[i].word)) continue;
        if (statements[i].in_graph) SH_TRY(need_graph(r));
        return statements[i].read(r);
    }
    if (!sh__ir_is(r, '%')) return sh__ir_expected(r, "a line of a module, tensor, graph or node");
    SH_TRY(need_graph(r));
    return sh__ir_read_node(r);
}

static sh_status end_line(sh_ir_reader *r) {
    sh__ir_drop_kept(r);
    if (r->token.kind == SH_IR_END) return SH_OK;
    return r->token.kind == SH_IR_LINE ? sh__ir_next(r) : sh__ir_expected(r, "the end of the line");
}

/* shunt-ir 1 */
static sh_status read_version(sh_ir_reader *r) {
    sh_arg version;
    if (r->token.kind == SH_IR_LINE) SH_TRY(sh__ir_next(r));
    if (!sh__ir_is_word(r, "shunt-ir")) return sh__ir_expected(r, "shunt-ir and a version");
    SH_TRY(sh__ir_next(r));
    const sh_ir_token token = r->token;
    SH_TRY(sh__ir_read_arg(r, SH_IR_MARKED, &version));
    if (version.tag != SH_ARG_INT || version.as.i < 1)
        return sh__ir_bad(r, &token, "expected the number of a version");
    if (version.as.i > SH_IR_VERSION)
        return sh__ir_bad(r, &token, "version %lld is newer than what this library reads, which is %d",
                          (long long)version.as.i, SH_IR_VERSION);
    return end_line(r);
}

static sh_status read_all(sh_ir_reader *r) {
    SH_TRY(sh__ir_next(r));
    SH_TRY(read_version(r));
    while (r->token.kind != SH_IR_END) {
        SH_TRY(read_statement(r));
        SH_TRY(end_line(r));
    }
    if (!r->root && !r->bare) return sh__ir_bad(r, &r->token, "there is neither a module nor a graph");
    return r->root ? sh_module_walk(r->root, find_unread, r) : SH_OK;
}

static sh_status read_in_c_locale(sh_ir_reader *r) {
    sh_ir_locale locale;
    SH_TRY(sh__ir_locale_begin(&locale));
    const sh_status status = read_all(r);
    sh__ir_locale_end(&locale);
    return status;
}

static void end_reader(sh_ir_reader *r) {
    sh__ir_drop_kept(r);
    sh__free(r->entries);
    sh__symbols_free(&r->tensors);
    sh__seen_free(&r->graphs);
    sh__seen_free(&r->shared);
    sh__text_drop(&r->path_text);
}

sh_status sh__ir_read(const char *text, size_t size, const char *what, sh_ir_get get, void *user,
                      sh_graph **graph, sh_module **module) {
    *graph = NULL;
    *module = NULL;
    if (sh__error_pending()) return sh_error()->code;
    if (!text) return sh_fail(SH_ERROR_NULL, "sh_graph_parse: text is NULL");
    const size_t limit =
        ((size_t)32 << 20) + 7 * size; /* the rest is the text itself and what allocators round up */
    sh_ir_reader r = {.what = what ? what : "the text",
                      .at = text,
                      .end = text + size,
                      .line_start = text,
                      .line = 1,
                      .room = limit,
                      .limit = limit,
                      .get = get,
                      .user = user};
    const sh_status status = read_in_c_locale(&r);
    end_reader(&r);
    if (status >= 0) {
        *graph = r.bare;
        *module = r.root;
        return SH_OK;
    }
    sh_graph_free(r.bare);
    sh_module_release(r.root);
    return status;
}

/* ---- without files ---- */

sh_graph *sh_graph_parse(const char *text, size_t size, const char *what) {
    sh_graph *graph;
    sh_module *module;
    if (sh__ir_read(text, size, what, NULL, NULL, &graph, &module) < 0) return NULL;
    if (module)
        sh_fail(SH_ERROR_FORMAT, "%s holds a graph module: read it by sh_graph_module_parse",
                what ? what : "the text");
    sh_module_release(module);
    return graph;
}

sh_module *sh_graph_module_parse(const char *text, size_t size, const char *what) {
    sh_graph *graph;
    sh_module *module;
    if (sh__ir_read(text, size, what, NULL, NULL, &graph, &module) < 0) return NULL;
    if (module && sh_graph_module_graph(module)) return module;
    sh_fail(SH_ERROR_FORMAT, "%s holds %s", what ? what : "the text",
            graph ? "a graph without modules: read it by sh_graph_parse" : "no graph module at its root");
    sh_graph_free(graph);
    sh_module_release(module);
    return NULL;
}
