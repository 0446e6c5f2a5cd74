/* help.c - shunt help: the list of commands, or one command's text. */
#include <string.h>

#include "cli/cli.h"
#include "dispatch/suggest.h"

void cli_list(FILE *out) {
    fputs("shunt runs a model under modes: it watches, swaps and records every tensor operation.\n\n"
          "usage: shunt COMMAND [ARGUMENTS]\n\n",
          out);
    for (const cli_command *c = cli_commands; c->name; c++) fprintf(out, "  %-8s %s\n", c->name, c->summary);
    fputs(
        "\n`shunt help COMMAND` tells more; `shunt --version` prints the version.\n"
        "Exit codes: 0 clean, 1 a finding or mismatch, 2 usage, 3 the input can't be read or taken, 4 internal or can't write.\n",
        out);
}

const cli_command *cli_find(const char *name) {
    for (const cli_command *c = cli_commands; c->name; c++)
        if (strcmp(c->name, name) == 0) return c;
    return NULL;
}

int cli_unknown(const char *name) {
    const char *names[32];
    size_t n = 0;
    for (const cli_command *c = cli_commands; c->name; c++) names[n++] = c->name;
    const char *near = sh_suggest(name, names, n);
    fprintf(stderr, "shunt: there is no command %s%s%s; `shunt help` lists them\n", name,
            near ? "; did you mean " : "", near ? near : "");
    return EXIT_USAGE;
}

int cli_help(int argc, char **argv) {
    if (argc == 0) {
        cli_list(stdout);
        return EXIT_CLEAN;
    }
    const cli_command *c = cli_find(argv[0]);
    if (!c) return cli_unknown(argv[0]);
    fputs(c->help, stdout);
    return EXIT_CLEAN;
}
