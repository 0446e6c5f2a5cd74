/* modes.c - shunt modes: what there is, and how a specification is read. */
#include <stdlib.h>

#include "cli/cli.h"

typedef struct request {
    const char *explain;
} request;

static int take_explain(void *context, const char *value) {
    ((request *)context)->explain = value;
    return EXIT_CLEAN;
}
static int take_word(void *context, const char *word) {
    (void)context;
    return cli_usage("modes", "%s: expected no argument, or --explain SPEC", word);
}
static int take_hook(void *context, const char *value) {
    (void)context;
    return cli_hook("modes", value);
}
static const cli_option options[] = {
    {"--explain", true, take_explain}, {"--hook", true, take_hook}, {NULL, false, NULL}};

static void print_mode(const sh_mode_type *type) {
    printf("%s\n    %s\n", type->name, type->help);
    for (const sh_option *o = type->options; o->name; o++)
        printf("    %-10s %s%s%s%s%s%s\n", o->name, o->help, o->choices ? " (" : "",
               o->choices ? o->choices : "", o->choices ? ")" : "", o->standard ? "; default " : "",
               o->standard ? o->standard : "");
}

int cli_modes(int argc, char **argv) {
    request q = {0};
    const int code = cli_parse(argc, argv, "modes", options, take_word, &q);
    if (code != EXIT_CLEAN) return code;
    if (!q.explain) {
        const sh_mode_type *type;
        for (size_t i = 0; (type = sh_mode_type_at(i)); i++) print_mode(type);
        return EXIT_CLEAN;
    }
    char *text;
    if (sh_mode_explain(q.explain, &text) < 0) return cli_failed("modes", CLI_ASKED);
    fputs(text, stdout);
    free(text);
    return EXIT_CLEAN;
}
