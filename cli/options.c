/* options.c - reading a command line, and telling what is wrong with it. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "dispatch/suggest.h"
#include "graph/onnx/onnx.h"
#include "modes/hooks.h"

int cli_usage(const char *command, const char *format, ...) {
    va_list list;
    va_start(list, format);
    fprintf(stderr, "shunt %s: ", command);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    return EXIT_USAGE;
}

/* A finding is one wherever it comes up, and no memory is nobody's fault. Else it is the stage that tells: what was asked
 * for is usage, unless a file that it names can't be written; a model or input that can't be read, or that the ops can't
 * take, is the input's; what a mode of the user's can't do to a call is usage, too. The rest is internal. */
static int exit_code(const sh_error_info *error, cli_stage stage) {
    const bool by_mode = strncmp(error->where, "mode ", 5) == 0;
    if (error->code == SH_ERROR_FINDING) return EXIT_FINDING;
    if (error->code == SH_ERROR_MEMORY || error->code == SH_ERROR_CALLBACK) return EXIT_INTERNAL;
    switch (stage) {
    case CLI_ASKED: return error->code == SH_ERROR_FILE ? EXIT_INTERNAL : EXIT_USAGE;
    case CLI_READS: return EXIT_INPUT;
    case CLI_RUNS: break;
    case CLI_WRITES: return EXIT_INTERNAL;
    }
    switch (error->code) {
    case SH_ERROR_SPEC: return EXIT_USAGE;
    case SH_ERROR_ARGUMENT:
    case SH_ERROR_VALUE:
    case SH_ERROR_TYPE: return by_mode ? EXIT_USAGE : EXIT_INPUT;
    case SH_ERROR_RESULT: return by_mode ? EXIT_USAGE : EXIT_INTERNAL;
    case SH_ERROR_SHAPE:
    case SH_ERROR_DTYPE:
    case SH_ERROR_INDEX:
    case SH_ERROR_OVERLAP:
    case SH_ERROR_OP:
    case SH_ERROR_UNSUPPORTED: return EXIT_INPUT;
    default: return EXIT_INTERNAL;
    }
}

int cli_failed(const char *command, cli_stage stage) {
    const sh_error_info *error = sh_error();
    if (!error) return EXIT_INTERNAL;
    fprintf(stderr, "shunt %s: %s%s%s%s\n", command, error->message, *error->where ? " (" : "", error->where,
            *error->where ? ")" : "");
    const int code = exit_code(error, stage);
    sh_clear_error();
    return code;
}

int cli_hook(const char *command, const char *hook) {
    return sh__hook_load(hook, strlen(hook)) < 0 ? cli_failed(command, CLI_ASKED) : EXIT_CLEAN;
}

int cli_number(const char *command, const char *option, const char *text, int64_t *number) {
    char *end;
    errno = 0;
    *number = strtoll(text, &end, 10);
    if (*text && !*end && errno == 0 && *number >= 0) return EXIT_CLEAN;
    return cli_usage(command, "%s %s: expected a number from 0", option, text);
}

static int bad_swap(const char *command, const char *value, size_t at, const char *what) {
    return cli_usage(command, "--swap: %s: expected A=B[,WHERE]\n  %s\n  %*s^", what, value, (int)at, "");
}

int cli_swap_spec(const char *command, const char *value, char **spec) {
    const size_t from = strcspn(value, "=,"), to = value[from] == '=' ? strcspn(value + from + 1, ",") : 0;
    const char *equals = value + from;
    if (!from) return bad_swap(command, value, 0, "the op to replace is missing here");
    if (*equals != '=') return bad_swap(command, value, from, "= is missing here");
    if (!to) return bad_swap(command, value, from + 1, "the op to put in its place is missing here");
    const char *format = "swap:from=%.*s,to=%s";
    return asprintf(spec, format, (int)from, value, equals + 1) < 0 ? EXIT_INTERNAL : EXIT_CLEAN;
}

static int unknown(const char *command, const char *text, const cli_option *options) {
    const char *names[32];
    size_t n = 0;
    for (; options[n].name; n++) names[n] = options[n].name;
    const char *near = sh_suggest(text, names, n);
    return cli_usage(command, "there is no option %s%s%s; `shunt help %s` lists them", text,
                     near ? "; did you mean " : "", near ? near : "", command);
}

/* "--seed=7" and "--seed 7" both. */
static int take(int argc, char **argv, int *i, const char *command, const cli_option *options,
                void *context) {
    const char *equals = strncmp(argv[*i], "--", 2) == 0 ? strchr(argv[*i], '=') : NULL;
    const size_t n = equals ? (size_t)(equals - argv[*i]) : strlen(argv[*i]);
    for (const cli_option *o = options; o->name; o++) {
        if (strlen(o->name) != n || strncmp(o->name, argv[*i], n) != 0) continue;
        if (!o->value)
            return equals ? cli_usage(command, "%s takes no value", o->name) : o->take(context, NULL);
        if (!equals && *i + 1 == argc) return cli_usage(command, "%s needs a value", o->name);
        return o->take(context, equals ? equals + 1 : argv[++*i]);
    }
    return unknown(command, argv[*i], options);
}

int cli_parse(int argc, char **argv, const char *command, const cli_option *options,
              int (*word)(void *context, const char *word), void *context) {
    bool only_words = false;
    for (int i = 0; i < argc; i++) {
        int code;
        if (!only_words && strcmp(argv[i], "--") == 0) {
            only_words = true;
            continue;
        }
        if (only_words || argv[i][0] != '-' || !argv[i][1])
            code = word(context, argv[i]);
        else
            code = take(argc, argv, &i, command, options, context);
        if (code != EXIT_CLEAN) return code;
    }
    return EXIT_CLEAN;
}

sh_graph *cli_load_model(const char *command, const char *path, int *code) {
    if (!path) {
        *code = cli_usage(command, "the model is missing: shunt %s MODEL", command);
        return NULL;
    }
    sh_graph *model = sh_graph_file_is(path) ? sh_graph_load(path) : sh_load_onnx(path);
    if (!model) *code = cli_failed(command, CLI_READS);
    return model;
}
