/* write.c - a graph as text, and the text as a whole. */
#include <string.h>

#include "graph/graph_impl.h"
#include "graph/ir/impl.h"
#include "graph/module/graph_module.h"

/* ---- nodes ---- */

/* The one node that `return` can stand for. */
static bool is_plain_output(const sh_node *node) {
    return node->opcode == SH_OUTPUT && node->args.n == 1 && !node->kwargs.n && !node->type &&
           strcmp(node->target, "output") == 0 && strcmp(node->name->text, "output") == 0;
}

static void put_arguments(sh_text *out, const sh_node *node) {
    if (node->opcode == SH_PLACEHOLDER && node->args.n == 1 && !node->kwargs.n) {
        sh__text_put(out, "(default=");
        sh__print_arg(out, node->args.at[0], SH_STYLE_IR);
        sh__text_put(out, ")");
        return;
    }
    const bool bare = node->opcode == SH_PLACEHOLDER || node->opcode == SH_GET_ATTR;
    if (bare && !node->args.n && !node->kwargs.n) return;
    sh__text_put(out, "(args = ");
    sh__print_args(out, node->args, SH_STYLE_IR);
    sh__text_put(out, ", kwargs = ");
    sh__print_kwargs(out, node->kwargs, SH_STYLE_IR);
    sh__text_put(out, ")");
}

static void put_head(sh_text *out, const sh_node *node) {
    sh__text_put(out, "%%%s : ", node->name->text);
    if (node->type) {
        sh__print_word(out, node->type);
        sh__text_put(out, " ");
    }
    sh__text_put(out, "[num_users=%u] = %s[target=", node->nusers, sh_opcode_text(node->opcode));
    sh__print_word(out, node->target);
    sh__text_put(out, "]");
    put_arguments(out, node);
}

/* ---- what is known about them ---- */

static sh_arg meta_arg(sh_meta meta) {
    return meta.kind == SH_META_INT     ? sh_arg_int(meta.as.i)
           : meta.kind == SH_META_FLOAT ? sh_arg_float(meta.as.f)
                                        : sh_arg_string(meta.as.string);
}

static void put_key(sh_text *out, size_t *n, const char *key, sh_arg value) {
    sh__text_put(out, (*n)++ ? ", " : ", meta = {");
    sh__print_word(out, key);
    sh__text_put(out, ": ");
    sh__print_arg(out, value, SH_STYLE_IR);
}

/* An address means nothing elsewhere: the place in the source that it stands for becomes a key, under torch.fx's name. */
static void put_meta(sh_text *out, const sh_node *node) {
    static const char trace[] = "stack_trace";
    const char *key;
    size_t n = 0;
    for (size_t i = 0; (key = sh_node_meta_key(node, i)) != NULL; i++) {
        const sh_meta meta = sh_node_meta(node, key);
        if (meta.kind != SH_META_POINTER) put_key(out, &n, key, meta_arg(meta));
    }
    char place[256] = "";
    if (sh_node_meta(node, trace).kind == SH_META_NONE) sh__node_place(node, place, sizeof place);
    if (*place) put_key(out, &n, trace, sh_arg_string(place));
    if (n) sh__text_put(out, "}");
}

static void put_knowledge(sh_text *out, const sh_node *node) {
    if (node->has_spec) {
        sh__text_put(out, ", tensor = ");
        sh__print_spec(out, &node->spec);
    }
    if (*node->scope) {
        sh__text_put(out, ", scope = ");
        sh__print_string(out, node->scope);
    }
    put_meta(out, node);
}

static void put_node(sh_text *out, const sh_node *node) {
    sh__text_put(out, "    ");
    if (is_plain_output(node)) {
        sh__text_put(out, "return ");
        sh__print_arg(out, node->args.at[0], SH_STYLE_IR_RETURN);
    } else {
        put_head(out, node);
    }
    put_knowledge(out, node);
    sh__text_put(out, "\n");
}

/* ---- tensors ---- */

static void put_layout(sh_text *out, const sh_tensor *t) {
    const int64_t *const strides = sh_tensor_strides(t);
    const int ndim = sh_tensor_ndim(t);
    sh_spec spec = {.dtype = sh_tensor_dtype(t), .ndim = ndim};
    memcpy(spec.sizes, sh_tensor_sizes(t), (size_t)ndim * sizeof *spec.sizes);
    sh__print_spec(out, &spec);
    if (sh_tensor_is_contiguous(t) || !sh__ir_is_dense(sh_tensor_sizes(t), strides, ndim)) return;
    sh_arg list[SH_MAX_DIMS];
    for (int i = 0; i < ndim; i++) list[i] = sh_arg_int(strides[i]);
    sh__text_put(out, ", strides = ");
    sh__print_arg(out, sh_arg_tuple((sh_args){list, (size_t)ndim}), SH_STYLE_IR);
}

sh_status sh__ir_write_tensor(sh_ir_writer *w, const char *kind, const char *name, const char *key,
                              sh_tensor *tensor) {
    const char *first = sh__path_of(&w->tensors, tensor);
    sh__text_put(&w->out, "%s ", kind);
    sh__print_word(&w->out, name);
    if (first) {
        sh__text_put(&w->out, " = ");
        sh__print_word(&w->out, first);
    } else {
        sh__text_put(&w->out, " : ");
        put_layout(&w->out, tensor);
        SH_TRY(sh__paths_add(&w->tensors, tensor, key));
        if (w->put) SH_TRY(w->put(w->user, key, tensor));
    }
    sh__text_put(&w->out, "\n");
    return w->out.failed ? SH_ERROR_MEMORY : SH_OK;
}

/* ---- graphs ---- */

static sh_status write_attributes(sh_ir_writer *w, const sh_graph *graph, const char *path) {
    for (size_t i = 0; i < sh_graph_attr_count(graph); i++) {
        const char *name = sh_graph_attr_name(graph, i);
        sh__text_cut(&w->key, 0);
        sh__ir_put_key(&w->key, path, name);
        if (w->key.failed) return SH_ERROR_MEMORY;
        SH_TRY(sh__ir_write_tensor(w, "    attr", name, w->key.at, sh_graph_attr(graph, name)));
    }
    return SH_OK;
}

sh_status sh__ir_write_graph(sh_ir_writer *w, const sh_graph *graph, const char *path) {
    sh__text_put(&w->out, "\ngraph");
    if (path && *path) {
        sh__text_put(&w->out, " ");
        sh__print_word(&w->out, path);
    }
    sh__text_put(&w->out, "():\n");
    SH_TRY(write_attributes(w, graph, path));
    for (const sh_node *node = sh_graph_first(graph); node; node = sh_node_next(node))
        put_node(&w->out, node);
    return w->out.failed ? SH_ERROR_MEMORY : SH_OK;
}

/* ---- all of it ---- */

static sh_status write_all(sh_ir_writer *w, const sh_graph *graph, sh_module *module) {
    sh_ir_locale locale;
    SH_TRY(sh__ir_locale_begin(&locale));
    sh__text_put(&w->out, "shunt-ir %d\n", SH_IR_VERSION);
    const sh_status status = module ? sh__ir_write_module(w, module) : sh__ir_write_graph(w, graph, NULL);
    sh__ir_locale_end(&locale);
    return status;
}

char *sh__ir_write(const sh_graph *graph, sh_module *module, sh_ir_put put, void *user) {
    if (sh__error_pending()) return NULL;
    sh_ir_writer w = {.put = put, .user = user};
    if (write_all(&w, graph, module) < 0) w.out.failed = true;
    sh__text_drop(&w.key);
    sh__paths_free(&w.tensors);
    return sh__text_take(&w.out);
}

char *sh_graph_ir(const sh_graph *graph) {
    if (graph) return sh__ir_write(graph, NULL, NULL, NULL);
    sh_fail(SH_ERROR_NULL, "sh_graph_ir: graph is NULL");
    return NULL;
}

char *sh_graph_module_ir(sh_module *module) {
    if (module && sh_graph_module_graph(module)) return sh__ir_write(NULL, module, NULL, NULL);
    sh_fail(module ? SH_ERROR_TYPE : SH_ERROR_NULL, "sh_graph_module_ir: %s",
            module ? "no graph module: trace it first" : "module is NULL");
    return NULL;
}
