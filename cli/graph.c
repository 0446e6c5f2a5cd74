/* graph.c - shunt graph: a model as text, code or a picture. */
#include "graph/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "dispatch/suggest.h"
#include "graph/picture/dot.h"
#include "graph/timing.h"

enum { RUNS = 5, MOST_INPUTS = 64, MOST_NAMES = 4096 };

typedef struct request {
    const char *model, *out, *around;
    const char *chosen; /* the option that chose the form, or NULL */
    const struct form *form;
    const char *picture; /* an option that only pictures take, or NULL */
    bool full;
    int64_t depth;
    sh_picture_color color;
} request;

/* ---- forms ---- */

typedef struct form {
    const char *name;
    char *(*print)(const sh_graph *graph);
    char *(*draw)(const sh_graph *graph, const sh_picture_options *options);
} form;

static char *print_code(const sh_graph *graph) { return sh_graph_code(graph, NULL); }

static const form forms[] = {
    {"text", sh_graph_text, NULL}, {"table", sh_graph_tabular, NULL}, {"readable", sh_graph_readable, NULL},
    {"code", print_code, NULL},    {"dot", NULL, sh_graph_dot},       {"svg", NULL, sh_graph_svg},
};
enum { NFORMS = sizeof forms / sizeof *forms };

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
static int take_word(void *context, const char *word) {
    request *q = context;
    if (q->model) return cli_usage("graph", "one model only: %s, then %s", q->model, word);
    q->model = word;
    return EXIT_CLEAN;
}

static int take_hook(void *context, const char *value) {
    (void)context;
    return cli_hook("graph", value);
}

static const cli_option options[] = {
    {"--hook", true, take_hook},
    {"--format", true, take_format},
    {"--tabular", false, take_tabular},
    {"--dot", false, take_dot},
    {"--svg", false, take_svg},
    {"--full", false, take_full},
    {"--around", true, take_around},
    {"--depth", true, take_depth},
    {"--color", true, take_color},
    {"-o", true, take_out},
    {NULL, false, NULL},
};

/* What was asked for must go together. */
static int check(const request *q) {
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
    const char *slash = strrchr(q->model, '/');
    sh_picture_options o = {.title = slash ? slash + 1 : q->model, .full = q->full, .color = q->color};
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

int cli_graph(int argc, char **argv) {
    request q = {.form = &forms[0], .depth = -1};
    int code = cli_parse(argc, argv, "graph", options, take_word, &q);
    if (code == EXIT_CLEAN) code = check(&q);
    sh_graph *graph = code == EXIT_CLEAN ? cli_load_model("graph", q.model, &code) : NULL;
    if (!graph) return code;
    char *text = q.form->draw ? draw(&q, graph, &code) : print(&q, graph, &code);
    if (text) code = write_text(q.out, text);
    free(text);
    sh_graph_free(graph);
    return code;
}
