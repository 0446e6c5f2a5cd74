/* graph_module.c - modules whose forward is a graph.
 *
 * The module owns the graph, and the graph looks its targets up in the module: that way back holds no reference. */
#include "graph/module/graph_module.h"

#include <string.h>

#include "graph/given.h"
#include "graph/interpreter.h"
#include "graph/module/nn_types.h"
#include "graph/module/tracing.h"
#include "graph/root.h"

typedef struct graph_state {
    sh_graph *graph;
    sh_graph_runner runner;
} graph_state;

/* ---- a graph's way to its modules ---- */

/* Positional inputs, then those by name, in the order of the type's names. */
static sh_status place_inputs(const sh_module *module, sh_arguments args, sh_value *inputs, size_t *n) {
    if (args.n > SH_MAX_ARGS)
        return sh_fail(SH_ERROR_ARGUMENT, "%s: %zu inputs, the most is %d", module->type->name, args.n,
                       SH_MAX_ARGS);
    *n = args.n;
    for (size_t i = 0; i < args.n; i++) {
        const char *name = args.at[i].name, *const *known = module->type->inputs;
        size_t place = name ? 0 : i;
        while (name && known && known[place] && strcmp(known[place], name) != 0) place++;
        if (name && (!known || !known[place] || place >= args.n))
            return sh_fail(SH_ERROR_ARGUMENT, "%s takes no input %s", module->type->name, name);
        inputs[place] = args.at[i].value;
    }
    return SH_OK;
}

static sh_status run_submodule(void *object, const char *path, sh_arguments args, bool shapes_only,
                               sh_value *result) {
    sh_module *module = sh_module_child(object, path);
    sh_value inputs[SH_MAX_ARGS] = {{0}};
    size_t n = 0;
    if (!module) return sh_fail(SH_ERROR_VALUE, "the graph's module has no submodule %s", path);
    SH_TRY(place_inputs(module, args, inputs, &n));
    const sh_values given = {inputs, n};
    *result = shapes_only && module->type->infer && !module->nhooks ? sh__module_infer(module, given)
                                                                    : sh__module_call_at(module, given, NULL);
    return sh__error_pending() ? sh_error()->code : SH_OK;
}

static sh_status call_submodule(void *object, const char *path, sh_arguments args, sh_value *result) {
    return run_submodule(object, path, args, false, result);
}

static sh_status infer_submodule(void *object, const char *path, sh_arguments args, sh_value *result) {
    return run_submodule(object, path, args, true, result);
}

static sh_tensor *find_tensor(void *object, const char *path) {
    return sh__module_tensor(object, path, SH_PARAMETERS | SH_BUFFERS);
}

static bool has_submodule(void *object, const char *path) { return sh_module_child(object, path) != NULL; }

static sh_status note_impure(sh_module *module, void *user) {
    bool *impure = user;
    if (module->type->is_impure && module->type->is_impure(module)) *impure = true;
    return SH_OK;
}

static bool is_impure(void *object, const char *path) {
    sh_module *module = sh_module_child(object, path);
    bool impure = false;
    if (module && !module->children.n) return module->type->is_impure && module->type->is_impure(module);
    if (module && sh_module_apply(module, note_impure, &impure) < 0) return true;
    return impure;
}

/* A hook may give anything back. */
static bool is_fresh(void *object, const char *path) {
    const sh_module *module = sh_module_child(object, path);
    if (!module || module->nhooks || !sh__nn_is_built_in(module->type)) return false;
    for (const char *const *name = module->type->ops; *name; name++) {
        const sh_op *op = sh_op_find(*name);
        if (!op || sh_op_tags(op) & (SH_OP_VIEW | SH_OP_RANDOM)) return false;
    }
    return true;
}

static void keep_module(void *object) { sh_module_keep(object); }
static void release_module(void *object) { sh_module_release(object); }

static sh_graph_root root_of(sh_module *module, bool retained) {
    if (!module) return (sh_graph_root){0};
    return (sh_graph_root){.object = retained ? sh_module_keep(module) : module,
                           .call = call_submodule,
                           .infer = infer_submodule,
                           .tensor = find_tensor,
                           .has_module = has_submodule,
                           .is_impure = is_impure,
                           .is_fresh = is_fresh,
                           .keep = keep_module,
                           .release = release_module,
                           .held = retained};
}

void sh_graph_set_module(sh_graph *graph, sh_module *module) {
    if (graph) sh__graph_set_root(graph, root_of(module, true));
}

sh_module *sh_node_module(const sh_node *node) {
    SH_GIVEN(node, NULL);
    const sh_module *root = sh__graph_root(sh_node_graph(node))->object;
    return root && sh_node_opcode(node) == SH_CALL_MODULE ? sh_module_child(root, sh_node_target(node))
                                                          : NULL;
}

/* ---- running ---- */

/* The entries of lists are inputs of their own. */
static size_t open_inputs(sh_values inputs, sh_argument *arguments) {
    size_t n = 0;
    for (size_t i = 0; i < inputs.n; i++) {
        const sh_value v = inputs.at[i];
        for (uint32_t k = 0; v.tag == SH_TAG_TENSORS && k < v.count; k++, n++)
            if (arguments) arguments[n] = (sh_argument){NULL, sh_value_tensor(v.as.tensors[k])};
        if (v.tag == SH_TAG_TENSORS) continue;
        if (arguments) arguments[n] = (sh_argument){NULL, v};
        n++;
    }
    return n;
}

static sh_value run_graph(sh_module *self, sh_values inputs) {
    graph_state *state = sh_module_state(self);
    sh_value result = sh_none();
    if (state->runner.run && state->runner.run(state->runner.object, inputs, &result)) return result;
    const size_t n = open_inputs(inputs, NULL);
    sh_argument *arguments = sh__alloc((n + 1) * sizeof *arguments);
    sh_interpreter *in = arguments ? sh_interpreter_new(state->graph, NULL) : NULL;
    if (in) {
        open_inputs(inputs, arguments);
        sh_interpreter_run(in, (sh_arguments){arguments, n}, &result);
    }
    sh_interpreter_free(in);
    sh__free(arguments);
    return result;
}

static void finish(sh_module *self) {
    graph_state *state = sh_module_state(self);
    if (state->runner.free) state->runner.free(state->runner.object);
    sh_graph_free(state->graph);
}

const sh_module_type sh__graph_module_type = {
    .name = "GraphModule", .forward_values = run_graph, .finish = finish, .state_size = sizeof(graph_state)};
const sh_module_type sh__container_type = {.name = "Module"};

sh_graph *sh_graph_module_graph(const sh_module *module) {
    if (!module || module->type != &sh__graph_module_type) return NULL;
    const graph_state *state = sh_module_state(module);
    return state->graph;
}

sh_graph_runner *sh__graph_module_runner(sh_module *module) {
    return sh_graph_module_graph(module) ? &((graph_state *)sh_module_state(module))->runner : NULL;
}

sh_tensor *sh_graph_module_tensor(const sh_module *module, const char *path) {
    SH_GIVEN(module, NULL);
    SH_GIVEN(path, NULL);
    const sh_graph *graph = sh_graph_module_graph(module);
    sh_tensor *t = graph ? sh_graph_attr(graph, path) : NULL;
    if (!t) t = sh__module_tensor(module, path, SH_PARAMETERS | SH_BUFFERS);
    if (!t) sh_fail(SH_ERROR_VALUE, "%s has no tensor %s", module->type->name, path);
    return t;
}

/* ---- making ---- */

static sh_module *add_container(sh_module *module, const char *path, size_t length) {
    char *part = sh__strdup(path);
    if (!part) return NULL;
    part[length] = 0;
    sh_module *container = sh_module_give(module, part, sh_module_new(&sh__container_type));
    sh__free(part);
    return container;
}

/* The module that will hold the last part of a path, `*name`; those that are missing on the way are made. */
static sh_module *make_way(sh_module *module, const char *path, const char **name) {
    for (const char *dot; module && (dot = strchr(path, '.')); path = dot + 1) {
        const sh_slot_entry *next = sh__slot_named(&module->children, path, (size_t)(dot - path));
        module = next ? next->object : add_container(module, path, (size_t)(dot - path));
    }
    *name = path;
    return module;
}

sh_status sh_graph_module_add_submodule(sh_module *module, const char *path, sh_module *child) {
    if (sh__error_pending()) return sh_error()->code;
    if (!module || !path)
        return sh_fail(SH_ERROR_NULL, "sh_graph_module_add_submodule: %s is NULL",
                       module ? "path" : "module");
    const char *name;
    sh_module *holder = make_way(module, path, &name);
    return holder ? sh_module_set(holder, name, child) : sh_error()->code;
}

/* What a graph module is made from, and where in it the last target was found: the next one mostly hangs beside it. */
typedef struct taker {
    sh_module *root, *module;
    const char *path;  /* the last target */
    size_t length;     /* of its path up to the last dot; 0: none */
    sh_module *source; /* what is there in root */
    sh_module *holder; /* and in the module */
} taker;

/* Sets source and holder for this target; false: the root has no such place, or memory is out. */
static bool go_to(taker *t, const char *path, const char **name) {
    const char *dot = strrchr(path, '.');
    const size_t length = dot ? (size_t)(dot - path) : 0;
    *name = dot ? dot + 1 : path;
    if (t->holder && t->length == length && memcmp(t->path, path, length) == 0) return true;
    t->holder = NULL;
    t->source = sh__module_at(t->root, path, length);
    t->path = path;
    t->length = length;
    if (t->source) t->holder = make_way(t->module, path, name);
    return t->holder != NULL;
}

static sh_status take_module(taker *t, const sh_node *node) {
    const char *path = sh_node_target(node), *name;
    const bool found = go_to(t, path, &name);
    if (sh__error_pending()) return sh_error()->code;
    sh_module *wanted = found ? sh_module_child(t->source, name) : NULL;
    if (!wanted)
        return sh_fail(SH_ERROR_VALUE, "node %%%s calls %s, which %s has not", sh_node_name(node), path,
                       t->root->type->name);
    return sh_module_child(t->holder, name) == wanted ? SH_OK : sh_module_set(t->holder, name, wanted);
}

static sh_status take_tensor(sh_module *module, sh_module *root, const sh_graph *graph, const sh_node *node) {
    const char *path = sh_node_target(node), *name;
    if (sh_graph_attr(graph, path)) return SH_OK;
    sh_tensor *parameter = sh_module_parameter(root, path), *buffer = sh_module_buffer(root, path);
    if (!parameter && !buffer)
        return sh_fail(SH_ERROR_VALUE, "node %%%s gets %s, which neither the graph nor %s has",
                       sh_node_name(node), path, root->type->name);
    if (find_tensor(module, path) == (parameter ? parameter : buffer)) return SH_OK;
    sh_module *holder = make_way(module, path, &name);
    if (!holder) return sh_error()->code;
    return parameter ? sh_module_set_parameter(holder, name, parameter)
                     : sh_module_set_buffer(holder, name, buffer);
}

static sh_status take_all(sh_module *module, sh_module *root, const sh_graph *graph) {
    taker t = {.root = root, .module = module};
    for (const sh_node *node = sh_graph_first(graph); node; node = sh_node_next(node)) {
        if (sh_node_opcode(node) == SH_CALL_MODULE) SH_TRY(take_module(&t, node));
        if (sh_node_opcode(node) == SH_GET_ATTR) SH_TRY(take_tensor(module, root, graph, node));
    }
    return SH_OK;
}

sh_status sh_graph_module_set_graph(sh_module *module, sh_graph *graph) {
    if (!sh_graph_module_graph(module) || !graph) {
        sh_graph_free(graph);
        return sh_fail(SH_ERROR_NULL, "sh_graph_module_set_graph: %s",
                       graph ? "no graph module" : "graph is NULL");
    }
    graph_state *state = sh_module_state(module);
    sh_graph *before = state->graph;
    state->graph = graph;
    sh__graph_set_root(graph, root_of(module, false));
    if (before != graph) sh_graph_free(before);
    return SH_OK;
}

sh_module *sh_graph_module_new(sh_module *root, sh_graph *graph) {
    sh_module *module = NULL;
    if (sh__error_pending() || !root || !graph)
        sh_fail(SH_ERROR_NULL, "sh_graph_module_new: %s is NULL", root ? "graph" : "root");
    else
        module = sh_module_new(&sh__graph_module_type);
    if (module && take_all(module, root, graph) >= 0) {
        module->training = root->training;
        ((graph_state *)sh_module_state(module))->graph = graph;
        sh__graph_set_root(graph, root_of(module, false));
        return module;
    }
    sh_module_release(module);
    sh_graph_free(graph);
    return NULL;
}

sh_module *sh__graph_module_empty(void) {
    sh_module *module = sh_module_new(&sh__graph_module_type);
    sh_graph *graph = module ? sh_graph_new() : NULL;
    if (graph) {
        ((graph_state *)sh_module_state(module))->graph = graph;
        sh__graph_set_root(graph, root_of(module, false));
        return module;
    }
    sh_module_release(module);
    return NULL;
}

/* ---- what is one graph's alone ---- */

static bool is_own_tree(const sh_graph *graph, const sh_module *root) {
    if (sh_graph_module_graph(root) == graph) return true;
    return root->type == &sh__container_type && sh__graph_root(graph)->held && atomic_load(&root->refs) == 1;
}

sh_module *sh__graph_own_modules(sh_graph *graph) {
    sh_module *root = sh__graph_root(graph)->object;
    if (!root || is_own_tree(graph, root)) return root;
    sh_module *own = sh_module_new(&sh__container_type);
    const bool taken = own && take_all(own, root, graph) >= 0;
    if (taken) {
        own->training = root->training;
        sh_graph_set_module(graph, own);
    }
    sh_module_release(own);
    return taken ? own : NULL;
}

bool sh__module_holds_alone(const sh_module *root, const char *path) {
    const sh_module *module = root;
    for (const char *dot; module && (dot = strchr(path, '.')); path = dot + 1) {
        const sh_slot_entry *entry = sh__slot_named(&module->children, path, (size_t)(dot - path));
        const bool own = module == root || module->type == &sh__container_type;
        if (!own || atomic_load(&module->refs) != 1) return false;
        module = entry ? entry->object : NULL;
    }
    return module && (module == root || module->type == &sh__container_type) &&
           atomic_load(&module->refs) == 1;
}

/* ---- what the graph does not need ---- */

static sh_status note_module(const char *path, sh_module *module, void *user) {
    (void)path;
    sh__seen_first(user, module);
    return sh__error_pending() ? sh_error()->code : SH_OK;
}

/* The modules on the way to a target; of a module's target all that is in it. */
static sh_status note_target(sh_module *module, const sh_node *node, sh_seen *needed) {
    const char *path = sh_node_target(node);
    char *way = sh__strdup(path);
    if (!way) return SH_ERROR_MEMORY;
    for (const char *dot = strchr(path, '.'); dot && !sh__error_pending(); dot = strchr(dot + 1, '.')) {
        way[dot - path] = 0;
        sh_module *on_the_way = sh_module_child(module, way);
        if (on_the_way) sh__seen_first(needed, on_the_way);
        way[dot - path] = '.';
    }
    sh__free(way);
    if (sh__error_pending()) return sh_error()->code;
    sh_module *target = sh_node_opcode(node) == SH_CALL_MODULE ? sh_module_child(module, path) : NULL;
    return target ? sh_module_walk(target, note_module, needed) : SH_OK;
}

static size_t prune(sh_module *module, const sh_seen *needed) {
    size_t count = 0;
    for (uint32_t i = module->children.n; i-- > 0;) {
        sh_module *child = module->children.at[i].object;
        if (sh__seen_holds(needed, child))
            count += prune(child, needed);
        else
            count += sh__module_drop(module, module->children.at[i].name);
    }
    return count;
}

sh_status sh_graph_module_delete_all_unused_submodules(sh_module *module, size_t *count) {
    if (sh__error_pending()) return sh_error()->code;
    SH_GIVEN(module, SH_ERROR_NULL);
    const sh_graph *graph = sh_graph_module_graph(module);
    if (!graph)
        return sh_fail(SH_ERROR_TYPE, "sh_graph_module_delete_all_unused_submodules: no graph module");
    sh_seen needed = {0};
    sh_status status = SH_OK;
    for (const sh_node *node = sh_graph_first(graph); node && status >= 0; node = sh_node_next(node))
        if (sh_node_opcode(node) == SH_CALL_MODULE || sh_node_opcode(node) == SH_GET_ATTR)
            status = note_target(module, node, &needed);
    const size_t gone = status < 0 ? 0 : prune(module, &needed);
    sh__seen_free(&needed);
    if (count && status >= 0) *count = gone;
    return status;
}
