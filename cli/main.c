/* main.c - the shunt program: finds the subcommand and runs it. */
#include <string.h>

#include "cli/cli.h"

static int run(int argc, char **argv) {
    if (argc < 2) {
        cli_list(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("shunt %s\n", sh_version());
        return EXIT_CLEAN;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return cli_help(argc - 2, argv + 2);
    if (sh_environment_status() < 0) return EXIT_USAGE; /* it was told already */
    const cli_command *c = cli_find(argv[1]);
    if (!c) return cli_unknown(argv[1]);
    const bool ends_at_word = c->run == cli_exec; /* what follows is another program's */
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0 && !(ends_at_word && argv[i][0] != '-'); i++)
        if (strcmp(argv[i], "--help") == 0) {
            fputs(c->help, stdout);
            return EXIT_CLEAN;
        }
    return c->run(argc - 2, argv + 2);
}

/* Modes from the environment write their reports as they are popped, so that a lost one is noticed. */
int main(int argc, char **argv) {
    const int code = run(argc, argv);
    sh_mode_pop_all_global();
    if (fflush(stdout) != 0 || ferror(stdout)) {
        perror("shunt: can't write the output");
        return EXIT_INTERNAL;
    }
    const bool lost = sh_reports_lost() || ferror(stderr);
    return lost && (code == EXIT_CLEAN || code == EXIT_FINDING) ? EXIT_INTERNAL : code;
}
