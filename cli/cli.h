/* cli.h - what the subcommands of `shunt` share: their table, exit codes, options and errors. */
#ifndef SH_CLI_CLI_H
#define SH_CLI_CLI_H

#include <stdio.h>

#include "shunt.h"

/* What the program ends with. */
enum {
    EXIT_CLEAN = 0,
    EXIT_FINDING = 1, /* a numeric finding or mismatch */
    EXIT_USAGE = 2,
    EXIT_INPUT = 3, /* the input can't be read */
    EXIT_INTERNAL = 4
};

typedef struct cli_command {
    const char *name;
    const char *summary;
    const char *help; /* usage, options, an example */
    int (*run)(int argc, char **argv);
} cli_command;

int cli_run(int argc, char **argv);
int cli_bench(int argc, char **argv);
int cli_graph(int argc, char **argv);
int cli_ops(int argc, char **argv);
int cli_modes(int argc, char **argv);
int cli_exec(int argc, char **argv);
int cli_doctor(int argc, char **argv);
int cli_help(int argc, char **argv);

extern const cli_command cli_commands[]; /* ends with a NULL name */
const cli_command *cli_find(const char *name);
void cli_list(FILE *out);
/* Says that there is no such command, and which is near; gives EXIT_USAGE. */
int cli_unknown(const char *name);

/* An option; with `value` it takes one. `take` may refuse it by returning an exit code. */
typedef struct cli_option {
    const char *name; /* "--seed" */
    bool value;
    int (*take)(void *context, const char *value);
} cli_option;
/* Reads the options anywhere on the line and hands each other word to `word`. Returns EXIT_CLEAN, or EXIT_USAGE
 * after a message that names the nearest known option. */
int cli_parse(int argc, char **argv, const char *command, const cli_option *options,
              int (*word)(void *context, const char *word), void *context);

/* Prints "shunt COMMAND: message" and gives EXIT_USAGE. */
int cli_usage(const char *command, const char *format, ...) SH_PRINTF(2, 3);
/* For --hook PATH[,OPTIONS]: loads a plug-in. */
int cli_hook(const char *command, const char *hook);
/* What the program was at when something failed; with the kind of the error it gives the exit code. */
typedef enum cli_stage {
    CLI_ASKED,  /* reading the command line and what stands on it: specifications, names, filters */
    CLI_READS,  /* models and inputs */
    CLI_RUNS,   /* the model's ops, under modes */
    CLI_WRITES, /* outputs and reports */
} cli_stage;
/* Prints the pending error, clears it and gives the exit code. */
int cli_failed(const char *command, cli_stage stage);
/* A non-negative integer, or EXIT_USAGE with a message. */
int cli_number(const char *command, const char *option, const char *text, int64_t *number);
/* "A=B[,WHERE]" of --swap as the specification of a mode; the caller frees it. */
int cli_swap_spec(const char *command, const char *value, char **spec);

/* A tensor drawn at random for an input: numbers from [0, 1), integers 0 and 1; open sizes are taken as 1. Scope-owned. */
sh_tensor *cli_random_input(const sh_spec *spec);
/* Loads a model, ONNX or a saved graph (file or folder), or gives NULL and an exit code. */
struct sh_graph *cli_load_model(const char *command, const char *path, int *code);

#endif
