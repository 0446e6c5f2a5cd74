/* read_module.c - lines of modules, parameters, buffers and attributes.
 *
 * A module is its type's state and nothing else: no maker runs, so none draws random numbers. It stands behind its parent.
 * A tensor comes from whoever reads, by its key; without one it has shape and dtype only. */
#include <stdio.h>
#include <string.h>

#include "dispatch/mode.h"
#include "dispatch/suggest.h"
#include "graph/ir/impl.h"

/* ---- places ---- */

static size_t depth_of(const char *path) {
    size_t depth = 0;
    for (; *path; path++) depth += *path == '.';
    return depth;
}

/* The module that holds the last part of a path, `*name`. */
static sh_status find_holder(sh_ir_reader *r, const sh_ir_token *token, const char *path, sh_module **holder,
                             const char **name) {
    const char *const dot = strrchr(path, '.');
    char *const way = sh__ir_keep(r, strlen(path) + 1);
    if (!way) return sh_error()->code;
    if (depth_of(path) > SH_IR_DEEPEST)
        return sh__ir_bad(r, token, "modules nest deeper than %d", SH_IR_DEEPEST);
    snprintf(way, strlen(path) + 1, "%.*s", dot ? (int)(dot - path) : 0, path);
    *holder = r->root ? sh_module_child(r->root, way) : NULL;
    *name = dot ? dot + 1 : path;
    if (sh__seen_holds(&r->shared, *holder))
        return sh__ir_bad(r, token, "%.200s hangs at several paths, and so is complete", way);
    if (*holder) return SH_OK;
    return sh__ir_bad(r, token, "there is no module %.200s above that could hold %.200s", way, *name);
}

/* ---- types ---- */

static sh_status read_field(sh_ir_reader *r, const sh_module_type *type, void *state, uint64_t *given) {
    const sh_ir_token token = r->token;
    const char *name;
    sh_arg value;
    size_t i = 0;
    SH_TRY(sh__ir_take_text(r, "the name of an option", &name));
    while (type->fields && type->fields[i].name && strcmp(type->fields[i].name, name) != 0) i++;
    if (!type->fields || !type->fields[i].name)
        return sh__ir_bad(r, &token, "%s has no option %.100s", type->name, name);
    if (*given >> i & 1) return sh__ir_bad(r, &token, "the option %s is given twice", name);
    *given |= UINT64_C(1) << i;
    SH_TRY(sh__ir_take(r, '=', "a = behind the option"));
    const sh_ir_token place = r->token;
    SH_TRY(sh__ir_read_arg(r, SH_IR_MARKED, &value));
    if (sh__ir_field_set(&type->fields[i], state, value)) return SH_OK;
    char kind[160];
    sh__ir_field_kind(&type->fields[i], kind, sizeof kind);
    return sh__ir_bad(r, &place, "%s: %s: expected %s", type->name, name, kind);
}

/* (name=value, ...), every field once */
static sh_status read_state(sh_ir_reader *r, const sh_module_type *type, void *state) {
    const sh_ir_token token = r->token;
    uint64_t given = 0;
    SH_TRY(sh__ir_take(r, '(', "a ( behind the type"));
    while (!sh__ir_is(r, ')')) {
        SH_TRY(read_field(r, type, state, &given));
        if (!sh__ir_is(r, ',')) break;
        SH_TRY(sh__ir_next(r));
    }
    SH_TRY(sh__ir_take(r, ')', ", or ) in the options"));
    for (size_t i = 0; type->fields && type->fields[i].name; i++)
        if (!(given >> i & 1))
            return sh__ir_bad(r, &token, "%s: the option %s is missing", type->name, type->fields[i].name);
    return sh__fields_check(type, state) < 0 ? sh__ir_at(r, &token) : SH_OK;
}

/* , training = False, name = 'conv' */
static sh_status read_rest(sh_ir_reader *r, sh_module *module) {
    while (sh__ir_is(r, ',')) {
        SH_TRY(sh__ir_next(r));
        const bool training = sh__ir_is_word(r, "training");
        sh_arg value;
        if (!training && !sh__ir_is_word(r, "name")) return sh__ir_expected(r, "training or name");
        SH_TRY(sh__ir_next(r));
        SH_TRY(sh__ir_take(r, '=', "a ="));
        const sh_ir_token place = r->token;
        SH_TRY(sh__ir_read_arg(r, SH_IR_MARKED, &value));
        if (value.tag != (training ? SH_ARG_FLAG : SH_ARG_STRING) || (!training && module->name))
            return sh__ir_bad(r, &place, "expected %s", training ? "True or False" : "one 'name'");
        if (training) module->training = value.as.i;
        if (!training && !(module->name = sh__strdup(value.as.string))) return SH_ERROR_MEMORY;
    }
    return SH_OK;
}

static sh_status new_module(sh_ir_reader *r, sh_module **module) {
    const sh_ir_token token = r->token;
    const char *name;
    SH_TRY(sh__ir_take_text(r, "the type of a module", &name));
    const sh_module_type *type = sh_module_type_find(name);
    if (!type)
        return sh__ir_bad(r, &token,
                          "there is no type of modules %.100s: register it by sh_module_type_register", name);
    SH_TRY(sh__ir_charge(r, sizeof **module + type->state_size));
    *module = type == &sh__graph_module_type ? sh__graph_module_empty() : sh_module_new(type);
    return *module ? SH_OK : sh_error()->code;
}

/* ---- modules ---- */

/* Takes the reference over. */
static sh_status hang(sh_ir_reader *r, const sh_ir_token *token, const char *path, sh_module *module) {
    sh_module *holder;
    const char *name;
    sh_status status = find_holder(r, token, path, &holder, &name);
    if (status >= 0 && sh__slot_named(&holder->children, name, strlen(name)))
        status = sh__ir_bad(r, token, "there is a module %.200s already", path);
    if (status < 0) {
        sh_module_release(module);
        return status;
    }
    return sh_module_give(holder, name, module) ? SH_OK : sh__ir_at(r, token);
}

/* A few lines could hang modules in each other so that there are more paths than anybody could walk, or a longer one. */
static sh_status count_paths(sh_ir_reader *r, const sh_ir_token *token, const sh_module *module,
                             size_t depth) {
    if (++r->paths > SH_IR_MOST_PATHS)
        return sh__ir_bad(r, token, "modules hang at more than %d paths", SH_IR_MOST_PATHS);
    if (depth > SH_IR_DEEPEST) return sh__ir_bad(r, token, "modules nest deeper than %d", SH_IR_DEEPEST);
    sh__seen_first(&r->shared, module);
    if (sh__error_pending()) return sh_error()->code;
    for (uint32_t i = 0; i < module->children.n; i++)
        SH_TRY(count_paths(r, token, module->children.at[i].object, depth + 1));
    return SH_OK;
}

static sh_status read_alias(sh_ir_reader *r, const sh_ir_token *token, const char *path) {
    const sh_ir_token place = r->token;
    const char *first;
    SH_TRY(sh__ir_take_text(r, "the path of a module", &first));
    sh_module *module = r->root ? sh_module_child(r->root, first) : NULL;
    if (!module) return sh__ir_bad(r, &place, "there is no module %.200s above", first);
    SH_TRY(hang(r, token, path, sh_module_keep(module)));
    return count_paths(r, token, module, depth_of(path));
}

static sh_status read_new(sh_ir_reader *r, const sh_ir_token *token, const char *path) {
    sh_module *module;
    SH_TRY(new_module(r, &module));
    sh_status status = read_state(r, module->type, module->state);
    if (status >= 0) status = read_rest(r, module);
    if (status >= 0 && *path) return hang(r, token, path, module);
    if (status >= 0 && r->root) status = sh__ir_bad(r, token, "there is a root module already");
    if (status < 0)
        sh_module_release(module);
    else
        r->root = module;
    return status;
}

/* module PATH : Type(...)   module PATH = PATH */
sh_status sh__ir_read_module(sh_ir_reader *r) {
    SH_TRY(sh__ir_next(r));
    const sh_ir_token token = r->token;
    const char *path = "";
    if (r->graph) return sh__ir_bad(r, &token, "modules stand before graphs");
    if (!sh__ir_is(r, ':')) SH_TRY(sh__ir_take_text(r, "the path of a module", &path));
    SH_TRY(sh__ir_charge(r, sizeof(sh_slot_entry) * 2 + 64));
    if (sh__ir_is(r, '=')) {
        SH_TRY(sh__ir_next(r));
        return read_alias(r, &token, path);
    }
    SH_TRY(sh__ir_take(r, ':', ": or = behind the path"));
    return read_new(r, &token, path);
}

/* ---- tensors ---- */

static sh_tensor *without_data(const sh_spec *spec) {
    return sh_tensor_new_on(SH_META, spec->dtype, (sh_ints){spec->sizes, (size_t)spec->ndim});
}

/* The same elements in other places. */
static sh_tensor *laid_out(sh_tensor *t, const int64_t *strides) {
    const sh_ints sizes = {sh_tensor_sizes(t), (size_t)sh_tensor_ndim(t)};
    sh_tensor *base = sh_tensor_new_on(sh_tensor_device(t), sh_tensor_dtype(t), SH_SIZES(sh_tensor_numel(t)));
    sh_tensor *view = base ? sh_tensor_as_strided(base, sizes, (sh_ints){strides, sizes.n}, 0) : NULL;
    if (!view || sh_tensor_device(t) == SH_META) return view;
    sh_switch off;
    sh_switch_off(&off, SH_OFF_ALL);
    sh_tensor *filled = sh_call_op("copy_", view, t);
    sh_switch_end(&off);
    return filled;
}

/* , strides = (1, 3) */
static sh_status read_strides(sh_ir_reader *r, const sh_spec *spec, sh_tensor **tensor) {
    sh_arg list;
    int64_t strides[SH_MAX_DIMS];
    SH_TRY(sh__ir_next(r));
    SH_TRY(sh__ir_take_word(r, "strides"));
    SH_TRY(sh__ir_take(r, '=', "a ="));
    const sh_ir_token place = r->token;
    SH_TRY(sh__ir_read_arg(r, SH_IR_MARKED, &list));
    bool fits = sh_arg_is_list(list) && list.count == (uint32_t)spec->ndim;
    for (uint32_t i = 0; fits && i < list.count; i++) {
        fits = list.as.list[i].tag == SH_ARG_INT;
        strides[i] = list.as.list[i].as.i;
    }
    if (!fits || !sh__ir_is_dense(spec->sizes, strides, spec->ndim))
        return sh__ir_bad(r, &place, "these are no strides of a tensor without gaps");
    *tensor = laid_out(*tensor, strides);
    return *tensor ? SH_OK : sh_error()->code;
}

static sh_status read_fresh(sh_ir_reader *r, const char *key, sh_tensor **tensor) {
    const sh_ir_token place = r->token;
    sh_spec spec;
    sh_symbol *symbol = sh__symbol(&r->tensors, key, strlen(key));
    if (!symbol) return sh_error()->code;
    SH_TRY(sh__ir_charge(r, 512));
    SH_TRY(sh__ir_read_spec(r, false, &spec));
    *tensor = r->get ? r->get(r->user, key, &spec) : without_data(&spec);
    if (!*tensor) return sh__ir_at(r, &place);
    if (sh__ir_is(r, ',')) SH_TRY(read_strides(r, &spec, tensor));
    symbol->object = *tensor;
    return SH_OK;
}

static sh_status read_known(sh_ir_reader *r, sh_tensor **tensor) {
    const sh_ir_token place = r->token;
    const char *key;
    SH_TRY(sh__ir_take_text(r, "the name of a tensor", &key));
    const sh_symbol *symbol = sh__symbol_find(&r->tensors, key, strlen(key));
    if (!symbol || !symbol->object) return sh__ir_bad(r, &place, "there is no tensor %.200s above", key);
    *tensor = symbol->object;
    return SH_OK;
}

/* The key of what the line at hand names; an error if there is such a tensor already. */
static sh_status find_key(sh_ir_reader *r, const sh_ir_token *token, const char *name, bool attribute,
                          const char **key) {
    *key = name;
    if (attribute) {
        const char *const path = r->root ? r->path : NULL;
        sh_text text = {0};
        sh__ir_put_key(&text, path, name);
        char *copy = text.failed ? NULL : sh__ir_keep(r, text.length + 1);
        if (copy) memcpy(copy, text.at, text.length + 1);
        sh__text_drop(&text);
        if (!copy) return sh_error()->code;
        *key = copy;
    }
    const bool taken = attribute && sh_graph_attr(r->graph, name);
    return taken ? sh__ir_bad(r, token, "there is an attribute %.200s already", name) : SH_OK;
}

static sh_status set_tensor(sh_ir_reader *r, const sh_ir_token *token, const char *name, bool parameter,
                            sh_tensor *tensor) {
    sh_module *holder;
    const char *last;
    SH_TRY(find_holder(r, token, name, &holder, &last));
    if (sh__module_tensor(holder, last, SH_PARAMETERS | SH_BUFFERS))
        return sh__ir_bad(r, token, "there is a tensor %.200s already", name);
    const sh_status status = parameter ? sh_module_set_parameter(holder, last, tensor)
                                       : sh_module_set_buffer(holder, last, tensor);
    return status < 0 ? sh__ir_at(r, token) : SH_OK;
}

/* parameter PATH : f32[3, 4], strides = (1, 3)   buffer PATH = PATH   attr NAME : i64[] */
static sh_status read_line(sh_ir_reader *r) {
    const bool parameter = sh__ir_is_word(r, "parameter"), attribute = sh__ir_is_word(r, "attr");
    SH_TRY(sh__ir_next(r));
    const sh_ir_token token = r->token;
    const char *name, *key;
    sh_tensor *tensor = NULL;
    if (attribute != (r->graph != NULL))
        return sh__ir_bad(
            r, &token, attribute ? "attr stands in a graph" : "parameters and buffers stand before graphs");
    SH_TRY(sh__ir_take_text(r, "the name of a tensor", &name));
    SH_TRY(find_key(r, &token, name, attribute, &key));
    const bool known = sh__ir_is(r, '=');
    if (!known && !sh__ir_is(r, ':')) return sh__ir_expected(r, ": or = behind the name");
    SH_TRY(sh__ir_next(r));
    SH_TRY(known ? read_known(r, &tensor) : read_fresh(r, key, &tensor));
    return attribute ? sh_graph_set_attr(r->graph, name, tensor)
                     : set_tensor(r, &token, name, parameter, tensor);
}

sh_status sh__ir_read_tensor(sh_ir_reader *r) {
    sh_status status;
    SH_SCOPE status = read_line(r);
    return status;
}
