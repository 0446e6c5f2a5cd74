/* run.c - shunt run: a model, its inputs, modes around it, what comes out. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/json.h"
#include "graph/graph.h"
#include "graph/onnx/onnx.h"
#include "ops/io/io.h"
#include "ops/random.h"

enum { MOST = 64 };

typedef struct run {
    const char *model, *output_dir, *json, *backend;
    const char *inputs[MOST];
    size_t ninputs;
    char *specs[MOST]; /* owned */
    size_t nspecs;
    int64_t seed, repeat;
    sh_graph *graph;
    double *seconds;
} run;

/* ---- the command line ---- */

static int take_input(void *context, const char *value) {
    run *r = context;
    const char *equals = strchr(value, '=');
    if (r->ninputs == MOST) return cli_usage("run", "too many inputs");
    if (!*value || equals == value)
        return cli_usage("run", "--input %s: the name of the input is missing", value);
    if (equals && !equals[1]) return cli_usage("run", "--input %s: the file is missing", value);
    r->inputs[r->ninputs++] = value;
    return EXIT_CLEAN;
}

static int add_spec(run *r, char *spec) {
    if (!spec || r->nspecs == MOST) {
        free(spec);
        return cli_usage("run", "too many modes");
    }
    r->specs[r->nspecs++] = spec;
    return EXIT_CLEAN;
}

static int take_mode(void *context, const char *value) { return add_spec(context, strdup(value)); }

static int take_swap(void *context, const char *value) {
    char *spec;
    const int code = cli_swap_spec("run", value, &spec);
    return code ? code : add_spec(context, spec);
}

static int take_seed(void *context, const char *value) {
    return cli_number("run", "--seed", value, &((run *)context)->seed);
}

static int take_repeat(void *context, const char *value) {
    run *r = context;
    const int code = cli_number("run", "--repeat", value, &r->repeat);
    return code || (r->repeat > 0 && r->repeat <= 1000000)
               ? code
               : cli_usage("run", "--repeat %s: expected 1 to 1000000", value);
}

static int take_backend(void *context, const char *value) {
    const int backend = sh_backend_find(value);
    if (backend >= 0 && sh_backend_device((uint32_t)backend) == SH_META)
        return cli_usage("run", "--backend %s holds shapes only: there is nothing to print", value);
    ((run *)context)->backend = value;
    return EXIT_CLEAN;
}
static int take_output_dir(void *context, const char *value) {
    ((run *)context)->output_dir = value;
    return EXIT_CLEAN;
}
static int take_json(void *context, const char *value) {
    ((run *)context)->json = value;
    return EXIT_CLEAN;
}

static int take_word(void *context, const char *word) {
    run *r = context;
    if (r->model) return cli_usage("run", "one model only: %s, then %s", r->model, word);
    r->model = word;
    return EXIT_CLEAN;
}

static int take_hook(void *context, const char *value) {
    (void)context;
    return cli_hook("run", value);
}

static const cli_option options[] = {
    {"--hook", true, take_hook},     {"--input", true, take_input},
    {"--seed", true, take_seed},     {"--mode", true, take_mode},
    {"--swap", true, take_swap},     {"--backend", true, take_backend},
    {"--repeat", true, take_repeat}, {"--output-dir", true, take_output_dir},
    {"--json", true, take_json},     {NULL, false, NULL},
};

/* ---- inputs ---- */

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
static const char *file_for(const run *r, const char *name, size_t nplaceholders, bool *used) {
    for (size_t i = 0; i < r->ninputs; i++) {
        const size_t n = strlen(name);
        const bool named = strncmp(r->inputs[i], name, n) == 0 && r->inputs[i][n] == '=';
        if (!named && (nplaceholders != 1 || !is_path(r->inputs[i]))) continue;
        used[i] = true;
        return named ? r->inputs[i] + n + 1 : r->inputs[i];
    }
    return NULL;
}

static int check_input(const sh_tensor *t, const sh_spec *spec, const char *name) {
    if (!spec) return EXIT_CLEAN;
    bool fits = sh_tensor_dtype(t) == spec->dtype && sh_tensor_ndim(t) == spec->ndim;
    for (int i = 0; fits && i < spec->ndim; i++)
        fits = spec->sizes[i] < 0 || spec->sizes[i] == sh_tensor_sizes(t)[i];
    if (fits) return EXIT_CLEAN;
    fprintf(stderr, "shunt run: input %s is %s of %d dimensions", name, sh_dtype_name(sh_tensor_dtype(t)),
            sh_tensor_ndim(t));
    for (int i = 0; i < sh_tensor_ndim(t); i++)
        fprintf(stderr, i ? ", %lld" : " [%lld", (long long)sh_tensor_sizes(t)[i]);
    fprintf(stderr, "%s; the model takes %s", sh_tensor_ndim(t) ? "]" : "", sh_dtype_name(spec->dtype));
    for (int i = 0; i < spec->ndim; i++) fprintf(stderr, i ? ", %lld" : " [%lld", (long long)spec->sizes[i]);
    fputs(spec->ndim ? "]\n" : "\n", stderr);
    return EXIT_INPUT;
}

static int unused_input(const run *r, const bool *used) {
    for (size_t i = 0; i < r->ninputs; i++) {
        if (used[i]) continue;
        fprintf(stderr, "shunt run: --input %s fits no input; the model takes:", r->inputs[i]);
        SH_EACH_NODE(node, r->graph)
        if (sh_node_opcode(node) == SH_PLACEHOLDER) fprintf(stderr, " %s", sh_node_target(node));
        fputc('\n', stderr);
        return EXIT_USAGE;
    }
    return EXIT_CLEAN;
}

static int make_inputs(const run *r, sh_tensor **inputs, size_t *n) {
    const size_t nplaceholders = count_placeholders(r->graph);
    bool used[MOST] = {false};
    *n = 0;
    sh_manual_seed((uint64_t)r->seed);
    SH_EACH_NODE(node, r->graph) {
        if (sh_node_opcode(node) != SH_PLACEHOLDER) continue;
        if (*n == MOST) return cli_usage("run", "the model has more than %d inputs", MOST);
        const char *name = sh_node_target(node), *file = file_for(r, name, nplaceholders, used);
        sh_tensor *t = file ? load_input(file) : cli_random_input(sh_node_spec(node));
        if (!t) return cli_failed("run", CLI_READS);
        const int code = check_input(t, sh_node_spec(node), name);
        if (code != EXIT_CLEAN) return code;
        inputs[(*n)++] = t;
    }
    return unused_input(r, used);
}

/* ---- outputs ---- */

typedef struct summary {
    double low, mean, high;
} summary;

/* NaN takes part: it makes all three NaN. */
static summary summarise(sh_tensor *t) {
    summary s = {NAN, NAN, NAN};
    SH_SCOPE_HERE;
    sh_tensor *values = sh_tensor_numel(t) ? sh_to(t, SH_F64) : NULL;
    if (!values) return s;
    s.low = sh_item(sh_amin(values));
    s.mean = sh_item(sh_mean(values));
    s.high = sh_item(sh_amax(values));
    return s;
}

/* Whatever its sign bit, a NaN prints as nan. */
static double plain(double v) { return isnan(v) ? (double)NAN : v; }

static void print_outputs(const run *r, const sh_list *outputs) {
    int width = 4;
    for (size_t i = 0; i < sh_list_size(outputs); i++) {
        const int n = (int)strlen(sh_graph_output_name(r->graph, i));
        width = n > width ? n : width;
    }
    printf("%-*s  %-5s  %-18s  %12s  %12s  %12s\n", width, "name", "dtype", "shape", "min", "mean", "max");
    for (size_t i = 0; i < sh_list_size(outputs); i++) {
        sh_tensor *t = sh_list_at(outputs, i);
        const summary s = summarise(t);
        char shape[128];
        size_t n = (size_t)snprintf(shape, sizeof shape, "[");
        for (int k = 0; k < sh_tensor_ndim(t); k++)
            n += (size_t)snprintf(shape + n, sizeof shape - n, k ? ", %lld" : "%lld",
                                  (long long)sh_tensor_sizes(t)[k]);
        snprintf(shape + n, sizeof shape - n, "]");
        printf("%-*s  %-5s  %-18s  %12.6g  %12.6g  %12.6g\n", width, sh_graph_output_name(r->graph, i),
               sh_dtype_name(sh_tensor_dtype(t)), shape, plain(s.low), plain(s.mean), plain(s.high));
    }
}

static int write_outputs(const run *r, const sh_list *outputs) {
    if (mkdir(r->output_dir, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "shunt run: can't make the folder %s: %s\n", r->output_dir, strerror(errno));
        return EXIT_INTERNAL;
    }
    for (size_t i = 0; i < sh_list_size(outputs); i++) {
        char *path;
        if (asprintf(&path, "%s/%s.npy", r->output_dir, sh_graph_output_name(r->graph, i)) < 0)
            return EXIT_INTERNAL;
        for (char *at = path + strlen(r->output_dir) + 1; *at; at++)
            if (*at == '/') *at = '_';
        const sh_status status = sh_save_npy(path, sh_list_at(outputs, i));
        free(path);
        if (status < 0) return cli_failed("run", CLI_WRITES);
    }
    return EXIT_CLEAN;
}

static int write_json(const run *r, const sh_list *outputs, int code) {
    json_t *all = json_array();
    for (size_t i = 0; outputs && i < sh_list_size(outputs); i++) {
        sh_tensor *t = sh_list_at(outputs, i);
        const summary s = summarise(t);
        json_t *shape = json_array();
        for (int k = 0; k < sh_tensor_ndim(t); k++)
            json_array_append_new(shape, json_integer(sh_tensor_sizes(t)[k]));
        json_array_append_new(all, json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "name",
                                             sh_graph_output_name(r->graph, i), "dtype",
                                             sh_dtype_name(sh_tensor_dtype(t)), "shape", shape, "min",
                                             cli_json_number(s.low), "mean", cli_json_number(s.mean), "max",
                                             cli_json_number(s.high)));
    }
    json_t *seconds = json_array();
    for (int64_t i = 0; outputs && i < r->repeat; i++)
        json_array_append_new(seconds, json_real(r->seconds[i]));
    json_t *report =
        json_pack("{s:s, s:s, s:o, s:o, s:o, s:i}", "shunt", sh_version(), "model", r->model, "outputs", all,
                  "findings", cli_json_findings(), "seconds", seconds, "exit", code);
    return cli_json_write("run", r->json, report);
}

/* ---- running ---- */

static int push_modes(const run *r, size_t *pushed) {
    for (*pushed = 0; *pushed < r->nspecs; ++*pushed)
        if (sh_mode_push_spec(r->specs[*pushed]) < 0) return cli_failed("run", CLI_ASKED);
    return EXIT_CLEAN;
}

/* Which of the thread's modes was pushed last is for the stack to say: the order of a chain is another. */
static bool pop_last(void) {
    sh_mode_info infos[MOST];
    size_t n = sh_modes(infos, MOST);
    bool popped = false;
    for (size_t i = 0; i < n && i < MOST && !popped; i++)
        popped = !infos[i].global && sh_pop_mode(infos[i].mode) == SH_OK;
    sh_clear_error();
    return popped;
}

/* Their reports are written now, and what they found is known. */
static void pop_modes(void) {
    while (pop_last()) continue;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b) {
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static void print_times(run *r) {
    if (r->repeat < 2) return;
    qsort(r->seconds, (size_t)r->repeat, sizeof *r->seconds, by_value);
    fprintf(stderr, "%lld runs: median %.3f ms, %.3f to %.3f ms\n", (long long)r->repeat,
            r->seconds[r->repeat / 2] * 1e3, r->seconds[0] * 1e3, r->seconds[r->repeat - 1] * 1e3);
}

/* The results of the last run, kept in the scope of the caller. */
static sh_list *run_model(run *r, sh_tensors inputs) {
    sh_list *outputs = NULL;
    for (int64_t i = 0; i < r->repeat; i++) {
        const double start = now();
        if (i + 1 < r->repeat) {
            SH_SCOPE outputs = sh_graph_run(r->graph, inputs);
        } else {
            outputs = sh_graph_run(r->graph, inputs);
        }
        r->seconds[i] = now() - start;
        if (!outputs) return NULL;
    }
    return outputs;
}

static int run_and_tell(run *r) {
    sh_tensor *inputs[MOST];
    size_t ninputs, pushed;
    SH_SCOPE_HERE;
    int code = make_inputs(r, inputs, &ninputs);
    if (code != EXIT_CLEAN) return code;
    code = push_modes(r, &pushed);
    sh_list *outputs = code == EXIT_CLEAN ? run_model(r, (sh_tensors){inputs, ninputs}) : NULL;
    if (code == EXIT_CLEAN && !outputs) code = cli_failed("run", CLI_RUNS);
    pop_modes();
    if (code == EXIT_CLEAN && sh_finding_count()) code = EXIT_FINDING;
    if (sh_reports_lost()) code = EXIT_INTERNAL;
    if (outputs && (!r->json || strcmp(r->json, "-") != 0)) print_outputs(r, outputs);
    print_times(r);
    const int written = outputs && r->output_dir ? write_outputs(r, outputs) : EXIT_CLEAN;
    const int told = r->json ? write_json(r, outputs, written ? written : code) : EXIT_CLEAN;
    return written ? written : told ? told : code;
}

int cli_run(int argc, char **argv) {
    run r = {.repeat = 1};
    int code = cli_parse(argc, argv, "run", options, take_word, &r);
    if (code == EXIT_CLEAN && r.backend && sh_backend_set_default(r.backend) < 0)
        code = cli_failed("run", CLI_ASKED);
    if (code == EXIT_CLEAN) r.graph = cli_load_model("run", r.model, &code);
    r.seconds = calloc((size_t)r.repeat, sizeof *r.seconds);
    if (r.graph && r.seconds) code = run_and_tell(&r);
    sh_graph_free(r.graph);
    free(r.seconds);
    for (size_t i = 0; i < r.nspecs; i++) free(r.specs[i]);
    return code;
}
