/* ort.c - nets run by ONNX Runtime, from the library in npm's package, which comes without a header.
 *
 * Its API is a table of functions, of which ort.def names those used here. That the places are right for the version that
 * was fetched is shown by what they compute: each net's outputs are compared with ours in f64.
 *
 * It is given what it does best: all optimizations, outputs written to the same tensors again, and threads that spin while
 * a run lasts. Between runs they don't: others are measured then. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "tests/peers/peers.h"

enum { TABLE_VERSION = 5, LOG_FATAL = 4, OPTIMIZE_ALL = 99, ELEMENT_FLOAT = 1, MOST_OUTPUTS = 8 };

static struct {
#define SLOT(name, place, gives, takes) gives(*name) takes;
#include "tests/peers/ort.def"
#undef SLOT
} ort;

typedef struct session {
    void *env, *options, *session, *memory, *input;
    char *input_name, *output_names[MOST_OUTPUTS];
    void *outputs[MOST_OUTPUTS];
    size_t noutputs;
    sh_tensor *tensor; /* whose data `input` is */
} session;

/* ---- the library ---- */

static bool load_table(void *library) {
    typedef struct base {
        void *const *(*table)(uint32_t version);
        const char *(*version)(void);
    } base;
    const base *(*get)(void);
    *(void **)&get = dlsym(library, "OrtGetApiBase");
    void *const *table = get ? get()->table(TABLE_VERSION) : NULL;
    if (!table) return false;
#define SLOT(name, place, gives, takes) memcpy(&ort.name, &table[place], sizeof(void *));
#include "tests/peers/ort.def"
#undef SLOT
    return true;
}

static bool load(void) {
    const char *path = getenv("PEERS_ORT");
    if (ort.run) return true;
    void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (path && *path && !library) fprintf(stderr, "%s\n", dlerror());
    return library && load_table(library);
}

/* NULL is success. */
static bool good(void *status) {
    if (status) fprintf(stderr, "ONNX Runtime: %s\n", ort.error_message(status));
    return !status;
}

/* ---- a session ---- */

static bool set_options(session *s, int threads) {
    return good(ort.create_options(&s->options)) && good(ort.set_optimization(s->options, OPTIMIZE_ALL)) &&
           good(ort.set_threads(s->options, threads)) &&
           good(ort.set_config(s->options, "session.force_spinning_stop", "1"));
}

static bool name_values(session *s) {
    void *allocator;
    if (!good(ort.default_allocator(&allocator)) || !good(ort.count_outputs(s->session, &s->noutputs)))
        return false;
    if (s->noutputs > MOST_OUTPUTS || !good(ort.input_name(s->session, 0, allocator, &s->input_name)))
        return false;
    for (size_t i = 0; i < s->noutputs; i++)
        if (!good(ort.output_name(s->session, i, allocator, &s->output_names[i]))) return false;
    return true;
}

static bool wrap_input(session *s, const peer_net *net) {
    SH_SCOPE s->tensor = sh_keep(net->input());
    return s->tensor && good(ort.create_memory(0, 0, &s->memory)) &&
           good(ort.create_tensor(
               s->memory, sh_tensor_data(s->tensor), (size_t)sh_tensor_numel(s->tensor) * sizeof(float),
               sh_tensor_sizes(s->tensor), (size_t)sh_tensor_ndim(s->tensor), ELEMENT_FLOAT, &s->input));
}

static void run(void *state) {
    session *s = state;
    good(ort.run(s->session, NULL, (const char *const[]){s->input_name}, (const void *const[]){s->input}, 1,
                 (const char *const *)s->output_names, s->noutputs, s->outputs));
}

static bool append(numbers *all, void *value) {
    void *shape;
    size_t n;
    float *data;
    if (!good(ort.shape(value, &shape)) || !good(ort.count_elements(shape, &n)) ||
        !good(ort.data(value, (void **)&data)))
        return false;
    ort.free_shape(shape);
    all->at = realloc(all->at, (all->n + n) * sizeof(double));
    for (size_t i = 0; i < n; i++) all->at[all->n++] = (double)data[i];
    return true;
}

static numbers results(void *state) {
    session *s = state;
    numbers all = {NULL, 0};
    run(s);
    for (size_t i = 0; i < s->noutputs && append(&all, s->outputs[i]); i++) continue;
    return all;
}

static void close_session(void *state) {
    session *s = state;
    for (size_t i = 0; i < s->noutputs; i++) ort.free_value(s->outputs[i]);
    ort.free_value(s->input);
    ort.free_memory(s->memory);
    ort.free_session(s->session);
    ort.free_options(s->options);
    ort.free_env(s->env);
    sh_release(s->tensor);
    free(s);
}

bool ort_open(const peer_net *net, int threads, peer_runner *runner) {
    if (!load()) return false;
    session *s = calloc(1, sizeof *s);
    *runner = (peer_runner){s, 0, run, results, close_session};
    if (!good(ort.create_env(LOG_FATAL, "peers", &s->env)) || !set_options(s, threads)) return false;
    const double start = peers_clock_ms(threads);
    if (!good(ort.create_session(s->env, net_file(net), s->options, &s->session))) return false;
    runner->ready_ms = peers_clock_ms(threads) - start;
    return name_values(s) && wrap_input(s, net);
}
