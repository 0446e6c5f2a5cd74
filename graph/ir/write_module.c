/* write_module.c - the tree of modules, a parent before its children; each module and tensor once, then by its first path. */
#include <string.h>

#include "graph/ir/impl.h"
#include "graph/module/graph_module.h"

/* ---- can it be made anew? ---- */

static sh_status check_type(const sh_module *module, const char *path) {
    const sh_module_type *type = module->type, *known = sh_module_type_find(type->name);
    static const char way_out[] = "or trace through it (is_leaf of sh_symbolic_trace)";
    if (!known)
        return sh_fail(SH_ERROR_UNSUPPORTED,
                       "module %s is a %s, a type that isn't known by name: call sh_module_type_register, %s",
                       path, type->name, way_out);
    if (known != type)
        return sh_fail(SH_ERROR_UNSUPPORTED, "module %s is a %s, and another type is known by that name",
                       path, type->name);
    if (type->state_size && !type->fields && type != &sh__graph_module_type)
        return sh_fail(SH_ERROR_UNSUPPORTED,
                       "module %s is a %s, which has state that its type says nothing of: give it fields, %s",
                       path, type->name, way_out);
    return SH_OK;
}

/* ---- its line ---- */

static sh_status put_state(sh_text *out, const sh_module *module) {
    const sh_module_field *field = module->type->fields;
    sh__text_put(out, "(");
    for (size_t i = 0; field && field->name; field++, i++) {
        sh_arg *room = sh__alloc((field->count + 1) * sizeof *room);
        if (!room) return SH_ERROR_MEMORY;
        sh__text_put(out, i ? ", %s=" : "%s=", field->name);
        sh__print_arg(out, sh__ir_field_arg(field, module->state, room), SH_STYLE_IR);
        sh__free(room);
    }
    sh__text_put(out, ")");
    return SH_OK;
}

/* The name that its calls show is that of its place, unless it was another's first. */
static void put_rest(sh_text *out, const sh_module *module, const char *path) {
    const char *const dot = strrchr(path, '.'), *const last = dot ? dot + 1 : path;
    if (!module->training) sh__text_put(out, ", training = False");
    if (module->name && strcmp(module->name, last) != 0) {
        sh__text_put(out, ", name = ");
        sh__print_string(out, module->name);
    }
    sh__text_put(out, "\n");
}

static void put_path(sh_text *out, const char *path) {
    sh__text_put(out, "module ");
    if (*path) sh__print_word(out, path);
    if (*path) sh__text_put(out, " ");
}

/* ---- the tree ---- */

typedef struct walk {
    sh_ir_writer *w;
    sh_paths first; /* of modules */
    sh_text path;
} walk;

static sh_status go_into(walk *t, const char *name) {
    if (t->path.length) sh__text_add(&t->path, ".", 1);
    sh__text_add(&t->path, name, strlen(name));
    return t->path.failed ? SH_ERROR_MEMORY : SH_OK;
}

static sh_status write_slots(walk *t, const char *kind, const sh_slots *slots) {
    const size_t length = t->path.length;
    for (uint32_t i = 0; i < slots->n; i++) {
        SH_TRY(go_into(t, slots->at[i].name));
        SH_TRY(sh__ir_write_tensor(t->w, kind, t->path.at, t->path.at, slots->at[i].object));
        sh__text_cut(&t->path, length);
    }
    return SH_OK;
}

static sh_status write_tree(walk *t, const sh_module *module) {
    const char *const path = t->path.length ? t->path.at : "", *const first = sh__path_of(&t->first, module);
    const size_t length = t->path.length;
    put_path(&t->w->out, path);
    if (first && strcmp(first, path) != 0) {
        sh__text_put(&t->w->out, "= ");
        sh__print_word(&t->w->out, first);
        sh__text_put(&t->w->out, "\n");
        return SH_OK;
    }
    SH_TRY(check_type(module, *path ? path : "at the root"));
    sh__text_put(&t->w->out, ": ");
    sh__print_word(&t->w->out, module->type->name);
    SH_TRY(put_state(&t->w->out, module));
    put_rest(&t->w->out, module, path);
    SH_TRY(write_slots(t, "parameter", &module->parameters));
    SH_TRY(write_slots(t, "buffer", &module->buffers));
    for (uint32_t i = 0; i < module->children.n; i++) {
        SH_TRY(go_into(t, module->children.at[i].name));
        SH_TRY(write_tree(t, module->children.at[i].object));
        sh__text_cut(&t->path, length);
    }
    return SH_OK;
}

static sh_status write_graph(const char *path, sh_module *module, void *user) {
    const sh_graph *graph = sh_graph_module_graph(module);
    return graph ? sh__ir_write_graph(user, graph, path) : SH_OK;
}

sh_status sh__ir_write_module(sh_ir_writer *w, sh_module *root) {
    walk t = {.w = w};
    sh__text_put(&w->out, "\n");
    sh_status status = sh__paths_of_modules(&t.first, root);
    if (status >= 0) status = write_tree(&t, root);
    sh__paths_free(&t.first);
    sh__text_drop(&t.path);
    return status < 0 ? status : sh_module_walk(root, write_graph, w);
}
