/* graph.c - shunt graph: a model as torch.fx prints a graph. */
#include "graph/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

typedef struct request {
    const char *model, *out;
    const char *form; /* the option that chose `print`, or NULL */
    char *(*print)(const sh_graph *graph);
} request;

static int choose(void *context, const char *form, char *(*print)(const sh_graph *graph)) {
    request *q = context;
    if (q->form && q->print != print)
        return cli_usage("graph", "%s and %s: choose one of them", q->form, form);
    q->form = form;
    q->print = print;
    return EXIT_CLEAN;
}

static int take_tabular(void *context, const char *value) {
    (void)value;
    return choose(context, "--tabular", sh_graph_tabular);
}
static int take_dot(void *context, const char *value) {
    (void)value;
    return choose(context, "--dot", sh_graph_dot);
}
static int take_svg(void *context, const char *value) {
    (void)value;
    return choose(context, "--svg", sh_graph_svg);
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

static const cli_option options[] = {
    {"--tabular", false, take_tabular},
    {"--dot", false, take_dot},
    {"--svg", false, take_svg},
    {"-o", true, take_out},
    {NULL, false, NULL},
};

static int write_text(const char *path, const char *text) {
    FILE *out = path ? fopen(path, "we") : stdout;
    int failed = !out || fputs(text, out) == EOF ||
                 (*text && text[strlen(text) - 1] != '\n' && fputc('\n', out) == EOF);
    if (out && path && fclose(out) != 0) failed = 1;
    if (!failed) return EXIT_CLEAN;
    fprintf(stderr, "shunt graph: can't write %s: %s\n", path ? path : "the output", strerror(errno));
    return EXIT_INTERNAL;
}

int cli_graph(int argc, char **argv) {
    request q = {.print = sh_graph_text};
    int code = cli_parse(argc, argv, "graph", options, take_word, &q);
    sh_graph *graph = code == EXIT_CLEAN ? cli_load_model("graph", q.model, &code) : NULL;
    if (!graph) return code;
    char *text = q.print(graph);
    code = text ? write_text(q.out, text) : cli_failed("graph", CLI_WRITES);
    free(text);
    sh_graph_free(graph);
    return code;
}
