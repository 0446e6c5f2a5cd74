/* Every op against torch 1.13.1: the lines of tests/golden/, by name, in the backends cpu and ref, on meta tensors for
 * dtypes and sizes, and as a plan, exact and free. A file is one test; it goes on after a failure and reports how many there were.
 *
 * GOLDEN_OP=add runs the lines of one family only; GOLDEN_ALL=1 prints every failure, not the first ten. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

#include "shunt.h"
#include "tests/golden.h"

enum { SHOWN = 10 };

/* Ops whose sizes depend on data: meta tensors have no answer, and they can't be traced. */
static bool needs_data(const char *op) { return strcmp(op, "nonzero") == 0; }

static bool is_wanted(const char *line) {
    const char *family = getenv("GOLDEN_OP");
    if (!family) return true;
    const size_t n = strlen(family);
    return strncmp(line, family, n) == 0 && strchr("(._", line[n]);
}

/* A way to run a line. */
static const struct way {
    const char *name, *backend;
    const sh_compile_options *compile;
} ways[] = {
    {"cpu", "cpu", NULL},
    {"ref", "ref", NULL},
    {"meta", "meta", NULL}, /* on meta tensors */
    {"an exact plan", "cpu", &(const sh_compile_options){.size = sizeof(sh_compile_options), .exact = true}},
    {"a free plan", "cpu",
     &(const sh_compile_options){.size = sizeof(sh_compile_options), .winograd = SH_WINOGRAD_OFF}},
};

static bool passes(const char *line, const struct way *way, char *report, size_t size) {
    const bool meta = strcmp(way->name, "meta") == 0;
    bool good = true;
    SH_SCOPE {
        golden_case c;
        if (!golden_parse(&c, line, meta ? SH_META : SH_HOST)) {
            snprintf(report, size, "the line does not parse at: %.60s (%s)", c.at,
                     sh_error() ? sh_error()->message : "-");
            good = false;
        } else if (!((meta || way->compile) && needs_data(c.op))) {
            c.compile = way->compile;
            SH_WITH_BACKEND(way->backend) good = golden_run(&c, report, size);
        }
    }
    sh_clear_error();
    return good;
}

/* Runs a line in every backend; what failed goes to the log with the line once. */
static bool check_line(const char *file, int number, const char *line, bool show) {
    char report[512];
    bool good = true;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (passes(line, &ways[i], report, sizeof report)) continue;
        if (show && good) cr_log_error("%s.txt:%d: %.*s", file, number, (int)strcspn(line, "\n"), line);
        if (show) cr_log_error("    %s: %s", ways[i].name, report);
        good = false;
    }
    return good;
}

static void check_file(const char *file) {
    char path[100];
    snprintf(path, sizeof path, "tests/golden/%s.txt", file);
    FILE *input = fopen(path, "r");
    cr_assert(input != NULL, "%s cannot be read; run from the root of the tree", path);
    char *line = NULL;
    size_t size = 0;
    int failures = 0, number = 0;
    while (getline(&line, &size, input) > 0) {
        number++;
        if (is_wanted(line))
            failures += !check_line(file, number, line, failures < SHOWN || getenv("GOLDEN_ALL"));
    }
    free(line);
    fclose(input);
    cr_expect(failures == 0, "%s: %d of %d lines failed", path, failures, number);
}

#define GOLDEN_FILE(name) \
    Test(golden, name) { check_file(#name); }

GOLDEN_FILE(arithmetic)
GOLDEN_FILE(comparison)
GOLDEN_FILE(choosing)
GOLDEN_FILE(unary)
GOLDEN_FILE(activation)
GOLDEN_FILE(inplace)
GOLDEN_FILE(out)
GOLDEN_FILE(reduction)
GOLDEN_FILE(product)
GOLDEN_FILE(convolution)
GOLDEN_FILE(pooling)
GOLDEN_FILE(normalisation)
GOLDEN_FILE(quantized)
GOLDEN_FILE(shape)
GOLDEN_FILE(movement)
GOLDEN_FILE(creation)
GOLDEN_FILE(large)
