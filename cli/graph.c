/* graph.c - shunt graph: a model as text, code, a picture or the plan that it is compiled to. */
#include "graph/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/outputs.h"
#include "dispatch/suggest.h"
#include "graph/picture/dot.h"
#include "graph/timing.h"

enum { RUNS = 5, MOST_INPUTS = 64, MOST_NAMES = 4096 };

typedef struct request {
    cli_given given; /* first: see given.h; but for the model only a plan takes it */
    const char *out, *around;
    const char *chosen; /* the option that chose the form, or NULL */
    const struct form *form;
    const char *picture; /* an option that only pictures take, or NULL */
    bool full;
    int64_t depth;
    sh_picture_color color;
} request;

/* ---- forms ---- */

/* A form that neither prints nor draws the graph is the plan. */
typedef struct form {
    const char *name;
    char *(*print)(const sh_graph *graph);
    char *(*draw)(const sh_graph *graph, const sh_picture_options *options);
} form;

static char *print_code(const sh_graph *graph) { return sh_graph_code(graph, NULL); }

static const form forms[] = {
    {"text", sh_graph_text, NULL}, {"table", sh_graph_tabular, NULL}, {"readable", sh_graph_readable, NULL},
    {"code", print_code, NULL},    {"dot", NULL, sh_graph_dot},       {"svg", NULL, sh_graph_svg},
    {"plan", NULL, NULL},
};
enum { NFORMS = sizeof forms / sizeof *forms };

static bool is_plan(const form *f) { return !f->print && !f->draw; }

/* Which of the n words it is, or -1 after a message that names the nearest. */
static int find_word(const char *option, const char *word, const char *const *words, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(words[i], word) == 0) return (int)i;
    const char *near = sh_suggest(word, words, n);
    fprintf(stderr, "shunt graph: %s %s: expected", option, word);
    for (size_t i = 0; i < n; i++) fprintf(stderr, "%s %s", i ? "," : "", words[i]);
    fprintf(stderr, near ? "; did you mean %s?\n" : "\n", near);
    return -1;
}

/* ---- the command line ---- */

static int choose(request *q, const char *option, const char *name) {
    const char *words[NFORMS];
    for (size_t i = 0; i < NFORMS; i++) words[i] = forms[i].name;
    const int i = find_word("--format", name, words, NFORMS);
    if (i < 0) return EXIT_USAGE;
    if (q->chosen && q->form != &forms[i])
        return cli_usage("graph", "%s and %s: choose one of them", q->chosen, option);
    q->chosen = option;
    q->form = &forms[i];
    return EXIT_CLEAN;
}

static int take_format(void *context, const char *value) { return choose(context, "--format", value); }
static int take_tabular(void *context, const char *value) {
    (void)value;
    return choose(context, "--tabular", "table");
}
static int take_dot(void *context, const char *value) {
    (void)value;
    return choose(context, "--dot", "dot");
}
static int take_svg(void *context, const char *value) {
    (void)value;
    return choose(context, "--svg", "svg");
}
static int take_plan(void *context, const char *value) {
    (void)value;
    return choose(context, "--plan", "plan");
}
static int take_full(void *context, const char *value) {
    request *q = context;
    (void)value;
    q->full = true;
    q->picture = "--full";
    return EXIT_CLEAN;
}
static int take_around(void *context, const char *value) {
    request *q = context;
    q->around = *value == '%' ? value + 1 : value;
    q->picture = "--around";
    return EXIT_CLEAN;
}
static int take_depth(void *context, const char *value) {
    request *q = context;
    q->picture = "--depth";
    return cli_number("graph", "--depth", value, &q->depth);
}
static int take_color(void *context, const char *value) {
    static const char *const words[] = {"opcode", "dtype", "time"};
    request *q = context;
    const int i = find_word("--color", value, words, sizeof words / sizeof *words);
    if (i < 0) return EXIT_USAGE;
    q->color = (sh_picture_color)i;
    q->picture = "--color";
    return EXIT_CLEAN;
}
static int take_out(void *context, const char *value) {
    ((request *)context)->out = value;
    return EXIT_CLEAN;
}
static const cli_option options[] = {
    CLI_GIVEN_OPTIONS,
    {"--format", true, take_format},
    {"--tabular", false, take_tabular},
    {"--dot", false, take_dot},
    {"--svg", false, take_svg},
    {"--plan", false, take_plan},
    {"--full", false, take_full},
    {"--around", true, take_around},
    {"--depth", true, take_depth},
    {"--color", true, take_color},
    {"-o", true, take_out},
    {NULL, false, NULL},
};

/* What was asked for must go together. */
static int check(const request *q) {
    const cli_given *g = &q->given;
    if ((g->ninputs || g->nspecs || g->backend) && !is_plan(q->form))
        return cli_usage("graph", "--input, --mode, --swap and --backend are for a plan: give --plan");
    if (q->picture && !q->form->draw)
        return cli_usage("graph", "%s is for pictures: give --format svg or dot", q->picture);
    if (q->depth >= 0 && !q->around) return cli_usage("graph", "--depth needs --around NODE");
    return EXIT_CLEAN;
}

/* ---- pictures ---- */

/* The node of this name, or NULL after a message that names the nearest. */
static const sh_node *find_node(const sh_graph *graph, const char *name) {
    const char *names[MOST_NAMES];
    size_t n = 0;
    const sh_node *node = sh_graph_find(graph, name);
    if (node) return node;
    for (const sh_node *other = sh_graph_first(graph); other && n < MOST_NAMES; other = sh_node_next(other))
        names[n++] = sh_node_name(other);
    const char *near = sh_suggest(name, names, n);
    cli_usage("graph", "--around %s: there is no such node%s%s%s", name, near ? "; did you mean " : "",
              near ? near : "", near ? "?" : "");
    return NULL;
}

static void run_once(sh_timing *timing, const sh_argument *inputs, size_t n) {
    sh_value result;
    SH_SCOPE sh_timing_run(timing, (sh_arguments){inputs, n}, &result);
}

/* A run to warm up, then those that count, on inputs drawn at random. */
static sh_timing *time_runs(sh_graph *graph, int *code) {
    sh_argument inputs[MOST_INPUTS] = {{0}};
    size_t n = 0;
    sh_timing *timing = sh_timing_new(graph);
    SH_SCOPE {
        for (const sh_node *node = sh_graph_first(graph); node && n < MOST_INPUTS; node = sh_node_next(node))
            if (sh_node_opcode(node) == SH_PLACEHOLDER)
                inputs[n++].value = sh_value_tensor(cli_random_input(sh_node_spec(node)));
        for (int i = 0; i <= RUNS && !sh_error(); i++) run_once(timing, inputs, n);
    }
    if (!sh_error()) return timing;
    sh_timing_free(timing);
    *code = cli_failed("graph", CLI_RUNS);
    return NULL;
}

static char *draw(const request *q, sh_graph *graph, int *code) {
    const char *slash = strrchr(q->given.model, '/');
    sh_picture_options o = {.title = slash ? slash + 1 : q->given.model, .full = q->full, .color = q->color};
    o.depth = q->depth < 0 ? 2 : q->depth;
    o.around = q->around ? find_node(graph, q->around) : NULL;
    if (q->around && !o.around) {
        *code = EXIT_USAGE;
        return NULL;
    }
    sh_timing *timing = q->color == SH_COLOR_TIME ? time_runs(graph, code) : NULL;
    if (*code != EXIT_CLEAN) return NULL;
    o.timing = timing;
    char *text = q->form->draw(graph, &o);
    sh_timing_free(timing);
    if (!text) *code = cli_failed("graph", CLI_WRITES);
    return text;
}

/* ---- the command ---- */

static int write_text(const char *path, const char *text) {
    FILE *out = path ? fopen(path, "we") : stdout;
    int failed = !out || fputs(text, out) == EOF ||
                 (*text && text[strlen(text) - 1] != '\n' && fputc('\n', out) == EOF);
    if (out && path && fclose(out) != 0) failed = 1;
    if (!failed) return EXIT_CLEAN;
    fprintf(stderr, "shunt graph: can't write %s: %s\n", path ? path : "the output", strerror(errno));
    return EXIT_INTERNAL;
}

static char *print(const request *q, const sh_graph *graph, int *code) {
    char *text = q->form->print(graph);
    if (!text) *code = cli_failed("graph", CLI_WRITES);
    return text;
}

static int write_picture_or_text(const request *q) {
    int code = EXIT_CLEAN;
    sh_graph *graph = cli_load_model("graph", q->given.model, &code);
    if (!graph) return code;
    char *text = q->form->draw ? draw(q, graph, &code) : print(q, graph, &code);
    if (text) code = write_text(q->out, text);
    free(text);
    sh_graph_free(graph);
    return code;
}

static char *compile_text(const cli_given *g, sh_tensors inputs) {
    sh_compiled *compiled = cli_given_compile(g, false);
    if (compiled) cli_model_run(g, compiled, inputs); /* it is the first call that makes a plan */
    char *text = sh_error() ? NULL : sh_compiled_plan_text(compiled);
    sh_compiled_free(compiled);
    return text;
}

static int write_plan(const request *q, sh_tensors inputs) {
    int code = cli_given_push(&q->given);
    char *text = code == EXIT_CLEAN ? compile_text(&q->given, inputs) : NULL;
    if (code == EXIT_CLEAN) code = text ? write_text(q->out, text) : cli_failed("graph", CLI_RUNS);
    cli_pop_modes();
    free(text);
    return sh_reports_lost() ? EXIT_INTERNAL : code;
}

static int plan(request *q) {
    sh_tensor *inputs[CLI_MOST];
    size_t n;
    SH_SCOPE_HERE;
    int code = cli_given_load(&q->given);
    if (code == EXIT_CLEAN) code = cli_given_inputs(&q->given, inputs, &n);
    return code == EXIT_CLEAN ? write_plan(q, (sh_tensors){inputs, n}) : code;
}

int cli_graph(int argc, char **argv) {
    request q = {.given.command = "graph", .form = &forms[0], .depth = -1};
    int code = cli_parse(argc, argv, "graph", options, cli_take_model, &q);
    if (code == EXIT_CLEAN) code = check(&q);
    if (code == EXIT_CLEAN) code = is_plan(q.form) ? plan(&q) : write_picture_or_text(&q);
    cli_given_end(&q.given);
    return code;
}
