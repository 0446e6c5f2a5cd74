/* outputs.h - what came out of a model: a table, files, JSON. */
#ifndef SH_CLI_OUTPUTS_H
#define SH_CLI_OUTPUTS_H

#include "cli/given.h"
#include "cli/json.h"

/* The model once on these inputs, eagerly or (not NULL) compiled. The array is good until the next call; the tensors are the
 * scope's. `at` is NULL, and there is an error, if it fails. */
sh_tensors cli_model_run(const cli_given *given, sh_compiled *compiled, sh_tensors inputs);

/* Name, dtype, shape, min, mean and max of each, to stdout. */
void cli_outputs_print(const cli_given *given, sh_tensors outputs);
/* A .npy file each; an exit code after a message. */
int cli_outputs_write(const cli_given *given, sh_tensors outputs, const char *folder);
json_t *cli_outputs_json(const cli_given *given, sh_tensors outputs);

#endif
