/* ops.c - shunt ops: the dispatch table for people, or as JSON. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/json.h"
#include "dispatch/filter.h"

typedef struct request {
    const char *filter;
    bool json, check;
} request;

static int take_json(void *context, const char *value) {
    (void)value;
    ((request *)context)->json = true;
    return EXIT_CLEAN;
}
static int take_check(void *context, const char *value) {
    (void)value;
    ((request *)context)->check = true;
    return EXIT_CLEAN;
}
static int take_word(void *context, const char *word) {
    request *q = context;
    if (q->filter) return cli_usage("ops", "one filter only; a|b is or");
    q->filter = word;
    return EXIT_CLEAN;
}
static int take_hook(void *context, const char *value) {
    (void)context;
    return cli_hook("ops", value);
}
static const cli_option options[] = {{"--hook", true, take_hook},
                                     {"--json", false, take_json},
                                     {"--check", false, take_check},
                                     {NULL, false, NULL}};

static const struct {
    uint32_t tag;
    const char *name;
} tags[] = {{SH_OP_PURE, "pure"},           {SH_OP_INPLACE, "in-place"},    {SH_OP_OUT, "out"},
            {SH_OP_VIEW, "view"},           {SH_OP_RANDOM, "random"},       {SH_OP_COMPOSITE, "composite"},
            {SH_OP_POINTWISE, "pointwise"}, {SH_OP_REDUCTION, "reduction"}, {SH_OP_FACTORY, "factory"},
            {SH_OP_CUSTOM, "custom"}};
enum { TAGS = sizeof tags / sizeof *tags };

static void print_op(const sh_op *op) {
    char *kernels = sh_op_describe(op);
    printf("%s\n    tags:", sh_op_schema(op)->text);
    for (size_t i = 0; i < TAGS; i++)
        if (sh_op_tags(op) & tags[i].tag) printf(" %s", tags[i].name);
    if (sh_op_tags(op) & SH_OP_CUSTOM) printf("\n    defined by: %s", sh_op_registrant(op));
    printf("\n    kernels: %s\n", kernels ? kernels : "?");
    free(kernels);
}

static json_t *json_op(const sh_op *op) {
    char *kernels = sh_op_describe(op);
    json_t *list = json_array();
    for (size_t i = 0; i < TAGS; i++)
        if (sh_op_tags(op) & tags[i].tag) json_array_append_new(list, json_string(tags[i].name));
    json_t *value =
        json_pack("{s:s, s:s, s:o, s:s, s:s}", "name", sh_op_name(op), "schema", sh_op_schema(op)->text,
                  "tags", list, "kernels", kernels ? kernels : "", "registrant", sh_op_registrant(op));
    free(kernels);
    return value;
}

/* ---- the check ---- */

static json_t *json_report(const sh_op *op, const sh_op_report *report, const char *error) {
    json_t *faults = json_array();
    for (size_t i = 0; i < sh_op_report_count(report); i++) {
        const sh_op_fault f = sh_op_report_fault(report, i);
        json_array_append_new(
            faults, json_pack("{s:s, s:o, s:s}", "check", f.check, "sample",
                              f.sample == SIZE_MAX ? json_null() : json_integer((json_int_t)f.sample), "text",
                              f.text));
    }
    json_t *value = json_pack("{s:s, s:I, s:o}", "name", sh_op_name(op), "samples",
                              (json_int_t)sh_op_report_samples(report), "faults", faults);
    if (error) json_object_set_new(value, "error", json_string(error));
    return value;
}

static void print_report(const sh_op *op, const sh_op_report *report, const char *error) {
    char *text = report ? sh_op_report_text(report) : NULL;
    if (text)
        fputs(text, stdout);
    else
        printf("%s: not checked: %s\n", sh_op_name(op), error ? error : "?");
    free(text);
}

/* What could not be checked (no samples were found) is told and is no finding. */
static bool check_op(const request *q, const sh_op *op, json_t *all) {
    sh_op_report *report;
    const sh_status status = sh_op_check(sh_op_name(op), NULL, &report);
    const char *error = status < 0 && status != SH_ERROR_FINDING && sh_error() ? sh_error()->message : NULL;
    if (q->json)
        json_array_append_new(all, json_report(op, report, error));
    else
        print_report(op, report, error);
    sh_clear_error();
    sh_op_report_free(report);
    return status != SH_ERROR_FINDING;
}

/* ---- the command ---- */

static int show(const request *q, const sh_filter *filter, json_t *all, size_t *n) {
    int code = EXIT_CLEAN;
    for (uint32_t id = 0; id < sh_op_count(); id++) {
        const sh_op *op = sh_op_by_id(id);
        if (!sh_op_schema(op) || !sh_filter_match(filter, sh_op_name(op))) continue;
        ++*n;
        if (q->check && !check_op(q, op, all)) code = EXIT_FINDING;
        if (q->check) continue;
        if (q->json)
            json_array_append_new(all, json_op(op));
        else
            print_op(op);
    }
    return code;
}

int cli_ops(int argc, char **argv) {
    request q = {0};
    int code = cli_parse(argc, argv, "ops", options, take_word, &q);
    if (code != EXIT_CLEAN) return code;
    sh_filter *filter = sh_filter_new(q.filter, SH_FILTER_GLOB);
    if (!filter) return cli_failed("ops", CLI_ASKED);
    json_t *all = json_array();
    size_t n = 0;
    code = show(&q, filter, all, &n);
    sh_filter_free(filter);
    if (q.json) {
        const int written = cli_json_write("ops", "-", all);
        return written != EXIT_CLEAN ? written : code;
    }
    json_decref(all);
    if (n) return code;
    const char *near = q.filter ? sh_op_suggest(q.filter) : NULL;
    return cli_usage("ops", "no op matches %s%s%s", q.filter, near ? "; did you mean " : "",
                     near ? near : "");
}
