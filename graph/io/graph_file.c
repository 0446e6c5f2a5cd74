/* graph_file.c - the text and the tensors beside it, in a folder or an archive.
 *
 * What is saved is gathered first: the text, and a dict of the tensors in it. Both files of a folder are written
 * beside the old ones before the first takes its place. What is loaded goes
 * straight into its tensors, then the text asks for them. */
#include "graph/io/graph_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dispatch/memory_impl.h"
#include "dispatch/mode.h"
#include "graph/ir/text.h"
#include "graph/module/graph_module.h"
#include "ops/io/archive.h"
#include "ops/io/file.h"
#include "ops/io/safetensors.h"

static const char text_name[] = "graph.txt", weights_name[] = "weights.safetensors";

/* ---- what is saved ---- */

typedef struct content {
    char *text;
    sh_dict *tensors;
} content;

static void free_content(content *c) {
    free(c->text);
    sh_dict_free(c->tensors);
}

static sh_status gather(void *user, const char *key, sh_tensor *tensor) {
    return sh_dict_set(user, key, tensor);
}

static sh_status make_content(content *c, const sh_graph *graph, sh_module *module) {
    *c = (content){.tensors = sh_dict_new()};
    if (c->tensors) c->text = sh__ir_write(graph, module, gather, c->tensors);
    if (c->text) return SH_OK;
    free_content(c);
    return sh_error()->code;
}

/* ---- one file ---- */

/* Counts what goes through, or keeps it. */
typedef struct memory {
    char *bytes; /* NULL: only count */
    size_t n;
} memory;

static sh_status to_memory(void *user, const void *bytes, size_t n) {
    memory *m = user;
    if (m->bytes && n) memcpy(m->bytes + m->n, bytes, n);
    m->n += n;
    return SH_OK;
}

static sh_status add_weights(sh_archive_out *out, const sh_dict *tensors) {
    memory m = {NULL, 0};
    const sh_sink sink = {to_memory, &m};
    SH_TRY(sh__safetensors_write(&sink, tensors));
    m = (memory){malloc(m.n), 0};
    if (!m.bytes) return sh_fail(SH_ERROR_MEMORY, "out of memory for the weights");
    const sh_status status = sh__safetensors_write(&sink, tensors);
    if (status >= 0) return sh__archive_add(out, weights_name, m.bytes, m.n);
    free(m.bytes);
    return status;
}

static sh_status write_file(content *c, const char *path) {
    sh_archive_out out;
    SH_TRY(sh__archive_begin(&out, path));
    sh_status status = sh__archive_add(&out, text_name, c->text, strlen(c->text));
    c->text = NULL;
    if (status >= 0) status = add_weights(&out, c->tensors);
    return sh__archive_end(&out, status);
}

/* ---- a folder ---- */

/* folder/name; for sh__free. */
static char *path_in(const char *folder, const char *name) {
    const size_t size = strlen(folder) + strlen(name) + 2;
    char *path = sh__alloc(size);
    if (path) snprintf(path, size, "%s/%s", folder, name);
    return path;
}

static sh_status begin_in(sh_file_out *out, const char *folder, const char *name) {
    char *path = path_in(folder, name);
    *out = (sh_file_out){NULL, NULL, -1};
    const sh_status status = path ? sh_file_begin(out, path) : SH_ERROR_MEMORY;
    sh__free(path);
    return status;
}

static sh_status write_folder(content *c, const char *folder) {
    sh_file_out text, weights = {NULL, NULL, -1};
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return sh_fail(SH_ERROR_FILE, "can't make the folder %s: %s", folder, strerror(errno));
    sh_status status = begin_in(&text, folder, text_name);
    if (status >= 0) status = sh_file_write(&text, c->text, strlen(c->text));
    if (status >= 0) status = begin_in(&weights, folder, weights_name);
    if (status >= 0) status = sh__safetensors_write(&(sh_sink){sh_file_sink, &weights}, c->tensors);
    status = sh_file_end(&weights, status);
    return sh_file_end(&text, status);
}

/* ---- saving ---- */

static sh_status check_graph(const char *path, sh_module *module, void *user) {
    const sh_graph *graph = sh_graph_module_graph(module);
    (void)path;
    (void)user;
    return graph ? sh_graph_lint(graph) : SH_OK;
}

static sh_status save(const sh_graph *graph, sh_module *module, const char *path,
                      sh_status (*write)(content *c, const char *path)) {
    content c;
    if (!path) return sh_fail(SH_ERROR_NULL, "a graph is saved, and the path is NULL");
    SH_TRY(make_content(&c, graph, module));
    sh_switch off;
    sh_switch_off(&off, SH_OFF_ALL);
    const sh_status status = write(&c, path);
    sh_switch_end(&off);
    free_content(&c);
    return status;
}

static sh_status save_module(sh_module *module, const char *path,
                             sh_status (*write)(content *c, const char *path)) {
    if (sh_error()) return sh_error()->code;
    if (!module) return sh_fail(SH_ERROR_NULL, "sh_graph_module_save: module is NULL");
    if (!sh_graph_module_graph(module))
        return sh_fail(SH_ERROR_TYPE, "sh_graph_module_save: %s is no graph module: trace it first",
                       sh_module_type_of(module)->name);
    SH_TRY(sh_module_walk(module, check_graph, NULL));
    return save(NULL, module, path, write);
}

static sh_status save_graph(const sh_graph *graph, const char *path,
                            sh_status (*write)(content *c, const char *path)) {
    if (sh_error()) return sh_error()->code;
    if (!graph) return sh_fail(SH_ERROR_NULL, "sh_graph_save: graph is NULL");
    for (const sh_node *node = sh_graph_first(graph); node; node = sh_node_next(node)) {
        const sh_opcode opcode = sh_node_opcode(node);
        if (opcode == SH_CALL_MODULE ||
            (opcode == SH_GET_ATTR && !sh_graph_attr(graph, sh_node_target(node))))
            return sh_fail(SH_ERROR_VALUE,
                           "node %%%s needs %s, which the graph doesn't own: make a graph module "
                           "(sh_graph_module_new) and save that",
                           sh_node_name(node), sh_node_target(node));
    }
    SH_TRY(sh_graph_lint(graph));
    return save(graph, NULL, path, write);
}

sh_status sh_graph_module_save(sh_module *module, const char *path) {
    return save_module(module, path, write_file);
}
sh_status sh_graph_module_to_folder(sh_module *module, const char *folder) {
    return save_module(module, folder, write_folder);
}
sh_status sh_graph_save(const sh_graph *graph, const char *path) {
    return save_graph(graph, path, write_file);
}
sh_status sh_graph_to_folder(const sh_graph *graph, const char *folder) {
    return save_graph(graph, folder, write_folder);
}

/* ---- loading ---- */

typedef struct loading {
    const char *path;
    char *what; /* the text's name in errors */
    void *text;
    size_t size;
    sh_dict *tensors;
    size_t used;
} loading;

static bool fits(const sh_tensor *t, const sh_spec *spec) {
    bool same = sh_tensor_dtype(t) == spec->dtype && sh_tensor_ndim(t) == spec->ndim;
    for (int i = 0; same && i < spec->ndim; i++) same = sh_tensor_sizes(t)[i] == spec->sizes[i];
    return same;
}

static void print_kind(char *text, size_t size, sh_dtype dtype, const int64_t *sizes, int ndim) {
    size_t n = (size_t)snprintf(text, size, "%s[", sh_dtype_name(dtype));
    for (int i = 0; i < ndim && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, i ? ", %lld" : "%lld", (long long)sizes[i]);
    if (n < size) snprintf(text + n, size - n, "]");
}

/* The text has each key once, so what was counted was used. */
static sh_tensor *find_tensor(void *user, const char *key, const sh_spec *spec) {
    loading *l = user;
    sh_tensor *t = sh_dict_find(l->tensors, key);
    if (t && fits(t, spec)) {
        l->used++;
        return t;
    }
    char got[240] = "nothing", expected[240];
    if (t) print_kind(got, sizeof got, sh_tensor_dtype(t), sh_tensor_sizes(t), sh_tensor_ndim(t));
    print_kind(expected, sizeof expected, spec->dtype, spec->sizes, spec->ndim);
    sh_fail(SH_ERROR_FORMAT, "%s of %s: got %s for %.200s, expected %s", weights_name, l->path, got, key,
            expected);
    return NULL;
}

static sh_status check_all_used(const loading *l) {
    const size_t n = sh_dict_size(l->tensors);
    return l->used == n ? SH_OK
                        : sh_fail(SH_ERROR_FORMAT, "%s of %s: %zu of %zu tensors are not in %s", weights_name,
                                  l->path, n - l->used, n, text_name);
}

static sh_status load_folder(loading *l) {
    char *text = path_in(l->path, text_name), *weights = path_in(l->path, weights_name);
    sh_status status = text && weights ? sh_file_read(text, &l->text, &l->size) : SH_ERROR_MEMORY;
    if (status >= 0) status = sh_load_safetensors(weights, &l->tensors);
    l->what = text;
    sh__free(weights);
    return status;
}

static sh_status enter(sh_archive *archive, const char *name, sh_archive_entry *entry) {
    zip_stat_t info;
    if (zip_stat(archive->zip, name, 0, &info) != 0)
        return sh_fail(SH_ERROR_FORMAT, "%s holds no saved graph: it has no entry %s", archive->what, name);
    return sh__archive_enter(archive, &info, name, entry);
}

static sh_status read_text(loading *l, sh_archive *archive) {
    sh_archive_entry entry;
    SH_TRY(enter(archive, text_name, &entry));
    l->size = entry.size;
    l->text = sh__alloc(entry.size + 1);
    return sh__archive_leave(&entry,
                             l->text ? sh__archive_fill(&entry, l->text, entry.size) : SH_ERROR_MEMORY);
}

static sh_status read_weights(loading *l, sh_archive *archive) {
    sh_archive_entry entry;
    SH_TRY(enter(archive, weights_name, &entry));
    sh_source source = sh__archive_source(&entry);
    source.what = l->path;
    return sh__archive_leave(&entry, sh__safetensors_read(&source, &l->tensors));
}

static sh_status load_archive(loading *l) {
    sh_archive archive;
    sh_file_in in;
    SH_TRY(sh_file_open(&in, l->path));
    sh_status status = sh__archive_open(&archive, &(sh_zip_bytes){NULL, &in, in.size, l->path});
    if (status >= 0) {
        status = read_text(l, &archive);
        if (status >= 0) status = read_weights(l, &archive);
        sh__archive_close(&archive);
    }
    sh_file_close(&in);
    return status;
}

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static sh_status load(const char *path, sh_graph **graph, sh_module **module) {
    loading l = {.path = path};
    sh_status status;
    *graph = NULL;
    *module = NULL;
    if (sh_error()) return sh_error()->code;
    if (!path) return sh_fail(SH_ERROR_NULL, "a graph is loaded, and the path is NULL");
    SH_SCOPE {
        status = is_folder(path) ? load_folder(&l) : load_archive(&l);
        if (status >= 0)
            status = sh__ir_read(l.text, l.size, l.what ? l.what : path, find_tensor, &l, graph, module);
        if (status >= 0) status = check_all_used(&l);
    }
    sh__free(l.what);
    sh__free(l.text);
    sh_dict_free(l.tensors);
    if (status >= 0) return SH_OK;
    sh_graph_free(*graph);
    sh_module_release(*module);
    return status;
}

sh_module *sh_graph_module_load(const char *path) {
    sh_graph *graph;
    sh_module *module;
    if (load(path, &graph, &module) < 0) return NULL;
    if (module && sh_graph_module_graph(module)) return module;
    sh_fail(SH_ERROR_FORMAT, "%s holds %s", path,
            graph ? "a graph without modules: load it by sh_graph_load" : "no graph module at its root");
    sh_graph_free(graph);
    sh_module_release(module);
    return NULL;
}

sh_graph *sh_graph_load(const char *path) {
    sh_graph *graph;
    sh_module *module;
    if (load(path, &graph, &module) < 0) return NULL;
    if (graph) return graph;
    const sh_graph *own = sh_graph_module_graph(module);
    if (own)
        graph = sh_graph_clone(own);
    else
        sh_fail(SH_ERROR_FORMAT, "%s holds no graph module at its root", path);
    sh_module_release(module);
    return graph;
}

bool sh_graph_file_is(const char *path) {
    char magic[4] = "", text[4096];
    if (!path) return false;
    if (is_folder(path))
        return (size_t)snprintf(text, sizeof text, "%s/%s", path, text_name) < sizeof text &&
               access(text, F_OK) == 0;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    const bool is = file >= 0 && read(file, magic, sizeof magic) == 4 && memcmp(magic, "PK\3\4", 4) == 0;
    if (file >= 0) close(file);
    return is;
}
