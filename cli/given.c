/* given.c - reading what a model is run with: options, the model, modes. The inputs are in inputs.c. */
#include "cli/given.h"

#include <stdlib.h>
#include <string.h>

#include "graph/onnx/onnx.h"

/* ---- the command line ---- */

int cli_take_hook(void *given, const char *value) { return cli_hook(((cli_given *)given)->command, value); }

int cli_take_input(void *given, const char *value) {
    cli_given *g = given;
    const char *equals = strchr(value, '=');
    if (g->ninputs == CLI_MOST) return cli_usage(g->command, "too many inputs");
    if (!*value || equals == value)
        return cli_usage(g->command, "--input %s: the name of the input is missing", value);
    if (equals && !equals[1]) return cli_usage(g->command, "--input %s: the file is missing", value);
    g->inputs[g->ninputs++] = value;
    return EXIT_CLEAN;
}

int cli_take_seed(void *given, const char *value) {
    cli_given *g = given;
    return cli_number(g->command, "--seed", value, &g->seed);
}

static int add_spec(cli_given *g, char *spec) {
    if (!spec || g->nspecs == CLI_MOST) {
        free(spec);
        return cli_usage(g->command, "too many modes");
    }
    g->specs[g->nspecs++] = spec;
    return EXIT_CLEAN;
}

int cli_take_mode(void *given, const char *value) { return add_spec(given, strdup(value)); }

int cli_take_swap(void *given, const char *value) {
    char *spec;
    const int code = cli_swap_spec(((cli_given *)given)->command, value, &spec);
    return code ? code : add_spec(given, spec);
}

int cli_take_backend(void *given, const char *value) {
    cli_given *g = given;
    const int backend = sh_backend_find(value);
    if (backend >= 0 && sh_backend_device((uint32_t)backend) == SH_META)
        return cli_usage(g->command, "--backend %s holds shapes only: there is nothing to print", value);
    g->backend = value;
    return EXIT_CLEAN;
}

int cli_take_model(void *given, const char *word) {
    cli_given *g = given;
    if (g->model) return cli_usage(g->command, "one model only: %s, then %s", g->model, word);
    g->model = word;
    return EXIT_CLEAN;
}

/* ---- the model ---- */

/* A graph that keeps all its tensors itself, as a module. */
static sh_module *module_of(sh_graph *graph) {
    static const sh_module_type type = {.name = "Model"};
    sh_module *root = sh_module_new(&type), *module = sh_graph_module_new(root, graph);
    sh_module_release(root);
    return module;
}

static sh_module *load_module(const cli_given *g, int *code) {
    if (g->model && sh_graph_file_is(g->model)) {
        sh_module *module = sh_graph_module_load(g->model);
        if (module) return module;
        sh_clear_error(); /* it may hold a graph alone, and what else is wrong comes up again */
    }
    sh_graph *graph = cli_load_model(g->command, g->model, code);
    sh_module *module = graph ? module_of(graph) : NULL;
    if (graph && !module) *code = cli_failed(g->command, CLI_READS);
    return module;
}

int cli_given_load(cli_given *given) {
    int code = EXIT_CLEAN;
    if (given->backend && sh_backend_set_default(given->backend) < 0)
        return cli_failed(given->command, CLI_ASKED);
    given->module = load_module(given, &code);
    given->graph = given->module ? sh_graph_module_graph(given->module) : NULL;
    return code;
}

sh_compiled *cli_given_compile(const cli_given *given, bool frozen) {
    sh_compile_options how = SH_COMPILE_OPTIONS_INIT;
    const char *slash = strrchr(given->model, '/');
    how.name = slash && slash[1] ? slash + 1 : given->model;
    how.frozen = frozen;
    return sh_compile(given->module, &how);
}

/* ---- modes ---- */

int cli_given_push(const cli_given *given) {
    for (size_t i = 0; i < given->nspecs; i++)
        if (sh_mode_push_spec(given->specs[i]) < 0) return cli_failed(given->command, CLI_ASKED);
    return EXIT_CLEAN;
}

/* Which of the thread's modes was pushed last is for the stack to say: the order of a chain is another. */
static bool pop_last(void) {
    sh_mode_info infos[CLI_MOST];
    size_t n = sh_modes(infos, CLI_MOST);
    bool popped = false;
    for (size_t i = 0; i < n && i < CLI_MOST && !popped; i++)
        popped = !infos[i].global && sh_pop_mode(infos[i].mode) == SH_OK;
    sh_clear_error();
    return popped;
}

void cli_pop_modes(void) {
    while (pop_last()) continue;
}

void cli_given_end(cli_given *given) {
    sh_module_release(given->module);
    for (size_t i = 0; i < given->nspecs; i++) free(given->specs[i]);
}
