/* given.h - what `run`, `bench` and `graph --plan` are given: a model, inputs for it, modes around it.
 *
 * A subcommand's context begins with a cli_given, so that CLI_GIVEN_OPTIONS can stand in its table of options. */
#ifndef SH_CLI_GIVEN_H
#define SH_CLI_GIVEN_H

#include "cli/cli.h"

enum { CLI_MOST = 64 };

typedef struct cli_given {
    const char *command, *model, *backend;
    const char *inputs[CLI_MOST];
    size_t ninputs;
    char *specs[CLI_MOST]; /* owned */
    size_t nspecs;
    int64_t seed;
    sh_module *module; /* owned */
    sh_graph *graph;   /* the module's */
} cli_given;

#define CLI_GIVEN_OPTIONS                                                                                \
    {"--hook", true, cli_take_hook}, {"--input", true, cli_take_input}, {"--seed", true, cli_take_seed}, \
        {"--mode", true, cli_take_mode}, {"--swap", true, cli_take_swap}, {                              \
        "--backend", true, cli_take_backend                                                              \
    }
int cli_take_hook(void *given, const char *value);
int cli_take_input(void *given, const char *value);
int cli_take_seed(void *given, const char *value);
int cli_take_mode(void *given, const char *value);
int cli_take_swap(void *given, const char *value);
int cli_take_backend(void *given, const char *value);
/* The one word. */
int cli_take_model(void *given, const char *word);

/* All of these give an exit code, after a message. */
int cli_given_load(cli_given *given);
/* A tensor for each placeholder of the graph, in order, scope-owned: from the file that was given for it, or drawn. */
int cli_given_inputs(const cli_given *given, sh_tensor **inputs, size_t *n);
int cli_given_push(const cli_given *given);
/* The module, called like the model's file in reports; NULL and an error. `frozen` as in compile.h. The caller's. */
sh_compiled *cli_given_compile(const cli_given *given, bool frozen);
/* Pops all modes of the thread: their reports are written now, and what they found is known. */
void cli_pop_modes(void);
void cli_given_end(cli_given *given);

#endif
