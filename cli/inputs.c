/* inputs.c - what goes into a model: files that were given for its inputs, and numbers at random where there are none. */
#include <string.h>
#include <unistd.h>

#include "cli/given.h"
#include "graph/graph.h"
#include "graph/onnx/onnx.h"
#include "ops/io/io.h"
#include "ops/random.h"

sh_tensor *cli_random_input(const sh_spec *spec) {
    int64_t sizes[SH_MAX_DIMS] = {0};
    const int ndim = spec ? spec->ndim : 0;
    for (int i = 0; i < ndim; i++) sizes[i] = spec->sizes[i] < 0 ? 1 : spec->sizes[i];
    const sh_dtype dtype = spec ? spec->dtype : SH_F32;
    const sh_ints size = {sizes, (size_t)ndim};
    if (sh_dtype_kind_of(dtype) == SH_KIND_FLOAT) return sh_rand(size, .dtype = dtype);
    return sh_randint(2, size, .dtype = dtype);
}

static bool ends_with(const char *text, const char *end) {
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static sh_tensor *load_input(const char *path) {
    return ends_with(path, ".pb") ? sh_load_onnx_tensor(path) : sh_load_npy(path);
}

static size_t count_placeholders(const sh_graph *graph) {
    size_t n = 0;
    SH_EACH_NODE(node, graph) n += sh_node_opcode(node) == SH_PLACEHOLDER;
    return n;
}

/* Is there a file of this name, = included, or could the part before it be no name of an input? */
static bool is_path(const char *input) {
    const char *equals = strchr(input, '='), *slash = strchr(input, '/');
    return !equals || (slash && slash < equals) || access(input, F_OK) == 0;
}

/* The file that was given for this input, or NULL. With one input the name may be left out. */
static const char *file_for(const cli_given *g, const char *name, size_t nplaceholders, bool *used) {
    for (size_t i = 0; i < g->ninputs; i++) {
        const size_t n = strlen(name);
        const bool named = strncmp(g->inputs[i], name, n) == 0 && g->inputs[i][n] == '=';
        if (!named && (nplaceholders != 1 || !is_path(g->inputs[i]))) continue;
        used[i] = true;
        return named ? g->inputs[i] + n + 1 : g->inputs[i];
    }
    return NULL;
}

static int check_input(const char *command, const sh_tensor *t, const sh_spec *spec, const char *name) {
    if (!spec) return EXIT_CLEAN;
    bool fits = sh_tensor_dtype(t) == spec->dtype && sh_tensor_ndim(t) == spec->ndim;
    for (int i = 0; fits && i < spec->ndim; i++)
        fits = spec->sizes[i] < 0 || spec->sizes[i] == sh_tensor_sizes(t)[i];
    if (fits) return EXIT_CLEAN;
    fprintf(stderr, "shunt %s: input %s is %s of %d dimensions", command, name,
            sh_dtype_name(sh_tensor_dtype(t)), sh_tensor_ndim(t));
    for (int i = 0; i < sh_tensor_ndim(t); i++)
        fprintf(stderr, i ? ", %lld" : " [%lld", (long long)sh_tensor_sizes(t)[i]);
    fprintf(stderr, "%s; the model takes %s", sh_tensor_ndim(t) ? "]" : "", sh_dtype_name(spec->dtype));
    for (int i = 0; i < spec->ndim; i++) fprintf(stderr, i ? ", %lld" : " [%lld", (long long)spec->sizes[i]);
    fputs(spec->ndim ? "]\n" : "\n", stderr);
    return EXIT_INPUT;
}

static int unused_input(const cli_given *g, const bool *used) {
    for (size_t i = 0; i < g->ninputs; i++) {
        if (used[i]) continue;
        fprintf(stderr, "shunt %s: --input %s fits no input; the model takes:", g->command, g->inputs[i]);
        SH_EACH_NODE(node, g->graph)
        if (sh_node_opcode(node) == SH_PLACEHOLDER) fprintf(stderr, " %s", sh_node_target(node));
        fputc('\n', stderr);
        return EXIT_USAGE;
    }
    return EXIT_CLEAN;
}

int cli_given_inputs(const cli_given *given, sh_tensor **inputs, size_t *n) {
    const size_t nplaceholders = count_placeholders(given->graph);
    bool used[CLI_MOST] = {false};
    *n = 0;
    sh_manual_seed((uint64_t)given->seed);
    SH_EACH_NODE(node, given->graph) {
        if (sh_node_opcode(node) != SH_PLACEHOLDER) continue;
        if (*n == CLI_MOST) return cli_usage(given->command, "the model has more than %d inputs", CLI_MOST);
        const char *name = sh_node_target(node), *file = file_for(given, name, nplaceholders, used);
        sh_tensor *t = file ? load_input(file) : cli_random_input(sh_node_spec(node));
        if (!t) return cli_failed(given->command, CLI_READS);
        const int code = check_input(given->command, t, sh_node_spec(node), name);
        if (code != EXIT_CLEAN) return code;
        inputs[(*n)++] = t;
    }
    return unused_input(given, used);
}
