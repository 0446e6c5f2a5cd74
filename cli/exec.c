/* exec.c - shunt exec: a program under modes that it knows nothing of.
 *
 * All that is done here is to check what was asked for, to put it into the environment (LD_PRELOAD, SHUNT_MODES, ...)
 * and to become the program: nothing of the tool is left beside it, so streams, signals and exit status are its own. What
 * it does about findings at its end is the preloaded library's (interpose/exits.c). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/program.h"
#include "dispatch/options.h"
#include "dispatch/suggest.h"
#include "dispatch/verbose.h"
#include "modes/hooks.h"

enum { EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127, STOP = -1 };

typedef struct request {
    char **argv, **program; /* the program's words are the end of ours */
    char *modes, *hooks;    /* joined, owned */
    const char *backend, *fail_on, *out, *json, *verbose;
    bool nested, strict;
} request;

/* ---- the command line ---- */

/* Puts one more behind those that are there. */
static int join(char **all, char separator, const char *text) {
    char *joined;
    const char *before = *all ? *all : "";
    if (asprintf(&joined, "%s%.*s%s", before, *before ? 1 : 0, &separator, text) < 0) return EXIT_INTERNAL;
    free(*all);
    *all = joined;
    return EXIT_CLEAN;
}

static int take_mode(void *context, const char *value) {
    return join(&((request *)context)->modes, ';', value);
}

static int take_swap(void *context, const char *value) {
    char *spec;
    int code = cli_swap_spec("exec", value, &spec);
    if (code != EXIT_CLEAN) return code;
    code = take_mode(context, spec);
    free(spec);
    return code;
}

/* Loaded here too: what is wrong with it is told before the program starts, and its modes and backends are known. What it
 * replaces is told once, by the program. */
static int take_hook(void *context, const char *value) {
    request *q = context;
    if (value[sh__hook_length(value)])
        return cli_usage("exec", "--hook %s: a path with : in it can't be passed on", value);
    sh_set_warning_sink(sh_warnings_off, NULL);
    const int code = cli_hook("exec", value);
    sh_set_warning_sink(NULL, NULL);
    return code == EXIT_CLEAN ? join(&q->hooks, ':', value) : code;
}

static int take_backend(void *context, const char *value) {
    ((request *)context)->backend = value;
    return EXIT_CLEAN;
}

/* The rest of the list must be known words. */
static int take_fail_on(void *context, const char *value) {
    static const char *const kinds[] = {"nan", "inf", "mismatch"};
    char word[32];
    ((request *)context)->fail_on = value;
    for (const char *at = value;; at++) {
        const size_t n = strcspn(at, ",");
        bool known = false;
        for (size_t i = 0; i < 3; i++) known |= strlen(kinds[i]) == n && strncmp(kinds[i], at, n) == 0;
        snprintf(word, sizeof word, "%.*s", (int)n, at);
        const char *near = known ? NULL : sh_suggest(word, kinds, 3);
        if (!known)
            return cli_usage("exec", "--fail-on: '%s' is none of nan, inf, mismatch%s%s", word,
                             near ? "; did you mean " : "", near ? near : "");
        at += n;
        if (!*at) return EXIT_CLEAN;
    }
}

static int take_verbose(void *context, const char *value) {
    ((request *)context)->verbose = value;
    const bool good = sh_set_verbose(value) >= 0 && sh_set_verbose(NULL) >= 0;
    return good ? EXIT_CLEAN : cli_failed("exec", CLI_ASKED);
}
static int take_out(void *context, const char *value) {
    ((request *)context)->out = value;
    return EXIT_CLEAN;
}
static int take_json(void *context, const char *value) {
    ((request *)context)->json = value;
    return EXIT_CLEAN;
}
static int take_nested(void *context, const char *value) {
    (void)value;
    ((request *)context)->nested = true;
    return EXIT_CLEAN;
}
static int take_strict(void *context, const char *value) {
    (void)value;
    ((request *)context)->strict = true;
    return EXIT_CLEAN;
}

/* The first word ends our options. */
static int take_word(void *context, const char *word) {
    request *q = context;
    for (q->program = q->argv; *q->program != word; q->program++) continue;
    return STOP;
}

static const cli_option options[] = {
    {"--mode", true, take_mode},
    {"--swap", true, take_swap},
    {"--hook", true, take_hook},
    {"--backend", true, take_backend},
    {"--nested", false, take_nested},
    {"--fail-on", true, take_fail_on},
    {"--out", true, take_out},
    {"--json", true, take_json},
    {"--strict", false, take_strict},
    {"--verbose", true, take_verbose},
    {NULL, false, NULL},
};

/* ---- what only all options together tell ---- */

/* An op of the preloaded library isn't known here: such a mode is only read, and made in the program. */
static int check_mode(const char *spec) {
    char *explained = NULL;
    sh_status status = sh_mode_explain(spec, &explained);
    free(explained);
    if (status >= 0 && !strstr(spec, "::")) status = sh_mode_check_spec(spec);
    return status < 0 ? cli_failed("exec", CLI_ASKED) : EXIT_CLEAN;
}

static int check_modes(const char *specs) {
    int code = EXIT_CLEAN;
    for (const char *at = specs; at && code == EXIT_CLEAN;) {
        const char *end = sh__options_end(at, ";");
        char *spec = strndup(at, (size_t)(end - at));
        code = spec ? check_mode(spec) : EXIT_INTERNAL;
        free(spec);
        at = *end && end[1] ? end + 1 : NULL;
    }
    return code;
}

static int check(const request *q) {
    if (q->backend && sh_backend_set_default(q->backend) < 0) return cli_failed("exec", CLI_ASKED);
    return check_modes(q->modes);
}

/* ---- the environment ---- */

static bool is_sanitizer(const char *entry, size_t n) {
    const char *base = memrchr(entry, '/', n);
    const char *name = base ? base + 1 : entry;
    return strncmp(name, "libasan", 7) == 0 || strncmp(name, "libtsan", 7) == 0 ||
           strncmp(name, "liblsan", 7) == 0;
}

/* Ours goes first, so that a BLAS which is preloaded too is seen; only a sanitizer insists on being the first. */
static int preload(const char *library) {
    const char *had = getenv("LD_PRELOAD");
    char *all;
    const size_t n = had ? strcspn(had, " :") : 0, kept = n && is_sanitizer(had, n) ? n : 0;
    const char *rest = had ? had + kept + (kept && had[kept] ? 1 : 0) : "";
    if (asprintf(&all, "%.*s%s%s%s%s", (int)kept, had ? had : "", kept ? ":" : "", library, *rest ? ":" : "",
                 rest) < 0)
        return EXIT_INTERNAL;
    const int failed = setenv("LD_PRELOAD", all, 1);
    free(all);
    return failed ? EXIT_INTERNAL : EXIT_CLEAN;
}

/* Behind what the variable holds already. */
static int append(const char *name, char separator, const char *text) {
    char *all = NULL;
    const char *had = getenv(name);
    int code = text && had && *had ? join(&all, separator, had) : EXIT_CLEAN;
    if (code == EXIT_CLEAN && text) code = join(&all, separator, text);
    if (code == EXIT_CLEAN && all && setenv(name, all, 1) != 0) code = EXIT_INTERNAL;
    free(all);
    return code;
}

static int set(const char *name, const char *value) {
    return value && setenv(name, value, 1) != 0 ? EXIT_INTERNAL : EXIT_CLEAN;
}

static int fill_environment(const request *q, const char *library) {
    int code = preload(library);
    if (code == EXIT_CLEAN) code = append("SHUNT_MODES", ';', q->modes);
    if (code == EXIT_CLEAN) code = append("SHUNT_HOOK", ':', q->hooks);
    if (code == EXIT_CLEAN) code = set("SHUNT_BACKEND", q->backend);
    if (code == EXIT_CLEAN) code = set("SHUNT_OUT", q->out);
    if (code == EXIT_CLEAN) code = set("SHUNT_JSON", q->json);
    if (code == EXIT_CLEAN) code = set("SHUNT_FAIL_ON", q->fail_on);
    if (code == EXIT_CLEAN) code = set("SHUNT_VERBOSE", q->verbose);
    if (code == EXIT_CLEAN) code = set("SHUNT_NESTED", q->nested ? "1" : NULL);
    if (code == EXIT_CLEAN) code = set("SHUNT_STRICT", q->strict ? "1" : NULL);
    return code == EXIT_CLEAN ? set("SHUNT_APPEND", "1") : code;
}

/* ---- becoming it ---- */

/* Files of reports are begun here and gone on with by every process of the program. */
static int begin_files(const request *q) {
    const char *const files[] = {q->out, q->json};
    for (size_t i = 0; i < 2; i++) {
        if (!files[i] || strchr(files[i], '%') || strcmp(files[i], "-") == 0) continue;
        FILE *file = fopen(files[i], "we");
        if (!file || fclose(file) != 0)
            return fprintf(stderr, "shunt exec: can't write %s: %s\n", files[i], strerror(errno)),
                   EXIT_INTERNAL;
    }
    return EXIT_CLEAN;
}

static int become(char **program) {
    execvp(program[0], program);
    const int error = errno;
    fprintf(stderr, "shunt exec: can't run %s: %s\n", program[0], strerror(error));
    return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

static int run(const request *q) {
    char library[4096], why[512];
    int code = check(q);
    if (code != EXIT_CLEAN) return code;
    if (!q->program) return cli_usage("exec", "the program is missing: shunt exec [OPTION]... -- PROGRAM");
    if (!cli_find_interposer(library, sizeof library)) return EXIT_INTERNAL;
    if (!cli_program_can_be_seen(q->program[0], why, sizeof why)) {
        fprintf(stderr, "shunt exec: %s: none of its calls will be seen\n", why);
        if (q->strict) return EXIT_USAGE;
    }
    code = begin_files(q);
    if (code == EXIT_CLEAN) code = fill_environment(q, library);
    return code == EXIT_CLEAN ? become(q->program) : code;
}

int cli_exec(int argc, char **argv) {
    request q = {.argv = argv};
    int code = cli_parse(argc, argv, "exec", options, take_word, &q);
    if (code == EXIT_CLEAN || code == STOP) code = run(&q);
    free(q.modes);
    free(q.hooks);
    return code;
}
